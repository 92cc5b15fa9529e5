// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file host_memory.h  The memory of this host, for status, top and report. */
#pragma once

#include "base/meminfo.h"

#define HOST_MEMORY_TEXT 160

/** "23.5 GiB of RAM, 17.0 GiB available, 1.0 GiB of 2.0 GiB swap used; assigned 80% of RAM".
 * @param assigned_bytes  total RAM of the host's guests; UINT64_MAX: not known */
char *host_memory_text(char text[HOST_MEMORY_TEXT], const struct host_memory *memory,
                       uint64_t assigned_bytes);

/** Returns that text for this machine if its name is @p host; "" for another machine, or if its
 * memory cannot be read. */
char *host_memory_of(char text[HOST_MEMORY_TEXT], const char *host, uint64_t assigned_bytes);
