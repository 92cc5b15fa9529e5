// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file resident.c  See resident.h. */
#include "guest_ram/resident.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static uint64_t field_bytes(const char *text, const char *name)
{
    const char *at = strstr(text, name);

    return at ? strtoull(at + strlen(name), NULL, 10) * 1024 : 0;
}

/* A zombie has a status without memory fields. */
static int read_status(const struct fsroot *root, pid_t pid, uint64_t *bytes)
{
    char text[8192];

    if (fsroot_read(root, text, sizeof(text), "proc/%d/status", pid) < 0 ||
        !strstr(text, "\nRssAnon:"))
        return -ESRCH;
    *bytes = field_bytes(text, "\nRssAnon:") + field_bytes(text, "\nRssFile:") +
             field_bytes(text, "\nRssShmem:") + field_bytes(text, "\nHugetlbPages:");
    return 0;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

int resident_meter_init(struct resident_meter *meter, const struct fsroot *root, pid_t pid,
                        const struct guest_ram *ram)
{
    *meter = (struct resident_meter){.ram_bytes = ram->bytes};
    for (size_t b = 0; b < ram->n_blocks; b++) {
        const struct ram_block *block = &ram->blocks[b];

        meter->mapped_bytes += block->mapped_bytes;
        if (block->resident_bytes > block->mapped_bytes)
            meter->unmapped_bytes += block->resident_bytes - block->mapped_bytes;
    }
    return read_status(root, pid, &meter->status_bytes);
}

int resident_meter_read(const struct resident_meter *meter, const struct fsroot *root, pid_t pid,
                        struct resident_now *now)
{
    uint64_t status_bytes = 0;
    int rc = read_status(root, pid, &status_bytes);

    if (rc < 0)
        return rc;

    uint64_t sum = meter->mapped_bytes + status_bytes;
    uint64_t mapped = sum > meter->status_bytes ? sum - meter->status_bytes : 0;

    now->mapped_bytes = smaller(mapped, meter->ram_bytes);
    now->resident_bytes = smaller(mapped + meter->unmapped_bytes, meter->ram_bytes);
    return 0;
}
