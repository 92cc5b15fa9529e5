// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file trace_decode.c  See trace_decode.h; the inverse is trace_encode.c. */
#include "history/trace/trace_decode.h"

#include <errno.h>
#include <stdlib.h>

/* Limit of guest-physical addresses: 2^52 bytes. */
#define MAX_PAGES (1ULL << 40)
#define MAX_BYTES (MAX_PAGES * TRACE_PAGE_BYTES)
#define MAX_SECONDS 1e7
#define MAX_VCPU_S (1e4 * MAX_SECONDS) /* for 10,000 vCPUs */
#define MAX_UNIX_S 1e11
#define REGION_LEAST_BYTES 5 /* each of its members takes at least one byte */
#define RUN_LEAST_BYTES 2

static int read_verdict(const struct trace_in *in)
{
    return in->failed ? -EBADMSG : 0;
}

int trace_decode_head(struct trace_in *in, struct trace_head *head)
{
    *head = (struct trace_head){0};
    trace_take_text(in, head->host, sizeof(head->host));
    trace_take_text(in, head->domain, sizeof(head->domain));
    trace_take_text(in, head->uuid, sizeof(head->uuid));
    head->pid = trace_take_number(in, INT32_MAX);
    trace_take_text(in, head->accel, sizeof(head->accel));
    trace_take_text(in, head->method, sizeof(head->method));
    head->census = trace_take_number(in, 1);
    head->interval_s = trace_take_real(in, MAX_SECONDS);
    head->n_windows = (size_t)trace_take_number(in, RUN_MAX_WINDOWS);
    for (size_t w = 0; w < head->n_windows; w++)
        head->window_s[w] = trace_take_real(in, MAX_SECONDS);
    in->failed |= head->n_windows == 0;
    return read_verdict(in);
}

/* --- a layout --------------------------------------------------------------------------------- */

static void take_region(struct trace_in *in, struct trace_layout *layout, struct map_region *region)
{
    trace_take_text(in, region->block, sizeof(region->block));
    region->dimm = trace_take_number(in, 1);
    region->node = (int)trace_take_number(in, 4096) - 1;

    const uint64_t gpa = trace_take_number(in, MAX_PAGES);

    region->gpa = gpa ? (gpa - 1) * TRACE_PAGE_BYTES : GPA_NONE;
    region->first_page = layout->ram_pages;
    region->n_pages = trace_take_number(in, MAX_PAGES - layout->ram_pages);
    layout->ram_pages += region->n_pages;
    in->failed |= region->n_pages == 0;
}

static int take_regions(struct trace_in *in, struct trace_layout *layout)
{
    layout->n_regions = trace_take_count(in, REGION_LEAST_BYTES, TRACE_MAX_REGIONS);
    if (layout->n_regions == 0)
        return -EBADMSG;
    layout->regions = calloc(layout->n_regions, sizeof(*layout->regions));
    if (!layout->regions)
        return -ENOMEM;
    for (size_t r = 0; r < layout->n_regions && !in->failed; r++)
        take_region(in, layout, &layout->regions[r]);
    return read_verdict(in);
}

static int take_pages(struct trace_in *in, struct trace_layout *layout)
{
    uint64_t next = 0;

    layout->n = layout->ram_pages;
    if (!trace_take_number(in, 1))
        return read_verdict(in);
    layout->n = trace_take_count(in, 1, SIZE_MAX);
    if (layout->n == 0)
        return -EBADMSG;
    layout->page = calloc(layout->n, sizeof(*layout->page));
    if (!layout->page)
        return -ENOMEM;
    for (uint64_t i = 0; i < layout->n; i++) {
        if (next >= layout->ram_pages)
            return -EBADMSG;
        layout->page[i] = next + trace_take_number(in, layout->ram_pages - 1 - next);
        next = layout->page[i] + 1;
    }
    return read_verdict(in);
}

int trace_decode_layout(struct trace_in *in, struct trace_layout *layout)
{
    trace_layout_free(layout);

    int rc = take_regions(in, layout);

    if (rc == 0)
        rc = take_pages(in, layout);
    if (rc < 0)
        trace_layout_free(layout);
    return rc;
}

/* --- a period --------------------------------------------------------------------------------- */

static void take_reading(struct trace_in *in, struct trace_reading *reading)
{
    reading->est_window_s = trace_take_real(in, MAX_SECONDS);
    reading->wss_bytes = trace_take_number(in, MAX_BYTES);
    reading->wss_low_bytes = trace_take_number(in, MAX_BYTES);
    reading->wss_high_bytes = trace_take_number(in, MAX_BYTES);
}

static void take_run(struct trace_in *in, size_t n_readings, uint64_t left, struct trace_run *run)
{
    const uint64_t class = trace_take_number(in, (TRACE_MAX_ORDER * 64 + 63) * 8 + 7);

    run->state = (enum page_state)(class & 7);
    run->reading = (unsigned)(class >> 3 & 63);
    run->order = (unsigned)(class >> 9);
    run->n = trace_take_number(in, left);
    in->failed |= run->n == 0 || (class & 7) >= PAGE_STATES || run->reading >= n_readings;
}

static int take_runs(struct trace_in *in, uint64_t pages, struct trace_period *period)
{
    period->n_runs = trace_take_count(in, RUN_LEAST_BYTES, SIZE_MAX);
    if (period->n_runs == 0)
        return -EBADMSG;
    period->runs = calloc(period->n_runs, sizeof(*period->runs));
    if (!period->runs)
        return -ENOMEM;
    for (size_t r = 0; r < period->n_runs && !in->failed; r++) {
        take_run(in, period->n_readings, pages, &period->runs[r]);
        pages -= period->runs[r].n;
    }
    return pages > 0 ? -EBADMSG : read_verdict(in);
}

int trace_decode_period(struct trace_in *in, const struct trace_head *head,
                        const struct trace_layout *layout, struct trace_period *period)
{
    trace_period_free(period);
    if (layout->n == 0)
        return -EBADMSG; /* a period before any layout */
    period->end_unix_s = trace_take_real(in, MAX_UNIX_S);
    period->marking_s = trace_take_real(in, MAX_SECONDS);
    period->reading_s = trace_take_real(in, MAX_SECONDS);
    period->vcpu_s = trace_take_real(in, MAX_VCPU_S);
    period->resident_bytes = trace_take_number(in, MAX_BYTES);
    period->unmeasurable_bytes = trace_take_number(in, MAX_BYTES);
    trace_take_text(in, period->flags, sizeof(period->flags));
    period->n_readings = head->n_windows;
    for (size_t r = 0; r < period->n_readings; r++)
        take_reading(in, &period->readings[r]);
    return take_runs(in, layout->n, period);
}

int trace_decode_end(struct trace_in *in, struct trace_end *end)
{
    *end = (struct trace_end){0};
    trace_take_text(in, end->reason, sizeof(end->reason));
    end->periods = trace_take_number(in, UINT64_MAX);
    return read_verdict(in);
}
