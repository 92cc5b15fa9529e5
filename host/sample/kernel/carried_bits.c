// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file carried_bits.c  See carried_bits.h. */
#include "sample/kernel/carried_bits.h"

#include "sample/kernel/lru_gen.h"

#include <stdio.h>
#include <string.h>

#define VERSION(major, minor) ((major)*1000 + (minor))

/* 0: not known. */
static unsigned kernel_version(const char *release)
{
    unsigned major;
    unsigned minor;

    return sscanf(release, "%u.%u", &major, &minor) == 2 ? VERSION(major, minor) : 0;
}

bool accessed_bits_are_carried(const struct target *target)
{
    char release[128] = "";

    if (fsroot_read(target->root, release, sizeof(release), "proc/sys/kernel/osrelease") <= 0)
        return false;

    unsigned version = kernel_version(release);

    if (target->process->accel == ACCEL_TCG)
        return version >= VERSION(6, 1);
    return version > 0 && version < VERSION(6, 13) && !strstr(release, ".el") &&
           !(lru_gen_enabled(target->root) & LRU_GEN_ON);
}
