// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file subject.h  A guest ready to be sampled: its process, where its RAM is, and how much of it
 * is resident.
 *
 *   guest_open_domain() or guest_open_pid() → subject_locate() → { subject_refresh() → sample } →
 *   subject_close()
 *
 * DIMMs are plugged while the guest runs. QEMU maps a backend first, and only then makes it a
 * device, which its configuration shows. So after a change of QEMU's address space, the
 * configuration must be read again for some seconds. Thread stacks and buffers change the address
 * space too; that costs only the reading.
 */
#pragma once

#include "guest/domain/domain.h"
#include "guest/ram/resident.h"
#include "guest/ram/target.h"
#include "measure/ram_proof.h"

struct subject {
    const struct fsroot *root; /* borrowed */
    struct guest guest;        /* opened by the caller */
    struct guest_ram ram;
    struct ram_trial trial; /* kept from one subject_locate() to the next; starts as all zero */
    struct resident_meter resident;
    /* size of QEMU's address space when its RAM was last known for certain; 0: not yet read */
    uint64_t address_bytes;
    /* size of QEMU's address space when its changes were last checked: see subject_refresh() */
    uint64_t checked_bytes;
    uint64_t doubted_ns; /* when a difference was first seen; 0: no difference */
    /* the vCPUs had run when QEMU's mappings were last examined. Before that QEMU builds the
     * machine, and maps firmware and device tables, which look like RAM */
    bool built;
};

/**
 * Finds the RAM of subject->guest, which is open. Close the subject in every case.
 * @return 0; -ENODEV: the process is stopped by a signal or a debugger; else as guest_ram_locate()
 */
int subject_locate(struct subject *subject, const struct fsroot *root, struct error *error);

/** Opens the process again and forgets the located RAM; call subject_locate() next. Errors as
 * guest_reopen(); nothing is located in either case. */
int subject_reopen(struct subject *subject, struct error *error);

/** Frees the located RAM and closes the guest. */
void subject_close(struct subject *subject);

/** The target for the lower layers; it borrows from @p subject. */
struct target subject_target(const struct subject *subject);

/**
 * Reads the guest's state again: vCPUs come and go, a migration may begin, a device may be
 * assigned, and RAM may be plugged and become resident.
 *  @return 0; -ESRCH the guest vanished; -ESTALE its RAM must be located anew: some was unplugged,
 *  and there is no libvirt that knows the present RAM
 */
int subject_refresh(struct subject *subject, struct resident_now *now, struct error *error);

/** Returns true if RAM may have been plugged or unplugged since it was located. @p now comes from
 * the last subject_refresh(). If true, read the configuration, and then call subject_answered() or
 * subject_relocate(). */
bool subject_in_doubt(struct subject *subject, const struct resident_now *now);

/** Notes that the configuration has not changed. Ends the doubt if the change of the address space
 * is old enough to be in the configuration. */
void subject_answered(struct subject *subject, const struct resident_now *now);

/** Locates the RAM of @p config, which it takes over, in place of the old location. Panels of the
 * old location must be closed before. Errors as subject_locate(); after an error nothing is
 * located. */
int subject_relocate(struct subject *subject, struct ram_config *config, struct error *error);
