// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file disturbed.c  See disturbed.h. */
#include "wss/disturbed.h"

#include "base/cleanup.h"
#include "base/proc_pid.h"
#include "proc/hidden.h"
#include "proc/keyed.h"
#include "proc/process_memory.h"

#include <string.h>

/* One sum of all that scan; older kernels count the latter two together. */
static uint64_t scanned_pages(const struct fsroot *root)
{
    static const struct keyed_field fields[] = {
        {"pgscan_kswapd", 0},
        {"pgscan_direct", 0},
        {"pgscan_khugepaged", 0},
        {"pgscan_proactive", 0},
    };
    uint64_t pages;

    keyed_read(root, fields, sizeof(fields) / sizeof(fields[0]), &pages, "proc/vmstat");
    return pages;
}

void disturbed_begin(const struct fsroot *root, struct disturbed *disturbed)
{
    *disturbed = (struct disturbed){.scanned_pages = scanned_pages(root)};
}

/* Any process may have that name; but not without an address space. */
static bool is_kdamond(const struct fsroot *root, pid_t pid)
{
    struct process_statm statm;
    char name[32];

    return fsroot_read(root, name, sizeof(name), "proc/%d/comm", (int)pid) > 0 &&
           !strncmp(name, "kdamond.", 8) &&
           process_statm(root, pid, process_thread(root, pid), &statm) == 0 &&
           statm.size_bytes == 0;
}

static bool kdamond_runs(const struct fsroot *root)
{
    cleanup_free pid_t *pid = NULL;
    ssize_t n = proc_numbers(root, "proc", &pid);
    bool found = false;

    for (ssize_t i = 0; i < n && !found; i++)
        found = is_kdamond(root, pid[i]);
    return found;
}

void disturbed_look(const struct fsroot *root, struct disturbed *disturbed)
{
    uint64_t pages = scanned_pages(root);

    disturbed->reclaim_unknown = pages == KEYED_UNKNOWN ||
                                 disturbed->scanned_pages == KEYED_UNKNOWN ||
                                 pages < disturbed->scanned_pages;
    disturbed->reclaim = !disturbed->reclaim_unknown && pages > disturbed->scanned_pages;
    disturbed->damon = kdamond_runs(root);
    disturbed->damon_unknown = !disturbed->damon && processes_hidden(root);
}
