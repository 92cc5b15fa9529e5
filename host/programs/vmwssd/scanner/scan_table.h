// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file scan_table.h  The scanner's guests, and the answer to every request about them.
 *
 * All access to other processes is below this interface. A request's form was checked before
 * (scan_message.h); its objects are verified here: a process is opened only if it is a QEMU, and
 * before every scan, start time and pidfd prove that the guest is still the process that was
 * opened. Any number of threads may call it: two requests about one guest never run at once.
 */
#pragma once

#include "guest/domain/domain.h"
#include "programs/vmwssd/scanner/scan_message.h"

struct scan_table; /* opaque */

/** Borrows @p root. @p parent: pid of the other half. It is this process's parent until it ends, so
 * another parent means that it has ended. Returns NULL if out of memory or files. */
struct scan_table *scan_table_new(const struct fsroot *root, pid_t parent);

/**
 * Answers one valid request; not SCAN_ALIVE, SCAN_LANE and SCAN_BELL, which are about the channels
 * themselves.
 * @param reply  is filled; the caller has begun it with scan_reply_begin()
 * @param fd     the descriptor to send with the reply, which the caller closes; -1: none
 */
void scan_table_answer(struct scan_table *table, const struct scan_request *request,
                       struct scan_reply *reply, int *fd);

/** Takes ownership of an opened guest, which is moved; returns its number. 0: out of memory. */
uint64_t scan_table_add(struct scan_table *table, struct guest *guest);

/** Returns a descriptor that is readable when the method of a guest has data to fetch: then call
 * scan_table_fetch(). */
int scan_table_fd(const struct scan_table *table);

/** Fetches, between two scans, data that the kernel keeps only in a small buffer. Does not wait. */
void scan_table_fetch(struct scan_table *table);

/** Restores all guests, with a few threads, and answers all further requests with -ESHUTDOWN; a
 * scan that hangs is abandoned five seconds after its start, because its caller has waited that
 * long too. Returns the number of such scans. */
size_t scan_table_end(struct scan_table *table);
