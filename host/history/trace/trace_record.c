// SPDX-License-Identifier: LGPL-2.1-or-later
#include "history/trace/trace_record.h"

#include "base/clock.h"
#include "base/utf8.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* --- the layout ------------------------------------------------------------------------------- */

/* Makes one chunk for each region, because only the map's regions are needed. */
static int take_regions(struct trace_layout *layout, const struct guest_ram *ram,
                        const struct gpa_layout *gpa)
{
    struct ram_map map;
    int rc = ram_map_make(&map, ram, gpa, ram->bytes, 1);

    if (rc < 0)
        return rc;
    layout->n_regions = map.n_regions;
    layout->regions = map.regions;
    map.regions = NULL;
    for (size_t r = 0; r < layout->n_regions; r++)
        utf8_printable(layout->regions[r].block);
    ram_map_free(&map);
    return 0;
}

int trace_layout_of(struct trace_layout *layout, const struct page_set *set,
                    const struct gpa_layout *gpa)
{
    *layout = (struct trace_layout){.ram_pages = set->ram->n_pages, .n = set->n};

    int rc = take_regions(layout, set->ram, gpa);

    if (rc < 0 || !set->page)
        return rc;
    layout->page = calloc(set->n, sizeof(*layout->page));
    if (!layout->page) {
        trace_layout_free(layout);
        return -ENOMEM;
    }
    memcpy(layout->page, set->page, set->n * sizeof(*layout->page));
    return 0;
}

/* --- periods ---------------------------------------------------------------------------------- */

#define NEVER UINT8_MAX

static bool was_touched(enum page_state state)
{
    return state == PAGE_TOUCHED || page_is_gone(state);
}

static int begin_reading(struct trace_recorder *recorder, const struct page_set *set)
{
    if (recorder->n != set->n || !recorder->reading) {
        trace_recorder_free(recorder);
        recorder->reading = malloc(set->n ? set->n : 1);
        if (!recorder->reading)
            return -ENOMEM;
        recorder->n = set->n;
    }
    memset(recorder->reading, NEVER, set->n);
    return 0;
}

int trace_recorder_note(struct trace_recorder *recorder, const struct page_set *set, size_t reading)
{
    int rc = reading == 0 ? begin_reading(recorder, set) : 0;

    for (uint64_t i = 0; rc == 0 && i < set->n; i++)
        if (recorder->reading[i] == NEVER && was_touched((enum page_state)set->state[i]))
            recorder->reading[i] = (uint8_t)reading;
    return rc;
}

void trace_recorder_free(struct trace_recorder *recorder)
{
    free(recorder->reading);
    *recorder = (struct trace_recorder){0};
}

static struct trace_run run_of(const struct trace_recorder *recorder, const struct page_set *set,
                               uint64_t i)
{
    const enum page_state state = (enum page_state)set->state[i];

    return (struct trace_run){
        .n = 1,
        .state = state,
        .reading = was_touched(state) ? recorder->reading[i] : 0,
        .order = page_is_missing(state) ? 0 : set->order[i],
    };
}

static bool is_like(const struct trace_run *a, const struct trace_run *b)
{
    return a->state == b->state && a->reading == b->reading && a->order == b->order;
}

/* If @p runs is NULL, only counts the runs. */
static size_t cut_runs(const struct trace_recorder *recorder, const struct page_set *set,
                       struct trace_run *runs)
{
    struct trace_run run = {0};
    size_t n = 0;

    for (uint64_t i = 0; i < set->n; i++) {
        const struct trace_run page = run_of(recorder, set, i);

        if (run.n > 0 && is_like(&run, &page)) {
            run.n++;
        } else {
            run = page;
            n++;
        }
        if (runs)
            runs[n - 1] = run;
    }
    return n;
}

static void take_record(struct trace_period *period, const struct sample_record *record)
{
    *period = (struct trace_period){
        .end_unix_s = timespec_s(&record->time) - record->reading_s / 2,
        .marking_s = record->marking_s,
        .reading_s = record->reading_s,
        .vcpu_s = record->vcpu_s,
        .resident_bytes = record->resident_bytes,
        .unmeasurable_bytes = record->unmeasurable_bytes,
        .n_readings = record->n_windows,
    };
    sample_flags_text(period->flags, sizeof(period->flags), record->flags);
    for (size_t w = 0; w < record->n_windows; w++)
        period->readings[w] = (struct trace_reading){
            .est_window_s = record->windows[w].est_window_s,
            .wss_bytes = record->windows[w].wss_bytes,
            .wss_low_bytes = record->windows[w].wss_low_bytes,
            .wss_high_bytes = record->windows[w].wss_high_bytes,
        };
}

int trace_recorder_finish(const struct trace_recorder *recorder, const struct page_set *set,
                          const struct sample_record *record, struct trace_period *period)
{
    take_record(period, record);
    period->n_runs = cut_runs(recorder, set, NULL);
    period->runs = calloc(period->n_runs ? period->n_runs : 1, sizeof(*period->runs));
    if (!period->runs)
        return -ENOMEM;
    cut_runs(recorder, set, period->runs);
    return 0;
}
