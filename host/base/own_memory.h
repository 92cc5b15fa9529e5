// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file own_memory.h  What this host has of memory for guests. */
#pragma once

#include <stdint.h>
#include <sys/sysinfo.h>

/* Of this host's own memory what its kernel and daemons need is not for guests. */
#define OWN_MEMORY_HOST_SHARE 0.05

/** Memory of this host that is for guests, in bytes: its RAM less 5 %; 0: not known. */
static inline uint64_t own_memory_for_guests(void)
{
    struct sysinfo info;

    if (sysinfo(&info) < 0)
        return 0;
    return (uint64_t)((double)info.totalram * (double)info.mem_unit * (1 - OWN_MEMORY_HOST_SHARE));
}
