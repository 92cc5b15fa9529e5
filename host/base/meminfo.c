// SPDX-License-Identifier: LGPL-2.1-or-later
#include "base/meminfo.h"

#include "base/kernel_number.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

/* Sets 0 if the line does not exist. Returns false if the line has no amount. */
static bool read_line(const char *text, const char *key, uint64_t *bytes)
{
    const char *amount = kernel_line(text, key);

    *bytes = 0;
    return !amount || kernel_kib(amount, bytes);
}

int meminfo_read(const struct fsroot *root, struct host_memory *memory, struct error *error)
{
    char text[8192];
    ssize_t n = fsroot_read(root, text, sizeof(text), "proc/meminfo");

    if (n < 0)
        return error_set(error, (int)n, "/proc/meminfo: %s", strerror((int)-n));
    if (!read_line(text, "MemTotal:", &memory->total_bytes) ||
        !read_line(text, "Hugetlb:", &memory->hugetlb_bytes) ||
        !read_line(text, "MemAvailable:", &memory->available_bytes) ||
        !read_line(text, "SwapTotal:", &memory->swap_total_bytes) ||
        !read_line(text, "SwapFree:", &memory->swap_free_bytes) ||
        !read_line(text, "AnonHugePages:", &memory->anon_huge_bytes))
        return error_set(error, -EINVAL, "/proc/meminfo: a line is no amount of memory");
    return memory->total_bytes > 0 ? 0 : error_set(error, -EINVAL, "/proc/meminfo: no MemTotal");
}
