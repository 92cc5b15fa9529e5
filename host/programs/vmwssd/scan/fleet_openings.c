// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file fleet_openings.c  Guests are opened one after the other, as the budget and the limit of
 * open files allow.
 */
#include "programs/vmwssd/scan/fleet_private.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/cond.h"
#include "base/service/log.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#define FILES_A_GUEST 64 /* far more than most guests take; each block of its RAM takes five */
#define FILES_ELSE 64
#define FILES_WAIT_S 10

size_t fleet_waiting(const struct fleet *fleet)
{
    size_t n = 0;

    for (size_t i = 0; i < PUBLISHER_MAX_SOURCES; i++)
        n += fleet->openings.waiting[i];
    return n;
}

size_t fleet_waiting_elsewhere(struct fleet *fleet, unsigned source)
{
    HOLD(&fleet->mutex);
    return fleet_waiting(fleet) -
           (source < PUBLISHER_MAX_SOURCES ? fleet->openings.waiting[source] : 0);
}

/* Logs this once for each crowd. */
static void log_late_openings(struct fleet *fleet, bool late)
{
    size_t waiting = fleet_waiting(fleet);

    if (late && !fleet->openings.late)
        log_line(LOG_CLASS_DAEMON, LOG_NOTICE,
                 "%zu guest%s to be opened, one after the other, for the CPU budget of %g %%",
                 waiting, waiting == 1 ? " waits" : "s wait", fleet->config.budget * 100);
    if (fleet->openings.late && waiting == 0)
        log_line(LOG_CLASS_DAEMON, LOG_NOTICE, "no guest waits to be opened any more");
    fleet->openings.late = (fleet->openings.late || late) && waiting > 0;
}

/* The kernel gives the lowest free number, so this is about the number in use. */
static rlim_t files_open(const struct rlimit *limit)
{
    cleanup_close int fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);

    return fd < 0 ? limit->rlim_cur : (rlim_t)fd;
}

/* Without free files nothing works any more, and running guests seem to have ended. The scanner has
 * more files open than this process, with the same limit. */
static bool has_files(struct fleet *fleet)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return true;

    rlim_t left = scanner_files(fleet->sinks.scanner);
    rlim_t open = files_open(&limit);

    if (left < limit.rlim_cur && limit.rlim_cur - left > open)
        open = limit.rlim_cur - left;

    bool has = open + FILES_A_GUEST + FILES_ELSE <= limit.rlim_cur;

    if (!has && !fleet->openings.short_of_files)
        log_line(LOG_CLASS_DAEMON, LOG_WARNING,
                 "%zu guest%s not opened: %llu files are open of the %llu that the limit allows "
                 "(ulimit -n, LimitNOFILE), and %d are kept free",
                 fleet_waiting(fleet), fleet_waiting(fleet) == 1 ? " is" : "s are",
                 (unsigned long long)open, (unsigned long long)limit.rlim_cur,
                 FILES_A_GUEST + FILES_ELSE);
    fleet->openings.short_of_files = !has;
    return has;
}

static double wait_to_open(struct fleet *fleet, uint64_t last_ns)
{
    const struct deadline *scan = deadline_next(&fleet->table.queue);
    const struct opening_turn turn = {.last_ns = last_ns,
                                      .next_scan_ns = scan ? scan->at_ns : UINT64_MAX};

    return ledger_opening_wait_s(&fleet->spending.ledger, &turn, clock_ns(), fleet_cpu_s(fleet));
}

double fleet_wait_to_open(struct fleet *fleet, unsigned source, size_t n, uint64_t last_ns)
{
    double wait_s = 0;

    HOLD(&fleet->mutex);
    if (source < PUBLISHER_MAX_SOURCES) {
        fleet->spending.replan |= (n > 0) != (fleet->openings.waiting[source] > 0);
        fleet->openings.waiting[source] = n;
    }
    if (n > 0)
        wait_s = has_files(fleet) ? wait_to_open(fleet, last_ns) : FILES_WAIT_S;
    log_late_openings(fleet, wait_s > 0);
    return wait_s;
}
