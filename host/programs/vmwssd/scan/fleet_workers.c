// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file fleet_workers.c  The threads that scan the guests of a fleet.
 *
 * Theory of operation. Each thread takes the guests that are due together (fleet_batch.c), scans
 * them without holding the mutex, and queues each for its next scan. Before that it asks the
 * ledger: if the process has used more than the budget all threads wait, and scans are late, which
 * their est windows show. Every half minute, or when guests come and go, panels and period are
 * planned anew from the cost of scans.
 */
#include "programs/vmwssd/scan/fleet_private.h"

#include "base/cond.h"
#include "base/plural.h"
#include "base/service/log.h"
#include "guest/domain/qemu_vcpus.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SECOND_NS 1000000000ULL
#define PLAN_EVERY_NS (30 * SECOND_NS)
#define ACCOUNT_S 10 /* over a shorter time, opening a single guest looks like a permanent load */
/* Other costs come in bursts: with a thousand guests, the XML of a hundred is read at once. */
#define OVERHEAD_LATELY_S 60
#define SHOW_UP_NS (10 * SECOND_NS)
#define RELEASE_NS (3 * SECOND_NS) /* a batch is given up within this time */

uint64_t fleet_ns(double seconds)
{
    return (uint64_t)llround(seconds * 1e9);
}

/* --- the plan --------------------------------------------------------------------------------- */

struct budget_limits fleet_limits(const struct fleet *fleet)
{
    const struct config *config = &fleet->config;
    double opening = fleet_waiting(fleet) > 0 ? OPENING_SHARE * config->budget : 0;

    return (struct budget_limits){
        .share = config->budget,
        .guest_share = config->guest_budget,
        .overhead = fmax(fleet->spending.overhead, opening),
        .polling_s = fleet->spending.polling_s,
        .period_s = config->period_s,
        .max_period_s = config->window_s[config->n_windows - 1],
        .samples = (double)config->samples,
    };
}

/* Notes what the process has used since the last plan, and how much of that was not for scans. */
static void account(struct fleet *fleet, uint64_t now_ns)
{
    double cpu_s = fleet_cpu_s(fleet);
    double since_s = (double)(now_ns - fleet->spending.plan_ns) / 1e9;

    if (fleet->spending.plan_ns > 0 && since_s < ACCOUNT_S)
        return;
    if (fleet->spending.plan_ns > 0) {
        double scans_s = fleet->spending.scans_cpu_s - fleet->spending.plan_scans_s;
        double overhead = fmax(0, (cpu_s - fleet->spending.plan_cpu_s - scans_s) / since_s -
                                      fleet->spending.polling_s / fleet->spending.plan.period_s);

        fleet->spending.recent_share = fmax(0, cpu_s - fleet->spending.plan_cpu_s) / since_s;
        fleet->spending.overhead += (overhead - fleet->spending.overhead) * since_s /
                                    (since_s + OVERHEAD_LATELY_S);
    }
    fleet->spending.plan_ns = now_ns;
    fleet->spending.plan_cpu_s = cpu_s;
    fleet->spending.plan_scans_s = fleet->spending.scans_cpu_s;
}

/* The plan includes guests that wait to be opened: otherwise larger panels would be drawn, only to
 * be given up when those guests arrive, and scans of the few would take the CPU time needed for
 * opening the many. */
static void plan_anew(struct fleet *fleet, uint64_t now_ns)
{
    const struct budget_limits limits = fleet_limits(fleet);
    const size_t waiting = fleet_waiting(fleet);
    struct budget_cost *costs = calloc(fleet->table.n + waiting + 1, sizeof(*costs));
    double before_s = fleet->spending.plan.period_s;
    size_t n = 0;

    account(fleet, now_ns);
    for (struct fleet_guest *one = fleet->table.guests; costs && one; one = one->next)
        costs[n++] = one->cost;
    if (costs)
        budget_guess(costs, n += waiting);
    fleet->spending.plan = budget_fit(&limits, costs, n);
    fleet->spending.polling_s = agents_pace(fleet->sinks.agents, fleet->spending.plan.period_s,
                                            fleet->spending.held_until_ns);
    fleet->spending.replan = false;
    free(costs);
    if (fabs(fleet->spending.plan.period_s - before_s) > before_s / 4 && before_s > 0)
        log_line(LOG_CLASS_DAEMON, LOG_NOTICE,
                 "%zu guest%s: a scan of each every %.3g s, for the budget", fleet->table.n,
                 plural((double)fleet->table.n), fleet->spending.plan.period_s);
}

/* --- the threads ------------------------------------------------------------------------------ */

/* Works without the mutex while the scans run. */
static void serve(struct fleet *fleet, struct fleet_worker *worker, struct fleet_guest *first,
                  uint64_t now_ns)
{
    fleet_batch_take(fleet, &worker->batch, first, now_ns);
    worker->at = first;
    pthread_mutex_unlock(&fleet->mutex);
    fleet_batch_scan(fleet, worker);
    pthread_mutex_lock(&fleet->mutex);
}

/* Restores the first guest that was removed while a worker had it, which may hang like a scan;
 * returns false if there is none. */
static bool free_one(struct fleet *fleet, struct fleet_worker *worker)
{
    struct fleet_guest *guest = fleet->table.let_go;

    if (!guest)
        return false;
    fleet->table.let_go = guest->next;
    worker->at = guest;
    worker->seen_ns = clock_ns();
    worker->restores = true;
    pthread_mutex_unlock(&fleet->mutex);
    scanner_close(fleet->sinks.scanner, &guest->scan);
    pthread_mutex_lock(&fleet->mutex);
    worker->at = NULL; /* other threads read its name until now */
    worker->restores = false;
    free(guest->written.curve);
    free(guest);
    return true;
}

/* --- jobs between two scans ------------------------------------------------------------------- */

/* share of the budget: the threads of ten guests take about a millisecond */
#define JOBS_SHARE 0.05
#define JOBS_BURST_S 0.002

/* Returns the guest after the last one, in the order of serials; NULL: there is none. */
static struct fleet_guest *next_for_jobs(struct fleet *fleet)
{
    struct fleet_guest *next = NULL;
    struct fleet_guest *first = NULL;

    for (struct fleet_guest *one = fleet->table.guests; one; one = one->next) {
        if (!first || one->serial < first->serial)
            first = one;
        if (one->serial > fleet->jobs.serial && (!next || one->serial < next->serial))
            next = one;
    }
    return next ? next : first;
}

static void earn(struct fleet *fleet, uint64_t now_ns)
{
    double passed_s = fleet->jobs.at_ns ? (double)(now_ns - fleet->jobs.at_ns) / 1e9 : 0;

    fleet->jobs.at_ns = now_ns;
    fleet->jobs.credit_s = fmin(fleet->jobs.credit_s + passed_s * JOBS_SHARE * fleet->config.budget,
                                JOBS_BURST_S);
}

/* If /proc is mounted with hidepid, only the scanner sees other users' processes. Returns the cost.
 */
static double find_jobs(struct fleet *fleet, pid_t pid, uint64_t number, unsigned *flags)
{
    double cpu_s = thread_cpu_s();
    double scanner_cpu_s = 0;
    unsigned jobs;

    if (qemu_process_read_jobs(fleet->root, pid, &jobs) < 0)
        scanner_jobs(fleet->sinks.scanner, number, &jobs, &scanner_cpu_s);
    *flags = sample_job_flags(jobs);
    return thread_cpu_s() - cpu_s + scanner_cpu_s;
}

/* The process belongs to the guest until its end is noticed; a wrong flag is the worst that can
 * happen. */
void fleet_find_jobs(struct fleet *fleet)
{
    pthread_mutex_lock(&fleet->mutex);
    earn(fleet, clock_ns());
    for (size_t i = 0; i < fleet->table.n && fleet->jobs.credit_s > 0 && !fleet->stop; i++) {
        const struct fleet_guest *guest = next_for_jobs(fleet);
        const pid_t pid = guest->scan.pid;
        const uint64_t number = guest->scan.guest;
        const uint64_t serial = fleet->jobs.serial = guest->serial;
        unsigned flags;

        pthread_mutex_unlock(&fleet->mutex);

        double cpu_s = find_jobs(fleet, pid, number, &flags);

        pthread_mutex_lock(&fleet->mutex);
        fleet->jobs.credit_s -= cpu_s;
        for (struct fleet_guest *one = fleet->table.guests; one && flags; one = one->next)
            if (one->serial == serial)
                one->jobs |= flags;
    }
    pthread_mutex_unlock(&fleet->mutex);
}

/* --- the next one ----------------------------------------------------------------------------- */

void fleet_put_off(struct fleet *fleet, struct fleet_guest *guest, uint64_t now_ns)
{
    deadline_put(&fleet->table.queue, &guest->deadline,
                 now_ns + fleet_ns(fleet->spending.plan.period_s));
}

/* Returns the guest to scan now; NULL: none until *until_ns. */
static struct fleet_guest *next_guest(struct fleet *fleet, uint64_t now_ns, uint64_t *until_ns)
{
    struct fleet_guest *guest = (struct fleet_guest *)deadline_next(&fleet->table.queue);

    *until_ns = now_ns + SHOW_UP_NS;
    if (!guest)
        return NULL;
    if (guest->deadline.at_ns > now_ns) {
        *until_ns = guest->deadline.at_ns < *until_ns ? guest->deadline.at_ns : *until_ns;
        return NULL;
    }
    if (guest->pauses.suspended) {
        fleet_put_off(fleet, guest, now_ns);
        *until_ns = now_ns;
        return NULL;
    }

    double wait_s = ledger_wait_s(&fleet->spending.ledger, now_ns, fleet_cpu_s(fleet));

    if (wait_s > 0 && !fleet->spending.over)
        log_line(LOG_CLASS_DAEMON, LOG_WARNING,
                 "the CPU budget of %g %% is used up: scans come late", fleet->config.budget * 100);
    /* Otherwise, with a budget that is just used up, every scan would log this. */
    fleet->spending.over = wait_s > 0 || (fleet->spending.over &&
                                          fleet->spending.ledger.credit_s < LEDGER_BURST_S);
    if (wait_s == 0)
        return guest;
    fleet->spending.held_until_ns = now_ns + fleet_ns(wait_s);
    agents_pace(fleet->sinks.agents, fleet->spending.plan.period_s, fleet->spending.held_until_ns);
    if (fleet_ns(wait_s) < SHOW_UP_NS)
        *until_ns = fleet->spending.held_until_ns;
    return NULL;
}

/* Takes the first guest that no worker scans out of the table; NULL: there is none. A worker that
 * scans a guest restores it. */
static struct fleet_guest *take_idle(struct fleet *fleet)
{
    struct fleet_guest **at = &fleet->table.guests;

    while (*at && (*at)->busy)
        at = &(*at)->next;

    struct fleet_guest *guest = *at;

    if (guest) {
        *at = guest->next;
        deadline_remove(&fleet->table.queue, &guest->deadline);
    }
    return guest;
}

/* Returns true if a worker has guests that it has not reached: it releases them soon. */
static bool any_to_release(const struct fleet *fleet)
{
    for (size_t i = 0; i < fleet->threads.n; i++) {
        const struct fleet_worker *worker = &fleet->threads.worker[i];

        if (worker->at && !worker->restores && worker->batch.n > worker->batch.at + 1)
            return true;
    }
    return false;
}

/* All threads share the work. A thread whose scan hangs blocks the restoring of its own guest only.
 */
static void restore_guests(struct fleet *fleet)
{
    const uint64_t until_ns = clock_ns() + RELEASE_NS;
    struct fleet_guest *guest;

    while ((guest = take_idle(fleet)) || (any_to_release(fleet) && clock_ns() < until_ns)) {
        if (!guest) {
            cond_wait_until(&fleet->changed, &fleet->mutex, clock_ns() + RELEASE_NS / 100);
            continue;
        }
        pthread_mutex_unlock(&fleet->mutex);
        fleet_guest_free(fleet, guest);
        pthread_mutex_lock(&fleet->mutex);
    }
}

/* One thread wakes when the next guest is due; another wakes a bit later, in case the first is
 * blocked by then: waking both at once would waste a wake-up. While a guest is being scanned it has
 * no deadline, so a thread that falls asleep meanwhile does not wake for its next one. */
static void wait_until(struct fleet *fleet, uint64_t until_ns)
{
    const uint64_t quarter_ns = fleet_ns(fleet->spending.plan.period_s / 4);
    const bool leads = fleet->threads.led_until_ns == 0 || until_ns < fleet->threads.led_until_ns;

    if (leads)
        fleet->threads.led_until_ns = until_ns;
    else
        until_ns += quarter_ns < SECOND_NS ? quarter_ns : SECOND_NS;
    cond_wait_until(&fleet->changed, &fleet->mutex, until_ns);
    if (leads && fleet->threads.led_until_ns == until_ns)
        fleet->threads.led_until_ns = 0;
}

void *fleet_work(void *context)
{
    struct fleet_worker *worker = context;
    struct fleet *fleet = worker->fleet;

    HOLD(&fleet->mutex);
    while (!fleet->stop) {
        uint64_t now_ns = clock_ns();
        uint64_t until_ns;

        worker->seen_ns = now_ns;
        worker->logged = false;
        if (free_one(fleet, worker))
            continue;
        if (fleet->spending.replan || fleet->spending.plan_ns == 0 ||
            now_ns - fleet->spending.plan_ns > PLAN_EVERY_NS)
            plan_anew(fleet, now_ns);

        struct fleet_guest *guest = next_guest(fleet, now_ns, &until_ns);

        if (guest)
            serve(fleet, worker, guest, now_ns);
        else if (until_ns > now_ns)
            wait_until(fleet, until_ns);
    }
    restore_guests(fleet);
    while (free_one(fleet, worker))
        ;
    return NULL;
}
