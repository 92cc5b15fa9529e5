// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_u64_file.c  Gathering entries of a file in few transfers. */
#include "measure/kernel/u64_file.h"

#include "fixture.h"

#include <stdio.h>

#define ENTRIES 20000

static FILE *file;
static uint64_t out[ENTRIES];

/* Entry i is 3 i + 1. */
static void setup(void)
{
    file = tmpfile();
    ck_assert_ptr_nonnull(file);
    for (uint64_t i = 0; i < ENTRIES; i++) {
        uint64_t value = 3 * i + 1;

        ck_assert_uint_eq(fwrite(&value, sizeof(value), 1, file), 1);
    }
    ck_assert_int_eq(fflush(file), 0);
}

static void teardown(void)
{
    fclose(file);
}

static void check_gather(const uint64_t *index, uint64_t n, uint64_t bridge)
{
    ck_assert_int_eq(u64_file_gather(fileno(file), index, n, bridge, out), 0);
    for (uint64_t i = 0; i < n; i++)
        ck_assert_uint_eq(out[i], index[i] < ENTRIES ? 3 * index[i] + 1 : 0);
}

FIXTURE(cases, .setup = setup, .teardown = teardown);

TEST(cases, gathers_in_any_order)
{
    const uint64_t gaps[] = {5, 6, 7, 9, 12, 13, 40, 41};
    const uint64_t twice[] = {5, 5, 6, 6, 7, 9, 9};
    const uint64_t descending[] = {9, 8, 7, 100, 99, 101, 102};

    for (uint64_t bridge = 0; bridge < 4; bridge++) {
        check_gather(gaps, sizeof(gaps) / sizeof(*gaps), bridge);
        check_gather(twice, sizeof(twice) / sizeof(*twice), bridge);
        check_gather(descending, sizeof(descending) / sizeof(*descending), bridge);
    }
}

TEST(cases, gathers_long_stretches)
{
    static uint64_t index[ENTRIES];

    for (uint64_t i = 0; i < ENTRIES; i++)
        index[i] = i;
    check_gather(index, ENTRIES, 0);
    check_gather(index, ENTRIES, 32);
    for (uint64_t i = ENTRIES / 2; i < ENTRIES;
         i++) /* a gap in the middle of a stretch, and the end of the file */
        index[i] = i + 2;
    check_gather(index, ENTRIES, 0);
    check_gather(index, ENTRIES, 32);
}
