// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_page_set.c  Panels are uniform samples without replacement; states are counted
 * right. */
#include "measure/page_set.h"

#include "fixture.h"

#include <malloc.h>
#include <math.h>
#include <string.h>

static struct ram_block block = {.hva = 0x7f0000000000ULL};
static struct guest_ram ram = {.n_blocks = 1, .blocks = &block};

static void resize(uint64_t n_pages)
{
    block.page_bytes = base_page_bytes();
    ram.n_pages = n_pages;
    ram.bytes = block.bytes = n_pages * base_page_bytes();
}

TEST_EACH(plain, panel_is_distinct_and_ascending, 0, 6)
{
    static const uint64_t sizes[] = {1, 62, 63, 500, 999, 1000};
    cleanup_page_set struct page_set set;

    resize(1000);
    ck_assert_int_eq(page_set_panel(&set, &ram, sizes[_i], 7), 0);
    ck_assert_uint_eq(set.n, sizes[_i]);
    for (uint64_t i = 0; i < set.n; i++) {
        ck_assert_uint_lt(set.page[i], 1000);
        ck_assert(i == 0 || set.page[i] > set.page[i - 1]);
    }
}

TEST(plain, panel_larger_than_ram_is_all_of_it)
{
    cleanup_page_set struct page_set set;

    resize(64);
    ck_assert_int_eq(page_set_panel(&set, &ram, 2000, 1), 0);
    ck_assert_uint_eq(set.n, 64);
}

/* The memory of those that do not stay is given back: a method may keep one page in sixteen. */
TEST(plain, keeps_the_first)
{
    cleanup_page_set struct page_set set;
    uint64_t first[10];

    resize(100000);
    ck_assert_int_eq(page_set_panel(&set, &ram, 5000, 1), 0);
    memcpy(first, set.page, sizeof(first));
    page_set_keep(&set, 10);
    ck_assert_uint_eq(set.n, 10);
    ck_assert_mem_eq(set.page, first, sizeof(first));
    ck_assert_uint_lt(malloc_usable_size(set.page), 1000);
    ck_assert_uint_lt(malloc_usable_size(set.unit), 1000);
    ck_assert_uint_lt(malloc_usable_size(set.state) + malloc_usable_size(set.order), 1000);
    page_set_keep(&set, 0);
    ck_assert_uint_eq(set.n, 0);
    ck_assert_ptr_nonnull(set.page);
}

TEST(plain, same_seed_same_panel)
{
    cleanup_page_set struct page_set a;
    cleanup_page_set struct page_set b;
    cleanup_page_set struct page_set c;

    resize(100000);
    page_set_panel(&a, &ram, 100, 5);
    page_set_panel(&b, &ram, 100, 5);
    page_set_panel(&c, &ram, 100, 6);
    ck_assert_mem_eq(a.page, b.page, 100 * sizeof(*a.page));
    ck_assert_mem_ne(a.page, c.page, 100 * sizeof(*a.page));
}

/* Every page equally often: chi-squared of 20 cells over 2,000 panels; 99.9 % point of χ²(19) =
 * 43.8. */
TEST_EACH(plain, panel_is_uniform, 0, 2)
{
    enum { CELLS = 20, PANELS = 2000, PAGES = 400 };
    static const uint64_t sizes[] = {10, 300}; /* drawn one by one, and selected in one pass */
    uint64_t seen[CELLS] = {0};
    double expected = (double)sizes[_i] * PANELS / CELLS;
    double chi = 0;

    resize(PAGES);
    for (uint64_t seed = 0; seed < PANELS; seed++) {
        struct page_set set;

        page_set_panel(&set, &ram, sizes[_i], seed);
        for (uint64_t i = 0; i < set.n; i++)
            seen[set.page[i] / (PAGES / CELLS)]++;
        page_set_free(&set);
    }
    for (int i = 0; i < CELLS; i++)
        chi += ((double)seen[i] - expected) * ((double)seen[i] - expected) / expected;
    ck_assert_msg(chi < 43.8, "chi-squared %.1f", chi);
}

TEST(plain, more_is_drawn_where_little_is_present)
{
    ck_assert_uint_eq(page_set_draws(2000, 1), 2000);
    ck_assert_uint_eq(page_set_draws(2000, 1.01),
                      2000); /* resident a little later than RAM was counted */
    ck_assert_uint_eq(page_set_draws(2000, 0.25), 8000);
    ck_assert_uint_eq(page_set_draws(2000, 0.00390625), 512000);
    ck_assert_uint_eq(page_set_draws(2000, 0), 512000);
}

/* Nothing of what is taken, and about as many as were wanted. */
TEST(plain, panel_beside_another)
{
    enum { PAGES = 16000, REACH = 16 };
    struct taken_span spans[PAGES / REACH / 4];
    struct taken taken = {.n = PAGES / REACH / 4, .spans = spans};
    struct page_set set;

    resize(PAGES);
    for (uint64_t i = 0; i < taken.n; i++)
        spans[taken.n - 1 - i] = (struct taken_span){block.hva + i * 4 * REACH * base_page_bytes(),
                                                     REACH * base_page_bytes()};
    ck_assert_uint_eq(taken_sort(spans, taken.n), taken.n);
    ram.taken = &taken;
    ck_assert(fabs(taken_share(&taken, &ram) - 0.25) < 1e-9);
    ck_assert_int_eq(page_set_panel(&set, &ram, 2000, 3), 0);
    ck_assert(fabs((double)set.n - 2000) < 120); /* five standard deviations */
    for (uint64_t i = 0; i < set.n; i++)
        ck_assert_uint_ne(set.page[i] / REACH % 4, 0);
    page_set_free(&set);
    ck_assert_int_eq(page_set_panel(&set, &ram, PAGES, 3), 0);
    ck_assert_uint_eq(set.n, PAGES / 4 * 3);
    page_set_free(&set);
    ram.taken = NULL;
}

TEST(plain, census_tally)
{
    static const uint8_t states[] = {PAGE_ABSENT, PAGE_SWAPPED, PAGE_UNMEASURABLE,
                                     PAGE_IDLE,   PAGE_TOUCHED, PAGE_TOUCHED};
    cleanup_page_set struct page_set set;
    struct tally tally;

    resize(6);
    page_set_census(&set, &ram);
    for (int i = 0; i < 6; i++)
        set.state[i] = states[i];
    page_set_tally(&set, &tally);
    ck_assert(tally.census);
    ck_assert_uint_eq(tally.resident_bytes, 4 * base_page_bytes());
    ck_assert_uint_eq(tally.touched_bytes, 2 * base_page_bytes());
    ck_assert_uint_eq(tally.unmeasurable_bytes, base_page_bytes());
    ck_assert_uint_eq(tally.swapped_pages, 1);
}

/* Firmware's tables are at the end of RAM: at most one page in 64 is filled there. */
TEST(plain, census_tells_the_sparse_end)
{
    cleanup_page_set struct page_set set;
    struct tally tally;

    resize(1024);
    page_set_census(&set, &ram);
    memset(set.state, PAGE_IDLE, 400);
    for (uint64_t i = 1020; i < 1024; i++)
        set.state[i] = PAGE_SWAPPED;
    page_set_tally(&set, &tally);
    /* 400 to 1023, with 9 filled pages: 4 at the end, and 5 more before it */
    ck_assert_uint_eq(tally.sparse_end_bytes, (1024 - 400 + 5) * base_page_bytes());
    ram.blocks[0].shared = true;
    page_set_tally(&set, &tally);
    ck_assert_uint_eq(tally.sparse_end_bytes, 0);
    ram.blocks[0].shared = false;
}

TEST(plain, panel_tally_counts_units)
{
    cleanup_page_set struct page_set set;
    struct tally tally;

    resize(2048);
    page_set_panel(&set, &ram, 2048, 0);
    for (uint64_t i = 0; i < set.n; i++) {
        /* Two huge pages, of which only one draw in the second saw the touch; then base pages. */
        bool huge = i < 1024;

        set.state[i] = i == 700 || i >= 1536 ? PAGE_TOUCHED : PAGE_IDLE;
        page_set_note_unit(&set, i, huge ? 9 : 0,
                           block.hva + (huge ? i / 512 * 512 : i) * base_page_bytes());
    }
    page_set_tally(&set, &tally);
    ck_assert_uint_eq(tally.n_strata, 2);
    ck_assert_uint_eq(tally.strata[0].draws, 1024);
    ck_assert_uint_eq(tally.strata[0].units, 2);
    ck_assert_uint_eq(tally.strata[0].touched_units, 1);
    ck_assert_uint_eq(tally.strata[1].units, 1024);
    ck_assert_uint_eq(tally.strata[1].touched_units, 512);
}

/* Its first page was noted before khugepaged made it huge. */
TEST(plain, a_huge_page_that_was_small_is_a_unit)
{
    cleanup_page_set struct page_set set;
    struct tally tally;

    resize(512);
    page_set_panel(&set, &ram, 512, 0);
    for (uint64_t i = 0; i < set.n; i++) {
        set.state[i] = PAGE_TOUCHED;
        page_set_note_unit(&set, i, i == 0 ? 0 : 9, block.hva);
    }
    page_set_tally(&set, &tally);
    ck_assert_uint_eq(tally.n_strata, 2);
    ck_assert_uint_eq(tally.strata[1].draws, 511);
    ck_assert_uint_eq(tally.strata[1].units, 1);
    ck_assert_uint_eq(tally.strata[1].touched_units, 1);
}

/* Every fourth page was touched before khugepaged made one huge page of all. */
TEST(plain, small_draws_do_not_divide_a_huge_page)
{
    cleanup_page_set struct page_set set;
    struct tally tally;

    resize(512);
    page_set_panel(&set, &ram, 512, 0);
    for (uint64_t i = 0; i < set.n; i++) {
        set.state[i] = PAGE_TOUCHED;
        page_set_note_unit(&set, i, i % 4 ? 9 : 0, block.hva + (i % 4 ? 0 : i) * base_page_bytes());
    }
    page_set_tally(&set, &tally);
    ck_assert_uint_eq(tally.n_strata, 2);
    ck_assert_uint_eq(tally.strata[0].units, 128);
    ck_assert_uint_eq(tally.strata[1].draws, 384);
    ck_assert_uint_eq(tally.strata[1].units, 1);
    ck_assert_uint_eq(tally.strata[1].touched_units, 1);
}
