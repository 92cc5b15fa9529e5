// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file fleet_batch.c  Guests that one worker scans together, with one wake-up of each half of
 * vmwssd.
 *
 * Theory of operation. A worker takes the guest with the first deadline and guests that are due
 * soon after; the next deadlines of all count from the first one's, so they stay together. The
 * worker sends the scanner all requests at once, and reads the answers when the last one is there.
 * If that takes more than a second, the scanner is told to begin no further scan of the batch, and
 * the remaining guests go back to the queue with their old deadlines: a slow scan does not delay
 * others. From then on they may belong to another worker, or be freed by it. So without the mutex a
 * worker touches only the current guest of its batch; it needs the mutex to find out which guests
 * follow.
 */
#include "programs/vmwssd/scan/fleet_private.h"

#include "base/clock.h"
#include "base/cond.h"
#include "base/service/log.h"
#include "base/wilson.h"

#include <errno.h>
#include <string.h>

#define SECOND_NS 1000000000ULL
#define BUSY_NS (2 * SECOND_NS) /* another process measures the guest: try again soon */
/* The guest could not be measured: it may succeed soon, because a guest that has just started has
 * hardly a page to try a method on; after that the delays grow. */
#define REFUSED_FIRST_NS (5 * SECOND_NS)
#define REFUSED_MOST_NS (300 * SECOND_NS)
/* A guest joins a batch up to this share of the period before its deadline, once: from then on it
 * is due together with the others. */
#define JOIN_PERIODS 0.25
/* Delay from the small panel that shows the cost to the real one. */
#define FIRST_SCAN_NS (5 * SECOND_NS)

/* --- the guests of a batch -------------------------------------------------------------------- */

static struct scan_sample sample_of(const struct fleet *fleet, const struct fleet_guest *guest)
{
    const struct budget_limits limits = fleet_limits(fleet);
    struct scan_sample sample = {
        .samples = (uint64_t)budget_samples(&fleet->spending.plan, &limits, &guest->cost),
        .suspended_total_ns = guest->pauses.total_ns,
        .cpu_s = guest->cpu_s,
        .jobs = guest->jobs,
        .anew = guest->generation != fleet->generation,
        .method = scan_method_put(fleet->config.method),
        .n_windows = (uint32_t)fleet->config.n_windows,
        .tick_s = fleet->config.period_s,
    };

    memcpy(sample.window_s, fleet->config.window_s, sizeof(sample.window_s));
    return sample;
}

static void take(struct fleet *fleet, struct fleet_batch *batch, struct fleet_guest *guest)
{
    const size_t i = batch->n++;

    batch->guests[i] = guest;
    batch->generations[i] = guest->generation;
    batch->requests.of[i].guest = guest->scan.guest;
    batch->requests.of[i].sample = sample_of(fleet, guest);
    guest->jobs = 0;
    guest->generation = fleet->generation;
    guest->busy = true;
    deadline_remove(&fleet->table.queue, &guest->deadline);
}

/* Returns true if the guest is due, or due soon enough to join. Guests that are due soon join while
 * there are few, so that full batches do not take guests from each other, and only if they are
 * scanned regularly with the same period as the first: otherwise joining would mean more frequent
 * scans each time. */
static bool joins(const struct fleet *fleet, const struct fleet_batch *batch,
                  const struct fleet_guest *guest, uint64_t now_ns)
{
    const uint64_t at_ns = guest->deadline.at_ns;

    if (at_ns <= now_ns)
        return true;
    return batch->n > 0 && batch->n < SCANNER_BATCH / 2 && guest->regular &&
           guest->pace.period_s == batch->guests[0]->pace.period_s &&
           at_ns <= now_ns + fleet_ns(fleet->spending.plan.period_s * JOIN_PERIODS);
}

void fleet_batch_take(struct fleet *fleet, struct fleet_batch *batch, struct fleet_guest *first,
                      uint64_t now_ns)
{
    struct fleet_guest *next = first;

    batch->n = batch->at = 0;
    batch->released = false;
    batch->due_ns = first->deadline.at_ns;
    batch->plan = fleet->spending.plan;
    batch->limits = fleet_limits(fleet);
    batch->max_period_s = config_max_period_s(&fleet->config);
    while (next && batch->n < SCANNER_BATCH && joins(fleet, batch, next, now_ns)) {
        if (next->pauses.suspended)
            fleet_put_off(fleet, next, now_ns);
        else
            take(fleet, batch, next);
        next = (struct fleet_guest *)deadline_next(&fleet->table.queue);
    }
    batch->requests.n = batch->n;
    if (next && next->deadline.at_ns <= now_ns)
        pthread_cond_signal(&fleet->changed); /* there are more guests than this worker takes */
}

/* Undoes the taking of the batch's guest @p i. */
static void put_back(struct fleet *fleet, const struct fleet_batch *batch, size_t i)
{
    struct fleet_guest *guest = batch->guests[i];

    guest->busy = false;
    if (guest->gone) {
        guest->next = fleet->table.let_go;
        fleet->table.let_go = guest;
        return;
    }
    guest->jobs |= batch->requests.of[i].sample.jobs;
    guest->generation = batch->generations[i];
    deadline_put(&fleet->table.queue, &guest->deadline, guest->deadline.at_ns);
}

void fleet_batch_release(struct fleet *fleet, struct fleet_batch *batch)
{
    const size_t left = batch->at + 1;

    if (batch->n <= left)
        return;
    for (size_t i = left; i < batch->n; i++)
        put_back(fleet, batch, i);
    batch->n = left;
    pthread_cond_broadcast(&fleet->changed);
}

/* --- one scan --------------------------------------------------------------------------------- */

/* Returns the half-width of the 95 % interval where it is widest. */
static double precision_of(uint64_t samples)
{
    struct interval bounds = wilson_interval((double)samples / 2, (double)samples, Z_95);

    return (bounds.high - bounds.low) / 2;
}

/* A guest that has just been removed is not published: another one with its UUID may have started.
 */
static void publish(struct fleet *fleet, const struct fleet_guest *guest,
                    const struct sample_record *record)
{
    HOLD(&fleet->mutex);
    if (!guest->gone)
        publisher_put(fleet->sinks.publisher, guest->source, record, precision_of(record->samples));
}

/* Returns the time that a record stands for: it excludes the time in which the guest was suspended,
 * for which there is no record. */
static double period_until(struct fleet_guest *guest, const struct fleet_batch *batch,
                           const struct sample_record *record, uint64_t now_ns)
{
    const uint64_t suspended_ns = batch->requests.of[batch->at].sample.suspended_total_ns;
    uint64_t still_ns = suspended_ns - guest->recorded.suspended_ns;
    uint64_t from_ns = guest->recorded.at_ns + still_ns;
    /* A suspension that ended during a scan counts in the next one, and may be longer than the time
     * between the two. */
    double since_s = guest->recorded.at_ns && now_ns > from_ns ? (double)(now_ns - from_ns) / 1e9
                                                               : batch->plan.period_s;

    guest->recorded.at_ns = now_ns;
    guest->recorded.suspended_ns = suspended_ns;
    return sample_period_s(record, since_s, batch->plan.period_s);
}

/* Returns true if the fleet was stopped while this scan hung, so that there is no writer any more,
 * or if the guest has been removed. */
static bool is_late(struct fleet *fleet, const struct fleet_guest *guest)
{
    HOLD(&fleet->mutex);
    return fleet->stop || guest->gone;
}

static void fleet_record(struct fleet *fleet, struct fleet_guest *guest,
                         const struct fleet_batch *batch, struct ages_record *record)
{
    double period_s = period_until(guest, batch, &record->sample, clock_ns());

    if (is_late(fleet, guest))
        return;
    agents_annotate(fleet->sinks.agents, &record->sample);
    fleet_writes_take(fleet, guest, &record->sample);
    if (fleet->sinks.writer)
        writer_put(fleet->sinks.writer, record, period_s, precision_of(record->sample.samples),
                   agents_take_last_report(fleet->sinks.agents, record->sample.uuid));
    publish(fleet, guest, &record->sample);
}

/* Results of a scan that other threads read: they belong to the worker until it has the mutex
 * again. */
struct outcome {
    bool recorded;
    bool refused;
    bool regular; /* it is scanned again after its period */
    struct budget_cost cost;
    double cpu_s; /* CPU time of both processes */
};

static void refuse(struct fleet_guest *guest, const struct error *error, struct outcome *outcome)
{
    if (!outcome->refused || strncmp(guest->refusal, error->text, sizeof(guest->refusal) - 1) != 0)
        log_line(LOG_CLASS_GUEST, LOG_WARNING, "domain %s is not measured: %s", guest->name,
                 error->text);
    snprintf(guest->refusal, sizeof(guest->refusal), "%s", error->text);
    outcome->refused = true;
    guest->logged.measured = false;
}

static uint64_t retry_ns(struct fleet_guest *guest)
{
    uint64_t wait_ns = guest->retry_ns > 0 ? 2 * guest->retry_ns : REFUSED_FIRST_NS;

    guest->retry_ns = wait_ns < REFUSED_MOST_NS ? wait_ns : REFUSED_MOST_NS;
    return clock_ns() + guest->retry_ns;
}

/* Sets the names: the scanner does not know libvirt's or our names of the guest. */
static void identify(const struct fleet_guest *guest, struct sample_record *record)
{
    memcpy(record->domain, guest->name, sizeof(record->domain));
    memcpy(record->uuid, guest->uuid, sizeof(record->uuid));
    record->owner = guest->scan.owner;
}

/* Stores the size of a running guest that is not measured, if the scanner knows it. Returns when to
 * scan it again. */
static uint64_t keep_size(struct fleet *fleet, struct fleet_guest *guest,
                          const struct scan_sampled *sampled)
{
    uint64_t now_ns = clock_ns();
    uint64_t next_ns = retry_ns(guest);

    if (fleet->sinks.writer && sampled->has_record && !is_late(fleet, guest)) {
        struct ages_record record;

        scan_record_take(sampled, &record);
        identify(guest, &record.sample);
        writer_put(fleet->sinks.writer, &record, (double)(next_ns - now_ns) / 1e9, 0, NULL);
    }
    return next_ns;
}

/* The log says once that a guest is scanned less often than planned. */
static double affordable_period_s(struct fleet_guest *guest, const struct fleet_batch *batch,
                                  const struct budget_cost *cost)
{
    const double period_s = budget_period_s(&batch->plan, &batch->limits, cost);

    if (period_s > batch->plan.period_s && !guest->logged.slowed)
        log_line(LOG_CLASS_GUEST, LOG_NOTICE,
                 "domain %s: a scan every %.3g s, for its budget: its smallest panel takes %.3g ms",
                 guest->name, period_s, 1e3 * budget_cost_s(cost, BUDGET_MIN_SAMPLES));
    guest->logged.slowed |= period_s > batch->plan.period_s;
    return period_s;
}

/* Returns when to scan it again. The plan is affordable if all guests change, so no guest is
 * scanned more often, and one that does not change less often. Its shortest window shows the
 * change. Unmeasurable memory could hide a change. */
static double period_after(struct fleet_guest *guest, const struct fleet_batch *batch,
                           const struct budget_cost *cost, const struct sample_record *record)
{
    const struct scan_sample *sample = &batch->requests.of[batch->at].sample;
    const struct window_record *window = record ? &record->windows[0] : NULL;

    const double least_s = affordable_period_s(guest, batch, cost);

    pace_limit(&guest->pace, least_s, batch->max_period_s);
    if (!window || window->window_s != sample->window_s[0] || (record->flags & FLAG_NEW_PANEL)) {
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

/* Handles the answer for the worker's current guest; returns when it is scanned again. 0: never, it
 * is gone. */
static uint64_t take_answer(struct fleet *fleet, const struct fleet_batch *batch, int rc,
                            const struct scan_sampled *sampled, const struct error *error,
                            struct outcome *outcome)
{
    struct fleet_guest *guest = batch->guests[batch->at];
    struct ages_record record;
    bool first = sampled->pages_before == 0;

    outcome->recorded = rc == 0;
    /* carried over to the next record */
    guest->cpu_s = rc == 0 ? outcome->cpu_s : guest->cpu_s + outcome->cpu_s;
    if (rc == -ESRCH)
        return 0;
    if (rc == -EBUSY || scanner_is_gone(rc))
        return clock_ns() + BUSY_NS;
    if (rc < 0 && rc != -EAGAIN) {
        refuse(guest, error, outcome);
        return keep_size(fleet, guest, sampled);
    }
    outcome->refused = false;
    guest->retry_ns = 0;
    if (!guest->logged.measured)
        log_line(LOG_CLASS_GUEST, LOG_INFO, "domain %s: measured by %s", guest->name,
                 method_name(sampled->method));
    guest->logged.measured = true;
    if (!first) /* the first scan includes opening, which costs more than later scans */
        budget_learn(&outcome->cost, (double)sampled->pages, outcome->cpu_s);
    if (rc == 0) {
        scan_record_take(sampled, &record);
        identify(guest, &record.sample);
        fleet_record(fleet, guest, batch, &record);
    }

    double period_s = period_after(guest, batch, &outcome->cost, rc == 0 ? &record.sample : NULL);
    uint64_t next_ns = batch->due_ns + fleet_ns(period_s);
    uint64_t now_ns = clock_ns();

    if (first && batch->requests.of[batch->at].sample.samples <= BUDGET_MIN_SAMPLES &&
        fleet_ns(batch->plan.period_s) > FIRST_SCAN_NS)
        return now_ns + FIRST_SCAN_NS;
    outcome->regular = true;
    /* a late scan is not made up for */
    return next_ns > now_ns ? next_ns : now_ns + fleet_ns(period_s);
}

/* --- a batch ---------------------------------------------------------------------------------- */

/* Gives the guest back. The mutex is held. */
static void give_back(struct fleet *fleet, struct fleet_guest *guest, const struct outcome *outcome,
                      uint64_t due_ns)
{
    guest->busy = false;
    guest->refused = outcome->refused;
    guest->regular = outcome->regular;
    guest->cost = outcome->cost;
    fleet->records += outcome->recorded;
    if (guest->gone) {
        guest->next = fleet->table.let_go;
        fleet->table.let_go = guest;
    } else if (due_ns == 0) {
        log_line(LOG_CLASS_GUEST, LOG_INFO, "domain %s: its process has ended", guest->name);
        writer_event(fleet->sinks.writer, guest->uuid, EVENT_END);
        fleet_unlink(fleet, guest, &fleet->table.let_go);
    } else { /* the rules have changed since: scan it at once, unless it hung */
        const bool anew = guest->generation != fleet->generation && guest->apart_ns == 0;

        deadline_put(&fleet->table.queue, &guest->deadline, anew ? clock_ns() : due_ns);
    }
}

/* Advances to the next guest of the batch; returns false if there is none. The mutex is held. */
static bool go_on(struct fleet_worker *worker)
{
    struct fleet_batch *batch = &worker->batch;

    batch->at++;
    worker->at = batch->at < batch->n ? batch->guests[batch->at] : NULL;
    worker->seen_ns = clock_ns();
    worker->logged = false;
    return worker->at != NULL;
}

/* Called even if there is no rest: guests that were answered may be due before any sleeping worker
 * wakes, because workers fell asleep while all guests were being scanned. */
static void release_rest(struct fleet *fleet, struct fleet_batch *batch)
{
    pthread_mutex_lock(&fleet->mutex);
    fleet_batch_release(fleet, batch);
    pthread_cond_broadcast(&fleet->changed);
    pthread_mutex_unlock(&fleet->mutex);
    batch->released = true;
}

/* Returns how long to wait for the bell; after the batch was cut, it does not wait for answers. */
static int wait_ms(const struct fleet_batch *batch)
{
    const uint64_t passed_ms = (clock_ns() - batch->sent_ns) / 1000000;

    if (batch->released)
        return SCANNER_BATCH_WAIT_MS;
    if (batch->requests.cut || passed_ms >= SCANNER_BATCH_WAIT_MS)
        return 0;
    return (int)(SCANNER_BATCH_WAIT_MS - passed_ms);
}

/* Not all answers came in time. Which guests were answered is known only when the scanner begins no
 * further one, so the batch is cut first, and the answers so far are taken in; then this worker's
 * current guest is the one being scanned, and the others are free. */
static void give_up_the_rest(struct fleet *fleet, struct fleet_batch *batch)
{
    if (!batch->requests.cut)
        scanner_batch_cut(&batch->requests);
    else if (!batch->released)
        release_rest(fleet, batch);
}

/* Returns when the worker began with its guest, or last ran after a stop: fleet_relieve(). */
static uint64_t began_ns(struct fleet *fleet, const struct fleet_worker *worker)
{
    HOLD(&fleet->mutex);
    return worker->seen_ns;
}

/* Returns the CPU time of this thread since @p cpu_s, and updates @p cpu_s. */
static double used_since(double *cpu_s)
{
    double before_s = *cpu_s;

    *cpu_s = thread_cpu_s();
    return *cpu_s - before_s;
}

/* Handles the answer for one guest, if there is one; returns false after the last. @p asking_s: CPU
 * time of sending the request. */
static bool scan_one(struct fleet *fleet, struct fleet_worker *worker, double asking_s,
                     double *cpu_s)
{
    struct fleet_batch *batch = &worker->batch;
    struct fleet_guest *guest = batch->guests[batch->at];
    struct outcome outcome = {.refused = guest->refused, .cost = guest->cost};
    struct scan_sampled sampled;
    struct error error = {0};
    int rc = scanner_batch_receive(fleet->sinks.scanner, &batch->requests, wait_ms(batch), &sampled,
                                   &error);

    if (rc == -ETIME) {
        give_up_the_rest(fleet, batch);
        return true;
    }
    if (batch->requests.failed < 0 && !batch->released)
        release_rest(fleet, batch);
    outcome.cpu_s = asking_s + used_since(cpu_s);
    if (scanner_fd(fleet->sinks.scanner) >= 0)
        outcome.cpu_s += sampled.cpu_s; /* otherwise it is included in this thread's time */

    const uint64_t due_ns = take_answer(fleet, batch, rc, &sampled, &error, &outcome);
    const uint64_t next_ns = fleet_set_apart(guest, began_ns(fleet, worker), due_ns);

    outcome.regular &= next_ns == due_ns;
    outcome.cpu_s += used_since(cpu_s);
    pthread_mutex_lock(&fleet->mutex);
    fleet->spending.scans_cpu_s += outcome.cpu_s;
    give_back(fleet, guest, &outcome, next_ns);
    if (outcome.recorded && !guest->gone && next_ns > 0)
        fleet_writes_begin(fleet, guest);

    const bool more = go_on(worker);
    const bool stop = fleet->stop;

    pthread_mutex_unlock(&fleet->mutex);
    if (more && stop && !batch->requests.cut)
        scanner_batch_cut(&batch->requests);
    return more;
}

void fleet_batch_scan(struct fleet *fleet, struct fleet_worker *worker)
{
    struct scanner_batch *requests = &worker->batch.requests;
    double cpu_s = thread_cpu_s();

    worker->batch.sent_ns = clock_ns();
    scanner_batch_send(fleet->sinks.scanner, requests);

    double asking_s = used_since(&cpu_s) / (double)requests->n;

    while (scan_one(fleet, worker, asking_s, &cpu_s))
        ;
    scanner_batch_end(fleet->sinks.scanner, requests);
}
