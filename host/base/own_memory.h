// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file own_memory.h  The part of this host's memory that is available to guests. */
#pragma once

#include <stdint.h>
#include <sys/sysinfo.h>

/* The share of this host's memory that its kernel and daemons need. */
#define OWN_MEMORY_HOST_SHARE 0.05

/** Memory of this host available to guests, in bytes: its RAM minus 5 %; 0: not known. */
static inline uint64_t own_memory_for_guests(void)
{
    struct sysinfo info;

    if (sysinfo(&info) < 0)
        return 0;
    return (uint64_t)((double)info.totalram * (double)info.mem_unit * (1 - OWN_MEMORY_HOST_SHARE));
}
