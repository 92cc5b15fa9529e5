// SPDX-License-Identifier: LGPL-2.1-or-later
#include "show/host_memory.h"

#include "base/bytes.h"
#include "base/text/units.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

char *host_memory_text(char text[HOST_MEMORY_TEXT], const struct host_memory *memory,
                       uint64_t assigned_bytes)
{
    char part[2][32];
    char swap[80] = "no swap";

    if (memory->swap_total_bytes > 0)
        snprintf(swap, sizeof(swap), "%s of %s swap used",
                 show_bytes(part[0], sizeof(part[0]),
                            less(memory->swap_total_bytes, memory->swap_free_bytes)),
                 show_bytes(part[1], sizeof(part[1]), memory->swap_total_bytes));

    int n = snprintf(text, HOST_MEMORY_TEXT, "%s of RAM, %s available, %s",
                     show_bytes(part[0], sizeof(part[0]), memory->total_bytes),
                     show_bytes(part[1], sizeof(part[1]), memory->available_bytes), swap);

    if (assigned_bytes != UINT64_MAX)
        snprintf(text + n, HOST_MEMORY_TEXT - (size_t)n, "; assigned %.0f%% of RAM",
                 100 * (double)assigned_bytes / (double)memory->total_bytes);
    return text;
}

char *host_memory_of(char text[HOST_MEMORY_TEXT], const char *host, uint64_t assigned_bytes)
{
    struct host_memory memory;
    cleanup_root struct fsroot root = {.dirfd = -1};
    char name[256] = "";

    *text = '\0';
    gethostname(name, sizeof(name) - 1);
    if (strcmp(name, host) != 0 || fsroot_open(&root, "/") < 0)
        return text;
    return meminfo_read(&root, &memory, NULL) == 0 ? host_memory_text(text, &memory, assigned_bytes)
                                                   : text;
}
