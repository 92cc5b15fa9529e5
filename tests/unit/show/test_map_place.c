// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_map_place.c  Where vmwss map says that a region lies. */
#include "base/page_sizes.h"
#include "fixture.h"
#include "show/ram_map.h"

#define GIB (1ULL << 30)

TEST_EACH(plain, a_region_may_be_on_both_sides, 0, 6)
{
    static const struct {
        uint64_t gpa, bytes;
        const char *place;
    } tries[] = {
        {0, 4 * GIB, ", below 4 GiB"},
        {4 * GIB, GIB, ", above 4 GiB"},
        {1024 * GIB, GIB, ", above 4 GiB"},
        {GIB, 3 * GIB, ", below 4 GiB"}, /* arm64's virt */
        {GIB, 8 * GIB, ""},
        {GPA_NONE, GIB, ""},
    };
    const struct map_region region = {.gpa = tries[_i].gpa, .n_pages = base_pages(tries[_i].bytes)};

    ck_assert_str_eq(map_region_place(&region), tries[_i].place);
}
