// SPDX-License-Identifier: LGPL-2.1-or-later
#include "measure/kernel/vmstat.h"

#include "base/cleanup.h"
#include "base/kernel_number.h"

#include <stddef.h>

#define MAX_TEXT (64UL << 10)

uint64_t vmstat_sum(const struct fsroot *root, const char *const *names)
{
    cleanup_free char *text = NULL;
    uint64_t sum = 0;

    if (fsroot_read_all(root, &text, MAX_TEXT, "proc/vmstat") < 0)
        return 0;
    for (size_t i = 0; names[i]; i++)
        sum += kernel_line_u64(text, names[i]);
    return sum;
}

uint64_t vmstat_read(const struct fsroot *root, const char *name)
{
    const char *const names[] = {name, NULL};

    return vmstat_sum(root, names);
}
