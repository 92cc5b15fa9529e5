// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_map_series.c  Maps of several periods: who owns them, their begin, and how right the
 * worst cell is. */
#include "fixture.h"
#include "measure/record/map_series.h"

#include <errno.h>

#define MIB (1ULL << 20)

static struct map_series series;

static void teardown(void)
{
    map_series_free(&series);
}

static struct ram_map map_of(uint64_t bytes, uint64_t chunk_bytes)
{
    struct ram_block block = {.bytes = bytes, .page_bytes = base_page_bytes()};
    const struct guest_ram ram = {
        .n_blocks = 1, .blocks = &block, .bytes = bytes, .n_pages = bytes / base_page_bytes()};
    struct ram_map map;

    ck_assert_int_eq(ram_map_make(&map, &ram, NULL, chunk_bytes, 1), 0);
    return map;
}

/* Adds a period: so many pages of the first chunk were drawn and touched; of the others all and
 * none. */
static void add_period(uint64_t drawn, uint64_t touched, time_t end)
{
    struct ram_map map = map_of(8 * MIB, 2 * MIB);
    struct sample_record record = {
        .time = {end, 500000000}, .n_windows = 1, .windows[0].window_s = 2};

    for (size_t c = 0; c < map.n_chunks; c++)
        map.chunks[c].drawn = map.chunks[c].units = c ? map.chunks[c].n_pages : drawn;
    map.touched[0] = touched;
    ck_assert_int_eq(map_series_add(&series, &map, &record), 0);
    ck_assert_ptr_null(map.chunks); /* the series' now */
}

FIXTURE(cases, .teardown = teardown);

TEST(cases, periods_are_kept_in_order)
{
    add_period(512, 512, 1000);
    add_period(512, 3, 1002);
    ck_assert_uint_eq(series.n, 2);
    ck_assert_uint_eq(series.period[0].map.touched[0], 512);
    ck_assert_uint_eq(series.period[1].map.touched[0], 3);
    ck_assert_int_eq(series.period[1].record.time.tv_sec, 1002);
    ck_assert_double_eq(map_series_begin_s(&series), 998.5);
}

TEST(cases, a_head_is_of_all_of_them)
{
    static const unsigned flags[] = {FLAG_THP, FLAG_THP | FLAG_DUMP, FLAG_THP | FLAG_PAUSED};

    for (size_t i = 0; i < 3; i++) {
        add_period(512, 512, 1000 + 2 * (time_t)i);
        series.period[i].record.flags = flags[i];
        series.period[i].record.vcpu_s = 0.5;
        series.period[i].record.cpu_s = 0.25;
        series.period[i].record.resident_bytes = (i + 1) * MIB;
    }

    const struct sample_record head = map_series_head(&series);

    ck_assert_uint_eq(head.flags, FLAG_THP | FLAG_DUMP | FLAG_PAUSED);
    ck_assert_double_eq(head.vcpu_s, 1.5);
    ck_assert_double_eq(head.cpu_s, 0.75);
    ck_assert_uint_eq(head.resident_bytes, 3 * MIB); /* as of the end */
    ck_assert_int_eq(head.time.tv_sec, 1004);
    ck_assert_uint_eq(map_series_some_flags(&series), FLAG_DUMP | FLAG_PAUSED);
    ck_assert_uint_eq(series.period[2].record.flags, FLAG_THP | FLAG_PAUSED); /* as it was */
}

TEST(cases, the_worst_cell_says_how_right_they_are)
{
    add_period(512, 256, 1000);
    ck_assert_double_eq(map_series_widest(&series), 0); /* all pages were looked at */
    add_period(32, 16, 1002);

    const struct map_touched touched = ram_map_touched(&series.period[1].map, 0, 0);
    const double widest = map_series_widest(&series);

    ck_assert_double_eq_tol(widest, (double)(touched.high_bytes - touched.bytes) / (2 * MIB), 1e-5);
    ck_assert(widest > 0.1 && widest < 0.2); /* 32 pages at one half: 16 points by Wilson */
    add_period(0, 0, 1004);
    ck_assert_double_eq(map_series_widest(&series), 1); /* nothing is known of a cell */
}

TEST(cases, there_is_an_end_to_cells)
{
    const struct sample_record record = {.n_windows = 1};

    for (unsigned i = 0; i < 4; i++) {
        struct ram_map map = map_of(1024 * MIB, 4096);

        ck_assert_int_eq(map_series_add(&series, &map, &record), 0);
    }

    struct ram_map map = map_of(1024 * MIB, 4096);

    ck_assert_int_eq(map_series_add(&series, &map, &record), -E2BIG);
    ck_assert_ptr_nonnull(map.chunks); /* still the caller's */
    ck_assert_uint_eq(series.n, 4);
    ram_map_free(&map);
}
