// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file fuzz_trace.c  The parser of traces and their statistics. If the first byte is even, the
 * rest is the file itself. Otherwise it is a list of payloads, each with a kind and a length of two
 * bytes before it, which become blocks with a correct checksum. */
#include "history/trace/trace_encode.h"
#include "history/trace/trace_reader.h"
#include "history/trace/trace_stats.h"

#include "base/array.h"

#include "fuzz.h"

#include <string.h>

static void make_file(struct trace_out *out, const uint8_t *data, size_t size)
{
    trace_put(out, TRACE_MAGIC, TRACE_MAGIC_BYTES);
    trace_put_u32(out, TRACE_VERSION);
    while (size >= 3) {
        const uint32_t kind = data[0] % 6;
        size_t n = (size_t)data[1] | (size_t)data[2] << 8;

        data += 3;
        size -= 3;
        n = n < size ? n : size;
        trace_encode_block(out, kind, data, n);
        data += n;
        size -= n;
    }
}

static void check_layout(const struct trace_layout *layout)
{
    CLAIM(layout->n > 0 && layout->n <= layout->ram_pages && layout->n_regions > 0);
    for (uint64_t i = 1; layout->page && i < layout->n; i++)
        CLAIM(layout->page[i] > layout->page[i - 1]);
    if (layout->page)
        CLAIM(layout->page[layout->n - 1] < layout->ram_pages);
}

static void check_period(const struct trace_reader *reader, struct trace_stats *stats)
{
    const struct trace_period *period = &reader->period;
    struct trace_change change;
    uint64_t n = 0;

    for (size_t r = 0; r < period->n_runs; r++) {
        CLAIM(period->runs[r].n > 0 && period->runs[r].reading < period->n_readings);
        n += period->runs[r].n;
    }
    CLAIM(n == reader->layout.n);
    CLAIM(trace_stats_period(stats, period, &change) == 0);
    CLAIM(change.kept + change.first <= change.touched && change.touched <= n);
    CLAIM(change.departed_missing + change.departed_unmeasurable <= change.departed);

    struct trace_bytes bytes = trace_stats_bytes(&reader->layout, &change, change.touched);
    struct interval share = trace_stats_share(&reader->layout, &change, change.kept,
                                              change.touched);

    CLAIM(bytes.low_bytes <= bytes.high_bytes && share.low <= share.high);
}

static void check_spans(const struct trace_stats *stats)
{
    struct trace_span spans[RUN_MAX_WINDOWS + TRACE_MAX_SPANS];
    size_t n = trace_stats_spans(stats, spans, COUNT(spans));

    for (size_t s = 0; s < n; s++) {
        CLAIM(spans[s].n > 0 && spans[s].least_bytes <= spans[s].most_bytes);
        CLAIM(spans[s].missed >= 0 && spans[s].missed <= 1);
    }
}

static void read_all(struct trace_reader *reader, struct trace_stats *stats)
{
    struct error error = {0};
    int part = TRACE_AT_LAYOUT;

    while (part == TRACE_AT_LAYOUT || part == TRACE_AT_PERIOD) {
        part = trace_reader_next(reader, &error);
        if (part == TRACE_AT_LAYOUT) {
            check_layout(&reader->layout);
            CLAIM(trace_stats_layout(stats, &reader->layout) == 0);
        } else if (part == TRACE_AT_PERIOD) {
            check_period(reader, stats);
        }
    }
    CLAIM(part >= 0 || *error.text);
    check_spans(stats);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct trace_out out = {0};
    struct trace_reader reader;
    struct error error = {0};

    if (size < 2)
        return 0;
    if (data[0] & 1)
        make_file(&out, data + 1, size - 1);
    else
        trace_put(&out, data + 1, size - 1);
    CLAIM(!out.failed);

    FILE *file = fmemopen(out.bytes, out.n, "rb");

    CLAIM(file);
    if (trace_reader_begin(&reader, file, "fuzz", &error) == 0) {
        struct trace_stats *stats = trace_stats_new(&reader.head);

        CLAIM(stats);
        read_all(&reader, stats);
        trace_stats_free(stats);
        trace_reader_close(&reader);
    }
    free(out.bytes);
    return 0;
}
