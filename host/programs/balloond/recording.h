// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file recording.h  Chooses the decisions that go into the journal, and notes their results.
 *
 * A decision that equals the guest's last one is left out. A decision that changes a balloon is
 * always added, and so is the first one of a guest that is short of memory. A further one with new
 * figures is added only RECORDING_BURST times within RECORDING_EVERY_S: a guest that cannot be
 * served gets a decision about every two seconds, each with other figures. Decisions that were left
 * out are added with the next minute, if they still hold. Balloons that grow repeatedly by the
 * little that the host has share one row a minute, with the last size.
 */
#pragma once

#include "programs/balloond/context.h"

#define RECORDING_EVERY_S 60
#define RECORDING_BURST 5

/** Makes the entry for the guest's decision. */
struct journal_entry recording_entry(const struct balloond *balloond,
                                     const struct control_host *host, size_t i);

/** Adds the entry to the journal if it is new, and then logs the order. Failures are logged. */
void recording_add(struct balloond *balloond, size_t i, struct journal_entry *entry);

/** Notes the results of the last targets, once it is time. */
void recording_after(struct balloond *balloond);

/** Notes the host's level; see journal_note_host(). */
void recording_host(struct balloond *balloond, const struct control_host *host);
