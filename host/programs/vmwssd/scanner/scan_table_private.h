// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file scan_table_private.h  Declarations shared by scan_table.c and scan_requests.c. */
#pragma once

#include "programs/vmwssd/scanner/guest_scan.h"
#include "programs/vmwssd/scanner/scan_table.h"

#include <pthread.h>

struct scan_entry {
    struct scan_entry *next;
    uint64_t number;
    pid_t pid;
    bool busy;               /* a thread owns it: others read only the constant part of the scan */
    uint64_t since_ns;       /* busy since then */
    bool gone;               /* the thread that has it busy frees it */
    struct guest_scan *scan; /* NULL: it is being restored */
};

struct scan_table {
    const struct fsroot *root;
    pid_t parent; /* the process of the other half */
    int epoll_fd;
    volatile int ending;   /* a measurement of writes ends when this is not 0 */
    pthread_mutex_t mutex; /* protects the fields below */
    pthread_cond_t changed;
    struct scan_entry *guests;
    uint64_t numbers;
    bool ended;
};

/** Returns NULL if there is no guest with that number. The mutex is held. */
struct scan_entry *scan_table_find(const struct scan_table *table, uint64_t number);

/** Returns true if the scanner itself has ended; this state is final, and not about one guest. */
bool scan_table_has_ended(struct scan_table *table);

/** Takes a guest for this thread alone, and waits while another thread has it. The other half sends
 * one request at a time about a guest, so that is rare, except for fetching, which is short.
 * Returns NULL if there is no guest with that number. */
struct scan_entry *scan_table_take(struct scan_table *table, uint64_t number);

/** Gives a guest back; its method may have another descriptor now. */
void scan_table_give_back(struct scan_table *table, struct scan_entry *guest);

/** Frees a guest that this thread has busy; restoring takes long, so meanwhile others see that
 * there is nothing to compare any more. */
void scan_table_free_guest(struct scan_table *table, struct scan_entry *guest);
