// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_page_sizes.c  The sizes of pages, as kernels with pages of 4, 16 and 64 KiB, and huge
 * pages of 2, 32 and 512 MiB, say them. */
#include "base/page_sizes.h"

#include "kernels.h"

#include "unit.h"

#include <errno.h>
#include <string.h>

static void setup(void)
{
    kernels_begin();
}

static void teardown(void)
{
    kernels_end();
}

FIXTURE(cases, .setup = setup, .teardown = teardown);

TEST_EACH(cases, sizes_are_the_kernels, 0, N_KERNELS)
{
    boot(_i);
    ck_assert_uint_eq(base_page_bytes(), base);
    ck_assert_uint_eq(huge_page_bytes(), huge);
    ck_assert_uint_eq(huge_page_order(), kernels[_i].order);
    ck_assert_uint_eq(huge_page_pages(), per_huge);
    ck_assert_uint_eq(base_pages(7 * base + base - 1), 7);
}

/* The text is missing, or not one that a kernel prints. */
TEST_EACH(cases, sizes_follow_from_the_base_page, 0, 8)
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

TEST_EACH(cases, no_kernels_base_page_changes_nothing, 0, 6)
{
    static const uint64_t none[] = {0, 1, 8, 5000, 1ULL << 40, UINT64_MAX};

    page_sizes_read(&fake.root, 16384);
    page_sizes_read(&fake.root, none[_i]);
    ck_assert_uint_eq(base_page_bytes(), 16384);
    ck_assert_uint_eq(huge_page_bytes(), 32ULL << 20);
}

TEST(cases, a_refusal_names_the_sizes_that_were_measured)
{
    struct error why = {0};

    ck_assert_int_eq(page_sizes_check(65536, BASE_ALL, "it", &why), 0);
    ck_assert_int_eq(page_sizes_check(4096, 0, "it", &why), 0);
    ck_assert_int_eq(page_sizes_check(65536, 0, "it", &why), -ENOTSUP);
    ck_assert_str_eq(why.text, "this host's base pages have 64 KiB, and it is known to be right "
                               "only with those of 4 KiB");
    ck_assert_int_eq(page_sizes_check(16384, BASE_4K | BASE_64K, "it", &why), -ENOTSUP);
    ck_assert_ptr_nonnull(strstr(why.text, "only with those of 4 and 64 KiB"));
    ck_assert_int_eq(page_sizes_check(131072, BASE_ALL, "it", &why), -ENOTSUP);
    ck_assert_ptr_nonnull(strstr(why.text, "only with those of 4, 16 and 64 KiB"));
    /* A size that the sum of others is must not pass for them. */
    ck_assert_int_eq(page_sizes_check(4096 | 16384, BASE_ALL, "it", &why), -ENOTSUP);
}
