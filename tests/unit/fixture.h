// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file fixture.h  Captured trees for the unit tests; see tests/fixtures/capture.sh. */
#pragma once

#include "base/fsroot.h"

#include "unit.h"

#include <stdio.h>
#include <unistd.h>

#define FIXTURE_PID 1000 /* capture.sh gives every process this pid */

/** Opens tests/fixtures/NAME as a root. */
static inline struct fsroot fixture_open(const char *name)
{
    struct fsroot root;
    const char *path = TEXT_OF(4096, "%s/%s", FIXTURES, name);

    ck_assert_msg(fsroot_open(&root, path) == 0, "no fixture %s", path);
    ck_assert(!root.live);
    return root;
}
