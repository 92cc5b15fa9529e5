// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file resident.c  See resident.h. */
#include "guest_ram/resident.h"

#include "guest_ram/ram_backing.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static uint64_t field_bytes(const char *text, const char *name)
{
    const char *at = strstr(text, name);

    return at ? strtoull(at + strlen(name), NULL, 10) * 1024 : 0;
}

struct status {
    uint64_t shmem_bytes;
    uint64_t rest_bytes;
    uint64_t address_bytes;
};

/* A zombie has a status without memory fields. */
static int read_status(const struct fsroot *root, pid_t pid, struct status *status)
{
    char text[8192];

    if (fsroot_read(root, text, sizeof(text), "proc/%d/status", pid) < 0 ||
        !strstr(text, "\nRssAnon:"))
        return -ESRCH;
    status->shmem_bytes = field_bytes(text, "\nRssShmem:");
    status->rest_bytes = field_bytes(text, "\nRssAnon:") + field_bytes(text, "\nRssFile:") +
                         field_bytes(text, "\nHugetlbPages:");
    status->address_bytes = field_bytes(text, "\nVmSize:");
    return 0;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Opens the files of the blocks that are whole ones. */
static int open_files(struct resident_meter *meter, const struct fsroot *root, pid_t pid)
{
    const struct guest_ram *ram = meter->ram;
    bool any = false;

    meter->file_fds = calloc(ram->n_blocks + 1, sizeof(*meter->file_fds));
    if (!meter->file_fds)
        return -ENOMEM;
    for (size_t b = 0; b < ram->n_blocks; b++) {
        meter->file_fds[b] = ram->blocks[b].whole_file
                                 ? ram_backing_open(root, pid, &ram->blocks[b])
                                 : -1;
        any |= meter->file_fds[b] >= 0;
    }
    if (!any) {
        free(meter->file_fds);
        meter->file_fds = NULL;
    }
    return 0;
}

static void add_block(struct resident_meter *meter, size_t b)
{
    const struct ram_block *block = &meter->ram->blocks[b];

    if (meter->file_fds && meter->file_fds[b] >= 0) {
        meter->files_mapped_bytes += block->mapped_bytes;
        return;
    }
    meter->has_others = true;
    meter->others_mapped_bytes += block->mapped_bytes;
    if (block->resident_bytes > block->mapped_bytes)
        meter->others_unmapped_bytes += block->resident_bytes - block->mapped_bytes;
}

/* Where no block is a whole file, what QEMU has of shared files may be guest RAM as well. */
static uint64_t others_status(const struct resident_meter *meter, const struct status *status)
{
    return status->rest_bytes + (meter->file_fds ? 0 : status->shmem_bytes);
}

int resident_meter_init(struct resident_meter *meter, const struct fsroot *root, pid_t pid,
                        const struct guest_ram *ram)
{
    struct status status = {0};

    *meter = (struct resident_meter){.ram_bytes = ram->bytes, .ram = ram};

    int rc = open_files(meter, root, pid);

    if (rc == 0)
        rc = read_status(root, pid, &status);
    if (rc < 0)
        return rc;
    for (size_t b = 0; b < ram->n_blocks; b++)
        add_block(meter, b);
    meter->files_status_bytes = status.shmem_bytes;
    meter->others_status_bytes = others_status(meter, &status);
    return 0;
}

void resident_meter_free(struct resident_meter *meter)
{
    for (size_t b = 0; meter->file_fds && b < meter->ram->n_blocks; b++)
        if (meter->file_fds[b] >= 0)
            close(meter->file_fds[b]);
    free(meter->file_fds);
    meter->file_fds = NULL;
}

/* @p was, changed as much as @p then has become @p now; not below 0. */
static uint64_t follow(uint64_t was, uint64_t then, uint64_t now)
{
    return was + now > then ? was + now - then : 0;
}

static uint64_t held_by_files(const struct resident_meter *meter)
{
    uint64_t sum = 0;

    for (size_t b = 0; meter->file_fds && b < meter->ram->n_blocks; b++)
        if (meter->file_fds[b] >= 0)
            sum += ram_backing_held(meter->file_fds[b], &meter->ram->blocks[b]);
    return sum;
}

int resident_meter_read(const struct resident_meter *meter, const struct fsroot *root, pid_t pid,
                        struct resident_now *now)
{
    uint64_t files = 0;
    uint64_t others = 0;
    struct status status;
    int rc = read_status(root, pid, &status);

    if (rc < 0)
        return rc;
    /* Of a kind that no block is of, what changes is QEMU's own. */
    if (meter->file_fds)
        files = follow(meter->files_mapped_bytes, meter->files_status_bytes, status.shmem_bytes);
    if (meter->has_others)
        others = follow(meter->others_mapped_bytes, meter->others_status_bytes,
                        others_status(meter, &status));

    uint64_t mapped = files + others;
    uint64_t resident = held_by_files(meter) + others + meter->others_unmapped_bytes;

    now->address_bytes = status.address_bytes;
    now->mapped_bytes = smaller(mapped, meter->ram_bytes);
    now->resident_bytes = smaller(larger(resident, mapped), meter->ram_bytes);
    return 0;
}
