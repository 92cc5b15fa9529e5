// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file subject.h  A guest ready to be sampled: its process, where its RAM is, and how much of it is resident.
 *
 *   guest_open_domain() or guest_open_pid() → subject_locate() → { subject_refresh() → sample } → subject_close()
 */
#pragma once

#include "domain/domain.h"
#include "guest_ram/resident.h"
#include "sample/target.h"

struct subject {
    const struct fsroot *root; /* borrowed */
    struct guest guest;        /* opened by the caller */
    struct guest_ram ram;
    struct resident_meter resident;
};

/**
 * Finds the RAM of subject->guest, which is open. To be closed in either case.
 * @return 0; -ENODEV: the process is stopped by a signal or a debugger; else as guest_ram_locate()
 */
int subject_locate(struct subject *subject, const struct fsroot *root, struct error *error);

/** Frees what was located, and closes the guest. */
void subject_close(struct subject *subject);

/** What the rooms below take; borrows from @p subject. */
struct target subject_target(const struct subject *subject);

/** Looks at the guest afresh: vCPUs come and go, a migration may begin, and RAM becomes resident.
 *  @return 0; -ESRCH the guest vanished */
int subject_refresh(struct subject *subject, struct resident_now *now, struct error *error);
