// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file cgroups.h  Prints the memory that control groups touch within a window: a table for
 * people, JSON, CSV. */
#pragma once

#include "measure/estimate/group_usage.h"
#include "show/sheet.h"

enum cgroups_flag {
    /* accessed bits were cleared during the window: the group's by reclaim, or its guest's by NUMA
     * balancing */
    CGROUPS_AGEING = 1 << 0,
    CGROUPS_STALE_TLB = 1 << 1, /* the TLB of the group's guest was not flushed */
    CGROUPS_DAMON = 1 << 2,     /* DAMON is running on this host */
    CGROUPS_MGLRU = 1 << 3,     /* accesses by read() to shmem and file are missed */
};

struct cgroups_row {
    const char *path;
    char guests[256]; /* guests whose QEMU is in the group, separated by commas; "": none */
    unsigned flags;   /* enum cgroups_flag */
    struct group_usage kinds[FRAME_KINDS];
    struct group_usage all;
    uint64_t kernel_bytes;
};

struct cgroups_report {
    char host[256];
    double unix_s; /* when the window began */
    double window_s, est_window_s;
    double cpu_s;
    size_t n;
    struct cgroups_row *rows;
};

/** Sorts rows by touched bytes, descending. */
void cgroups_sort(struct cgroups_report *report);

/**
 * @param top    number of rows
 * @param kinds print a table with a line for each kind of memory of each group; CSV and JSON
 *               (schema vmwss.cgroups.v1) always have all kinds
 * @return 0 or -ENOMEM
 */
int cgroups_print(const struct cgroups_report *report, uint64_t top, bool kinds,
                  enum show_format format);
