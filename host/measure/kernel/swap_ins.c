// SPDX-License-Identifier: LGPL-2.1-or-later
#include "measure/kernel/swap_ins.h"

#include "base/cleanup.h"
#include "base/kernel_number.h"
#include "base/meminfo.h"

#include <stdio.h>
#include <string.h>

#define MAX_TEXT (1UL << 20)

/* Format: "NAME TYPE KIB USED PRIORITY"; blanks in a name are "\040". */
static uint64_t device_bytes(const char *line)
{
    int begin = 0;
    uint64_t bytes = 0;

    sscanf(line, "%*s %*s%n", &begin); /* NOLINT(cert-err34-c): texts */
    if (begin > 0)
        kernel_kib(line + begin, &bytes);
    return bytes;
}

/* The file has a heading, and one line for each device. */
static uint64_t listed_bytes(const struct fsroot *root)
{
    cleanup_free char *text = NULL;
    uint64_t sum = 0;

    if (fsroot_read_all(root, &text, MAX_TEXT, "proc/swaps") < 0)
        return 0;
    for (const char *line = strchr(text, '\n'); line; line = strchr(line + 1, '\n'))
        sum += device_bytes(line + 1);
    return sum;
}

struct swap_devices swap_devices_read(const struct fsroot *root)
{
    struct host_memory memory = {0};

    meminfo_read(root, &memory, NULL); /* fields that it cannot read stay 0 */
    return (struct swap_devices){.listed_bytes = listed_bytes(root),
                                 .total_bytes = memory.swap_total_bytes};
}

static bool is_being_emptied(const struct swap_devices *devices)
{
    return devices->listed_bytes > devices->total_bytes;
}

bool swap_devices_left(const struct swap_devices *before, const struct swap_devices *now)
{
    return is_being_emptied(before) || is_being_emptied(now) ||
           now->listed_bytes < before->listed_bytes || now->total_bytes < before->total_bytes;
}
