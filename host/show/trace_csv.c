// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file trace_csv.c  A trace as CSV; see trace.h. */
#include "show/trace.h"

#include "base/text/csv.h"
#include "base/text/units.h"

/* Pages with consecutive numbers within one region. */
struct stretch {
    uint64_t page, n;
};

struct lines {
    const struct trace_layout *layout;
    const struct trace_period *period;
    uint64_t number;
};

void trace_csv_heading(void)
{
    static const char *const names[] = {"period",
                                        "begin",
                                        "end",
                                        "first_touch_after_s",
                                        "first_touch_by_s",
                                        "block",
                                        "dimm",
                                        "node",
                                        "gpa",
                                        "offset",
                                        "bytes",
                                        "granularity_bytes",
                                        "state",
                                        "flags",
                                        NULL};

    csv_heading(names);
}

static const char *state_name(enum page_state state)
{
    static const char *const names[PAGE_STATES] = {
        [PAGE_ABSENT] = "absent",
        [PAGE_SWAPPED] = "swapped",
        [PAGE_UNMEASURABLE] = "unmeasurable",
        [PAGE_IDLE] = "idle",
        [PAGE_TOUCHED] = "touched",
        [PAGE_GONE] = "gone",
        [PAGE_GONE_TO_SWAP] = "gone-to-swap",
    };

    return names[state];
}

static void csv_time(struct csv *csv, double unix_s)
{
    char text[40];

    csv_text(csv, show_time(text, sizeof(text), unix_s, 3));
}

/* The first touch lies between two readings. */
static void csv_touch(struct csv *csv, const struct trace_period *period,
                      const struct trace_run *run)
{
    if (run->state == PAGE_UNMEASURABLE) {
        csv_nothing(csv);
        csv_nothing(csv);
        return;
    }
    csv_number(csv, run->reading > 0 ? period->readings[run->reading - 1].est_window_s : 0);
    csv_number(csv, period->readings[run->reading].est_window_s);
}

static void csv_place(struct csv *csv, const struct map_region *region,
                      const struct stretch *stretch)
{
    const uint64_t offset = (stretch->page - region->first_page) * TRACE_PAGE_BYTES;

    csv_text(csv, region->block);
    csv_whole(csv, region->dimm);
    if (region->node < 0)
        csv_nothing(csv);
    else
        csv_whole(csv, (uint64_t)region->node);
    if (region->gpa == GPA_NONE)
        csv_nothing(csv);
    else
        csv_whole(csv, region->gpa + offset);
    csv_whole(csv, offset);
    csv_whole(csv, stretch->n * TRACE_PAGE_BYTES);
}

static void print_line(const struct lines *lines, const struct trace_run *run,
                       const struct stretch *stretch)
{
    struct csv csv = {0};

    csv_whole(&csv, lines->number);
    csv_time(&csv, trace_begin_unix_s(lines->period));
    csv_time(&csv, lines->period->end_unix_s);
    csv_touch(&csv, lines->period, run);
    csv_place(&csv, trace_region(lines->layout, stretch->page), stretch);
    csv_whole(&csv, TRACE_PAGE_BYTES << run->order);
    csv_text(&csv, state_name(run->state));
    csv_text(&csv, lines->period->flags);
    csv_end(&csv);
}

/* Returns how many of the @p n pages from page @p i of the layout on have consecutive numbers. */
static uint64_t in_a_row(const struct trace_layout *layout, uint64_t i, uint64_t n)
{
    const struct map_region *region = trace_region(layout, trace_page(layout, i));
    const uint64_t left = region->first_page + region->n_pages - trace_page(layout, i);
    uint64_t k = 1;

    if (n > left)
        n = left;
    if (!layout->page)
        return n;
    while (k < n && layout->page[i + k] == layout->page[i] + k)
        k++;
    return k;
}

static bool is_shown(enum page_state state)
{
    return state == PAGE_TOUCHED || state == PAGE_UNMEASURABLE || page_is_gone(state);
}

void trace_csv_period(const struct trace_layout *layout, const struct trace_period *period,
                      uint64_t number)
{
    const struct lines lines = {layout, period, number};
    uint64_t i = 0;

    for (size_t r = 0; r < period->n_runs; i += period->runs[r++].n) {
        const struct trace_run *run = &period->runs[r];

        for (uint64_t k = 0; is_shown(run->state) && k < run->n;) {
            const struct stretch stretch = {trace_page(layout, i + k),
                                            in_a_row(layout, i + k, run->n - k)};

            print_line(&lines, run, &stretch);
            k += stretch.n;
        }
    }
}
