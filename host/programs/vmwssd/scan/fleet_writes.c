// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file fleet_writes.c  When the writes of a guest are measured, and what that may cost.
 *
 * Theory of operation. A guest whose writes are due is measured right after one of its scans, so
 * that the next scan comes after it. One guest of the host is measured at a time, by a thread that
 * lives as long; its curve goes into the guest's next record. All of the guest's page tables are
 * read some fifteen times, which may cost more at once than the budget earns in a minute. So the
 * ledger is charged for it over time, at a share of the budget, and the next measurement waits
 * until all is paid: with many or large guests the period becomes longer.
 */
#include "programs/vmwssd/scan/fleet_private.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/cond.h"
#include "base/service/log.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The share of the budget that pays for writes. */
#define WRITES_SHARE 0.25
/* The cost of a guest that was not measured yet. */
#define FIRST_COST_S 1.0
/* The windows end by this part of the period. */
#define PERIOD_PART 0.5

struct job {
    struct fleet *fleet;
    uint64_t serial, number; /* the guest's, and the scanner's for it */
    struct scan_writes params;
};

static struct fleet_guest *find(const struct fleet *fleet, uint64_t serial)
{
    struct fleet_guest *one = fleet->table.guests;

    while (one && one->serial != serial)
        one = one->next;
    return one;
}

double fleet_writes_unpaid_s(const struct fleet *fleet, uint64_t now_ns)
{
    const struct fleet_writes *writes = &fleet->writes;

    if (writes->serial)
        return writes->cost_s;
    return fmax(0, writes->cost_s - (double)(now_ns - writes->since_ns) / 1e9 * WRITES_SHARE *
                                        fleet->config.budget);
}

/* --- one measurement -------------------------------------------------------------------------- */

static void refuse(struct fleet_guest *guest, const struct error *error)
{
    if (strncmp(guest->written.refusal, error->text, sizeof(guest->written.refusal) - 1) != 0)
        log_line(LOG_CLASS_GUEST, LOG_WARNING, "domain %s: its writes are not measured: %s",
                 guest->name, error->text);
    snprintf(guest->written.refusal, sizeof(guest->written.refusal), "%s", error->text);
}

/* While a guest is suspended it writes nothing, which says nothing about it. */
static bool was_suspended(const struct fleet_guest *guest)
{
    return guest->pauses.suspended || guest->pauses.total_ns != guest->written.suspended_ns;
}

static void keep_curve(struct fleet_guest *guest, const struct write_curve *curve)
{
    guest->written.refusal[0] = '\0';
    if (was_suspended(guest))
        return;
    if (!guest->written.curve)
        guest->written.curve = malloc(sizeof(*curve));
    if (guest->written.curve)
        *guest->written.curve = *curve;
}

static void finish(const struct job *job, int rc, const struct write_curve *curve, double cpu_s,
                   const struct error *error)
{
    struct fleet *fleet = job->fleet;

    HOLD(&fleet->mutex);

    struct fleet_guest *guest = find(fleet, job->serial);

    fleet->writes = (struct fleet_writes){.cost_s = cpu_s, .since_ns = clock_ns()};
    if (!guest || fleet->stop || rc == -ESRCH || scanner_is_gone(rc))
        return;
    guest->written.cost_s = cpu_s;
    if (rc == -EBUSY) /* again after its next scan */
        guest->written.due_ns = 0;
    else if (rc < 0)
        refuse(guest, error);
    else
        keep_curve(guest, curve);
}

static void *measure(void *context)
{
    struct job *job = context;
    struct write_curve curve;
    struct error error = {0};
    double cpu_s;
    int rc = scanner_writes(job->fleet->sinks.scanner, job->number, &job->params, &curve, &cpu_s,
                            &error);

    finish(job, rc, &curve, cpu_s, &error);
    free(job);
    return NULL;
}

/* --- when ------------------------------------------------------------------------------------- */

static bool is_due(const struct fleet *fleet, const struct fleet_guest *guest, uint64_t now_ns)
{
    return fleet->config.writes_s > 0 && !fleet->stop && !guest->gone && !fleet->writes.serial &&
           now_ns >= guest->written.due_ns && fleet_writes_unpaid_s(fleet, now_ns) == 0;
}

static struct scan_writes params_of(const struct fleet *fleet)
{
    static const double windows_s[] = {WRITE_WINDOWS_S};
    struct scan_writes params = {.n_windows = 1, .window_s = {windows_s[0]}};

    while (params.n_windows < COUNT(windows_s) &&
           windows_s[params.n_windows] <= fleet->spending.plan.period_s * PERIOD_PART) {
        params.window_s[params.n_windows] = windows_s[params.n_windows];
        params.n_windows++;
    }
    return params;
}

static int start(struct fleet *fleet, const struct fleet_guest *guest)
{
    struct job *job = malloc(sizeof(*job));
    pthread_t thread;
    int rc;

    if (!job)
        return -ENOMEM;
    *job = (struct job){fleet, guest->serial, guest->scan.guest, params_of(fleet)};
    rc = -pthread_create(&thread, NULL, measure, job);
    if (rc == 0)
        pthread_detach(thread);
    else
        free(job);
    return rc;
}

void fleet_writes_begin(struct fleet *fleet, struct fleet_guest *guest)
{
    const uint64_t now_ns = clock_ns();

    if (!is_due(fleet, guest, now_ns))
        return;
    fleet->writes = (struct fleet_writes){
        .serial = guest->serial,
        .cost_s = guest->written.cost_s > 0 ? guest->written.cost_s : FIRST_COST_S};
    guest->written.due_ns = now_ns + fleet_ns(fleet->config.writes_s);
    guest->written.suspended_ns = guest->pauses.total_ns;
    if (start(fleet, guest) < 0)
        fleet->writes = (struct fleet_writes){0};
}

void fleet_writes_take(struct fleet *fleet, struct fleet_guest *guest, struct sample_record *record)
{
    HOLD(&fleet->mutex);
    if (guest->written.curve)
        record->writes = *guest->written.curve;
    free(guest->written.curve);
    guest->written.curve = NULL;
}
