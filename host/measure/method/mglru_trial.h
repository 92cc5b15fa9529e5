// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file mglru_trial.h  Does MGLRU see what this guest touches? */
#pragma once

#include "measure/method.h"

/**
 * Since Linux 6.12 it does: its walk takes KVM's accessed bits, too. On older kernels, to which
 * that may have been ported back, a guest under KVM must show it: it is measured for a fraction of
 * a second.
 * @param release  "6.12.94+deb13-amd64"
 */
bool mglru_ages_kvm(const char *release);

/** Does an ageing leave PG_referenced on what it found touched (Linux 6.14, folio_update_gen())? */
bool mglru_leaves_referenced(const struct fsroot *root);

/** 0, or -ENOTSUP; then @p why says how old the kernel is and what was seen. */
int mglru_sees_guest(const struct target *target, struct error *why);
