// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file meminfo.c  See meminfo.h. */
#include "base/meminfo.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static uint64_t value_of(const char *text, const char *key)
{
    const char *line = strstr(text, key);

    return line ? strtoull(line + strlen(key), NULL, 10) * 1024 : 0;
}

int meminfo_read(const struct fsroot *root, struct host_memory *memory, struct error *error)
{
    char text[8192];
    ssize_t n = fsroot_read(root, text, sizeof(text), "proc/meminfo");

    if (n < 0)
        return error_set(error, (int)n, "/proc/meminfo: %s", strerror((int)-n));
    *memory = (struct host_memory){
        .total_bytes = value_of(text, "MemTotal:"),
        .available_bytes = value_of(text, "MemAvailable:"),
        .swap_total_bytes = value_of(text, "SwapTotal:"),
        .swap_free_bytes = value_of(text, "SwapFree:"),
        .anon_huge_bytes = value_of(text, "AnonHugePages:"),
    };
    return memory->total_bytes > 0 ? 0 : error_set(error, -EINVAL, "/proc/meminfo: no MemTotal");
}
