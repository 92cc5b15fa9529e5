// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file recording.h  Which decisions go into the journal, and what became of them.
 *
 * One that says the same as the guest's last one does not. One that changes a balloon always does,
 * and so does the first of a guest that is short of memory; another one with what it is now, within
 * RECORDING_EVERY_S, only RECORDING_BURST times: a guest that cannot be served is decided about
 * every two seconds, and what it would get is another figure each time. What is left out comes with
 * the next minute, if it is still so. Balloons that grow by what little the host has, each time,
 * share one row a minute, with the last size.
 */
#pragma once

#include "programs/balloond/context.h"

#define RECORDING_EVERY_S 60
#define RECORDING_BURST 5

/** What was decided of that guest. */
struct journal_entry recording_entry(const struct balloond *balloond,
                                     const struct control_host *host, size_t i);

/** Adds it to the journal, if it is news, and logs then what was ordered. What fails is logged. */
void recording_add(struct balloond *balloond, size_t i, struct journal_entry *entry);

/** What became of the last targets, once it is time. */
void recording_after(struct balloond *balloond);

/** The host's level; see journal_note_host(). */
void recording_host(struct balloond *balloond, const struct control_host *host);
