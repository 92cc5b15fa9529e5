// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file target.h  What a method samples: one QEMU process and where its guest RAM is. */
#pragma once

#include "base/fsroot.h"
#include "domain/qemu_process.h"
#include "guest_ram/guest_ram.h"

/** Borrowed pointers: they must outlive the sampling. */
struct target {
    const struct fsroot *root;
    const struct qemu_process *process;
    const struct guest_ram *ram;
};
