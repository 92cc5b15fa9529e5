// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file scan_table.h  The scanner's guests, and the answer to every request about them.
 *
 * All that touches another process is below here. A request was checked (scan_message.h); what it
 * names is proved here: a process is opened only if it is a QEMU, and a guest is the process it was
 * opened as, by start time and pidfd, before every scan. By any number of threads: two requests
 * about one guest never run at once.
 */
#pragma once

#include "guest/domain/domain.h"
#include "programs/vmwssd/scanner/scan_message.h"

struct scan_table; /* opaque */

/** Borrows @p root. @p parent: the other half, as long as it is the parent of this process.
 * NULL: out of memory, or of files. */
struct scan_table *scan_table_new(const struct fsroot *root, pid_t parent);

/**
 * Answers one request, which is valid; not SCAN_ALIVE, SCAN_LANE and SCAN_BELL, which are about
 * the wall.
 * @param reply  begun; filled
 * @param fd     the descriptor that goes with the reply, which the caller closes; -1: none
 */
void scan_table_answer(struct scan_table *table, const struct scan_request *request,
                       struct scan_reply *reply, int *fd);

/** Takes over an opened guest, which is moved; its number. 0: out of memory. */
uint64_t scan_table_add(struct scan_table *table, struct guest *guest);

/** Readable when the method of a guest has something to fetch: scan_table_fetch() then. */
int scan_table_fd(const struct scan_table *table);

/** Fetches, between two scans, what the kernel keeps only in a small buffer. Does not wait. */
void scan_table_fetch(struct scan_table *table);

/** Restores all guests, by a few threads, and answers nothing any more but -ESHUTDOWN; a scan that
 * hangs is left five seconds after its begin, for whoever asked for it has waited as long. Returns
 * how many these are. */
size_t scan_table_end(struct scan_table *table);
