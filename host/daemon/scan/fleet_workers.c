// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file fleet_workers.c  The threads that scan the guests of a fleet.
 *
 * Theory of operation. Each thread takes the guest that is due first, scans it without holding the
 * mutex, and queues it for its next scan. Before, the ledger is asked: when the process has used
 * more than the budget all wait, and scans come late, which their est windows show. Every half
 * minute, or when guests come and go, panels and period are planned anew from what scans have cost.
 */
#include "daemon/scan/fleet_private.h"

#include "base/cond.h"
#include "base/plural.h"
#include "domain/qemu_vcpus.h"
#include "estimate/wilson.h"
#include "service/log.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SECOND_NS 1000000000ULL
#define PLAN_EVERY_NS (30 * SECOND_NS)
#define ACCOUNT_S 10 /* in less time one guest that is opened looks like a way of life */
/* What else costs comes in bursts: of a thousand guests the XML of a hundred is read at once. */
#define OVERHEAD_LATELY_S 60
#define SHOW_UP_NS (10 * SECOND_NS)
#define BUSY_NS (2 * SECOND_NS) /* somebody else measures it: again soon */
/* It could not be measured: perhaps soon, for a guest that has just started has hardly a page to
 * try a method on; then ever more seldom. */
#define REFUSED_FIRST_NS (5 * SECOND_NS)
#define REFUSED_MOST_NS (300 * SECOND_NS)
#define FIRST_SCAN_NS                                                           \
    (5 * SECOND_NS) /* from the small panel that tells the cost to the real one \
                     */

static uint64_t to_ns(double seconds)
{
    return (uint64_t)llround(seconds * 1e9);
}

/* --- the plan --------------------------------------------------------------------------------- */

static struct budget_limits limits_of(const struct fleet *fleet)
{
    const struct config *config = &fleet->config;
    double opening = fleet_waiting(fleet) > 0 ? OPENING_SHARE * config->budget : 0;

    return (struct budget_limits){
        .share = config->budget,
        .guest_share = config->guest_budget,
        .overhead = fmax(fleet->overhead, opening),
        .polling_s = fleet->polling_s,
        .period_s = config->period_s,
        .max_period_s = config->window_s[config->n_windows - 1],
        .samples = (double)config->samples,
    };
}

/* What the process has used since the last plan, and how much of that was not for scans. */
static void account(struct fleet *fleet, uint64_t now_ns)
{
    double cpu_s = fleet_cpu_s(fleet);
    double since_s = (double)(now_ns - fleet->plan_ns) / 1e9;

    if (fleet->plan_ns > 0 && since_s < ACCOUNT_S)
        return;
    if (fleet->plan_ns > 0) {
        double scans_s = fleet->scans_cpu_s - fleet->plan_scans_s;
        double overhead = fmax(0, (cpu_s - fleet->plan_cpu_s - scans_s) / since_s -
                                      fleet->polling_s / fleet->plan.period_s);

        fleet->recent_share = (cpu_s - fleet->plan_cpu_s) / since_s;
        fleet->overhead += (overhead - fleet->overhead) * since_s / (since_s + OVERHEAD_LATELY_S);
    }
    fleet->plan_ns = now_ns;
    fleet->plan_cpu_s = cpu_s;
    fleet->plan_scans_s = fleet->scans_cpu_s;
}

/* For those that wait to be opened, too: panels that are paid for only as long as these are away
 * would be drawn for nothing, and scans of the few take what opening the many needs. */
static void plan_anew(struct fleet *fleet, uint64_t now_ns)
{
    const struct budget_limits limits = limits_of(fleet);
    const size_t waiting = fleet_waiting(fleet);
    struct budget_cost *costs = calloc(fleet->n + waiting + 1, sizeof(*costs));
    double before_s = fleet->plan.period_s;
    size_t n = 0;

    account(fleet, now_ns);
    for (struct fleet_guest *one = fleet->guests; costs && one; one = one->next)
        costs[n++] = one->cost;
    if (costs)
        budget_guess(costs, n += waiting);
    fleet->plan = budget_fit(&limits, costs, n);
    fleet->polling_s = agents_pace(fleet->agents, fleet->plan.period_s, fleet->held_until_ns);
    fleet->replan = false;
    free(costs);
    if (fabs(fleet->plan.period_s - before_s) > before_s / 4 && before_s > 0)
        log_line(LOG_CLASS_DAEMON, LOG_NOTICE,
                 "%zu guest%s: a scan of each every %.3g s, for the budget", fleet->n,
                 plural((double)fleet->n), fleet->plan.period_s);
}

/* --- one guest -------------------------------------------------------------------------------- */

/* What a scan needs to know, copied under the mutex. */
struct scan_params {
    struct scan_sample sample;
    double planned_s;
    double max_period_s; /* for a guest that does not change */
};

static struct scan_params params_for(struct fleet *fleet, struct fleet_guest *guest)
{
    const struct budget_limits limits = limits_of(fleet);
    struct scan_params params = {
        .sample = {.samples = (uint64_t)budget_samples(&fleet->plan, &limits, &guest->cost),
                   .suspended_total_ns = guest->suspended_total_ns,
                   .cpu_s = guest->cpu_s,
                   .jobs = guest->jobs,
                   .anew = guest->generation != fleet->generation,
                   .method = scan_method_put(fleet->config.method),
                   .n_windows = (uint32_t)fleet->config.n_windows,
                   .tick_s = fleet->config.period_s},
        .planned_s = fleet->plan.period_s,
        .max_period_s = config_max_period_s(&fleet->config),
    };

    memcpy(params.sample.window_s, fleet->config.window_s, sizeof(params.sample.window_s));
    guest->jobs = 0;
    guest->generation = fleet->generation;
    return params;
}

/* The half-width of the 95 % interval where it is widest. */
static double precision_of(uint64_t samples)
{
    struct interval bounds = wilson_interval((double)samples / 2, (double)samples, Z_95);

    return (bounds.high - bounds.low) / 2;
}

/* Not of a guest that has just been let go: another of its UUID may have begun. */
static void publish(struct fleet *fleet, const struct fleet_guest *guest,
                    const struct sample_record *record)
{
    pthread_mutex_lock(&fleet->mutex);
    if (!guest->gone)
        publisher_put(fleet->publisher, guest->source, record, precision_of(record->samples));
    pthread_mutex_unlock(&fleet->mutex);
}

/* The time that a record stands for: not that in which the guest was suspended, for which there is
 * no record. */
static double period_until(struct fleet_guest *guest, const struct scan_params *params,
                           const struct sample_record *record, uint64_t now_ns)
{
    uint64_t still_ns = params->sample.suspended_total_ns - guest->recorded_suspended_ns;
    uint64_t from_ns = guest->recorded_ns + still_ns;
    /* A suspension that ended during a scan counts in the next one, and may be longer than what was
     * between the two. */
    double since_s = guest->recorded_ns && now_ns > from_ns ? (double)(now_ns - from_ns) / 1e9
                                                            : params->planned_s;

    guest->recorded_ns = now_ns;
    guest->recorded_suspended_ns = params->sample.suspended_total_ns;
    return sample_period_s(record, since_s, params->planned_s);
}

/* The end of a scan that hung, and for which the others did not wait: there is no writer any
 * more. */
static bool is_late(struct fleet *fleet)
{
    pthread_mutex_lock(&fleet->mutex);

    bool stop = fleet->stop;

    pthread_mutex_unlock(&fleet->mutex);
    return stop;
}

static void fleet_record(struct fleet *fleet, struct fleet_guest *guest,
                         const struct scan_params *params, struct ages_record *record)
{
    double period_s = period_until(guest, params, &record->sample, clock_ns());

    if (is_late(fleet))
        return;
    agents_annotate(fleet->agents, &record->sample);
    if (fleet->writer)
        writer_put(fleet->writer, record, period_s, precision_of(record->sample.samples),
                   agents_take_last_report(fleet->agents, record->sample.uuid));
    publish(fleet, guest, &record->sample);
}

/* What a scan changes of what others read of the guest: its worker's own until it has the mutex
 * again. */
struct outcome {
    bool recorded;
    bool refused;
    struct budget_cost cost;
    double scanner_cpu_s;
};

static void refuse(struct fleet_guest *guest, const struct error *error, struct outcome *outcome)
{
    if (!outcome->refused || strncmp(guest->refusal, error->text, sizeof(guest->refusal) - 1) != 0)
        log_line(LOG_CLASS_GUEST, LOG_WARNING, "domain %s is not watched: %s", guest->name,
                 error->text);
    snprintf(guest->refusal, sizeof(guest->refusal), "%s", error->text);
    outcome->refused = true;
    guest->introduced = false;
}

static uint64_t retry_ns(struct fleet_guest *guest)
{
    uint64_t wait_ns = guest->retry_ns > 0 ? 2 * guest->retry_ns : REFUSED_FIRST_NS;

    guest->retry_ns = wait_ns < REFUSED_MOST_NS ? wait_ns : REFUSED_MOST_NS;
    return clock_ns() + guest->retry_ns;
}

/* The scanner does not know how libvirt, or we, call it. */
static void identify(const struct fleet_guest *guest, struct sample_record *record)
{
    memcpy(record->domain, guest->name, sizeof(record->domain));
    memcpy(record->uuid, guest->uuid, sizeof(record->uuid));
}

/* It runs, and is not measured: its size is kept. When to scan it again. */
static uint64_t keep_size(struct fleet *fleet, struct fleet_guest *guest)
{
    struct ages_record record;
    uint64_t now_ns = clock_ns();
    uint64_t next_ns = retry_ns(guest);

    if (fleet->writer && !is_late(fleet) &&
        scanner_size(fleet->scanner, guest->scan.guest, &record)) {
        identify(guest, &record.sample);
        writer_put(fleet->writer, &record, (double)(next_ns - now_ns) / 1e9, 0, NULL);
    }
    return next_ns;
}

/* When to scan it again: the plan is what the budget pays for if all guests change, so no guest is
 * scanned more often, and one that does not change less often. Its shortest window tells. What is
 * unmeasurable would hide a change. */
static double period_after(struct fleet_guest *guest, const struct scan_params *params,
                           const struct sample_record *record)
{
    const struct window_record *window = record ? &record->windows[0] : NULL;

    pace_limit(&guest->pace, params->planned_s, params->max_period_s);
    if (!window || window->window_s != params->sample.window_s[0] ||
        (record->flags & FLAG_NEW_PANEL)) {
        pace_forget(&guest->pace);
        return guest->pace.period_s;
    }
    return pace_next(&guest->pace, window->unit_low_bytes,
                     window->wss_high_bytes - window->unmeasurable_bytes, 0);
}

static const char *method_name(uint8_t number)
{
    const struct method *method = scan_method_take(number);

    return method ? method->name : "";
}

/* Scans the guest; when it shall be scanned again. 0: never, it is gone. */
static uint64_t fleet_scan(struct fleet *fleet, struct fleet_guest *guest,
                           const struct scan_params *params, uint64_t due_ns,
                           struct outcome *outcome)
{
    struct scan_sampled sampled;
    struct ages_record *record = NULL;
    struct error error = {0};
    double cpu_s = thread_cpu_s();
    int rc = scanner_sample(fleet->scanner, guest->scan.guest, &params->sample, &sampled, &error);
    bool first = sampled.pages_before == 0;

    outcome->scanner_cpu_s = scanner_cpu_s(fleet->scanner) > 0 ? sampled.cpu_s : 0;
    cpu_s = thread_cpu_s() - cpu_s + outcome->scanner_cpu_s;
    outcome->recorded = rc == 0;
    guest->cpu_s = rc == 0 ? cpu_s : guest->cpu_s + cpu_s; /* for the next record */
    if (rc == -ESRCH)
        return 0;
    if (rc == -EBUSY || scanner_is_gone(rc))
        return clock_ns() + BUSY_NS;
    if (rc < 0 && rc != -EAGAIN) {
        refuse(guest, &error, outcome);
        return keep_size(fleet, guest);
    }
    outcome->refused = false;
    guest->retry_ns = 0;
    if (!guest->introduced)
        log_line(LOG_CLASS_GUEST, LOG_INFO, "domain %s: watched, by %s", guest->name,
                 method_name(sampled.method));
    guest->introduced = true;
    if (!first) /* opening it cost more than scans will */
        budget_learn(&outcome->cost, (double)sampled.pages, cpu_s);
    if (rc == 0) {
        record = scan_record_take(&sampled);
        identify(guest, &record->sample);
        fleet_record(fleet, guest, params, record);
    }

    double period_s = period_after(guest, params, record ? &record->sample : NULL);
    uint64_t next_ns = due_ns + to_ns(period_s);
    uint64_t now_ns = clock_ns();

    if (first && params->sample.samples <= BUDGET_MIN_SAMPLES &&
        to_ns(params->planned_s) > FIRST_SCAN_NS)
        return now_ns + FIRST_SCAN_NS;
    return next_ns > now_ns ? next_ns : now_ns + to_ns(period_s); /* late: not made up for */
}

/* --- the threads ------------------------------------------------------------------------------ */

/* Without the mutex from here on, for as long as the scan takes. */
static void serve(struct fleet *fleet, struct fleet_worker *worker, struct fleet_guest *guest)
{
    struct scan_params params = params_for(fleet, guest);
    uint64_t due_ns = guest->deadline.at_ns;
    struct outcome outcome = {.refused = guest->refused, .cost = guest->cost};
    struct fleet_guest *freed = NULL;
    double cpu_s = thread_cpu_s();
    uint64_t began_ns = clock_ns();

    deadline_remove(&fleet->queue, &guest->deadline);
    guest->busy = true;
    worker->at = guest;
    pthread_mutex_unlock(&fleet->mutex);
    due_ns = fleet_scan(fleet, guest, &params, due_ns, &outcome);
    due_ns = fleet_set_apart(guest, began_ns, due_ns);
    cpu_s = thread_cpu_s() - cpu_s + outcome.scanner_cpu_s;

    pthread_mutex_lock(&fleet->mutex);
    guest->busy = false;
    worker->at = NULL;
    fleet->scans_cpu_s += cpu_s;
    guest->refused = outcome.refused;
    guest->cost = outcome.cost;
    fleet->records += outcome.recorded;
    if (guest->gone) {
        freed = guest;
        freed->next = NULL;
    } else if (due_ns == 0) {
        log_line(LOG_CLASS_GUEST, LOG_INFO, "domain %s: its process has ended", guest->name);
        writer_event(fleet->writer, guest->uuid, EVENT_END);
        fleet_unlink(fleet, guest, &freed);
    } else {
        deadline_put(&fleet->queue, &guest->deadline, due_ns);
    }
    if (!freed)
        return;
    pthread_mutex_unlock(&fleet->mutex);
    fleet_guest_free(fleet, freed);
    pthread_mutex_lock(&fleet->mutex);
}

/* --- jobs between two scans ------------------------------------------------------------------- */

#define JOBS_SHARE 0.05 /* of the budget: threads of ten guests take about a millisecond */
#define JOBS_BURST_S 0.002

/* The guest after the last one, in the order of serials; NULL: there is none. */
static struct fleet_guest *next_for_jobs(struct fleet *fleet)
{
    struct fleet_guest *next = NULL;
    struct fleet_guest *first = NULL;

    for (struct fleet_guest *one = fleet->guests; one; one = one->next) {
        if (!first || one->serial < first->serial)
            first = one;
        if (one->serial > fleet->jobs_serial && (!next || one->serial < next->serial))
            next = one;
    }
    return next ? next : first;
}

static void earn(struct fleet *fleet, uint64_t now_ns)
{
    double passed_s = fleet->jobs_ns ? (double)(now_ns - fleet->jobs_ns) / 1e9 : 0;

    fleet->jobs_ns = now_ns;
    fleet->jobs_credit_s = fmin(fleet->jobs_credit_s + passed_s * JOBS_SHARE * fleet->config.budget,
                                JOBS_BURST_S);
}

/* Where /proc is mounted with hidepid the scanner alone sees other users' processes. What it
 * cost. */
static double find_jobs(struct fleet *fleet, pid_t pid, uint64_t number, unsigned *flags)
{
    double cpu_s = thread_cpu_s();
    double scanner_cpu_s = 0;
    unsigned jobs;

    if (qemu_process_read_jobs(fleet->root, pid, &jobs) < 0)
        scanner_jobs(fleet->scanner, number, &jobs, &scanner_cpu_s);
    *flags = sample_job_flags(jobs);
    return thread_cpu_s() - cpu_s + scanner_cpu_s;
}

/* The process is the guest's as long as its end was not noticed; a wrong flag would be the
 * worst. */
void fleet_find_jobs(struct fleet *fleet)
{
    pthread_mutex_lock(&fleet->mutex);
    earn(fleet, clock_ns());
    for (size_t i = 0; i < fleet->n && fleet->jobs_credit_s > 0 && !fleet->stop; i++) {
        const struct fleet_guest *guest = next_for_jobs(fleet);
        const pid_t pid = guest->pid;
        const uint64_t number = guest->scan.guest;
        const uint64_t serial = fleet->jobs_serial = guest->serial;
        unsigned flags;

        pthread_mutex_unlock(&fleet->mutex);

        double cpu_s = find_jobs(fleet, pid, number, &flags);

        pthread_mutex_lock(&fleet->mutex);
        fleet->jobs_credit_s -= cpu_s;
        for (struct fleet_guest *one = fleet->guests; one && flags; one = one->next)
            if (one->serial == serial)
                one->jobs |= flags;
    }
    pthread_mutex_unlock(&fleet->mutex);
}

/* --- the next one ----------------------------------------------------------------------------- */

/* The guest to scan now; NULL: none until *until_ns. */
static struct fleet_guest *next_guest(struct fleet *fleet, uint64_t now_ns, uint64_t *until_ns)
{
    struct fleet_guest *guest = (struct fleet_guest *)deadline_next(&fleet->queue);

    *until_ns = now_ns + SHOW_UP_NS;
    if (!guest)
        return NULL;
    if (guest->deadline.at_ns > now_ns) {
        *until_ns = guest->deadline.at_ns < *until_ns ? guest->deadline.at_ns : *until_ns;
        return NULL;
    }
    if (guest->suspended) { /* nothing is touched, and its panel does not age */
        deadline_put(&fleet->queue, &guest->deadline, now_ns + to_ns(fleet->plan.period_s));
        *until_ns = now_ns;
        return NULL;
    }

    double wait_s = ledger_wait_s(&fleet->ledger, now_ns, fleet_cpu_s(fleet));

    if (wait_s > 0 && !fleet->over)
        log_line(LOG_CLASS_DAEMON, LOG_WARNING,
                 "the CPU budget of %g %% is used up: scans come late", fleet->config.budget * 100);
    /* Of a budget that is just used up every scan would say so. */
    fleet->over = wait_s > 0 || (fleet->over && fleet->ledger.credit_s < LEDGER_BURST_S);
    if (wait_s == 0)
        return guest;
    fleet->held_until_ns = now_ns + to_ns(wait_s);
    agents_pace(fleet->agents, fleet->plan.period_s, fleet->held_until_ns);
    if (to_ns(wait_s) < SHOW_UP_NS)
        *until_ns = fleet->held_until_ns;
    return NULL;
}

/* The first guest that nobody looks at, taken out of the table; NULL: there is none, and whoever
 * scans one restores it. */
static struct fleet_guest *take_idle(struct fleet *fleet)
{
    struct fleet_guest **at = &fleet->guests;

    while (*at && (*at)->busy)
        at = &(*at)->next;

    struct fleet_guest *guest = *at;

    if (guest) {
        *at = guest->next;
        deadline_remove(&fleet->queue, &guest->deadline);
    }
    return guest;
}

/* All threads share the work. One whose scan hangs keeps its own guest from being restored, and no
 * other. */
static void restore_guests(struct fleet *fleet)
{
    struct fleet_guest *guest;

    while ((guest = take_idle(fleet))) {
        pthread_mutex_unlock(&fleet->mutex);
        fleet_guest_free(fleet, guest);
        pthread_mutex_lock(&fleet->mutex);
    }
}

void *fleet_work(void *context)
{
    struct fleet_worker *worker = context;
    struct fleet *fleet = worker->fleet;

    pthread_mutex_lock(&fleet->mutex);
    while (!fleet->stop) {
        uint64_t now_ns = clock_ns();
        uint64_t until_ns;

        worker->seen_ns = now_ns;
        worker->logged = false;
        if (fleet->replan || fleet->plan_ns == 0 || now_ns - fleet->plan_ns > PLAN_EVERY_NS)
            plan_anew(fleet, now_ns);

        struct fleet_guest *guest = next_guest(fleet, now_ns, &until_ns);

        if (guest)
            serve(fleet, worker, guest);
        else if (until_ns > now_ns)
            cond_wait_until(&fleet->changed, &fleet->mutex, until_ns);
    }
    restore_guests(fleet);
    pthread_mutex_unlock(&fleet->mutex);
    return NULL;
}
