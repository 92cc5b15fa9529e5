// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file fleet_batch.c  The guests that one worker scans by one wake-up of each half of vmwssd.
 *
 * Theory of operation. A worker takes the guest that is due first and those that are due soon
 * after; the next deadlines of all are reckoned from the first one's, so they stay together. The
 * scanner is asked for all at once, and the answers are read when the last is there. When that
 * takes more than a second the scanner is kept from beginning with those that are left, and they go
 * back to the queue, with the deadlines that they had: a scan that takes long does not hold up
 * others. From then on they may belong to another worker, or be freed by it. So of a batch a worker
 * touches, without the mutex, only the guest that it is at; which guests come after that one it
 * asks under the mutex.
 */
#include "programs/vmwssd/scan/fleet_private.h"

#include "base/clock.h"
#include "base/service/log.h"
#include "base/wilson.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define SECOND_NS 1000000000ULL
#define BUSY_NS (2 * SECOND_NS) /* another process measures it: again soon */
/* It could not be measured: perhaps soon, for a guest that has just started has hardly a page to
 * try a method on; then ever more seldom. */
#define REFUSED_FIRST_NS (5 * SECOND_NS)
#define REFUSED_MOST_NS (300 * SECOND_NS)
/* A guest joins a batch so much of the period before its deadline, once: from then on it is due
 * together with the others. */
#define JOIN_PERIODS 0.25
/* From the small panel that tells the cost to the real one. */
#define FIRST_SCAN_NS (5 * SECOND_NS)

/* --- the guests of a batch -------------------------------------------------------------------- */

static struct scan_sample sample_of(const struct fleet *fleet, const struct fleet_guest *guest)
{
    const struct budget_limits limits = fleet_limits(fleet);
    struct scan_sample sample = {
        .samples = (uint64_t)budget_samples(&fleet->plan, &limits, &guest->cost),
        .suspended_total_ns = guest->suspended_total_ns,
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
    batch->asked.of[i].guest = guest->scan.guest;
    batch->asked.of[i].sample = sample_of(fleet, guest);
    guest->jobs = 0;
    guest->generation = fleet->generation;
    guest->busy = true;
    deadline_remove(&fleet->queue, &guest->deadline);
}

/* Due, or so soon that it is worth its while: as long as there are few, that full batches do not
 * take guests from each other, and only of one that is scanned period after period, of the same
 * period as the first: together with others it would be scanned more often than that each time. */
static bool joins(const struct fleet *fleet, const struct fleet_batch *batch,
                  const struct fleet_guest *guest, uint64_t now_ns)
{
    const uint64_t at_ns = guest->deadline.at_ns;

    if (at_ns <= now_ns)
        return true;
    return batch->n > 0 && batch->n < SCANNER_BATCH / 2 && guest->regular &&
           guest->pace.period_s == batch->guests[0]->pace.period_s &&
           at_ns <= now_ns + fleet_ns(fleet->plan.period_s * JOIN_PERIODS);
}

void fleet_batch_take(struct fleet *fleet, struct fleet_batch *batch, struct fleet_guest *first,
                      uint64_t now_ns)
{
    struct fleet_guest *next = first;

    batch->n = batch->at = 0;
    batch->released = false;
    batch->due_ns = first->deadline.at_ns;
    batch->planned_s = fleet->plan.period_s;
    batch->max_period_s = config_max_period_s(&fleet->config);
    while (next && batch->n < SCANNER_BATCH && joins(fleet, batch, next, now_ns)) {
        if (next->suspended)
            fleet_put_off(fleet, next, now_ns);
        else
            take(fleet, batch, next);
        next = (struct fleet_guest *)deadline_next(&fleet->queue);
    }
    batch->asked.n = batch->n;
    if (next && next->deadline.at_ns <= now_ns)
        pthread_cond_signal(&fleet->changed); /* more than this one takes */
}

/* As if it had not been taken. */
static void put_back(struct fleet *fleet, const struct fleet_batch *batch, size_t i)
{
    struct fleet_guest *guest = batch->guests[i];

    guest->busy = false;
    if (guest->gone) {
        guest->next = fleet->let_go;
        fleet->let_go = guest;
        return;
    }
    guest->jobs |= batch->asked.of[i].sample.jobs;
    guest->generation = batch->generations[i];
    deadline_put(&fleet->queue, &guest->deadline, guest->deadline.at_ns);
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
static double period_until(struct fleet_guest *guest, const struct fleet_batch *batch,
                           const struct sample_record *record, uint64_t now_ns)
{
    const uint64_t suspended_ns = batch->asked.of[batch->at].sample.suspended_total_ns;
    uint64_t still_ns = suspended_ns - guest->recorded_suspended_ns;
    uint64_t from_ns = guest->recorded_ns + still_ns;
    /* A suspension that ended during a scan counts in the next one, and may be longer than what was
     * between the two. */
    double since_s = guest->recorded_ns && now_ns > from_ns ? (double)(now_ns - from_ns) / 1e9
                                                            : batch->planned_s;

    guest->recorded_ns = now_ns;
    guest->recorded_suspended_ns = suspended_ns;
    return sample_period_s(record, since_s, batch->planned_s);
}

/* The end of a scan that hung, and for which the others did not wait: there is no writer any
 * more. Or the guest has been let go. */
static bool is_late(struct fleet *fleet, const struct fleet_guest *guest)
{
    pthread_mutex_lock(&fleet->mutex);

    bool late = fleet->stop || guest->gone;

    pthread_mutex_unlock(&fleet->mutex);
    return late;
}

static void fleet_record(struct fleet *fleet, struct fleet_guest *guest,
                         const struct fleet_batch *batch, struct ages_record *record)
{
    double period_s = period_until(guest, batch, &record->sample, clock_ns());

    if (is_late(fleet, guest))
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
    bool regular; /* it is scanned again after its period */
    struct budget_cost cost;
    double cpu_s; /* of both processes */
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

/* It runs, and is not measured: its size is kept, if the scanner knows it. When to scan it
 * again. */
static uint64_t keep_size(struct fleet *fleet, struct fleet_guest *guest,
                          const struct scan_sampled *sampled)
{
    uint64_t now_ns = clock_ns();
    uint64_t next_ns = retry_ns(guest);

    if (fleet->writer && sampled->has_record && !is_late(fleet, guest)) {
        struct ages_record record;

        scan_record_take(sampled, &record);
        identify(guest, &record.sample);
        writer_put(fleet->writer, &record, (double)(next_ns - now_ns) / 1e9, 0, NULL);
    }
    return next_ns;
}

/* When to scan it again: the plan is what the budget pays for if all guests change, so no guest is
 * scanned more often, and one that does not change less often. Its shortest window tells. What is
 * unmeasurable would hide a change. */
static double period_after(struct fleet_guest *guest, const struct fleet_batch *batch,
                           const struct sample_record *record)
{
    const struct scan_sample *sample = &batch->asked.of[batch->at].sample;
    const struct window_record *window = record ? &record->windows[0] : NULL;

    pace_limit(&guest->pace, batch->planned_s, batch->max_period_s);
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

/* What has come of the scan of the guest that the worker is at; when it shall be scanned again. 0:
 * never, it is gone. */
static uint64_t take_answer(struct fleet *fleet, const struct fleet_batch *batch, int rc,
                            const struct scan_sampled *sampled, const struct error *error,
                            struct outcome *outcome)
{
    struct fleet_guest *guest = batch->guests[batch->at];
    struct ages_record record;
    bool first = sampled->pages_before == 0;

    outcome->recorded = rc == 0;
    guest->cpu_s = rc == 0 ? outcome->cpu_s : guest->cpu_s + outcome->cpu_s; /* for the next one */
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
    if (!guest->introduced)
        log_line(LOG_CLASS_GUEST, LOG_INFO, "domain %s: watched, by %s", guest->name,
                 method_name(sampled->method));
    guest->introduced = true;
    if (!first) /* opening it cost more than scans will */
        budget_learn(&outcome->cost, (double)sampled->pages, outcome->cpu_s);
    if (rc == 0) {
        scan_record_take(sampled, &record);
        identify(guest, &record.sample);
        fleet_record(fleet, guest, batch, &record);
    }

    double period_s = period_after(guest, batch, rc == 0 ? &record.sample : NULL);
    uint64_t next_ns = batch->due_ns + fleet_ns(period_s);
    uint64_t now_ns = clock_ns();

    if (first && batch->asked.of[batch->at].sample.samples <= BUDGET_MIN_SAMPLES &&
        fleet_ns(batch->planned_s) > FIRST_SCAN_NS)
        return now_ns + FIRST_SCAN_NS;
    outcome->regular = true;
    return next_ns > now_ns ? next_ns : now_ns + fleet_ns(period_s); /* late: not made up for */
}

/* --- a batch ---------------------------------------------------------------------------------- */

/* Out of the worker's hands. The mutex is held. */
static void give_back(struct fleet *fleet, struct fleet_guest *guest, const struct outcome *outcome,
                      uint64_t due_ns)
{
    guest->busy = false;
    guest->refused = outcome->refused;
    guest->regular = outcome->regular;
    guest->cost = outcome->cost;
    fleet->records += outcome->recorded;
    if (guest->gone) {
        guest->next = fleet->let_go;
        fleet->let_go = guest;
    } else if (due_ns == 0) {
        log_line(LOG_CLASS_GUEST, LOG_INFO, "domain %s: its process has ended", guest->name);
        writer_event(fleet->writer, guest->uuid, EVENT_END);
        fleet_unlink(fleet, guest, &fleet->let_go);
    } else { /* under other rules than those it was scanned by: at once, if it did not hang */
        const bool anew = guest->generation != fleet->generation && guest->apart_ns == 0;

        deadline_put(&fleet->queue, &guest->deadline, anew ? clock_ns() : due_ns);
    }
}

/* To the next guest of the batch; false: there is none. The mutex is held. */
static bool go_on(struct fleet_worker *worker)
{
    struct fleet_batch *batch = &worker->batch;

    batch->at++;
    worker->at = batch->at < batch->n ? batch->guests[batch->at] : NULL;
    worker->seen_ns = clock_ns();
    worker->logged = false;
    return worker->at != NULL;
}

/* Even if nothing is left of it: guests that were answered may be due before any sleeping worker
 * wakes, which fell asleep while all were being scanned. */
static void release_rest(struct fleet *fleet, struct fleet_batch *batch)
{
    pthread_mutex_lock(&fleet->mutex);
    fleet_batch_release(fleet, batch);
    pthread_cond_broadcast(&fleet->changed);
    pthread_mutex_unlock(&fleet->mutex);
    batch->released = true;
}

/* For the bell; what has come when the batch was cut is not waited for. */
static int wait_ms(const struct fleet_batch *batch)
{
    const uint64_t passed_ms = (clock_ns() - batch->sent_ns) / 1000000;

    if (batch->released)
        return SCANNER_BATCH_WAIT_MS;
    if (batch->asked.cut || passed_ms >= SCANNER_BATCH_WAIT_MS)
        return 0;
    return (int)(SCANNER_BATCH_WAIT_MS - passed_ms);
}

/* Not all answers have come in time. What has been answered is known only when the scanner begins
 * with no further guest, so the batch is cut first, and what has come by then is taken in; then
 * this worker's guest is the one that is being scanned, and the others are free. */
static void give_up_the_rest(struct fleet *fleet, struct fleet_batch *batch)
{
    if (!batch->asked.cut)
        scanner_batch_cut(&batch->asked);
    else if (!batch->released)
        release_rest(fleet, batch);
}

/* When it began with its guest, or was stopped meanwhile: fleet_relieve(). */
static uint64_t began_ns(struct fleet *fleet, const struct fleet_worker *worker)
{
    pthread_mutex_lock(&fleet->mutex);

    uint64_t seen_ns = worker->seen_ns;

    pthread_mutex_unlock(&fleet->mutex);
    return seen_ns;
}

/* CPU time of this thread since @p cpu_s, which is brought up to date. */
static double used_since(double *cpu_s)
{
    double before_s = *cpu_s;

    *cpu_s = thread_cpu_s();
    return *cpu_s - before_s;
}

/* The answer about one guest, if there is one; false: it was the last. @p asking_s: what it cost
 * to ask for it. */
static bool scan_one(struct fleet *fleet, struct fleet_worker *worker, double asking_s,
                     double *cpu_s)
{
    struct fleet_batch *batch = &worker->batch;
    struct fleet_guest *guest = batch->guests[batch->at];
    struct outcome outcome = {.refused = guest->refused, .cost = guest->cost};
    struct scan_sampled sampled;
    struct error error = {0};
    int rc = scanner_batch_receive(fleet->scanner, &batch->asked, wait_ms(batch), &sampled, &error);

    if (rc == -ETIME) {
        give_up_the_rest(fleet, batch);
        return true;
    }
    if (batch->asked.failed < 0 && !batch->released)
        release_rest(fleet, batch);
    outcome.cpu_s = asking_s + used_since(cpu_s);
    if (scanner_fd(fleet->scanner) >= 0)
        outcome.cpu_s += sampled.cpu_s; /* else it is this thread's */

    const uint64_t due_ns = take_answer(fleet, batch, rc, &sampled, &error, &outcome);
    const uint64_t next_ns = fleet_set_apart(guest, began_ns(fleet, worker), due_ns);

    outcome.regular &= next_ns == due_ns;
    outcome.cpu_s += used_since(cpu_s);
    pthread_mutex_lock(&fleet->mutex);
    fleet->scans_cpu_s += outcome.cpu_s;
    give_back(fleet, guest, &outcome, next_ns);

    const bool more = go_on(worker);
    const bool stop = fleet->stop;

    pthread_mutex_unlock(&fleet->mutex);
    if (more && stop && !batch->asked.cut)
        scanner_batch_cut(&batch->asked);
    return more;
}

void fleet_batch_scan(struct fleet *fleet, struct fleet_worker *worker)
{
    struct scanner_batch *asked = &worker->batch.asked;
    double cpu_s = thread_cpu_s();

    worker->batch.sent_ns = clock_ns();
    scanner_batch_send(fleet->scanner, asked);

    double asking_s = used_since(&cpu_s) / (double)asked->n;

    while (scan_one(fleet, worker, asking_s, &cpu_s))
        ;
    scanner_batch_end(fleet->scanner, asked);
}
