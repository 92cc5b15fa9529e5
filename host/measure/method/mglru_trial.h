// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file mglru_trial.h  A trial whether MGLRU sees this guest's touches. */
#pragma once

#include "measure/method.h"

/**
 * Since Linux 6.12 MGLRU sees a KVM guest's touches: its walk takes KVM's accessed bits, too. On
 * older kernels, to which the change may have been ported back, the trial measures the guest under
 * KVM for a fraction of a second.
 * @param release  "6.12.94+deb13-amd64"
 */
bool mglru_ages_kvm(const char *release);

/** Returns true if an ageing leaves PG_referenced on pages that it found touched (Linux 6.14,
 * folio_update_gen()). */
bool mglru_leaves_referenced(const struct fsroot *root);

/** 0, or -ENOTSUP; then @p why has the kernel's version and the trial's findings. */
int mglru_sees_guest(const struct target *target, struct error *why);
