// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file subject.h  A guest ready to be sampled: its process, where its RAM is, and how much of it
 * is resident.
 *
 *   guest_open_domain() or guest_open_pid() → subject_locate() → { subject_refresh() → sample } →
 *   subject_close()
 *
 * DIMMs are plugged while the guest runs. QEMU maps a backend first, and only then makes it a
 * device, which its configuration tells; so a change of QEMU's address space raises doubt, and for
 * some seconds longer than the change itself the configuration is to be asked for again. Thread
 * stacks and buffers change it too: asking is all it costs.
 */
#pragma once

#include "guest/domain/domain.h"
#include "guest/ram/resident.h"
#include "guest/ram/target.h"

struct subject {
    const struct fsroot *root; /* borrowed */
    struct guest guest;        /* opened by the caller */
    struct guest_ram ram;
    struct resident_meter resident;
    uint64_t address_bytes; /* QEMU's address space as of when its RAM was known for certain; 0: not
                               yet read */
    uint64_t checked_bytes; /* likewise as of when it was checked for what changes it: see
                               subject_refresh() */
    uint64_t doubted_ns;    /* when it was first seen to differ; 0: it does not */
};

/**
 * Finds the RAM of subject->guest, which is open. To be closed in either case.
 * @return 0; -ENODEV: the process is stopped by a signal or a debugger; else as guest_ram_locate()
 */
int subject_locate(struct subject *subject, const struct fsroot *root, struct error *error);

/** Opens the process once more, and forgets what was located: subject_locate() is next. Errors as
 * guest_reopen(); nothing is located in either case. */
int subject_reopen(struct subject *subject, struct error *error);

/** Frees what was located, and closes the guest. */
void subject_close(struct subject *subject);

/** What the rooms below take; borrows from @p subject. */
struct target subject_target(const struct subject *subject);

/** Looks at the guest afresh: vCPUs come and go, a migration may begin, a device be assigned, RAM
 * be plugged, and become resident.
 *  @return 0; -ESRCH the guest vanished; -ESTALE its RAM is to be located anew: some was unplugged,
 * and there is no libvirt to ask for what there is now */
int subject_refresh(struct subject *subject, struct resident_now *now, struct error *error);

/** May RAM have been plugged or unplugged since it was located? @p now is that of the last
 * subject_refresh(). If so, ask for the configuration, and then subject_answered() or
 * subject_relocate(). */
bool subject_in_doubt(struct subject *subject, const struct resident_now *now);

/** The configuration is what it was. Ends the doubt when the change is old enough to be in it. */
void subject_answered(struct subject *subject, const struct resident_now *now);

/** Finds the RAM of @p config, which is moved, in place of what was located; a panel that samples
 * the old has closed it. Errors as subject_locate(); then nothing is located. */
int subject_relocate(struct subject *subject, struct ram_config *config, struct error *error);
