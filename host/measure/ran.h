/* SPDX-License-Identifier: LGPL-2.1-or-later */
/**
 * @file ran.h  What the vCPU time of a window says about its number.
 *
 * A guest that hardly ran has a number that is right, and says little of what it needs. One that
 * ran and touched nothing was not seen, unless TCG emulates it.
 */
#pragma once

#include "measure/method.h"
#include "measure/tally.h"

#include <stdint.h>

/** Time, and vCPU time of all vCPUs within it, in nanoseconds. */
struct ran {
    uint64_t vcpu_ns, time_ns;
};

/** Between marking and reading, and while pages were marked and read. */
struct ran_window {
    struct ran inner, edges;
};

/** Adds the doubt that the vCPUs hardly ran, if so. A guest that did not run at all touched
 * nothing: the lower bound of a method that sees QEMU's own touches is 0, because QEMU may be
 * loading the guest's memory. That says nothing of what the guest needs when it runs: like one that
 * is paused, it has all that is resident for its upper bound. A write set is no need: what did not
 * run wrote nothing, and a migration of a guest that goes on so finds nothing to send again. */
void ran_doubt_idle(const struct method *method, double vcpu_s, double time_s, struct tally *tally);

/** Adds the doubts to the window's @p tally. @p kvm_faults: the faults that KVM had resolved before
 * marking (kvm_stats.h); 0 unless the method sees writes only. */
void ran_doubt(const struct target *target, const struct method *method, uint64_t kvm_faults,
               const struct ran_window *ran, struct tally *tally);
