// SPDX-License-Identifier: LGPL-2.1-or-later
#include "guest/ram/resident.h"

#include "base/bytes.h"
#include "base/kernel_number.h"
#include "base/kernel_version.h"
#include "guest/ram/own_memory.h"
#include "guest/ram/ram_backing.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Sets 0 if the kernel has no such line. False: the line has no amount. */
static bool read_field(const char *text, const char *name, uint64_t *bytes)
{
    const char *at = strstr(text, name);

    *bytes = 0;
    return !at || kernel_kib(at + strlen(name), bytes);
}

struct status {
    uint64_t bytes[N_PAGE_KINDS];
    uint64_t address_bytes;
};

/* QEMU's own memory is counted again when a counter has moved by more than this share of the RAM
 * mapped. */
#define MOVED_SHARE 1024
#define MOVED_BYTES (256ULL << 10)

/* A count of QEMU's own memory, and the counters at that moment. */
struct resident_seen {
    struct own_memory own;
    uint64_t status_bytes[N_PAGE_KINDS];
    uint64_t moved_bytes[N_PAGE_KINDS]; /* movement of the counters during the count */
};

/* The guest's share of the pages of one kind, and its error. */
struct share {
    uint64_t bytes, error_bytes;
};

/* A zombie has a status without memory fields. */
static int read_status(const struct fsroot *root, pid_t pid, struct status *status)
{
    char text[8192];

    if (fsroot_read(root, text, sizeof(text), "proc/%d/status", pid) < 0 ||
        !strstr(text, "\nRssAnon:"))
        return -ESRCH;
    return read_field(text, "\nRssAnon:", &status->bytes[PAGE_KIND_ANON]) &&
                   read_field(text, "\nRssFile:", &status->bytes[PAGE_KIND_FILE]) &&
                   read_field(text, "\nRssShmem:", &status->bytes[PAGE_KIND_SHMEM]) &&
                   read_field(text, "\nHugetlbPages:", &status->bytes[PAGE_KIND_HUGETLB]) &&
                   read_field(text, "\nVmSize:", &status->address_bytes)
               ? 0
               : -EBADMSG;
}

/* Opens the files of the blocks that cover a whole file. */
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

/* The written pages of a private file mapping are anonymous. */
static unsigned kinds_of(const struct ram_block *block)
{
    switch (block->backing) {
    case RAM_BACKING_ANON:
        return PAGE_KIND_BIT(PAGE_KIND_ANON);
    case RAM_BACKING_SHMEM:
        return PAGE_KIND_BIT(PAGE_KIND_SHMEM) | (block->shared ? 0 : PAGE_KIND_BIT(PAGE_KIND_ANON));
    case RAM_BACKING_HUGETLB:
        return PAGE_KIND_BIT(PAGE_KIND_HUGETLB);
    case RAM_BACKING_FILE:
        return PAGE_KIND_BIT(PAGE_KIND_FILE) | (block->shared ? 0 : PAGE_KIND_BIT(PAGE_KIND_ANON));
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

/* If any block is a whole file, RssShmem belongs to such blocks. */
static unsigned others_kinds(const struct resident_meter *meter)
{
    return meter->others_kinds & ~(meter->file_fds ? PAGE_KIND_BIT(PAGE_KIND_SHMEM) : 0);
}

static unsigned followed_kinds(const struct resident_meter *meter)
{
    return meter->others_kinds | (meter->file_fds ? PAGE_KIND_BIT(PAGE_KIND_SHMEM) : 0);
}

static bool has_moved(const struct resident_meter *meter, const uint64_t *status_bytes,
                      const uint64_t *seen_bytes)
{
    const uint64_t mapped_bytes = meter->others_mapped_bytes + meter->files_mapped_bytes;
    const uint64_t most_bytes = larger(MOVED_BYTES, mapped_bytes / MOVED_SHARE);

    for (enum page_kind kind = 0; kind < N_PAGE_KINDS; kind++)
        if ((followed_kinds(meter) & PAGE_KIND_BIT(kind)) &&
            distance(status_bytes[kind], seen_bytes[kind]) > most_bytes)
            return true;
    return false;
}

/* Counts QEMU's own memory; @p status was read just before. */
static int look(const struct resident_meter *meter, const struct fsroot *root, pid_t pid,
                const struct status *status, struct resident_seen *seen)
{
    struct resident_seen now = {0};
    struct status after;
    int rc = own_memory_read(root, pid, meter->ram, followed_kinds(meter), &now.own);

    if (rc == 0)
        rc = read_status(root, pid, &after);
    for (enum page_kind kind = 0; rc == 0 && kind < N_PAGE_KINDS; kind++) {
        now.status_bytes[kind] = status->bytes[kind];
        now.moved_bytes[kind] = distance(status->bytes[kind], after.bytes[kind]);
    }
    if (rc == 0)
        *seen = now;
    return rc;
}

/* QEMU's own memory is counted at once, as the base of all later counts. */
static int look_first(struct resident_meter *meter, const struct fsroot *root, pid_t pid,
                      const struct status *status)
{
    struct resident_seen *seen = malloc(2 * sizeof(*seen));

    if (!seen)
        return -ENOMEM;
    if (look(meter, root, pid, status, seen) < 0) {
        free(seen);
        return 0;
    }
    seen[1] = seen[0];
    meter->first = seen;
    meter->seen = seen + 1;
    return 0;
}

/* The counters are per-CPU since f1a7941243c1 (6.2); since 82241a83cd15 they are summed up when
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
    memcpy(meter->status_bytes, status.bytes, sizeof(meter->status_bytes));
    meter->counter_error_bytes = counter_error(root);
    meter->address_bytes = status.address_bytes;
    return look_first(meter, root, pid, &status);
}

void resident_meter_free(struct resident_meter *meter)
{
    for (size_t b = 0; meter->file_fds && b < meter->ram->n_blocks; b++)
        if (meter->file_fds[b] >= 0)
            close(meter->file_fds[b]);
    free(meter->file_fds);
    meter->file_fds = NULL;
    free(meter->first);
    meter->first = meter->seen = NULL;
}

/* Returns @p was plus the change from @p then to @p now; not below 0. */
static uint64_t follow(uint64_t was, uint64_t then, uint64_t now)
{
    return was + now > then ? was + now - then : 0;
}

/* The files' content in memory; *most_bytes: their content in memory and swap. */
static uint64_t held_by_files(const struct resident_meter *meter, uint64_t *most_bytes)
{
    uint64_t sum = 0;

    *most_bytes = 0;
    for (size_t b = 0; meter->file_fds && b < meter->ram->n_blocks; b++) {
        const struct ram_block *block = &meter->ram->blocks[b];

        if (meter->file_fds[b] < 0)
            continue;
        uint64_t held = ram_backing_held(meter->file_fds[b], block);

        sum += held;
        *most_bytes += smaller(held + block->swapped_bytes, block->bytes);
    }
    return sum;
}

/* The counters' movement since the last count may be all QEMU's own; since the first reading, if
 * nothing could be counted. */
static uint64_t own_error(const struct resident_meter *meter, const struct status *status,
                          enum page_kind kind)
{
    const struct resident_seen *first = meter->first;
    const struct resident_seen *seen = meter->seen;

    if (!first || !seen || (seen->own.incomplete & PAGE_KIND_BIT(kind)))
        return distance(status->bytes[kind], meter->status_bytes[kind]);
    return first->moved_bytes[kind] + seen->moved_bytes[kind] +
           distance(status->bytes[kind], seen->status_bytes[kind]);
}

/* Errors of two readings of a counter; HugetlbPages is one number for all CPUs. */
static uint64_t counter_errors(const struct resident_meter *meter, enum page_kind kind)
{
    return kind == PAGE_KIND_HUGETLB ? 0 : 2 * meter->counter_error_bytes;
}

/* The guest's pages of these kinds now, given its @p mapped_bytes when it was located. */
static struct share follow_kinds(const struct resident_meter *meter, const struct status *status,
                                 unsigned kinds, uint64_t mapped_bytes)
{
    struct share share = {0};
    uint64_t then_bytes = 0;

    for (enum page_kind kind = 0; kind < N_PAGE_KINDS; kind++) {
        if (!(kinds & PAGE_KIND_BIT(kind)))
            continue;
        then_bytes += less(meter->status_bytes[kind],
                           meter->first ? meter->first->own.bytes[kind] : 0);
        share.bytes += less(status->bytes[kind], meter->seen ? meter->seen->own.bytes[kind] : 0);
        share.error_bytes += own_error(meter, status, kind) + counter_errors(meter, kind);
    }
    share.bytes = follow(mapped_bytes, then_bytes, share.bytes);
    return share;
}

int resident_meter_read(const struct resident_meter *meter, const struct fsroot *root, pid_t pid,
                        struct resident_now *now)
{
    struct share files = {0};
    struct share others = {0};
    struct status status;
    uint64_t most_bytes;
    int rc = read_status(root, pid, &status);

    if (rc < 0)
        return rc;
    if (meter->seen && has_moved(meter, status.bytes, meter->seen->status_bytes))
        look(meter, root, pid, &status, meter->seen);
    if (meter->file_fds)
        files = follow_kinds(meter, &status, PAGE_KIND_BIT(PAGE_KIND_SHMEM),
                             meter->files_mapped_bytes);
    if (meter->has_others)
        others = follow_kinds(meter, &status, others_kinds(meter), meter->others_mapped_bytes);

    const uint64_t held = held_by_files(meter, &most_bytes);
    const uint64_t mapped = smaller(files.bytes, most_bytes) + others.bytes;
    const uint64_t resident = held + others.bytes + meter->others_unmapped_bytes;

    now->address_bytes = status.address_bytes;
    now->resident_error_bytes = others.error_bytes;
    now->mapped_error_bytes = others.error_bytes + files.error_bytes;
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

/* Settles both or neither: mapped memory is part of resident memory. */
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
        for (enum page_kind kind = 0; kind < N_PAGE_KINDS; kind++)
            *bytes += status.bytes[kind];
    }
    return rc;
}
