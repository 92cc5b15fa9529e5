// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file resident.c  See resident.h. */
#include "guest_ram/resident.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct status {
    uint64_t anon_bytes, shmem_bytes, hugetlb_bytes;
};

static uint64_t field_bytes(const char *text, const char *name)
{
    const char *at = strstr(text, name);

    return at ? strtoull(at + strlen(name), NULL, 10) * 1024 : 0;
}

static int read_status(struct status *status, const struct fsroot *root, pid_t pid)
{
    char text[8192];

    if (fsroot_read(root, text, sizeof(text), "proc/%d/status", pid) < 0 ||
        !strstr(text, "\nRssAnon:"))
        return -ESRCH;
    status->anon_bytes = field_bytes(text, "\nRssAnon:");
    status->shmem_bytes = field_bytes(text, "\nRssShmem:");
    status->hugetlb_bytes = field_bytes(text, "\nHugetlbPages:");
    return 0;
}

int resident_meter_init(struct resident_meter *meter, const struct fsroot *root, pid_t pid,
                        const struct guest_ram *ram)
{
    struct status status;
    int rc = read_status(&status, root, pid);

    if (rc < 0)
        return rc;
    *meter = (struct resident_meter){
        .status_anon_bytes = status.anon_bytes,
        .status_shmem_bytes = status.shmem_bytes,
        .status_hugetlb_bytes = status.hugetlb_bytes,
    };
    for (size_t b = 0; b < ram->n_blocks; b++) {
        const struct ram_block *block = &ram->blocks[b];

        if (block->backing == RAM_BACKING_HUGETLB) {
            meter->hugetlb_bytes += block->resident_bytes;
            meter->ram_hugetlb_bytes += block->bytes;
        } else if (block->backing == RAM_BACKING_SHMEM) {
            meter->shmem_bytes += block->resident_bytes;
            meter->ram_shmem_bytes += block->bytes;
        } else {
            meter->anon_bytes += block->resident_bytes;
            meter->ram_anon_bytes += block->bytes;
        }
    }
    return 0;
}

/* then + (now - base), kept within 0 .. limit */
static uint64_t moved(uint64_t then, uint64_t base, uint64_t now, uint64_t limit)
{
    uint64_t sum = then + now;
    uint64_t value = sum > base ? sum - base : 0;

    return value < limit ? value : limit;
}

/* Pages of a file that QEMU does not map stay resident, so shared memory never counts as less than
 * it was: what MADV_PAGEOUT unmapped is still there. */
static uint64_t at_least(uint64_t value, uint64_t floor)
{
    return value > floor ? value : floor;
}

uint64_t resident_meter_read(const struct resident_meter *meter, const struct fsroot *root,
                             pid_t pid)
{
    struct status now;

    if (read_status(&now, root, pid) < 0)
        return 0;
    return moved(meter->anon_bytes, meter->status_anon_bytes, now.anon_bytes,
                 meter->ram_anon_bytes) +
           at_least(moved(meter->shmem_bytes, meter->status_shmem_bytes, now.shmem_bytes,
                          meter->ram_shmem_bytes),
                    meter->shmem_bytes) +
           moved(meter->hugetlb_bytes, meter->status_hugetlb_bytes, now.hugetlb_bytes,
                 meter->ram_hugetlb_bytes);
}
