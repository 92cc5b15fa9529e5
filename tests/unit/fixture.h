// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file fixture.h  Captured trees for the unit tests; see tests/fixtures/capture.sh. */
#pragma once

#include "base/fsroot.h"

#include <check.h>
#include <stdio.h>

#define FIXTURE_PID 1000 /* capture.sh gives every process this pid */

/** Opens tests/fixtures/NAME as a root. */
static inline struct fsroot fixture_open(const char *name)
{
    struct fsroot root;
    char path[4096];

    snprintf(path, sizeof(path), "%s/%s", FIXTURES, name);
    ck_assert_msg(fsroot_open(&root, path) == 0, "no fixture %s", path);
    ck_assert(!root.live);
    return root;
}

/** Runs the cases of one suite; the exit status for main(). */
static inline int run_suite(Suite *suite)
{
    SRunner *runner = srunner_create(suite);

    srunner_run_all(runner, CK_ENV);

    int failed = srunner_ntests_failed(runner);

    srunner_free(runner);
    return failed ? 1 : 0;
}
