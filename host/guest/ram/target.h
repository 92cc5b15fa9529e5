// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file target.h  The object that a method samples: one QEMU process and the location of its guest
 * RAM. */
#pragma once

#include "base/error.h"
#include "base/fsroot.h"
#include "guest/domain/qemu_process.h"
#include "guest/ram/guest_ram.h"
#include "guest/ram/resident.h"

#include <stdbool.h>

/** Borrowed pointers: they must outlive the sampling. */
struct target {
    const struct fsroot *root;
    const struct qemu_process *process;
    const struct guest_ram *ram;
    const struct resident_meter *meter; /* NULL: the caller does not ask how much is resident */
};

/**
 * How much of the guest is resident now: before its pages are read, or, @p again, once they have
 * been (resident_meter_read_again()). Leaves *@p now alone if target->meter is NULL.
 * @return 0; -ESRCH when the process is gone, with @p error set
 */
int target_read_resident(const struct target *target, struct resident_now *now, bool again,
                         struct error *error);
