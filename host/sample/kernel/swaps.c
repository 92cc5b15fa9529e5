// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file swaps.c  See swaps.h. */
#include "sample/kernel/swaps.h"

#include "base/host_file.h"

#include <errno.h>
#include <string.h>

/* A heading, and a line for each; the first line of a device begins within this. */
#define BEGIN_BYTES 512

int swap_is_active(const struct fsroot *root)
{
    static struct host_file swaps = {.path = "proc/swaps"};
    char text[BEGIN_BYTES];
    ssize_t n = host_file_read(&swaps, root, text, sizeof(text));

    if (n < 0)
        return n == -ENOENT ? 0 : (int)n;
    return strchr(text, '\n') != NULL;
}
