// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file clear_refs.h  /proc/PID/clear_refs.
 *
 * Source: Documentation/filesystems/proc.rst; fs/proc/task_mmu.c, clear_refs_write(). A write takes
 * the mmap lock of the process for writing while it walks all of its page tables.
 */
#pragma once

#include "base/error.h"
#include "guest/ram/target.h"

enum clear_refs {
    CLEAR_REFS_REFERENCED = 1, /* accessed bits and PG_referenced of all pages; no TLB flush */
    /* Write-protects the page tables, then flushes the TLB; the MMU notifier fires for the whole
     * address space, so KVM drops every mapping of the guest. */
    CLEAR_REFS_SOFT_DIRTY = 4,
};

/** From now on @p opener opens the file of a process for writing, and returns its descriptor or a
 * negative errno: for a process that may open nothing for writing. NULL: the file system. */
void clear_refs_keep(int (*opener)(pid_t pid));

/** Writes @p what to the file. 0 or a negative errno. */
int clear_refs(const struct target *target, enum clear_refs what, struct error *error);
