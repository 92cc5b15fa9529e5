// SPDX-License-Identifier: LGPL-2.1-or-later
#include "decide/advice/advising.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "guest/domain/domain.h"
#include "history/bucket_need.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DAY_S 86400.0
/* A longer gap between two minutes with records starts a new run of the guest, unless the first
 * record holds for the whole gap. */
#define GAP_S 600

/* --- libvirt ---------------------------------------------------------------------------------- */

static int ask_libvirt(struct advising *advising, const char *uri, struct error *error)
{
    struct domain_connection *libvirt = NULL;
    int rc = domain_connect(uri, &libvirt, error);
    ssize_t n;

    if (rc < 0)
        return rc;
    n = domain_memory_all(libvirt, &advising->memory, error);
    domain_disconnect(libvirt);
    advising->n_memory = n > 0 ? (size_t)n : 0;
    return n < 0 ? (int)n : 0;
}

static void take_memory(const struct advising *advising, const struct history_guest *guest,
                        struct decide_input *input)
{
    for (size_t i = 0; i < advising->n_memory; i++) {
        const struct domain_memory *memory = &advising->memory[i];

        if (strcmp(memory->uuid, guest->uuid) != 0)
            continue;
        if (memory->current_bytes != DOMAIN_MEMORY_UNKNOWN)
            input->actual_bytes = memory->current_bytes;
        if (memory->suspended)
            input->vetoes |= VETO_PAUSED;
    }
}

/* --- beginning and end ------------------------------------------------------------------------ */

int advising_begin(struct advising *advising, const char *uri, struct error *error)
{
    advising->now_s = store_clock_now().wall_s;
    advising->day = malloc(sizeof(*advising->day));
    advising->kept = malloc(sizeof(*advising->kept));
    advising->last_report = malloc(sizeof(*advising->last_report));
    advising->lines = malloc(AGENT_LAST_REPORT_MAX);
    if (!advising->day || !advising->kept || !advising->last_report || !advising->lines)
        return error_set(error, -ENOMEM, "out of memory");
    return uri ? ask_libvirt(advising, uri, error) : 0;
}

void advising_end(struct advising *advising)
{
    free(advising->day);
    free(advising->kept);
    free(advising->last_report);
    free(advising->lines);
    free(advising->memory);
}

/* --- now -------------------------------------------------------------------------------------- */

struct gathering {
    struct decide_day *day;
    const struct decide_windows *windows;
};

static int see_hour(const struct history_moment *moment, void *context)
{
    const struct gathering *gathering = context;

    decide_day_from_moment(gathering->day, gathering->windows, moment);
    return 0;
}

static int gather_hours(struct advising *advising, struct store *store,
                        const struct history_guest *guest, double from_s, double to_s,
                        struct error *error)
{
    struct gathering gathering = {advising->day, &advising->windows};
    const struct history_query query = {.level_s = BUCKET_HOUR, .from_s = from_s, .to_s = to_s};

    decide_day_clear(advising->day);
    return history_moments(store, guest, &query, see_hour, &gathering, error);
}

/* Returns 1; 0 if there is no report, or it cannot be parsed; or an error of the history. */
static int read_last_report(struct advising *advising, struct store *store,
                            const struct history_guest *guest, double *reported_s,
                            struct error *error)
{
    int rc = history_last_report(store, guest->id, advising->lines, reported_s, error);

    if (rc != 1)
        return rc;
    return agent_last_report_parse(advising->lines, advising->kept->record.sample.ram_bytes,
                                   advising->last_report, NULL) == 0;
}

static int decide_now(struct advising *advising, struct store *store,
                      const struct history_guest *guest, struct advice *advice, struct error *error)
{
    const struct sample_record *sample = &advising->kept->record.sample;
    double first_s = timespec_s(&sample->time);
    double reported_s = 0;
    int found = 0;
    int rc = history_first_of_process(store, guest->id, sample->pid, &first_s, error);

    if (rc >= 0)
        rc = gather_hours(advising, store, guest, advising->now_s - DAY_S, advising->now_s, error);
    if (rc >= 0 && sample->guest.source == GUEST_STATS_AGENT)
        rc = found = read_last_report(advising, store, guest, &reported_s, error);
    if (rc < 0)
        return rc;
    *advice = (struct advice){.guest = *guest,
                              .time_s = timespec_s(&sample->time),
                              .windows = advising->windows,
                              .source = sample->guest.source};
    decide_from_record(&advice->input, &advising->windows, advising->kept, advising->day,
                       advising->now_s, found ? advising->last_report : NULL, reported_s, first_s);
    take_memory(advising, guest, &advice->input);
    decide(&decide_policy_default, &advice->input, &advice->decision);
    return 1;
}

int advising_make(struct advising *advising, struct store *store, const struct history_guest *guest,
                  struct advice *advice, struct error *error)
{
    int rc = history_latest_of(store, guest->id, advising->kept, error);

    return rc == 1 ? decide_now(advising, store, guest, advice, error) : rc;
}

/* --- the past --------------------------------------------------------------------------------- */

struct replaying {
    struct backtest backtest;
    struct gathering gathering;
    int64_t from_s;        /* minutes before it are only added to the day */
    int64_t run_s, last_s; /* when the guest's run began, and its last minute */
    double until_s;        /* how long that minute holds if no other follows */
    struct decide_input last;
    const struct advising *advising;
    bool begun;
    struct replayed *out;
};

/* A working set as large as all its memory may last, and is no shortage. */
static void note_short(const struct advising *advising, int64_t start_s,
                       const struct decide_input *input)
{
    if (advising->see_short && decide_panics(&decide_policy_default, input) & ~(unsigned)PANIC_WSS)
        advising->see_short(start_s, advising->context);
}

static void replay(struct replaying *replaying, int64_t start_s, const struct decide_input *input,
                   uint64_t reached_bytes)
{
    struct decide_input reserved = *input;

    if (start_s < replaying->from_s)
        return;
    reserved.reserved_bytes = replaying->advising->reserved_bytes;
    backtest_see(&replaying->backtest, start_s, &reserved, reached_bytes);
    if (replaying->out->from_s <= 0)
        replaying->out->from_s = (double)start_s;
    replaying->out->to_s = (double)(start_s + BUCKET_MINUTE);
}

/* Replays the minutes without a record up to @p start_s: the last record was all that was known
 * then. */
static void replay_last(struct replaying *replaying, double start_s)
{
    const double until_s = fmin(start_s, replaying->until_s);
    struct decide_input input = replaying->last;

    for (int64_t m = replaying->last_s + BUCKET_MINUTE; (double)m < until_s; m += BUCKET_MINUTE) {
        input.age_s += BUCKET_MINUTE;
        input.up_s += BUCKET_MINUTE;
        replay(replaying, m, &input, DECIDE_UNKNOWN);
    }
}

static int see_minute(const struct history_moment *moment, void *context)
{
    struct replaying *replaying = context;
    const struct decide_windows *windows = replaying->gathering.windows;

    if (replaying->begun)
        replay_last(replaying, (double)moment->start_s);
    if (!replaying->begun ||
        (double)moment->start_s > fmax((double)replaying->last_s + GAP_S, replaying->until_s))
        replaying->run_s = moment->start_s;
    replaying->begun = true;
    replaying->last_s = moment->start_s;
    replaying->until_s = (double)moment->start_s + bucket_lasts_s(bucket_period_s(moment->bucket));
    decide_day_from_moment(replaying->gathering.day, windows, moment);
    decide_from_moment(&replaying->last, windows, moment, replaying->gathering.day,
                       (double)(moment->start_s + BUCKET_MINUTE - replaying->run_s));
    replay(replaying, moment->start_s, &replaying->last, decide_reached(windows, moment));
    if (moment->start_s >= replaying->from_s)
        note_short(replaying->advising, moment->start_s, &replaying->last);
    return 0;
}

int advising_replay(struct advising *advising, struct store *store,
                    const struct history_guest *guest, double span_s, struct replayed *out,
                    struct error *error)
{
    double long_s = advising->windows.long_s;
    const struct history_query query = {.level_s = BUCKET_MINUTE,
                                        .from_s = advising->now_s - span_s - 2 * BUCKET_HOUR,
                                        .to_s = advising->now_s};
    cleanup_free struct backtest_pending *pending = calloc(backtest_room(long_s, BUCKET_MINUTE),
                                                           sizeof(*pending));
    cleanup_free struct replaying *replaying = calloc(1, sizeof(*replaying));
    struct decide_policy policy = decide_policy_default;
    int rc;

    if (!pending || !replaying)
        return error_set(error, -ENOMEM, "out of memory");
    *out = (struct replayed){.guest = *guest, .windows = advising->windows};
    policy.past.day_min_s = advising->day_min_s;
    rc = gather_hours(advising, store, guest, advising->now_s - DECIDE_PAST_S,
                      advising->now_s - span_s - BUCKET_HOUR, error);
    if (rc < 0)
        return rc;
    replaying->gathering = (struct gathering){advising->day, &advising->windows};
    replaying->from_s = (int64_t)(advising->now_s - span_s);
    replaying->out = out;
    replaying->advising = advising;
    backtest_begin(&replaying->backtest, &policy, long_s, BUCKET_MINUTE, pending);
    rc = history_moments(store, guest, &query, see_minute, replaying, error);
    if (rc == 0 && replaying->begun)
        replay_last(replaying, advising->now_s - BUCKET_MINUTE + 1);
    out->horizon_s = (double)replaying->backtest.horizon_s;
    out->result = replaying->backtest.result;
    decide_day_past(advising->day, advising->now_s, &out->past);
    out->past.tested = true;
    out->past.scored = out->result.scored;
    out->past.exceeded = out->result.exceeded;
    out->past.worst_bytes = out->result.worst_bytes;
    return rc;
}

int advising_test(struct advising *advising, struct store *store, struct advice *advice,
                  struct error *error)
{
    const double day_min_s = advising->day_min_s;
    struct replayed replayed;
    int rc;

    advising->day_min_s = ADVISING_DAY_S;
    rc = advising_replay(advising, store, &advice->guest, ADVISING_BACKTEST_S, &replayed, error);
    advising->day_min_s = day_min_s;
    if (rc < 0)
        return rc;
    advice->input.past = replayed.past;
    decide(&decide_policy_default, &advice->input, &advice->decision);
    return 0;
}
