// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file host_memory.h  The memory of this host, as status, top and report show it. */
#pragma once

#include "base/meminfo.h"

#define HOST_MEMORY_TEXT 160

/** "23.5 GiB of RAM, 17.0 GiB available, 1.0 GiB of 2.0 GiB swap used; assigned 80% of RAM".
 * @param assigned_bytes  what its guests have together */
char *host_memory_text(char text[HOST_MEMORY_TEXT], const struct host_memory *memory,
                       uint64_t assigned_bytes);

/** The same, now, of this machine if it is called @p host; "" if not, or it cannot be read. */
char *host_memory_of(char text[HOST_MEMORY_TEXT], const char *host, uint64_t assigned_bytes);
