// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file resident.c  See resident.h. */
#include "guest_ram/resident.h"

#include "base/bytes.h"
#include "base/kernel_number.h"
#include "base/kernel_version.h"
#include "guest_ram/own_memory.h"
#include "guest_ram/ram_backing.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* 0 where the kernel has no such line. False: it has one without an amount. */
static bool read_field(const char *text, const char *name, uint64_t *bytes)
{
    const char *at = strstr(text, name);

    *bytes = 0;
    return !at || kernel_kib(at + strlen(name), bytes);
}

/* Kinds of pages, each with a counter. */
enum kind {
    KIND_ANON,
    KIND_FILE,
    KIND_SHMEM,
    KIND_HUGETLB,
    N_KINDS,
};

#define BIT(kind) (1U << (kind))

struct status {
    uint64_t bytes[N_KINDS];
    uint64_t address_bytes;
};

/* QEMU's own memory is looked up again when the counters have moved by more than this share of the
 * RAM mapped. */
#define MOVED_SHARE 1024
#define MOVED_BYTES (256ULL << 10)

struct resident_seen {
    uint64_t status_bytes;
    uint64_t own_bytes;
};

/* A zombie has a status without memory fields. */
static int read_status(const struct fsroot *root, pid_t pid, struct status *status)
{
    char text[8192];

    if (fsroot_read(root, text, sizeof(text), "proc/%d/status", pid) < 0 ||
        !strstr(text, "\nRssAnon:"))
        return -ESRCH;
    return read_field(text, "\nRssAnon:", &status->bytes[KIND_ANON]) &&
                   read_field(text, "\nRssFile:", &status->bytes[KIND_FILE]) &&
                   read_field(text, "\nRssShmem:", &status->bytes[KIND_SHMEM]) &&
                   read_field(text, "\nHugetlbPages:", &status->bytes[KIND_HUGETLB]) &&
                   read_field(text, "\nVmSize:", &status->address_bytes)
               ? 0
               : -EBADMSG;
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

/* Of a private mapping of a file what was written is anonymous. */
static unsigned kinds_of(const struct ram_block *block)
{
    switch (block->backing) {
    case RAM_BACKING_ANON:
        return BIT(KIND_ANON);
    case RAM_BACKING_SHMEM:
        return BIT(KIND_SHMEM) | (block->shared ? 0 : BIT(KIND_ANON));
    case RAM_BACKING_HUGETLB:
        return BIT(KIND_HUGETLB);
    case RAM_BACKING_FILE:
        return BIT(KIND_FILE) | (block->shared ? 0 : BIT(KIND_ANON));
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
    meter->others_kinds |= kinds_of(block);
    meter->others_mapped_bytes += block->mapped_bytes;
    if (block->resident_bytes > block->mapped_bytes)
        meter->others_unmapped_bytes += block->resident_bytes - block->mapped_bytes;
}

/* Where a block is a whole file, RssShmem is of such. */
static uint64_t others_status(const struct resident_meter *meter, const struct status *status)
{
    uint64_t sum = 0;

    for (enum kind kind = 0; kind < N_KINDS; kind++)
        if ((meter->others_kinds & BIT(kind)) && !(kind == KIND_SHMEM && meter->file_fds))
            sum += status->bytes[kind];
    return sum;
}

/* HugetlbPages is one number for all CPUs. */
static uint64_t n_counters(const struct resident_meter *meter)
{
    return (uint64_t)__builtin_popcount(meter->others_kinds & ~BIT(KIND_HUGETLB));
}

static int read_own(const struct resident_meter *meter, const struct fsroot *root, pid_t pid,
                    uint64_t *bytes)
{
    return own_memory_read(root, pid, meter->ram, meter->others_kinds & BIT(KIND_FILE), bytes);
}

static bool has_own(const struct resident_meter *meter)
{
    return meter->others_kinds & (BIT(KIND_ANON) | BIT(KIND_FILE));
}

/* QEMU's own is looked up at once, for what is found later is held against it. */
static int see_own(struct resident_meter *meter, const struct fsroot *root, pid_t pid)
{
    uint64_t own_bytes;

    if (!has_own(meter) || read_own(meter, root, pid, &own_bytes) < 0)
        return 0;
    meter->seen = malloc(sizeof(*meter->seen));
    if (!meter->seen)
        return -ENOMEM;
    *meter->seen = (struct resident_seen){.status_bytes = meter->others_status_bytes,
                                          .own_bytes = own_bytes};
    meter->others_own_bytes = own_bytes;
    return 0;
}

/* Per-CPU counters: f1a7941243c1 (6.2) made them so; since 82241a83cd15 they are summed up when
 * they are read. */
uint64_t resident_counter_error(const char *release, unsigned cpus)
{
    unsigned long batch = cpus > 16 ? 2UL * cpus : 32;
    unsigned version = kernel_version(release);

    if (version < KERNEL(6, 2) || version > KERNEL(6, 16))
        return 0;
    return batch * cpus * base_page_bytes();
}

static uint64_t counter_error(const struct fsroot *root)
{
    char release[128];
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);

    if (!root->live || fsroot_read(root, release, sizeof(release), "proc/sys/kernel/osrelease") < 0)
        return 0;
    return resident_counter_error(release, cpus > 0 ? (unsigned)cpus : 1);
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
    meter->files_status_bytes = status.bytes[KIND_SHMEM];
    meter->others_status_bytes = others_status(meter, &status);
    meter->counter_error_bytes = counter_error(root);
    return see_own(meter, root, pid);
}

void resident_meter_free(struct resident_meter *meter)
{
    for (size_t b = 0; meter->file_fds && b < meter->ram->n_blocks; b++)
        if (meter->file_fds[b] >= 0)
            close(meter->file_fds[b]);
    free(meter->file_fds);
    meter->file_fds = NULL;
    free(meter->seen);
    meter->seen = NULL;
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

/* What others is now, without QEMU's own; *error_bytes: what may be its own all the same. */
static uint64_t others_now(const struct resident_meter *meter, const struct fsroot *root, pid_t pid,
                           uint64_t status_bytes, uint64_t *error_bytes)
{
    struct resident_seen *seen = meter->seen;
    uint64_t moved_bytes = larger(MOVED_BYTES, meter->others_mapped_bytes / MOVED_SHARE);

    *error_bytes = 2 * n_counters(meter) * meter->counter_error_bytes;
    if (!seen)
        return follow(meter->others_mapped_bytes, meter->others_status_bytes, status_bytes);
    if (distance(status_bytes, seen->status_bytes) > moved_bytes &&
        read_own(meter, root, pid, &seen->own_bytes) == 0)
        seen->status_bytes = status_bytes;
    *error_bytes += distance(status_bytes, seen->status_bytes);
    return follow(meter->others_mapped_bytes + meter->others_own_bytes, meter->others_status_bytes,
                  status_bytes > seen->own_bytes ? status_bytes - seen->own_bytes : 0);
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
        files = follow(meter->files_mapped_bytes, meter->files_status_bytes,
                       status.bytes[KIND_SHMEM]);
    now->resident_error_bytes = 0;
    if (meter->has_others)
        others = others_now(meter, root, pid, others_status(meter, &status),
                            &now->resident_error_bytes);
    now->mapped_error_bytes = now->resident_error_bytes +
                              (meter->file_fds ? 2 * meter->counter_error_bytes : 0);

    uint64_t mapped = files + others;
    uint64_t resident = held_by_files(meter) + others + meter->others_unmapped_bytes;

    now->address_bytes = status.address_bytes;
    now->mapped_bytes = smaller(mapped, meter->ram_bytes);
    now->resident_bytes = smaller(larger(resident, mapped), meter->ram_bytes);
    return 0;
}

static void span(uint64_t before, uint64_t before_error, uint64_t *now, uint64_t *now_error)
{
    uint64_t half = distance(before, *now) / 2;

    *now = smaller(before, *now) + half;
    *now_error = larger(before_error, *now_error) + half;
}

static void span_both(const struct resident_now *before, struct resident_now *now)
{
    span(before->mapped_bytes, before->mapped_error_bytes, &now->mapped_bytes,
         &now->mapped_error_bytes);
    span(before->resident_bytes, before->resident_error_bytes, &now->resident_bytes,
         &now->resident_error_bytes);
}

int resident_meter_read_again(const struct resident_meter *meter, const struct fsroot *root,
                              pid_t pid, struct resident_now *now)
{
    const struct resident_now before = *now;
    int rc = resident_meter_read(meter, root, pid, now);

    if (rc == 0)
        span_both(&before, now);
    return rc;
}

static bool is_at_rest(uint64_t before, uint64_t now)
{
    return distance(before, now) <= larger(MOVED_BYTES, before / MOVED_SHARE);
}

static void settle(uint64_t before, uint64_t *now, uint64_t *now_error)
{
    *now_error += distance(before, *now);
    *now = before;
}

/* Both or neither: what is mapped is part of what is resident. */
void resident_now_settle(const struct resident_now *before, struct resident_now *now)
{
    if (!is_at_rest(before->mapped_bytes, now->mapped_bytes) ||
        !is_at_rest(before->resident_bytes, now->resident_bytes))
        return;
    settle(before->mapped_bytes, &now->mapped_bytes, &now->mapped_error_bytes);
    settle(before->resident_bytes, &now->resident_bytes, &now->resident_error_bytes);
}

int resident_of_process(const struct fsroot *root, pid_t pid, uint64_t *bytes)
{
    struct status status;
    int rc = read_status(root, pid, &status);

    if (rc == 0) {
        *bytes = 0;
        for (enum kind kind = 0; kind < N_KINDS; kind++)
            *bytes += status.bytes[kind];
    }
    return rc;
}
