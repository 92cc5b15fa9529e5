// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file trace_csv.c  A trace as CSV; see trace.h. */
#include "show/trace.h"

#include "show/ram_map.h"

/* Pages with consecutive numbers within one region. */
struct stretch {
    uint64_t page, n;
};

static const char *const csv_names[] = {"period",
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

void trace_csv_begin(struct sheet *sheet)
{
    sheet_begin(sheet, SHOW_CSV, NULL, csv_names);
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

/* Sets the two readings between which the page was first touched. */
static void fill_touch(struct sheet *sheet, const struct trace_period *period,
                       const struct trace_run *run)
{
    const double after_s = run->reading > 0 ? period->readings[run->reading - 1].est_window_s : 0;

    if (run->state == PAGE_UNMEASURABLE)
        return;
    sheet_real(sheet, "first_touch_after_s", after_s);
    sheet_real(sheet, "first_touch_by_s", period->readings[run->reading].est_window_s);
}

static void fill_place(struct sheet *sheet, const struct map_region *region,
                       const struct stretch *stretch)
{
    const uint64_t offset = (stretch->page - region->first_page) * TRACE_PAGE_BYTES;

    map_region_fill(sheet, region);
    map_address_fill(sheet, region, offset);
    sheet_bytes(sheet, "offset", offset);
    sheet_bytes(sheet, "bytes", stretch->n * TRACE_PAGE_BYTES);
}

static void fill_period(struct sheet *sheet, const struct trace_period *period, uint64_t number)
{
    sheet_row(sheet);
    sheet_count(sheet, "period", number);
    sheet_time(sheet, "begin", trace_begin_unix_s(period), 3);
    sheet_time(sheet, "end", period->end_unix_s, 3);
    sheet_text(sheet, "flags", period->flags);
}

/* Returns how many of the @p n pages, beginning with page @p i of the layout, have consecutive
 * numbers. */
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

int trace_csv_period(struct sheet *sheet, const struct trace_layout *layout,
                     const struct trace_period *period, uint64_t number)
{
    uint64_t i = 0;

    sheet_list(sheet, NULL, NULL, 0);
    for (size_t r = 0; r < period->n_runs; i += period->runs[r++].n) {
        const struct trace_run *run = &period->runs[r];

        for (uint64_t k = 0; is_shown(run->state) && k < run->n;) {
            const struct stretch stretch = {trace_page(layout, i + k),
                                            in_a_row(layout, i + k, run->n - k)};

            fill_period(sheet, period, number);
            fill_touch(sheet, period, run);
            fill_place(sheet, trace_region(layout, stretch.page), &stretch);
            sheet_bytes(sheet, "granularity_bytes", TRACE_PAGE_BYTES << run->order);
            sheet_text(sheet, "state", state_name(run->state));
            k += stretch.n;
        }
    }
    sheet_close(sheet);
    return sheet->rc;
}
