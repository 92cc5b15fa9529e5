// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file unclaimed.h  Decides which of the mappings that no option explains may be RAM of the
 * guest. */
#pragma once

#include "guest/ram/candidates.h"
#include "guest/ram/guest_ram.h"

/** Notes in out->others the candidates that are not RAM, or of which nothing is known, and how much
 * of them is unclaimed. 0; -ENOMEM. */
int guest_ram_note_others(const struct qemu_process *process, const struct candidates *candidates,
                          struct guest_ram *out);
