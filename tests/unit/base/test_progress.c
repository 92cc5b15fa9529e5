// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_progress.c  The bar on a terminal narrower than 80 columns. */
#include "base/progress.h"

#include "terminal.h"

static void measure(const char *what)
{
    struct progress progress;

    progress_init(&progress, what);
    progress_draw(1, 3, &progress);
    progress_clear(&progress);
}

TEST(plain, narrow_terminal)
{
    ck_assert_str_eq(terminal_output(60, measure, "measuring"),
                     "\rmeasuring [##########....................] 1 of 3 s \r\033[K");
}
