// SPDX-License-Identifier: LGPL-2.1-or-later
#include "measure/record/ages_record.h"

#include "base/bytes.h"
#include "measure/ran.h"
#include "measure/record/write_record.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static double longest_answered_s(const struct panel *panel, const struct sample_plan *requested)
{
    for (size_t w = requested->n_windows; w-- > 0;)
        if (panel_answers(panel, requested->window_s[w]))
            return requested->window_s[w];
    return 0;
}

/* Moves the windows that can be answered into @p plan and @p result, and drops the others. All of
 * them use the same reading of the same pages, those watched for the longest window: otherwise a
 * page that only a shorter window has could make it larger than a longer one. */
static int answer_windows(const struct panel *panel, const struct sample_plan *requested,
                          const struct resident_now *now, struct sample_plan *plan,
                          struct sample_result *result)
{
    const double longest_s = longest_answered_s(panel, requested);

    *plan = *requested;
    plan->n_windows = 0;
    for (size_t w = 0; w < requested->n_windows; w++) {
        double window_s = requested->window_s[w];
        const struct panel_ages ages = {.to_s = window_s, .watched_s = fmax(window_s, longest_s)};
        struct sample_window *window = &result->windows[plan->n_windows];
        int rc = panel_tally(panel, &ages, &window->tally, &window->est_window_s);

        window->now = *now;
        window->vcpu_s = panel_vcpu_s(panel, window_s);
        if (rc == 0) {
            ran_doubt_idle(requested->method, window->vcpu_s, window->est_window_s, &window->tally);
            plan->window_s[plan->n_windows++] = window_s;
        } else if (rc != -EAGAIN) {
            return rc;
        }
    }
    return plan->n_windows > 0 ? 0 : -EAGAIN;
}

/* A unit is as old as its newest touch. Only one of its base pages is certain to have that age; the
 * others may be older. They count in no older bin's value, but may belong to any older bin (@p
 * older). In a unit that was never seen touched, no page was touched. */
static void widen(struct age_bin *bin, const struct wss_estimate *estimate, uint64_t *older)
{
    bool oldest = isinf(bin->to_s);

    bin->low_bytes = oldest ? estimate->unit_low_bytes : estimate->wss_low_bytes;
    bin->high_bytes = estimate->wss_high_bytes;
    if (bin->high_bytes < estimate->resident_bytes)
        bin->high_bytes += smaller(*older, estimate->resident_bytes - bin->high_bytes);
    if (estimate->unit_low_bytes > estimate->wss_low_bytes)
        *older += estimate->wss_bytes - estimate->wss_low_bytes;
}

/* @p older: bytes in younger bins that may really be older. */
static int fill_bin(struct age_bin *bin, const struct panel *panel, double watched_s,
                    const struct wss_memory *memory, uint64_t *older)
{
    const struct panel_ages ages = {
        .from_s = bin->from_s, .to_s = bin->to_s, .watched_s = watched_s};
    struct tally tally;
    struct wss_estimate estimate = {0};
    double est_s;
    int rc = panel_tally(panel, &ages, &tally, &est_s);

    if (rc == 0)
        rc = wss_estimate(&tally, memory, &estimate);
    /* the ages are unknown, for example because all pages were migrated */
    if (rc == -ENODATA)
        estimate.wss_high_bytes = estimate.resident_bytes;
    else if (rc < 0)
        return rc;
    bin->bytes = estimate.wss_bytes;
    widen(bin, &estimate, older);
    return 0;
}

/* Fills all bins from the same pages, those watched for the longest window, so that they add up. */
static int fill_bins(struct ages_record *record, const struct sample_plan *plan,
                     const struct panel *panel, const struct wss_memory *memory)
{
    double longest_s = plan->window_s[plan->n_windows - 1];
    double from_s = 0;
    uint64_t older = 0;

    for (size_t b = 0; b <= plan->n_windows; b++) {
        struct age_bin *bin = &record->bins[b];

        bin->from_s = from_s;
        bin->to_s = b < plan->n_windows ? plan->window_s[b] : HUGE_VAL;
        from_s = bin->to_s;

        int rc = fill_bin(bin, panel, longest_s, memory, &older);

        if (rc < 0)
            return rc;
    }
    record->n_bins = plan->n_windows + 1;
    return 0;
}

/* Fills the windows of @p plan that the panel can answer, and leaves the others out of it. */
static int fill_windows(struct sample_record *record, const struct subject *subject,
                        const struct panel_reading *reading, struct sample_plan *plan,
                        struct sample_result *result, struct error *error)
{
    const struct sample_plan requested = *plan;
    int rc = answer_windows(reading->panel, &requested, reading->now, plan, result);

    if (rc < 0)
        return error_set(error, rc, "not watched for long enough");
    result->vcpu_s = result->windows[plan->n_windows - 1].vcpu_s;
    result->cpu_s = reading->cpu_s;
    rc = sample_record_fill(record, subject, plan, result, error);
    if (rc == 0 &&
        plan->window_s[plan->n_windows - 1] != requested.window_s[requested.n_windows - 1])
        record->flags |= FLAG_YOUNG_PANEL;
    return rc;
}

/* If no window can be answered yet, the record has no writes. */
static int fill_writes(struct sample_record *record, const struct subject *subject,
                       const struct panel_reading *reading, const struct sample_plan *requested,
                       struct sample_result *result, struct error *error)
{
    struct panel_reading writes = *reading;
    struct sample_plan plan = *requested;
    struct sample_record written;

    writes.panel = panel_writes(reading->panel);
    plan.method = &method_soft_dirty;
    plan.census = true;

    if (longest_answered_s(writes.panel, requested) == 0)
        return 0;

    int rc = fill_windows(&written, subject, &writes, &plan, result, error);

    if (rc < 0)
        return rc;
    write_record_take(&written);
    record->writes = written.writes;
    return 0;
}

static int fill(struct ages_record *record, const struct subject *subject,
                const struct sample_plan *requested, const struct panel_reading *reading,
                struct sample_result *result, struct error *error)
{
    struct sample_plan plan = *requested;
    int rc = fill_windows(&record->sample, subject, reading, &plan, result, error);

    if (rc < 0)
        return rc;

    const struct wss_memory memory = memory_now(plan.method, &subject->ram, reading->now);

    rc = fill_bins(record, &plan, reading->panel, &memory);
    if (rc < 0)
        return error_set(error, rc, "ages: %s", strerror(-rc));
    return panel_writes(reading->panel)
               ? fill_writes(&record->sample, subject, reading, requested, result, error)
               : 0;
}

/* Only the used part of the 60 KB is touched, because every scan does this. */
static struct sample_result *new_result(size_t n_windows)
{
    const size_t rest = offsetof(struct sample_result, marking_s);
    struct sample_result *result = malloc(sizeof(*result));

    if (!result)
        return NULL;
    memset(result->windows, 0, n_windows * sizeof(result->windows[0]));
    memset((char *)result + rest, 0, sizeof(*result) - rest);
    return result;
}

int ages_record_fill(struct ages_record *record, const struct subject *subject,
                     const struct sample_plan *plan, const struct panel_reading *reading,
                     struct error *error)
{
    struct sample_result *result = new_result(plan->n_windows);

    if (!result)
        return error_set(error, -ENOMEM, "out of memory");

    int rc = fill(record, subject, plan, reading, result, error);

    free(result);
    return rc;
}
