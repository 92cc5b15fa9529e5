// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file scan_table_private.h  What scan_table.c and scan_requests.c share. */
#pragma once

#include "programs/vmwssd/scanner/guest_scan.h"
#include "programs/vmwssd/scanner/scan_table.h"

#include <pthread.h>

struct scan_entry {
    struct scan_entry *next;
    uint64_t number;
    pid_t pid;
    bool busy;               /* a thread owns it: others read only what never changes in watched */
    uint64_t since_ns;       /* since then */
    bool gone;               /* that thread frees it */
    struct guest_scan *scan; /* NULL: it is being restored */
};

struct scan_table {
    const struct fsroot *root;
    pid_t parent; /* the other half */
    int epoll_fd;
    pthread_mutex_t mutex; /* of what follows */
    pthread_cond_t changed;
    struct scan_entry *guests;
    uint64_t numbers;
    bool ended;
};

/** NULL: there is none of that number. The mutex is held. */
struct scan_entry *scan_table_find(const struct scan_table *table, uint64_t number);

/** For good: what has ended is the scanner, not a guest. */
bool scan_table_has_ended(struct scan_table *table);

/** To be used by this thread alone; the other half asks for one thing at a time, so who has it now
 * fetches, which is short, or is a second request. NULL: there is none of that number. */
struct scan_entry *scan_table_take(struct scan_table *table, uint64_t number);

/** Its method may have another descriptor now. */
void scan_table_give_back(struct scan_table *table, struct scan_entry *guest);

/** Who has it busy may; restoring it takes long, so others see meanwhile that there is nothing to
 * compare any more. */
void scan_table_free_guest(struct scan_table *table, struct scan_entry *guest);
