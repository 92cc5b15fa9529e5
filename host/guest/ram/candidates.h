// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file candidates.h  The mappings of a QEMU process that look like a RAM block.
 *
 * Rule: rw-p or rw-s, VmFlags dc (QEMU sets MADV_DONTFORK on RAM blocks), then a guard without any
 * access. QEMU makes the guard one page long; the kernel may merge it with a similar neighbour, so
 * a longer guard is accepted. The pieces of a block that was split (mbind, partial mlock or
 * madvise) are joined.
 */
#pragma once

#include "guest/ram/smaps.h"

/* QEMU rounds and aligns anonymous memory to this (QEMU_VMALLOC_ALIGN of util/mmap-alloc.c). A
 * thread's stack, which a guard may follow too, is one page less than a multiple of it. */
#define CANDIDATE_ANON_UNIT_BYTES (2ULL << 20)

struct candidate {
    struct vma first; /* its first piece, as smaps printed it */
    struct vma whole; /* start, end and sums over all pieces; locked, mergeable if any piece is */
    uint64_t last_start; /* where its last piece begins */
    bool taken;          /* a backend took it; set by the matcher */
    bool device;         /* that is a device's memory */
    bool any;            /* from candidates_collect_any() */
    bool unclaimed;      /* there is no proof, but it may be RAM */
};

struct candidates {
    size_t n;
    struct candidate *at; /* ordered by ascending address */
};

/** Collects the candidates of @p pid; errors as smaps_walk(). Free with candidates_free(), also
 * after an error. */
int candidates_collect(const struct fsroot *root, pid_t pid, struct candidates *out,
                       struct error *error);

/** Collects what may be RAM of a VMM that is not a QEMU: all mappings of a MiB or more for reading
 * and writing of which anything is resident, whatever their flags and whatever lies behind them. */
int candidates_collect_any(const struct fsroot *root, pid_t pid, struct candidates *out,
                           struct error *error);

/** Checks the page sizes of the kernel and of each mapping; a captured tree has only those of the
 * mappings. -ENOTSUP or -EUCLEAN with the reason. */
int candidates_check_pages(const struct fsroot *root, const struct candidates *candidates,
                           struct error *error);
void candidates_free(struct candidates *candidates);

static inline uint64_t candidate_bytes(const struct candidate *c)
{
    return c->whole.end - c->whole.start;
}

bool candidate_is_memfd(const struct candidate *c);

/** Returns true if it is named like QEMU's own memory, or like memory of a device of the host that
 * is assigned to the guest (VFIO), which QEMU maps as it maps RAM. Since QEMU 10 memory that is
 * neither private nor a backend is a memfd with its region's name: "/memfd:0000:00:02.0/vga.vram",
 * "/memfd:/rom@etc/acpi/tables". A backend's id has no slash. */
bool candidate_is_auxiliary(const struct candidate *c);

/** Checks those parts of the rule that /proc/PID/maps shows too: the access, and a guard behind
 * it. */
bool candidates_mapped_like_ram(const struct vma *vma);
bool candidates_is_guard(const struct vma *vma);
