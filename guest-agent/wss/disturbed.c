// SPDX-License-Identifier: LGPL-2.1-or-later
#include "wss/disturbed.h"

#include "base/cleanup.h"
#include "base/proc_pid.h"
#include "proc/hidden.h"
#include "proc/keyed.h"
#include "proc/paging.h"
#include "proc/process_memory.h"

#include <string.h>

void disturbed_begin(const struct fsroot *root, struct disturbed *disturbed)
{
    *disturbed = (struct disturbed){.scanned_pages = paging_scanned_pages(root)};
}

/* Checks for a kernel thread, which has no address space, because any process may have that
 * name. */
static bool is_kdamond(const struct fsroot *root, pid_t pid)
{
    struct process_statm statm;
    char name[32];

    return fsroot_read(root, name, sizeof(name), "proc/%d/comm", (int)pid) > 0 &&
           !strncmp(name, "kdamond.", 8) &&
           process_statm(root, pid, process_thread(root, pid), &statm) == 0 &&
           statm.size_bytes == 0;
}

/* PID namespaces other than the first have no kernel threads. */
static bool sees_kernel_threads(const struct fsroot *root)
{
    char name[32];

    return fsroot_read(root, name, sizeof(name), "proc/2/comm") > 0 && !strcmp(name, "kthreadd");
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
    uint64_t pages = paging_scanned_pages(root);

    disturbed->reclaim_unknown = pages == KEYED_UNKNOWN ||
                                 disturbed->scanned_pages == KEYED_UNKNOWN ||
                                 pages < disturbed->scanned_pages;
    disturbed->reclaim = !disturbed->reclaim_unknown && pages > disturbed->scanned_pages;
    disturbed->damon = kdamond_runs(root);
    disturbed->damon_unknown = !disturbed->damon && (processes_hidden(root) ||
                                                     (root->live && !sees_kernel_threads(root)));
}
