// SPDX-License-Identifier: LGPL-2.1-or-later
#include "measure/neighbour.h"

#include "base/cleanup.h"
#include "base/run_dir.h"
#include "base/write_all.h"
#include "measure/kernel/carried_bits.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_BYTES (256UL << 20)

/* If less than this share of guest RAM remains outside the panel, a second panel would be too small
 * to be useful. */
#define LEAST_ROOM 0.2

/* Without its terminator. */
#define MAGIC "vmwss-p1"
#define MAGIC_LENGTH (sizeof(MAGIC) - 1)

struct header {
    char magic[MAGIC_LENGTH];
    char method[16];
    uint64_t owner;
    uint64_t huge;
    uint64_t n;
};

/* --- publishing ------------------------------------------------------------------------------- */

static int create(const struct fsroot *root, const char *file)
{
    cleanup_close int dir_fd = run_dir_open(root);

    return dir_fd < 0 ? dir_fd : run_dir_create(dir_fd, file);
}

int neighbour_publish(const struct fsroot *root, pid_t pid, const struct neighbour *panel,
                      char file[RUN_DIR_NAME_MAX])
{
    const struct taken *taken = &panel->taken;
    struct header header = {.owner = (uint64_t)getpid(), .huge = panel->huge, .n = taken->n};

    run_dir_guest_file(root, pid, RUN_DIR_PANEL, file);

    cleanup_close int fd = create(root, file);

    if (fd < 0)
        return fd;
    memcpy(header.magic, MAGIC, MAGIC_LENGTH);
    snprintf(header.method, sizeof(header.method), "%s", panel->method->name);

    int rc = write_all(fd, &header, sizeof(header));

    return rc == 0 ? write_all(fd, taken->spans, taken->n * sizeof(taken->spans[0])) : rc;
}

void neighbour_withdraw(const struct fsroot *root, const char *file)
{
    cleanup_close int dir_fd = fsroot_openf(root, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, RUN_DIR);

    if (dir_fd >= 0)
        run_dir_remove(dir_fd, file);
}

/* --- reading ---------------------------------------------------------------------------------- */

/* Returns true if the spans are ascending, not empty, and do not overlap, as a binary search
 * requires. */
static bool in_order(const struct taken_span *spans, uint64_t n)
{
    uint64_t end = 0;

    for (uint64_t i = 0; i < n; i++) {
        if (spans[i].hva < end || spans[i].bytes == 0 || spans[i].bytes > UINT64_MAX - spans[i].hva)
            return false;
        end = spans[i].hva + spans[i].bytes;
    }
    return true;
}

static bool is_whole(const struct header *header, size_t size)
{
    return !memcmp(header->magic, MAGIC, MAGIC_LENGTH) && header->owner > 0 &&
           header->owner <= INT32_MAX && header->method[sizeof(header->method) - 1] == '\0' &&
           header->n <= MAX_BYTES / sizeof(struct taken_span) &&
           size == sizeof(*header) + header->n * sizeof(struct taken_span);
}

/* Returns true if the owner is another process and alive. */
static bool is_other(const struct fsroot *root, const struct header *header)
{
    return (pid_t)header->owner != getpid() &&
           fsroot_exists(root, "proc/%d/stat", (int)header->owner);
}

static int take_spans(struct neighbour *out, const char *data, uint64_t n)
{
    struct taken_span *spans = calloc(n ? n : 1, sizeof(*spans));

    if (!spans)
        return -ENOMEM;
    memcpy(spans, data, n * sizeof(*spans));
    if (!in_order(spans, n)) {
        free(spans);
        return -EINVAL;
    }
    out->taken = (struct taken){.n = n, .spans = spans};
    return 0;
}

void neighbour_read(const struct fsroot *root, pid_t pid, struct neighbour *out)
{
    cleanup_free char *data = NULL;
    char file[RUN_DIR_NAME_MAX];
    struct header header;

    *out = (struct neighbour){0};
    run_dir_guest_file(root, pid, RUN_DIR_PANEL, file);

    ssize_t size = fsroot_read_all(root, &data, MAX_BYTES, RUN_DIR "/%s", file);

    if (size < (ssize_t)sizeof(header))
        return;
    memcpy(&header, data, sizeof(header));
    if (!is_whole(&header, (size_t)size) || !is_other(root, &header))
        return;
    out->method = method_by_name(header.method);
    if (out->method && take_spans(out, data + sizeof(header), header.n) == 0) {
        out->owner = (pid_t)header.owner;
        out->huge = header.huge;
        out->taken.unmaps = out->method->sees_unmapped;
    }
}

void neighbour_free(struct neighbour *neighbour)
{
    free(neighbour->taken.spans);
    *neighbour = (struct neighbour){0};
}

/* --- which methods go together ---------------------------------------------------------------- */

/* The flush of a TCG guest's TLB takes the accessed bits of all of its RAM (tlb_flush.h), including
 * those on which the neighbour's idle flags rely. */
static bool takes_all_bits(const struct method *method, enum accel accel)
{
    return method == &method_idle && accel == ACCEL_TCG;
}

/* Decides which methods disturb those with which vmwssd follows a guest (guest_scan.c). `pageout`
 * checks whether a page is mapped again, and `zap` whether KVM faulted on it; only a touch causes
 * either, independent of accessed bits. But a fault also maps neighbouring pages, which `pageout`
 * counts as touched, and dropping all of a guest's mappings floods `zap`. `idle` relies on the bits
 * that all other methods clear. */
bool neighbour_allows(const struct neighbour *neighbour, const struct method *method,
                      enum accel accel, bool census)
{
    if (method == neighbour->method && takes_all_bits(method, accel))
        return false;
    if (method == neighbour->method) /* all listeners see each KVM fault */
        return !census && (method == &method_zap || !neighbour->huge);
    if (neighbour->method == &method_pageout)
        return true;
    return neighbour->method == &method_zap && method != &method_zap_all &&
           !method_sees_writes(method);
}

/* The flush of a TCG guest takes the accessed bits of all of its RAM. The flush of a KVM guest
 * drops mappings: a huge page's mapping belongs to a panel if any of its pages does, and dropping
 * it may lose the bit. */
bool neighbour_bears_flush(const struct neighbour *neighbour, const struct target *target)
{
    if (neighbour->method->signal != SIGNAL_IDLE_FLAG)
        return true;
    return target->process->accel == ACCEL_KVM &&
           (!neighbour->huge || accessed_bits_are_carried(target));
}

bool neighbour_leaves_room(const struct neighbour *neighbour, const struct guest_ram *ram)
{
    return taken_share(&neighbour->taken, ram) <= 1 - LEAST_ROOM;
}
