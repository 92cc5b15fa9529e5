// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_pageout.c  When the method pageout must not go on. */
#include "sample/method.h"

#include "fake_kernel.h"
#include "fixture.h"

#include <errno.h>

#define SWAPS "proc/swaps"
#define HEAD "Filename Type Size Used Priority\n"

static struct fake_kernel fake;
static struct page_set set;

static void setup(void)
{
    fake_kernel_make(&fake, 16);
    fake.ram.n_blocks = 0; /* its file is not of this tree */
    fake_set_u64(&fake, "proc/kpagecount", 0, 0);
    ck_assert_int_eq(page_set_panel(&set, &fake.ram, 0, 1), 0);
}

static void teardown(void)
{
    page_set_free(&set);
    fake_kernel_remove(&fake);
}

/* A panel is followed for hours: swap that is added meanwhile must not get the guest's pages. */
START_TEST(swap_that_comes_later_ends_it)
{
    struct error error = {0};
    void *state = NULL;

    fake_write(&fake, SWAPS, HEAD);

    int rc = method_pageout.open(&fake.target, &set, &state, &error);

    if (rc == -ENOTSUP) /* MADV_PAGEOUT unmaps nothing here: there is swap */
        return;
    ck_assert_msg(rc == 0, "%s", error.text);
    ck_assert_int_eq(method_pageout.rearm(state, &error), 0);
    fake_write(&fake, SWAPS, HEAD "/dev/vdb partition 1048572 0 -2\n");
    ck_assert_int_eq(method_pageout.rearm(state, &error), -ENOTSUP);
    ck_assert_int_eq(method_pageout.mark(state, &error), -ENOTSUP);
    method_pageout.close(state);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("pageout");
    TCase *tcase = tcase_create("pageout");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, swap_that_comes_later_ends_it);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
