// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_soft_dirty.c  Method soft-dirty over a fake pagemap: what counts as written, and what
 * happens when bits are lost. A fake file knows no PAGEMAP_SCAN, so the entries are read. */
#include "fake_kernel.h"
#include "measure/kernel/pagemap_entry.h"
#include "measure/method.h"
#include "unit.h"

#include <errno.h>

#define PAGES 1024
#define PAGE 4096ULL
#define WRITTEN (PAGEMAP_PRESENT | PAGEMAP_SOFT_DIRTY)

static struct fake_kernel fake;
static struct page_set set;
static void *state;
static struct tally tally;
static struct error error;

static void entry(uint64_t page, uint64_t value)
{
    fake_set_u64(&fake, "proc/4242/pagemap", FAKE_HVA / PAGE + page, value);
}

static void setup(void)
{
    fake_kernel_make(&fake, PAGES);
    fake_write(&fake, "proc/4242/clear_refs", "");
    for (uint64_t page = 0; page < 100; page++)
        entry(page, PAGEMAP_PRESENT);
    ck_assert_int_eq(page_set_census(&set, &fake.ram), 0);
}

static void teardown(void)
{
    method_soft_dirty.close(state);
    page_set_free(&set);
}

FIXTURE(cases, .setup = setup, .teardown = teardown);

static void begin(void)
{
    char written[8];

    ck_assert_msg(method_soft_dirty.open(&fake.target, &set, &state, &error) == 0, "%s",
                  error.text);
    ck_assert_msg(method_soft_dirty.mark(state, &error) == 0, "%s", error.text);
    ck_assert_int_gt(fsroot_read(&fake.root, written, sizeof(written), "proc/4242/clear_refs"), 0);
    ck_assert_str_eq(written, "4");
}

/* Returns what was touched. */
static uint64_t collect(void)
{
    ck_assert_msg(method_soft_dirty.collect(state, &tally, &error) == 0, "%s", error.text);
    return tally.touched_bytes;
}

TEST(cases, counts_what_was_written)
{
    entry(90, WRITTEN); /* from before the marking: the kernel would have cleared it */
    begin();
    entry(90, PAGEMAP_PRESENT);
    ck_assert_uint_eq(collect(), 0);
    ck_assert_uint_eq(tally.resident_bytes, 100 * PAGE);
    for (uint64_t page = 10; page < 30; page++)
        entry(page, WRITTEN);
    entry(200, WRITTEN); /* absent before */
    ck_assert_uint_eq(collect(), 21 * PAGE);
    ck_assert_uint_eq(tally.resident_bytes, 101 * PAGE);
    ck_assert_uint_eq(tally.doubts, 0);
}

/* The bit goes into swap; what was discarded is gone. */
TEST(cases, memory_that_leaves)
{
    begin();
    for (uint64_t page = 0; page < 8; page++)
        entry(page, WRITTEN);
    collect();
    entry(0, PAGEMAP_SWAPPED | PAGEMAP_SOFT_DIRTY);
    entry(50, PAGEMAP_SWAPPED | PAGEMAP_SOFT_DIRTY);
    entry(51, PAGEMAP_SWAPPED);
    entry(1, 0);
    ck_assert_uint_eq(collect(), 8 * PAGE);
    ck_assert_uint_eq(tally.gone_bytes, PAGE);
    ck_assert_uint_eq(tally.swapped_pages, 1);
    ck_assert_uint_eq(tally.doubts, 0);
}

TEST(cases, others_take_bits)
{
    begin();
    for (uint64_t page = 0; page < 8; page++)
        entry(page, WRITTEN);
    collect();
    ck_assert_uint_eq(tally.doubts, 0);
    entry(3, PAGEMAP_PRESENT);
    ck_assert_uint_eq(collect(), 8 * PAGE);
    ck_assert_uint_eq(tally.doubts, DOUBT_BITS_TAKEN);
    ck_assert_uint_eq(tally.hidden_units, HIDDEN_ANY);
    entry(3, WRITTEN);
    collect();
    ck_assert_uint_eq(tally.doubts, DOUBT_BITS_TAKEN);
}

/* KSM takes the bit of the pages that it merges, and no other. */
TEST(cases, merged_pages_are_in_the_upper_bound)
{
    fake_write(&fake, "proc/4242/ksm_merging_pages", "5\n");
    begin();
    entry(3, WRITTEN);
    collect();
    entry(3, PAGEMAP_PRESENT);
    fake_write(&fake, "proc/4242/ksm_merging_pages", "7\n");
    ck_assert_uint_eq(collect(), PAGE);
    ck_assert_uint_eq(tally.missed_bytes, 2 * PAGE);
    ck_assert_uint_eq(tally.doubts, 0);
}

/* As many as are written again are merged meanwhile, so the number of merged pages stays. */
TEST(cases, merged_pages_that_others_hide)
{
    fake_write(&fake, "proc/4242/ksm_merging_pages", "5\n");
    fake_write(&fake, "proc/vmstat", "cow_ksm 10\n");
    begin();
    entry(3, WRITTEN);
    entry(4, WRITTEN); /* merged before it is seen */
    entry(4, PAGEMAP_PRESENT);
    fake_write(&fake, "proc/vmstat", "cow_ksm 11\n");
    ck_assert_uint_eq(collect(), PAGE);
    ck_assert_uint_eq(tally.missed_bytes, PAGE);
    ck_assert_uint_eq(tally.doubts, 0);
}

/* Reclaim writes pages of a file on disk back and drops them, and the bit is gone. */
TEST(cases, pages_of_a_file_that_leave)
{
    fake.block.shared = true;
    begin();
    entry(3, WRITTEN);
    ck_assert_uint_eq(collect(), PAGE);
    ck_assert_uint_eq(tally.doubts, 0);
    entry(3, 0);
    collect();
    ck_assert_uint_eq(tally.doubts, DOUBT_BITS_TAKEN);
    entry(3, PAGEMAP_PRESENT); /* read */
    ck_assert_uint_eq(collect(), PAGE);
    ck_assert_uint_eq(tally.doubts, DOUBT_BITS_TAKEN);
    ck_assert_uint_eq(tally.hidden_units, HIDDEN_ANY);
}

/* The size of shared memory says whether it was discarded. */
TEST(cases, shared_memory_that_is_discarded)
{
    fake.block.shared = fake.block.whole_file = true;
    begin();
    entry(3, WRITTEN);
    entry(4, WRITTEN);
    collect();
    entry(3, 0);
    ck_assert_uint_eq(collect(), PAGE);
    ck_assert_uint_eq(tally.gone_bytes, PAGE);
    ck_assert_uint_eq(tally.doubts, 0);
}

/* Without PAGEMAP_SCAN it is not known which pages are huge, so all may be. */
TEST(cases, huge_pages)
{
    fake.block.huge_bytes = 2 << 20;
    begin();
    entry(3, WRITTEN);
    collect();
    ck_assert_uint_eq(tally.n_strata, 1);
    ck_assert_uint_eq(tally.strata[0].granularity_bytes, 2 << 20);
    ck_assert_uint_eq(tally.strata[0].touched_units, 1);
}

TEST(cases, hugetlb_keeps_its_bits)
{
    fake.block.backing = RAM_BACKING_HUGETLB;
    ck_assert_error(method_soft_dirty.probe(&fake.target, &error), -ENOTSUP, "hugetlb");
    entry(3, WRITTEN);
    begin();
    ck_assert_uint_eq(collect(), 0);
    ck_assert_uint_eq(tally.unmeasurable_bytes, 100 * PAGE);
}
