// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file vmstat.c  See vmstat.h. */
#include "sample/kernel/vmstat.h"

#include "base/cleanup.h"

#include <stdlib.h>
#include <string.h>

#define MAX_TEXT (64UL << 10)

uint64_t vmstat_read(const struct fsroot *root, const char *name)
{
    size_t length = strlen(name);
    cleanup_free char *text = NULL;

    if (fsroot_read_all(root, &text, MAX_TEXT, "proc/vmstat") < 0)
        return 0;
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (!strncmp(line, name, length) && line[length] == ' ')
            return strtoull(line + length, NULL, 10);
    }
    return 0;
}
