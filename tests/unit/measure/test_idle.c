// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_idle.c  Bookkeeping of method idle over a fake kernel. */
#include "fake_kernel.h"
#include "fixture.h"
#include "measure/kernel/idle_bitmap.h"
#include "measure/kernel/kpageflags.h"
#include "measure/kernel/pagemap.h"
#include "measure/method.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#define PLAIN (KPF_LRU | KPF_IDLE) /* a page that takes the mark */

static struct fake_kernel fake;
static struct page_set set;
static void *state;
static uint64_t batched; /* a frame that waits in a CPU's batch, and is on no list; 0: none */

bool __wrap_lru_batches_drain(void);
bool __wrap_lru_batches_drain(void)
{
    if (batched)
        fake_set_u64(&fake, "proc/kpageflags", batched, PLAIN);
    return true;
}

static void setup(void)
{
    fake_kernel_make(&fake, 2048);
}

static void teardown(void)
{
    if (state)
        method_idle.close(state);
    page_set_free(&set);
}

static void begin(void)
{
    ck_assert_int_eq(page_set_census(&set, &fake.ram), 0);
    ck_assert_ok(method_idle.open(&fake.target, &set, &state, &error));
    ck_assert_ok(method_idle.mark(state, &error));
}

static struct tally collect(void)
{
    struct tally tally;

    ck_assert_ok(method_idle.collect(state, &tally, &error));
    return tally;
}

FIXTURE(cases_tests, .setup = setup, .teardown = teardown, .timeout_s = 60);

TEST(cases_tests, counts_touched_pages)
{
    for (uint64_t page = 0; page < 100; page++)
        fake_map(&fake, page, 1000 + 7 * page, PLAIN);
    begin();
    for (uint64_t page = 0; page < 30; page++)
        fake_touch(&fake, 1000 + 7 * page);

    struct tally tally = collect();

    ck_assert_uint_eq(tally.resident_bytes, 100 * base_page_bytes());
    ck_assert_uint_eq(tally.touched_bytes, 30 * base_page_bytes());
    ck_assert_uint_eq(tally.unmeasurable_bytes, 0);
}

/* There is no PAGEMAP_SCAN here, as before Linux 6.7: the TLB is not flushed, and what it holds may
 * read idle. */
TEST(cases_tests, a_flush_that_is_not_possible_is_a_doubt)
{
    fake.process.accel = ACCEL_KVM;
    fake.process.n_vcpus = 2;
    for (uint64_t page = 0; page < 100; page++)
        fake_map(&fake, page, 1000 + 7 * page, PLAIN);
    begin();

    struct tally tally = collect();

    ck_assert_uint_eq(tally.doubts, DOUBT_STALE_TLB);
    ck_assert_uint_ge(tally.hidden_units, 2 * 4096);
    ck_assert_uint_lt(tally.hidden_units, HIDDEN_ANY);
}

TEST(cases_tests, touches_add_up_over_windows)
{
    fake_map(&fake, 0, 500, PLAIN);
    fake_map(&fake, 1, 501, PLAIN);
    begin();
    fake_touch(&fake, 500);
    ck_assert_uint_eq(collect().touched_bytes, base_page_bytes());
    fake_touch(&fake, 501);
    ck_assert_uint_eq(collect().touched_bytes, 2 * base_page_bytes());
}

TEST(cases_tests, rearm_begins_a_period_of_its_own)
{
    /* Page 1 in a transfer of its own: the fake file forgets bits to which a 0 is written, as the
     * kernel does not. */
    fake_map(&fake, 0, 500, PLAIN);
    fake_map(&fake, 1, 60000, PLAIN);
    begin();
    fake_touch(&fake, 500);
    ck_assert_uint_eq(collect().touched_bytes, base_page_bytes());
    fake_map(&fake, 2, 510, PLAIN); /* appears */
    ck_assert_uint_eq(collect().touched_bytes, 2 * base_page_bytes());
    ck_assert_ok(method_idle.rearm(state, &error));
    ck_assert_uint_eq(collect().touched_bytes, 0);
    ck_assert_uint_eq(collect().resident_bytes, 3 * base_page_bytes());
    fake_touch(&fake, 60000); /* marked once, at the begin */
    ck_assert_uint_eq(collect().touched_bytes, base_page_bytes());
    ck_assert_int_eq(set.state[1], PAGE_TOUCHED);
}

TEST(cases_tests, writes_only_its_own_bits)
{
    fake_map(&fake, 0, 640, PLAIN);
    fake_map(&fake, 1, 703, PLAIN);
    fake_map(&fake, 2, 6400, PLAIN);
    begin();
    ck_assert_uint_eq(fake_get_u64(&fake, IDLE_BITMAP_PATH, 10), 1ULL | 1ULL << 63);
    ck_assert_uint_eq(fake_get_u64(&fake, IDLE_BITMAP_PATH, 100), 1ULL);
    for (uint64_t word = 0; word < 1024; word++)
        if (word != 10 && word != 100)
            ck_assert_uint_eq(fake_get_u64(&fake, IDLE_BITMAP_PATH, word), 0);
}

TEST(cases_tests, swapped_entry_is_no_frame)
{
    /* A swap offset of 77 where the frame number would be. */
    fake_set_u64(&fake, "proc/4242/pagemap", base_pages(FAKE_HVA) + 5, PAGEMAP_SWAPPED | 77);
    fake_map(&fake, 6, 900, PLAIN);
    begin();
    ck_assert_int_eq(set.state[5], PAGE_SWAPPED);
    ck_assert_uint_eq(fake_get_u64(&fake, IDLE_BITMAP_PATH, 77 / 64), 0);

    struct tally tally = collect();

    ck_assert_uint_eq(tally.swapped_pages, 1);
    ck_assert_uint_eq(tally.resident_bytes, base_page_bytes());
}

TEST(cases_tests, what_does_not_take_the_mark_is_unmeasurable)
{
    fake_map(&fake, 0, 300, KPF_LRU);  /* on the LRU, yet the flag does not show */
    fake_map(&fake, 1, 301, KPF_IDLE); /* not on the LRU */
    fake_map(&fake, 2, 302, KPF_HUGE | KPF_LRU | KPF_IDLE);
    fake_map(&fake, 3, 303, PLAIN);
    begin();

    struct tally tally = collect();

    ck_assert_uint_eq(tally.unmeasurable_bytes, 3 * base_page_bytes());
    ck_assert_uint_eq(tally.touched_bytes, 0);
    ck_assert_uint_eq(tally.resident_bytes, 4 * base_page_bytes());
}

TEST(cases_tests, census_puts_new_pages_on_their_list)
{
    fake_map(&fake, 0, 1000, PLAIN);
    fake_map(&fake, 1, 1001, 0);
    batched = 1001;
    begin();

    struct tally tally = collect();

    ck_assert_uint_eq(tally.unmeasurable_bytes, 0);
    ck_assert_uint_eq(tally.touched_bytes, 0);
}

/* It would interrupt all CPUs for each scan of a daemon. */
TEST(cases_tests, panel_leaves_the_batches_alone)
{
    fake_map(&fake, 0, 1000, PLAIN);
    fake_map(&fake, 1, 1001, 0);
    batched = 1001;
    ck_assert_int_eq(page_set_panel(&set, &fake.ram, 2048, 1), 0);
    ck_assert_ok(method_idle.open(&fake.target, &set, &state, &error));
    ck_assert_ok(method_idle.mark(state, &error));
    ck_assert_uint_eq(set.state[1], PAGE_UNMEASURABLE);
}

TEST(cases_tests, zero_page_is_not_resident)
{
    fake_map(&fake, 0, 300, KPF_ZERO_PAGE | PLAIN);
    begin();
    ck_assert_int_eq(set.state[0], PAGE_ABSENT);
    ck_assert_uint_eq(collect().resident_bytes, 0);
}

/* A THP of 512 pages at frame 1024: only the head has a bit, the tails must follow it. */
static void map_thp(uint64_t first_page)
{
    for (uint64_t i = 0; i < 512; i++)
        fake_map(&fake, first_page + i, 1024 + i,
                 i == 0 ? KPF_COMPOUND_HEAD | KPF_THP | PLAIN : KPF_COMPOUND_TAIL | KPF_THP);
}

TEST(cases_tests, idle_huge_page_is_idle_to_the_last_tail)
{
    map_thp(512);
    begin();
    ck_assert_uint_eq(fake_get_u64(&fake, IDLE_BITMAP_PATH, 16), 1);
    ck_assert_uint_eq(fake_get_u64(&fake, IDLE_BITMAP_PATH, 17), 0);

    struct tally tally = collect();

    ck_assert_uint_eq(tally.touched_bytes, 0);
    ck_assert_uint_eq(tally.unmeasurable_bytes, 0);
    ck_assert_uint_eq(tally.resident_bytes, 2 << 20);
    ck_assert_uint_eq(tally.strata[0].granularity_bytes, 2 << 20);
}

TEST(cases_tests, touched_huge_page_counts_whole)
{
    map_thp(512);
    begin();
    fake_touch(&fake, 1024);
    ck_assert_uint_eq(collect().touched_bytes, 2 << 20);
}

/* By the numbers of their frames the huge page is among base pages: those on either side of it are
 * marked and read. */
TEST(cases_tests, base_pages_around_a_huge_page_are_measured)
{
    map_thp(512);
    for (uint64_t k = 0; k < 300; k++) {
        fake_map(&fake, k, 700 + k, PLAIN);
        fake_map(&fake, 1024 + k, 1536 + 2 * k, k % 3 ? PLAIN : KPF_LRU);
    }
    begin();
    fake_touch(&fake, 705);
    fake_touch(&fake, 1024);
    fake_touch(&fake, 1538);

    struct tally tally = collect();

    ck_assert_uint_eq(tally.resident_bytes, (512 + 600) * base_page_bytes());
    ck_assert_uint_eq(tally.touched_bytes, (512 + 2) * base_page_bytes());
    ck_assert_uint_eq(tally.unmeasurable_bytes, 100 * base_page_bytes());
    ck_assert_uint_eq(tally.n_strata, 2);
}

/* As reclaim and compaction do it: the bit says nothing of touches then. */
TEST(cases_tests, isolated_page_is_unmeasurable)
{
    for (uint64_t page = 0; page < 3; page++)
        fake_map(&fake, page, 500 + page, PLAIN);
    begin();
    fake_touch(&fake, 500);
    fake_isolate(&fake, 501);

    struct tally tally = collect();

    ck_assert_uint_eq(tally.touched_bytes, base_page_bytes());
    ck_assert_uint_eq(tally.unmeasurable_bytes, base_page_bytes());
    ck_assert_int_eq(set.state[2], PAGE_IDLE);
}

TEST(cases_tests, isolated_huge_page_is_unmeasurable)
{
    map_thp(512);
    begin();
    fake_isolate(&fake, 1024);

    struct tally tally = collect();

    ck_assert_uint_eq(tally.touched_bytes, 0);
    ck_assert_uint_eq(tally.unmeasurable_bytes, 2 << 20);
}

TEST(cases_tests, draws_of_one_huge_page_are_one_unit)
{
    struct tally tally;

    map_thp(512);
    ck_assert_int_eq(page_set_panel(&set, &fake.ram, 2048, 1), 0); /* draws every page */
    ck_assert_ok(method_idle.open(&fake.target, &set, &state, &error));
    ck_assert_ok(method_idle.mark(state, &error));
    fake_touch(&fake, 1024);
    tally = collect();
    ck_assert_uint_eq(tally.n_strata, 1);
    ck_assert_uint_eq(tally.strata[0].draws, 512);
    ck_assert_uint_eq(tally.strata[0].units, 1);
    ck_assert_uint_eq(tally.strata[0].touched_units, 1);
    ck_assert_uint_eq(tally.drawn_absent, 1536);
}

TEST(cases_tests, page_that_appears_was_touched)
{
    fake_map(&fake, 0, 300, PLAIN);
    begin();
    fake_map(&fake, 9, 310, KPF_LRU);
    ck_assert_uint_eq(collect().touched_bytes, base_page_bytes());
    ck_assert_int_eq(set.state[9], PAGE_TOUCHED);
}

TEST(cases_tests, page_that_vanishes_is_not_resident)
{
    fake_map(&fake, 0, 300, PLAIN);
    fake_map(&fake, 1, 301, PLAIN);
    begin();
    fake_set_u64(&fake, "proc/4242/pagemap", base_pages(FAKE_HVA), 0);

    struct tally tally = collect();

    ck_assert_uint_eq(tally.resident_bytes, base_page_bytes());
    ck_assert_uint_eq(tally.touched_bytes, 0);
}

/* Touched and then taken by the balloon; it comes back, and is part of the working set again. */
TEST(cases_tests, touched_page_that_vanishes_is_gone)
{
    fake_map(&fake, 0, 300, PLAIN);
    fake_map(&fake, 1, 301, PLAIN);
    begin();
    fake_touch(&fake, 300);
    ck_assert_uint_eq(collect().touched_bytes, base_page_bytes());
    fake_set_u64(&fake, "proc/4242/pagemap", base_pages(FAKE_HVA), 0);

    struct tally tally = collect();

    ck_assert_uint_eq(tally.resident_bytes, base_page_bytes());
    ck_assert_uint_eq(tally.touched_bytes, 0);
    ck_assert_uint_eq(tally.gone_bytes, base_page_bytes());
    fake_map(&fake, 0, 310, KPF_LRU);
    tally = collect();
    ck_assert_uint_eq(tally.touched_bytes, base_page_bytes());
    ck_assert_uint_eq(tally.gone_bytes, 0);
}

TEST(cases_tests, migrated_page_keeps_its_flag)
{
    fake_map(&fake, 0, 300, PLAIN);
    begin();
    fake_map(&fake, 0, 333, PLAIN); /* migration copies the idle flag to the new frame */
    fake_set_u64(&fake, IDLE_BITMAP_PATH, 333 / 64, 1ULL << (333 % 64));
    ck_assert_uint_eq(collect().touched_bytes, 0);
}

/* Pages 0 and 1 are touched, then all four migrated; KVM's bit of page 0 is lost. */
static struct tally migrate_four(enum accel accel, const char *release, const char *mglru)
{
    static const uint64_t still_idle = 1ULL << 0 | 1ULL << 2 | 1ULL << 3;

    fake.process.accel = accel;
    fake_write(&fake, "proc/sys/kernel/osrelease", release);
    fake_write(&fake, "sys/kernel/mm/lru_gen/enabled", mglru);
    for (uint64_t i = 0; i < 5; i++)
        fake_map(&fake, i, 300 + i, PLAIN);
    begin();
    for (uint64_t i = 0; i < 4; i++)
        fake_map(&fake, i, 640 + i, still_idle >> i & 1 ? PLAIN : KPF_LRU);
    fake_set_u64(&fake, IDLE_BITMAP_PATH, 640 / 64, still_idle);
    return collect();
}

TEST_EACH(cases_tests, idle_page_that_was_migrated_is_unmeasurable, 0, 7)
{
    static const struct {
        enum accel accel;
        const char *release;
        const char *mglru;
        uint64_t unmeasurable;
    } cases[] = {
        {ACCEL_KVM, "6.12.117-amd64\n", "0x0007\n", 3},
        {ACCEL_KVM, "6.12.117-amd64\n", "0x0000\n", 0},
        {ACCEL_KVM, "6.13.1\n", "0x0000\n", 3},
        {ACCEL_KVM, "5.14.0-611.el9.x86_64\n", "0x0000\n", 3},
        {ACCEL_KVM, "?\n", "0x0000\n", 3},
        {ACCEL_TCG, "6.13.1\n", "0x0007\n", 0},
        {ACCEL_TCG, "5.10.0-32-amd64\n", "0x0000\n", 3},
    };

    struct tally tally = migrate_four(cases[_i].accel, cases[_i].release, cases[_i].mglru);

    ck_assert_uint_eq(tally.touched_bytes, base_page_bytes());
    ck_assert_uint_eq(tally.unmeasurable_bytes, cases[_i].unmeasurable * base_page_bytes());
    ck_assert_int_eq(set.state[4], PAGE_IDLE); /* where it was */
}

/* Until it is marked again: a new period. */
TEST(cases_tests, migrated_page_is_measured_again_once_it_is_marked)
{
    migrate_four(ACCEL_KVM, "6.13.1\n", "0x0000\n");
    ck_assert_int_eq(set.state[0], PAGE_UNMEASURABLE);
    fake_map(&fake, 1, 641, PLAIN); /* marking sets the flag of what was touched, too */
    ck_assert_ok(method_idle.rearm(state, &error));
    ck_assert_uint_eq(collect().unmeasurable_bytes, 0);
    ck_assert_int_eq(set.state[0], PAGE_IDLE);
}

/* The frames stay, and carry the flag. */
TEST(cases_tests, idle_rest_of_a_huge_page_that_was_split_is_unmeasurable)
{
    map_thp(512);
    begin();
    for (uint64_t i = 0; i < 512; i++)
        fake_map(&fake, 512 + i, 1024 + i, PLAIN);
    for (uint64_t word = 16; word < 24; word++)
        fake_set_u64(&fake, IDLE_BITMAP_PATH, word, ~0ULL);
    fake_touch(&fake, 1024);

    struct tally tally = collect();

    ck_assert_uint_eq(tally.touched_bytes, base_page_bytes());
    ck_assert_uint_eq(tally.unmeasurable_bytes, 511 * base_page_bytes());
}

/* Its mapping was split, it was not: nothing tells that but a counter, and how it is mapped now. */
TEST(cases_tests, idle_huge_page_of_a_host_that_split_mappings_is_asked_for)
{
    map_thp(512);
    fake_write(&fake, "proc/vmstat", "thp_split_pmd 7\n");
    begin();
    ck_assert_uint_eq(collect().unmeasurable_bytes, 0);
    fake_write(&fake, "proc/vmstat", "thp_split_pmd_failed 3\nthp_split_pmd 8\n");
    ck_assert_uint_eq(collect().unmeasurable_bytes, 2 << 20); /* not huge any more */
}

/* A migration entry looks swapped: 28 is the type of one on the lab's kernel. */
TEST(cases_tests, page_in_motion_is_not_swapped)
{
    const uint64_t in_motion = PAGEMAP_SWAPPED | 300 << 5 | 28;

    for (uint64_t i = 0; i < 3; i++)
        fake_map(&fake, i, 300 + i, PLAIN);
    fake_set_u64(&fake, "proc/4242/pagemap", base_pages(FAKE_HVA) + 3, in_motion);
    begin();
    ck_assert_int_eq(set.state[3], PAGE_UNMEASURABLE);
    fake_touch(&fake, 300);
    ck_assert_uint_eq(collect().touched_bytes, base_page_bytes());
    for (uint64_t i = 0; i < 2; i++)
        fake_set_u64(&fake, "proc/4242/pagemap", base_pages(FAKE_HVA) + i, in_motion);

    struct tally tally = collect();

    ck_assert_uint_eq(tally.swapped_pages, 0);
    ck_assert_uint_eq(tally.resident_bytes, 4 * base_page_bytes());
    ck_assert_uint_eq(tally.touched_bytes, base_page_bytes());
    ck_assert_uint_eq(tally.unmeasurable_bytes, 2 * base_page_bytes());
}

TEST(cases_tests, collapse_into_a_huge_page_is_not_a_touch)
{
    for (uint64_t i = 0; i < 512; i++)
        fake_map(&fake, 512 + i, 5000 + i, PLAIN);
    begin();
    map_thp(512); /* a new frame without the idle flag */

    struct tally tally = collect();

    ck_assert_uint_eq(tally.touched_bytes, 0);
    ck_assert_uint_eq(tally.unmeasurable_bytes, 2 << 20);
}

#define VMSTAT(n) "nr_free_pages 7\nthp_collapse_alloc " n "\nthp_collapse_alloc_failed 3\n"

/* One page of 512 was there, and khugepaged made a huge page of them: 511 have appeared that nobody
 * touched. */
TEST(cases_tests, hole_that_khugepaged_fills_is_not_a_touch)
{
    fake_write(&fake, "proc/vmstat", VMSTAT("41"));
    fake_map(&fake, 512, 5000, PLAIN);
    begin();
    fake_write(&fake, "proc/vmstat", VMSTAT("42"));
    map_thp(512);

    struct tally tally = collect();

    ck_assert_uint_eq(tally.touched_bytes, 0);
    ck_assert_uint_eq(tally.unmeasurable_bytes, 2 << 20);
}

/* The same without khugepaged is a fault of the guest. */
TEST(cases_tests, huge_page_that_appears_was_touched)
{
    fake_write(&fake, "proc/vmstat", VMSTAT("41"));
    begin();
    map_thp(512);
    ck_assert_uint_eq(collect().touched_bytes, 2 << 20);
}

TEST(cases_tests, merged_page_of_two_owners_is_unmeasurable)
{
    fake_write(&fake, "proc/4242/ksm_merging_pages", "2\n");
    fake_map(&fake, 0, 300, PLAIN | KPF_KSM);
    fake_set_u64(&fake, "proc/kpagecount", 300, 2);
    fake_map(&fake, 1, 301, PLAIN | KPF_KSM); /* Linux 6.12 shows the flag on every page */
    fake_set_u64(&fake, "proc/kpagecount", 301, 1);
    begin();
    ck_assert_int_eq(set.state[0], PAGE_UNMEASURABLE);
    ck_assert_int_eq(set.state[1], PAGE_IDLE);
}

/* Page 0 had been touched when it was merged with page 1, which was not, and whose frame it has
 * now: it reads idle. Page 2 is merged, and the other owner touches it. */
TEST(cases_tests, ksm_begins_within_the_window)
{
    for (uint64_t page = 0; page < 4; page++)
        fake_map(&fake, page, 300 + page, PLAIN);
    begin();
    ck_assert_uint_eq(collect().touched_bytes, 0);
    fake_write(&fake, "proc/4242/ksm_merging_pages", "3\n");
    fake_map(&fake, 0, 301, PLAIN | KPF_KSM);
    fake_map(&fake, 1, 301, PLAIN | KPF_KSM);
    fake_map(&fake, 2, 302, PLAIN | KPF_KSM);
    fake_set_u64(&fake, "proc/kpagecount", 301, 2);
    fake_set_u64(&fake, "proc/kpagecount", 302, 2);
    fake_touch(&fake, 302);
    fake_touch(&fake, 303);

    struct tally tally = collect();

    ck_assert_uint_eq(tally.touched_bytes, base_page_bytes());
    ck_assert_uint_eq(tally.unmeasurable_bytes, 3 * base_page_bytes());
}

/* The balloon took it, and a dump reads what is left. */
TEST(cases_tests, a_hole_that_is_read_is_absent)
{
    fake_map(&fake, 0, 500, PLAIN);
    fake_map(&fake, 1, 600, PLAIN);
    begin();
    fake_map(&fake, 1, 7, KPF_ZERO_PAGE);
    ck_assert_uint_eq(collect().resident_bytes, base_page_bytes());
    ck_assert_int_eq(set.state[1], PAGE_ABSENT);
}

static void swap_out(uint64_t page)
{
    fake_set_u64(&fake, "proc/4242/pagemap", base_pages(FAKE_HVA) + page, PAGEMAP_SWAPPED | 77);
}

static void swap_is(const char *line, const char *total)
{
    char text[256];

    snprintf(text, sizeof(text), "Filename\tType\tSize\tUsed\tPriority\n%s", line);
    fake_write(&fake, "proc/swaps", text);
    snprintf(text, sizeof(text), "MemTotal: 99 kB\nSwapTotal: %s kB\n", total);
    fake_write(&fake, "proc/meminfo", text);
}

static void two_swapped(void)
{
    fake_map(&fake, 0, 500, PLAIN);
    swap_out(1);
    swap_out(2);
    swap_is("/dev/zram0 partition 2048 8 -2\n", "2048");
    begin();
}

TEST(cases_tests, comes_back_from_swap_when_it_is_touched)
{
    two_swapped();
    fake_map(&fake, 1, 600, PLAIN);
    ck_assert_uint_eq(collect().touched_bytes, base_page_bytes());
}

/* Device by device, and every page of it, whoever wanted it. */
TEST(cases_tests, swapoff_is_no_touch)
{
    two_swapped();
    swap_is("/dev/zram0 partition 2048 4 -2\n", "4"); /* at work */
    fake_map(&fake, 1, 600, PLAIN);

    struct tally tally = collect();

    ck_assert_uint_eq(tally.touched_bytes, 0);
    ck_assert_uint_eq(tally.unmeasurable_bytes, base_page_bytes());
    swap_is("", "0"); /* and done */
    fake_map(&fake, 2, 601, PLAIN);
    ck_assert_uint_eq(collect().unmeasurable_bytes, 2 * base_page_bytes());
    /* From the next marking on they are like any. */
    ck_assert_ok(method_idle.rearm(state, &error));
    fake_touch(&fake, 601);
    tally = collect();
    ck_assert_uint_eq(tally.touched_bytes, base_page_bytes());
    ck_assert_uint_eq(tally.unmeasurable_bytes, 0);
}

/* Memory that ends within a word of the bitmap: the kernel marks those frames but does not deliver
 * their word. */
TEST(cases_tests, partial_last_word_is_unmeasurable)
{
    char path[128];

    fake_map(&fake, 0, 65530, PLAIN);
    fake_map(&fake, 1, 300, PLAIN);
    begin();
    snprintf(path, sizeof(path), "%s/" IDLE_BITMAP_PATH, fake.path);
    ck_assert_int_eq(truncate(path, 1023 * 8), 0);

    struct tally tally = collect();

    ck_assert_uint_eq(tally.unmeasurable_bytes, base_page_bytes());
    ck_assert_uint_eq(tally.touched_bytes, 0);
}

TEST(cases_tests, refuses_a_kernel_without_page_idle)
{
    char path[128];

    snprintf(path, sizeof(path), "%s/" IDLE_BITMAP_PATH, fake.path);
    ck_assert_int_eq(remove(path), 0);
    ck_assert_error(method_idle.probe(&fake.target, &error), -ENOENT, "CONFIG_IDLE_PAGE_TRACKING");
}

TEST(cases_tests, probe_refuses_hugetlb_only)
{
    for (uint64_t i = 0; i < 2048; i++)
        fake_map(&fake, i, 4096 + i, KPF_HUGE | (i % 512 ? KPF_COMPOUND_TAIL : KPF_COMPOUND_HEAD));
    ck_assert_error(method_idle.probe(&fake.target, &error), -ENOTSUP, "hugetlb");
}
