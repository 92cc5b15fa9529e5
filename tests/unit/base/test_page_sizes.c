// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_page_sizes.c  The sizes of pages, as kernels with pages of 4, 16 and 64 KiB, and huge
 * pages of 2, 32 and 512 MiB, say them. */
#include "base/page_sizes.h"

#include "kernels.h"

#include <check.h>
#include <string.h>

static void setup(void)
{
    kernels_begin();
}

static void teardown(void)
{
    kernels_end();
}

START_TEST(sizes_are_the_kernels)
{
    boot(_i);
    ck_assert_uint_eq(base_page_bytes(), base);
    ck_assert_uint_eq(huge_page_bytes(), huge);
    ck_assert_uint_eq(huge_page_order(), kernels[_i].order);
    ck_assert_uint_eq(huge_page_pages(), per_huge);
    ck_assert_uint_eq(base_pages(7 * base + base - 1), 7);
}
END_TEST

/* The text is missing, or not one that a kernel prints. */
START_TEST(sizes_follow_from_the_base_page)
{
    static const char *const texts[] = {NULL,      "0\n",   "3000000\n", "none\n",
                                        "65536\n", "512\n", "-1\n",      "9223372036854775808\n"};

    for (int k = 0; k < 3; k++) {
        if (texts[_i])
            fake_write(&fake, HUGE_SIZE, texts[_i]);
        if (kernels[k].base < 65536 && texts[_i] && !strcmp(texts[_i], "65536\n"))
            continue; /* there it is a size that may be */
        page_sizes_read(&fake.root, kernels[k].base);
        ck_assert_uint_eq(base_page_bytes(), kernels[k].base);
        ck_assert_uint_eq(huge_page_bytes(), kernels[k].huge);
    }
}
END_TEST

START_TEST(no_kernels_base_page_changes_nothing)
{
    static const uint64_t none[] = {0, 1, 8, 5000, 1ULL << 40, UINT64_MAX};

    page_sizes_read(&fake.root, 16384);
    page_sizes_read(&fake.root, none[_i]);
    ck_assert_uint_eq(base_page_bytes(), 16384);
    ck_assert_uint_eq(huge_page_bytes(), 32ULL << 20);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("page_sizes");
    TCase *tcase = tcase_create("page_sizes");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, sizes_are_the_kernels, 0, N_KERNELS);
    tcase_add_loop_test(tcase, sizes_follow_from_the_base_page, 0, 8);
    tcase_add_loop_test(tcase, no_kernels_base_page_changes_nothing, 0, 6);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
