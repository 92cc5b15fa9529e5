// SPDX-License-Identifier: LGPL-2.1-or-later
#include "decide/advice/from_history.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/parse.h"

#include <errno.h>
#include <math.h>

/* vmwssd keeps an agent's last report once a minute; a report older than three times that is stale.
 */
#define REPORT_EVERY_S 60.0
#define REPORT_PERIODS 3
/* The values in a record were reported within a minute before it (guest/domain/domain_memory.h). */
#define REPORT_LATE_S 60

const struct decide_windows decide_windows_default = {60, 600, 3600};

/* --- windows ---------------------------------------------------------------------------------- */

int decide_windows_parse(void *windows, const char *list)
{
    double window_s[3];
    size_t n = 0;

    if (parse_seconds_list(list, window_s, 3, &n) < 0 || n == 0)
        return -EINVAL;
    *(struct decide_windows *)windows = (struct decide_windows){
        window_s[0], window_s[n > 1 ? 1 : 0], window_s[n - 1]};
    return 0;
}

ssize_t decide_pick_window(const double *window_s, size_t n, double wanted_s)
{
    for (size_t w = 0; w < n; w++)
        if (window_s[w] >= wanted_s - SAME_S)
            return (ssize_t)w;
    return (ssize_t)n - 1;
}

struct windows {
    size_t n;
    struct decide_wss wss[RUN_MAX_WINDOWS];
    double window_s[RUN_MAX_WINDOWS];
};

static void add_window(struct windows *all, double window_s, uint64_t low, uint64_t high)
{
    all->window_s[all->n] = window_s;
    all->wss[all->n++] = (struct decide_wss){window_s, low, high};
}

/* A shorter window shows too little; it is used nevertheless, because a veto stands. */
static void pick(struct decide_input *input, const struct windows *all, double wanted_s,
                 struct decide_wss *out)
{
    ssize_t w = decide_pick_window(all->window_s, all->n, wanted_s);

    *out = (struct decide_wss){0};
    if (w < 0)
        return;
    *out = all->wss[w];
    if (out->window_s > wanted_s + SAME_S)
        input->unsure |= UNSURE_WINDOW;
    if (out->window_s < wanted_s - SAME_S)
        input->vetoes |= VETO_WINDOW;
}

static void pick_all(struct decide_input *input, const struct decide_windows *windows,
                     const struct windows *all)
{
    pick(input, all, windows->short_s, &input->short_wss);
    pick(input, all, windows->mid_s, &input->mid_wss);
    pick(input, all, windows->long_s, &input->long_wss);
}

/* --- flags ------------------------------------------------------------------------------------ */

static const struct {
    unsigned flag, veto;
} flag_vetoes[] = {
    {FLAG_NOT_MEASURED, VETO_NOT_MEASURED},
    {FLAG_PAUSED, VETO_PAUSED},
    {FLAG_MIGRATING, VETO_MIGRATING},
    {FLAG_DUMP, VETO_DUMP},
    {FLAG_VFIO, VETO_VFIO},
    {FLAG_HUGETLB, VETO_HUGETLB},
};

/* The bounds of such records hold the truth, but are wide or rest on assumptions. */
#define UNCERTAIN                                                                           \
    ((unsigned)(FLAG_SWAP | FLAG_UNSETTLED | FLAG_AGEING | FLAG_STALE_TLB | FLAG_NEW_VCPU | \
                FLAG_RESIDENT_UNSURE | FLAG_DIRTY_RATE | FLAG_DAMON_ACTIVE))

static void take_flags(struct decide_input *input, unsigned flags)
{
    for (size_t i = 0; i < COUNT(flag_vetoes); i++)
        if (flags & flag_vetoes[i].flag)
            input->vetoes |= flag_vetoes[i].veto;
    if (flags & UNCERTAIN)
        input->unsure |= UNSURE_FLAGS;
}

/* --- the guest's statistics ------------------------------------------------------------------- */

static void take_guest_stats(struct decide_guest *guest, const struct guest_stats *stats,
                             double age_s)
{
    *guest = (struct decide_guest){
        .reported = stats->source != GUEST_STATS_NONE,
        .age_s = age_s,
        .late_s = REPORT_LATE_S,
        .consistency = stats->consistency,
        .available_bytes = stats->available_bytes,
        .total_bytes = stats->total_bytes,
        .swap_total_bytes = DECIDE_UNKNOWN,
        .swap_free_bytes = DECIDE_UNKNOWN,
        .cold_anon_bytes = DECIDE_UNKNOWN,
        .psi_some = stats->psi_some,
        .psi_full = stats->psi_full,
        .refault_bytes_s = stats->refault_bytes_s,
        .swap_in_bytes_s = stats->swap_in_bytes_s,
        .stalls_s = NAN,
        .near_or_above = stats->verdict == VERDICT_NEAR || stats->verdict == VERDICT_ABOVE,
        .oom_kill = (stats->reasons & REASON_OOM_KILL) != 0,
    };
}

static void take_last_report(struct decide_guest *guest,
                             const struct agent_last_report *last_report, double age_s,
                             double period_s)
{
    const struct agent_memory *memory = &last_report->report.memory;

    if (!guest->reported ||
        !(age_s >= -DECIDE_SKEW_S && age_s <= REPORT_PERIODS * fmax(period_s, REPORT_EVERY_S)))
        return;
    guest->swap_total_bytes = memory->swap_total_bytes;
    guest->swap_free_bytes = memory->swap_free_bytes;
    guest->cold_anon_bytes = memory->inactive_anon_bytes;
}

void decide_add_counters(struct decide_guest *guest, const struct guest_tracker *tracker,
                         double now_s)
{
    const struct guest_report *before = &tracker->before, *now = &tracker->now;
    const struct host_sample none = {0};
    struct guest_stats stats;

    if (!guest->reported || !tracker->has_before || now_s - now->host_s > REPORT_LATE_S)
        return;
    guest_stats_make(&stats, before, now, &none);
    if (isnan(stats.interval_s))
        return;
    guest->oom_kill = guest->oom_kill || (stats.reasons & REASON_OOM_KILL);
    guest->near_or_above = guest->near_or_above || stats.verdict == VERDICT_NEAR ||
                           stats.verdict == VERDICT_ABOVE;
    if (stats.reasons & REASON_DIRECT_RECLAIM)
        guest->stalls_s = (double)(now->report.paging.direct_stalls -
                                   before->report.paging.direct_stalls) /
                          stats.interval_s;
}

static void clear_input(struct decide_input *input)
{
    *input = (struct decide_input){.actual_bytes = DECIDE_UNKNOWN, .panic_age_s = NAN};
}

/* --- a record --------------------------------------------------------------------------------- */

/* A guest that does not change is measured rarely: with its shortest window between records,
 * however short the last period was. A guest that is not measured has no windows. */
static double longest_period_s(const struct kept_sample *kept)
{
    const struct sample_record *sample = &kept->record.sample;

    return sample->n_windows > 0 ? fmax(kept->period_s, sample->windows[0].window_s)
                                 : kept->period_s;
}

void decide_from_record(struct decide_input *input, const struct decide_windows *windows,
                        const struct kept_sample *kept, struct decide_day *day, double now_s,
                        const struct agent_last_report *last_report, double reported_s,
                        double first_s)
{
    const struct sample_record *sample = &kept->record.sample;
    struct windows all = {0};

    clear_input(input);
    input->assigned_bytes = sample->ram_bytes;
    input->resident_bytes = sample->resident_bytes;
    input->unmeasurable_bytes = sample->unmeasurable_bytes;
    input->age_s = now_s - timespec_s(&sample->time);
    input->period_s = longest_period_s(kept);
    input->up_s = timespec_s(&sample->time) - first_s;
    input->day_s = decide_day_max(day, now_s, &input->day_bytes);
    for (size_t w = 0; w < sample->n_windows; w++)
        add_window(&all, sample->windows[w].window_s, sample->windows[w].wss_low_bytes,
                   sample->windows[w].wss_high_bytes);
    pick_all(input, windows, &all);
    take_flags(input, sample->flags);
    take_guest_stats(&input->guest, &sample->guest, input->age_s);
    if (!last_report)
        return;
    take_last_report(&input->guest, last_report, now_s - reported_s, input->period_s);
    if (last_report->report.uptime_s >= 0 && input->guest.reported)
        input->up_s = fmin(input->up_s, last_report->report.uptime_s + fmax(now_s - reported_s, 0));
}

/* --- a minute --------------------------------------------------------------------------------- */

static const struct bucket_window *find_window(const struct bucket *bucket, double wanted_s)
{
    for (size_t w = 0; w < bucket->n_windows; w++)
        if (bucket->windows[w].window_s >= wanted_s - SAME_S)
            return &bucket->windows[w];
    return NULL;
}

/* A mean read from a file may be any number. */
static uint64_t bytes_of(double mean)
{
    return (uint64_t)fmin(fmax(mean, 0), 1e18);
}

static uint64_t above(const struct bucket_window *window)
{
    return bytes_of(window->wss_high - window->wss);
}

void decide_day_from_moment(struct decide_day *day, const struct decide_windows *windows,
                            const struct history_moment *moment)
{
    const struct bucket_window *window = find_window(moment->bucket, windows->mid_s);

    if (window)
        decide_day_add(day, moment->start_s, &window->sketch, (double)above(window));
    if (moment->guest.source != GUEST_STATS_NONE)
        decide_day_add_used(day, moment->start_s, moment->guest.used_bytes);
}

uint64_t decide_reached(const struct decide_windows *windows, const struct history_moment *moment)
{
    const struct bucket_window *window = find_window(moment->bucket, windows->long_s);

    return window ? window->sketch.max : DECIDE_UNKNOWN;
}

void decide_from_moment(struct decide_input *input, const struct decide_windows *windows,
                        const struct history_moment *moment, struct decide_day *day, double up_s)
{
    const struct bucket *bucket = moment->bucket;
    struct windows all = {0};

    clear_input(input);
    input->assigned_bytes = bytes_of(bucket->summary.ram_bytes);
    input->resident_bytes = bytes_of(bucket->summary.resident_bytes);
    input->unmeasurable_bytes = bytes_of(bucket->summary.unmeasurable_bytes);
    input->period_s = fmax((double)bucket->period_ms / 1000, BUCKET_MINUTE);
    input->up_s = up_s;
    input->day_s = decide_day_max(day, (double)(moment->start_s + BUCKET_MINUTE - 1),
                                  &input->day_bytes);
    decide_day_past(day, (double)moment->start_s, &input->past);
    for (size_t w = 0; w < bucket->n_windows; w++) {
        const struct bucket_window *window = &bucket->windows[w];

        add_window(&all, window->window_s, bytes_of(window->wss_low),
                   window->sketch.max + above(window));
    }
    pick_all(input, windows, &all);
    take_flags(input, bucket->summary.flags);
    take_guest_stats(&input->guest, &moment->guest, 0);
}
