// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file collapses.c  See collapses.h. */
#include "sample/kernel/collapses.h"

#include "base/cleanup.h"

#include <stdlib.h>
#include <string.h>

#define MAX_TEXT (64UL << 10)
#define COUNTER "\nthp_collapse_alloc "

uint64_t collapses_read(const struct fsroot *root)
{
    cleanup_free char *text = NULL;

    if (fsroot_read_all(root, &text, MAX_TEXT, "proc/vmstat") < 0)
        return 0;

    const char *line = strstr(text, COUNTER);

    return line ? strtoull(line + strlen(COUNTER), NULL, 10) : 0;
}
