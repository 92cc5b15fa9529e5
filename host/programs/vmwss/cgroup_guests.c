// SPDX-License-Identifier: LGPL-2.1-or-later
#include "programs/vmwss/cgroup_guests.h"

#include "base/cleanup.h"
#include "base/command.h"
#include "measure/group_frames.h"
#include "measure/kernel/kpageflags.h"
#include "measure/kernel/memcg.h"
#include "measure/kernel/pagemap.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define BATCH 32768

/* --- frames ----------------------------------------------------------------------------------- */

static int read_ram(struct cgroup_guests *guests, const struct guest_ram *ram, int pagemap_fd)
{
    cleanup_free uint64_t *page = calloc(BATCH, sizeof(*page));
    cleanup_free uint64_t *entry = calloc(BATCH, sizeof(*entry));
    int rc = page && entry ? 0 : -ENOMEM;

    for (uint64_t first = 0; rc == 0 && first < ram->n_pages; first += BATCH) {
        uint64_t left = ram->n_pages - first;
        uint64_t n = left < BATCH ? left : BATCH;

        for (uint64_t i = 0; i < n; i++)
            page[i] = first + i;
        rc = pagemap_read(pagemap_fd, ram, page, n, entry);
        for (uint64_t i = 0; rc == 0 && i < n; i++)
            if (entry[i] & PAGEMAP_PRESENT)
                frame_set_add(&guests->ram, PAGEMAP_PFN(entry[i]));
    }
    return rc;
}

static int take_frame(struct cgroup_guests *guests, int flags_fd, uint64_t pfn)
{
    struct folio folio;
    uint64_t flags;
    int rc = kpageflags_read(flags_fd, &pfn, 1, &flags);

    if (rc == 0)
        rc = kpageflags_folio(flags_fd, pfn, flags, 0, &folio);
    if (rc == 0)
        frame_set_add(&guests->taken, folio.head);
    return rc == -ENOENT ? 0 : rc;
}

/* An unmapped page (method pageout) has no frame in the pagemap, and page_idle does not affect it:
 * its mark is the missing mapping. */
static int take_panel(struct cgroup_guests *guests, const struct cgroup_guest *guest,
                      int pagemap_fd, int flags_fd)
{
    const struct guest_ram *ram = &guest->subject.ram;
    const struct taken *taken = &guest->neighbour.taken;
    int rc = 0;

    for (uint64_t i = 0; rc == 0 && i < taken->n; i++)
        for (uint64_t offset = 0; rc == 0 && offset < taken->spans[i].bytes;
             offset += base_page_bytes()) {
            uint64_t page = guest_ram_page_at(ram, taken->spans[i].hva + offset);
            uint64_t entry = 0;

            if (page < ram->n_pages)
                rc = pagemap_read(pagemap_fd, ram, &page, 1, &entry);
            if (rc == 0 && entry & PAGEMAP_PRESENT)
                rc = take_frame(guests, flags_fd, PAGEMAP_PFN(entry));
        }
    return rc;
}

static int read_frames(struct cgroup_guests *guests, const struct cgroup_guest *guest,
                       struct error *error)
{
    const struct target target = subject_target(&guest->subject);
    cleanup_close int pagemap_fd = pagemap_open(&target, error);
    cleanup_close int flags_fd = pagemap_fd < 0 ? -1 : kpageflags_open(guests->root, error);
    int rc = flags_fd < 0 ? (pagemap_fd < 0 ? pagemap_fd : flags_fd) : 0;

    if (rc < 0)
        return rc;
    rc = read_ram(guests, &guest->subject.ram, pagemap_fd);
    if (rc == 0 && guest->neighbour.owner)
        rc = take_panel(guests, guest, pagemap_fd, flags_fd);
    return rc < 0 ? error_set(error, rc, "process %d: pagemap: %s",
                              guest->subject.guest.process.pid, strerror(-rc))
                  : 0;
}

/* --- the guests ------------------------------------------------------------------------------- */

static void warn(const struct cgroup_guest *guest, const struct error *why)
{
    command_error("process %d: its RAM is counted as anon or shmem: %s",
                  guest->subject.guest.process.pid, why->text);
}

/* A guest that ended meanwhile has no memory any more. */
static int open_one(struct cgroup_guests *guests, pid_t pid, const struct lock_wait *wait,
                    struct error *error)
{
    struct cgroup_guest *guest = &guests->guests[guests->n];
    struct error why = {0};
    struct memcg group;
    int rc;

    *guest = (struct cgroup_guest){.lock = RUN_LOCK_NONE};
    if (guest_open_pid(guests->root, pid, &guest->subject.guest, &why) < 0)
        return 0; /* not a guest: for instance the QEMU that libvirt starts to query capabilities */
    guests->n++;
    if (memcg_find(guests->root, pid, &group))
        snprintf(guest->path, sizeof(guest->path), "%s", group.path);
    rc = run_lock_guest(&guest->lock, guests->root, pid, wait, error);
    if (rc == -ESRCH) {
        *guest->path = '\0';
        return 0;
    }
    if (rc < 0)
        return rc;
    neighbour_read(guests->root, pid, &guest->neighbour);
    rc = subject_locate(&guest->subject, guests->root, &why);
    guest->located = rc == 0;
    guest->subject.ram.taken = guest->neighbour.owner ? &guest->neighbour.taken : NULL;
    if (rc == 0)
        return read_frames(guests, guest, error);
    warn(guest, &why);
    return 0;
}

static int by_pid(const void *a, const void *b)
{
    const pid_t *left = a;
    const pid_t *right = b;

    return (*left > *right) - (*left < *right);
}

/* Locks in ascending order, as every program does that locks more than one guest: this prevents
 * deadlocks. */
static int open_all(struct cgroup_guests *guests, const struct lock_wait *wait, struct error *error)
{
    cleanup_free pid_t *pids = NULL;
    ssize_t n = qemu_process_find_all(guests->root, false, &pids);
    int rc = 0;

    if (n < 0)
        return error_set(error, (int)n, "/proc: %s", strerror((int)-n));
    qsort(pids, (size_t)n, sizeof(*pids), by_pid);
    guests->guests = calloc((size_t)n + 1, sizeof(*guests->guests));
    if (!guests->guests)
        return error_set(error, -ENOMEM, "out of memory");
    for (ssize_t i = 0; rc == 0 && i < n; i++)
        rc = open_one(guests, pids[i], wait, error);
    return rc;
}

int cgroup_guests_open(struct cgroup_guests *guests, const struct fsroot *root,
                       const struct lock_wait *wait, struct error *error)
{
    uint64_t n_frames;
    int rc;

    *guests = (struct cgroup_guests){.root = root};
    rc = group_scan_frames(root, &n_frames, error);
    if (rc < 0)
        return rc;
    if (frame_set_make(&guests->ram, n_frames) < 0 || frame_set_make(&guests->taken, n_frames) < 0)
        return error_set(error, -ENOMEM, "out of memory");
    return open_all(guests, wait, error);
}

void cgroup_guests_close(struct cgroup_guests *guests)
{
    for (size_t i = 0; i < guests->n; i++) {
        run_lock_give_back(&guests->guests[i].lock);
        neighbour_free(&guests->guests[i].neighbour);
        subject_close(&guests->guests[i].subject);
    }
    run_lock_sweep(guests->root);
    free(guests->guests);
    free(guests->ram.words);
    free(guests->taken.words);
}
