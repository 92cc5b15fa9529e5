// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_large_counts.c  Kernels with pages of 4, 16 and 64 KiB, and huge pages of 2, 32 and
 * 512 MiB: all that counts memory, or cuts it, does so in their units. Addresses:
 * test_large_pages.c. */
#include "kernels.h"

#include "base/bytes.h"
#include "measure/estimate/fine.h"
#include "measure/estimate/group_usage.h"
#include "measure/estimate/least.h"
#include "measure/estimate/wss.h"
#include "measure/kernel/ram_smaps.h"
#include "measure/method/mglru_count.h"
#include "measure/method/referenced_count.h"
#include "measure/page_set.h"
#include "measure/record/ram_map.h"

#include "unit.h"

#include <string.h>

static struct error error;

static void setup(void)
{
    kernels_begin();
}

static void teardown(void)
{
    kernels_end();
}

/* --- counting --------------------------------------------------------------------------------- */

FIXTURE(cases, .setup = setup, .teardown = teardown);

TEST_EACH(cases, a_census_is_counted_in_its_units, 0, N_KERNELS)
{
    cleanup_page_set struct page_set set;
    struct tally tally;

    boot(_i);
    ck_assert_int_eq(page_set_census(&set, &fake.ram), 0);
    set.state[0] = PAGE_TOUCHED;
    set.state[1] = PAGE_IDLE;
    set.state[2] = PAGE_UNMEASURABLE;
    set.state[3] = PAGE_GONE;
    for (uint64_t i = per_huge; i < 2 * per_huge; i++) {
        set.state[i] = PAGE_TOUCHED;
        page_set_note_unit(&set, i, kernels[_i].order, FAKE_HVA + huge);
    }
    page_set_tally(&set, &tally);
    ck_assert_uint_eq(tally.resident_bytes, 3 * base + huge);
    ck_assert_uint_eq(tally.touched_bytes, base + huge);
    ck_assert_uint_eq(tally.unmeasurable_bytes, base);
    ck_assert_uint_eq(tally.gone_bytes, base);
    ck_assert_uint_eq(tally.n_strata, 2);
    ck_assert_uint_eq(tally.strata[0].granularity_bytes, base);
    ck_assert_uint_eq(tally.strata[1].granularity_bytes, huge);

    struct wss_estimate estimate;

    ck_assert_int_eq(wss_estimate(&tally, &(struct wss_memory){0}, &estimate), 0);
    ck_assert_uint_eq(estimate.wss_bytes, base + huge);
    ck_assert_uint_eq(estimate.wss_low_bytes, 2 * base); /* a base page of each */
    ck_assert_uint_eq(estimate.granularity_bytes, huge);
}

TEST_EACH(cases, a_panel_is_counted_in_its_units, 0, N_KERNELS)
{
    cleanup_page_set struct page_set set;
    struct tally tally;
    struct wss_estimate estimate;

    boot(_i);
    ck_assert_int_eq(page_set_panel(&set, &fake.ram, N_HUGE * per_huge, 1), 0);
    for (uint64_t i = 0; i < set.n; i++) {
        set.state[i] = i < 10 ? PAGE_TOUCHED : PAGE_IDLE;
        page_set_note_unit(&set, i, 0, page_set_hva(&set, i));
    }
    page_set_tally(&set, &tally);
    ck_assert_uint_eq(tally.n_strata, 1);
    ck_assert_uint_eq(tally.strata[0].granularity_bytes, base);

    /* Every page was drawn and is there: the population is known, and nothing is a guess. */
    ck_assert_int_eq(wss_estimate(&tally, &(struct wss_memory){0}, &estimate), 0);
    ck_assert_uint_eq(estimate.resident_bytes, N_HUGE * huge);
    ck_assert_uint_eq(estimate.wss_bytes, 10 * base);
    ck_assert_uint_eq(estimate.granularity_bytes, base);
    ck_assert_uint_eq(least_of_panel(&tally, (double)(N_HUGE * huge)), 10 * base);
    ck_assert(!least_differs(&tally));
}

TEST_EACH(cases, base_pages_of_huge_ones_are_estimated, 0, N_KERNELS)
{
    struct fine_tally fine = {.n = 1, .touched = {0.25}};
    struct fine_estimate out;
    struct tally tally = {
        .census = true,
        .resident_bytes = 2 * kernels[_i].huge,
        .touched_bytes = kernels[_i].huge + 4 * kernels[_i].base,
        .n_strata = 2,
        .strata = {{.granularity_bytes = kernels[_i].base},
                   {.granularity_bytes = kernels[_i].huge}},
    };

    boot(_i);
    tally.strata[0].draws = per_huge;
    tally.strata[0].touched_units = 4;
    tally.strata[1].draws = tally.strata[1].touched_units = per_huge;
    ck_assert_int_eq(fine_estimate(&tally, &fine, &(struct wss_memory){0}, &out), 0);
    ck_assert_uint_eq(out.wss_bytes, 4 * base + huge / 4);
    ck_assert_uint_eq(out.granularity_bytes, base);
    ck_assert_double_eq_tol(fine_density(&(struct fine_tally){0}, 9).low, 1.0 / (double)per_huge,
                            1e-12);
}

TEST_EACH(cases, frames_of_a_group_are_base_pages, 0, N_KERNELS)
{
    const struct frames_seen seen = {.frames = 1000, .drawn = 100, .units = 100};

    boot(_i);
    ck_assert_uint_eq(group_usage_of(&seen, false).bytes, 1000 * base);
}

/* One mapping: a huge page and 12 base pages, of which 4 were referenced. */
static void write_smaps(void)
{
    char text[512];

    snprintf(text, sizeof(text),
             "%llx-%llx rw-p 00000000 00:00 0 \n"
             "Size: %llu kB\nRss: %llu kB\nReferenced: %llu kB\nAnonymous: %llu kB\n"
             "AnonHugePages: %llu kB\nSwap: %llu kB\nVmFlags: rd wr mr mw me dc ac sd mg \n",
             FAKE_HVA, FAKE_HVA + fake.ram.bytes, fake.ram.bytes / 1024ULL,
             (huge + 12 * base) / 1024ULL, 4 * base / 1024ULL, (huge + 12 * base) / 1024ULL,
             huge / 1024ULL, 5 * base / 1024ULL);
    fake_write(&fake, "proc/4242/smaps", text);
}

static const struct stratum *stratum_of(struct tally *tally, uint64_t bytes)
{
    for (size_t i = 0; i < tally->n_strata; i++)
        if (tally->strata[i].granularity_bytes == bytes)
            return &tally->strata[i];
    ck_abort_msg("no stratum of %llu bytes", (unsigned long long)bytes);
    return NULL;
}

TEST_EACH(cases, smaps_is_in_its_units, 0, N_KERNELS)
{
    struct ram_smaps sums;
    struct referenced_count count = {.target = &fake.target};
    struct tally tally;

    boot(_i);
    write_smaps();
    ck_assert_int_eq(ram_smaps_read(&fake.target, &sums, &error), 0);
    ck_assert_uint_eq(sums.leaves, 1 + 12);
    ck_assert_int_eq(referenced_count_tally(&count, &tally, &error), 0);
    ck_assert_uint_eq(tally.touched_bytes, 4 * base);
    ck_assert_uint_eq(tally.swapped_pages, 5);
    ck_assert_uint_eq(stratum_of(&tally, base)->draws, 12);
    ck_assert_uint_eq(stratum_of(&tally, huge)->draws, per_huge);
}

TEST_EACH(cases, generations_are_in_its_units, 0, N_KERNELS)
{
    const struct mglru_figure figure = {.touched_pages = 40, .merged_pages = 3, .listed_pages = 7};
    struct ram_smaps sums = {.swapped_bytes = 5 * kernels[_i].base};
    struct tally tally;

    boot(_i);
    sums.resident_bytes = 12 * base + huge;
    sums.huge_bytes = huge;
    mglru_tally(&figure, &sums, &(struct mglru_beside){.collapses = 1, .moved_pages = 2}, &tally);
    ck_assert_uint_eq(tally.touched_bytes, smaller(40 * base, sums.resident_bytes));
    ck_assert_uint_eq(tally.surplus_bytes, 5 * base + huge);
    ck_assert_uint_eq(tally.unmeasurable_bytes, sums.resident_bytes - 7 * base);
    ck_assert_uint_eq(tally.swapped_pages, 5);
    ck_assert_uint_eq(stratum_of(&tally, base)->draws, 12);
    ck_assert_uint_eq(stratum_of(&tally, huge)->draws, per_huge);
}

/* Chunks of a huge page each, the second one mapped by a PMD, the third of folios half as large. */
TEST_EACH(cases, a_map_is_cut_in_its_units, 0, N_KERNELS)
{
    cleanup_page_set struct page_set set;
    struct ram_map map;
    struct gpa_layout layout = {.boot_bytes = N_HUGE * kernels[_i].huge,
                                .low_begin = 1ULL << 30,
                                .low_bytes = kernels[_i].huge,
                                .high_begin = 1ULL << 40};

    boot(_i);
    ck_assert_int_eq(page_set_census(&set, &fake.ram), 0);
    memset(set.state, PAGE_TOUCHED, set.n);
    for (uint64_t i = per_huge; i < 2 * per_huge; i++)
        page_set_note_unit(&set, i, kernels[_i].order, FAKE_HVA + huge);
    for (uint64_t i = 2 * per_huge; i < 3 * per_huge; i++)
        page_set_note_unit(&set, i, kernels[_i].order - 1, page_set_hva(&set, i) & ~(huge / 2 - 1));
    ck_assert_int_eq(ram_map_make(&map, &fake.ram, &layout, huge, 1), 0);
    ram_map_count(&map, &set, 0);
    ck_assert_uint_eq(map.n_regions, 2);
    ck_assert_uint_eq(map.regions[0].n_pages, per_huge);
    ck_assert_uint_eq(map.n_chunks, N_HUGE);
    for (size_t c = 0; c < N_HUGE; c++) {
        ck_assert_uint_eq(ram_map_figures(&map, c).bytes, huge);
        ck_assert_uint_eq(ram_map_figures(&map, c).resident_bytes, huge);
        ck_assert_uint_eq(ram_map_figures(&map, c).huge_bytes, c == 1 ? huge : 0);
        ck_assert_uint_eq(ram_map_touched(&map, c, 0).bytes, huge);
    }
    ram_map_free(&map);
}
