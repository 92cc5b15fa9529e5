// SPDX-License-Identifier: LGPL-2.1-or-later
#include "measure/kernel/vmstat.h"

#include "base/cleanup.h"
#include "base/kernel_number.h"

#include <stdlib.h>
#include <string.h>

#define MAX_TEXT (64UL << 10)

/* If the line is "NAME NUMBER", takes its number. A counter below 0 counts as 0. */
static uint64_t counter(const char *line, const char *name)
{
    size_t length = strlen(name);
    uint64_t value = 0;

    if (!strncmp(line, name, length) && line[length] == ' ')
        kernel_u64(line + length, &value);
    return value;
}

uint64_t vmstat_sum(const struct fsroot *root, const char *const *names)
{
    cleanup_free char *text = NULL;
    uint64_t sum = 0;

    if (fsroot_read_all(root, &text, MAX_TEXT, "proc/vmstat") < 0)
        return 0;
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        for (size_t i = 0; names[i]; i++)
            sum += counter(line, names[i]);
    }
    return sum;
}

uint64_t vmstat_read(const struct fsroot *root, const char *name)
{
    const char *const names[] = {name, NULL};

    return vmstat_sum(root, names);
}
