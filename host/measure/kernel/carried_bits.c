// SPDX-License-Identifier: LGPL-2.1-or-later
#include "measure/kernel/carried_bits.h"

#include "base/kernel_version.h"
#include "guest/arch/arch.h"
#include "measure/kernel/lru_gen.h"

#include <string.h>

bool accessed_bits_are_carried(const struct target *target)
{
    char release[128] = "";

    if (fsroot_read(target->root, release, sizeof(release), "proc/sys/kernel/osrelease") <= 0)
        return false;

    unsigned version = kernel_version(release);

    if (target->process->accel == ACCEL_TCG)
        return version >= KERNEL(6, 1);
    return arch_host()->drop_reports_accessed && version > 0 && version < KERNEL(6, 13) &&
           !strstr(release, ".el") && !(lru_gen_enabled(target->root) & LRU_GEN_ON);
}
