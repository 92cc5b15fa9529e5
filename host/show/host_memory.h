// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file host_memory.h  The memory of this host, for status, top and report. */
#pragma once

#include "base/meminfo.h"

#define HOST_MEMORY_TEXT 160

/** "23.5 GiB of RAM, 17.0 GiB available, 1.0 GiB of 2.0 GiB swap used; assigned 80% of RAM".
 * @param assigned_bytes RAM of all its guests */
char *host_memory_text(char text[HOST_MEMORY_TEXT], const struct host_memory *memory,
                       uint64_t assigned_bytes);

/** Returns the same text for this machine, now, if its name is @p host; "" if it is another
 * machine, or if it cannot be read. */
char *host_memory_of(char text[HOST_MEMORY_TEXT], const char *host, uint64_t assigned_bytes);
