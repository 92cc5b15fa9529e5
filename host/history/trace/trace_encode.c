// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file trace_encode.c  See trace_encode.h; the inverse is trace_decode.c. */
#include "history/trace/trace_encode.h"

#include <stdlib.h>
#include <string.h>

void trace_encode_block(struct trace_out *out, uint32_t kind, const void *payload, size_t n)
{
    struct trace_out head = {0};

    trace_put_u32(&head, kind);
    trace_put_u32(&head, (uint32_t)n);
    if (head.failed || n > TRACE_MAX_BLOCK_BYTES) {
        out->failed = true;
    } else {
        trace_put_u32(&head, trace_crc(trace_crc(0, head.bytes, head.n), payload, n));
        out->failed |= head.failed;
        trace_put(out, head.bytes, head.n);
        trace_put(out, payload, n);
    }
    free(head.bytes);
}

static void finish(struct trace_out *out, uint32_t kind, struct trace_out *payload)
{
    if (payload->failed)
        out->failed = true;
    else
        trace_encode_block(out, kind, payload->bytes, payload->n);
    free(payload->bytes);
}

void trace_encode_head(struct trace_out *out, const struct trace_head *head)
{
    struct trace_out payload = {0};

    trace_put(out, TRACE_MAGIC, TRACE_MAGIC_BYTES);
    trace_put_u32(out, TRACE_VERSION);
    trace_put_text(&payload, head->host);
    trace_put_text(&payload, head->domain);
    trace_put_text(&payload, head->uuid);
    trace_put_number(&payload, head->pid);
    trace_put_text(&payload, head->accel);
    trace_put_text(&payload, head->method);
    trace_put_number(&payload, head->census);
    trace_put_real(&payload, head->interval_s);
    trace_put_number(&payload, head->n_windows);
    for (size_t w = 0; w < head->n_windows; w++)
        trace_put_real(&payload, head->window_s[w]);
    finish(out, TRACE_HEAD, &payload);
}

static void put_region(struct trace_out *payload, const struct map_region *region)
{
    trace_put_text(payload, region->block);
    trace_put_number(payload, region->dimm);
    trace_put_number(payload, (uint64_t)((int64_t)region->node + 1));
    /* 0 stands for an unknown address. Addresses are multiples of the page size. */
    trace_put_number(payload, region->gpa == GPA_NONE ? 0 : region->gpa / TRACE_PAGE_BYTES + 1);
    trace_put_number(payload, region->n_pages);
}

void trace_encode_layout(struct trace_out *out, const struct trace_layout *layout)
{
    struct trace_out payload = {0};
    uint64_t next = 0;

    trace_put_number(&payload, layout->n_regions);
    for (size_t r = 0; r < layout->n_regions; r++)
        put_region(&payload, &layout->regions[r]);
    trace_put_number(&payload, layout->page != NULL);
    if (layout->page) {
        trace_put_number(&payload, layout->n);
        for (uint64_t i = 0; i < layout->n; i++) {
            trace_put_number(&payload, layout->page[i] - next);
            next = layout->page[i] + 1;
        }
    }
    finish(out, TRACE_LAYOUT, &payload);
}

static void put_run(struct trace_out *payload, const struct trace_run *run)
{
    trace_put_number(payload, (run->order * 64 + run->reading) * 8 + (unsigned)run->state);
    trace_put_number(payload, run->n);
}

void trace_encode_period(struct trace_out *out, const struct trace_period *period)
{
    struct trace_out payload = {0};

    trace_put_real(&payload, period->end_unix_s);
    trace_put_real(&payload, period->marking_s);
    trace_put_real(&payload, period->reading_s);
    trace_put_real(&payload, period->vcpu_s);
    trace_put_number(&payload, period->resident_bytes);
    trace_put_number(&payload, period->unmeasurable_bytes);
    trace_put_text(&payload, period->flags);
    for (size_t r = 0; r < period->n_readings; r++) {
        trace_put_real(&payload, period->readings[r].est_window_s);
        trace_put_number(&payload, period->readings[r].wss_bytes);
        trace_put_number(&payload, period->readings[r].wss_low_bytes);
        trace_put_number(&payload, period->readings[r].wss_high_bytes);
    }
    trace_put_number(&payload, period->n_runs);
    for (size_t r = 0; r < period->n_runs; r++)
        put_run(&payload, &period->runs[r]);
    finish(out, TRACE_PERIOD, &payload);
}

void trace_encode_end(struct trace_out *out, const struct trace_end *end)
{
    struct trace_out payload = {0};

    trace_put_text(&payload, end->reason);
    trace_put_number(&payload, end->periods);
    finish(out, TRACE_END, &payload);
}
