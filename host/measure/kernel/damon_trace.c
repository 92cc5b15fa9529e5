// SPDX-License-Identifier: LGPL-2.1-or-later
#include "measure/kernel/damon_trace.h"

#include "base/kernel_number.h"
#include "measure/kernel/trace_event.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FEWEST_BYTES 32768
/* size of a record in perf's ring: 8 header, 4 size, 48 the event, 4 to align */
#define RECORD_BYTES 64

struct fields {
    uint64_t id;
    uint32_t start, nr_accesses;
};

struct damon_trace {
    struct fields fields;
    struct trace_ring ring;
    uint64_t cpu_before_ns;
};

static int read_event(const struct fsroot *root, struct fields *fields, struct error *error)
{
    struct trace_event event = {0};
    int rc = trace_event_find(root, TRACE_DAMON_AGGREGATED,
                              "it needs CONFIG_DAMON and CONFIG_PERF_EVENTS", &event, error);

    if (rc == 0 &&
        (trace_event_field(&event, "start", sizeof(uint64_t), &fields->start) < 0 ||
         trace_event_field(&event, "nr_accesses", sizeof(uint32_t), &fields->nr_accesses) < 0))
        rc = error_set(error, -EBADMSG,
                       "tracepoint " TRACE_DAMON_AGGREGATED ": no fields start and nr_accesses");
    fields->id = event.id;
    trace_event_free(&event);
    return rc;
}

int damon_trace_host(const struct fsroot *root, struct error *error)
{
    struct fields fields;

    return read_event(root, &fields, error);
}

/* Room for two reports, rounded up to a power of two. */
static size_t ring_bytes(uint64_t n_regions)
{
    size_t bytes = FEWEST_BYTES;

    while (bytes < 2 * n_regions * RECORD_BYTES)
        bytes *= 2;
    return bytes;
}

int damon_trace_open(const struct fsroot *root, pid_t kdamond, uint64_t n_regions, int wake_fd,
                     struct damon_trace **out, struct error *error)
{
    struct fields fields = {0};
    int rc = read_event(root, &fields, error);
    struct damon_trace *trace = rc == 0 ? calloc(1, sizeof(*trace)) : NULL;
    char text[96];

    if (!trace)
        return rc < 0 ? rc : error_set(error, -ENOMEM, "DAMON: out of memory");
    trace->fields = fields;
    rc = trace_ring_open(&trace->ring, fields.id, kdamond, NULL, ring_bytes(n_regions), wake_fd);
    if (rc == 0)
        rc = trace_ring_enable(&trace->ring, true);
    if (fsroot_read(root, text, sizeof(text), "proc/%d/schedstat", (int)kdamond) > 0)
        kernel_u64(text, &trace->cpu_before_ns);
    if (rc == 0) {
        *out = trace;
        return 0;
    }
    damon_trace_free(trace);
    return error_set(error, rc,
                     "perf_event_open damon:damon_aggregated on thread %d: %s (needs "
                     "CAP_PERFMON; run as root)",
                     (int)kdamond, strerror(-rc));
}

void damon_trace_free(struct damon_trace *trace)
{
    if (!trace)
        return;
    trace_ring_close(&trace->ring);
    free(trace);
}

struct visitor {
    const struct fields *fields;
    void (*visit)(uint64_t start, unsigned nr_accesses, void *context);
    void *context;
};

static void visit_record(const void *record, void *context)
{
    const struct visitor *visitor = context;
    uint64_t start;
    uint32_t nr_accesses;

    memcpy(&start, (const char *)record + visitor->fields->start, sizeof(start));
    memcpy(&nr_accesses, (const char *)record + visitor->fields->nr_accesses, sizeof(nr_accesses));
    visitor->visit(start, nr_accesses, visitor->context);
}

void damon_trace_drain(const struct damon_trace *trace,
                       void (*visit)(uint64_t start, unsigned nr_accesses, void *context),
                       void *context)
{
    struct visitor visitor = {&trace->fields, visit, context};

    trace_ring_drain(&trace->ring, visit_record, &visitor);
}

uint64_t damon_trace_lost(const struct damon_trace *trace)
{
    return trace_ring_sums(&trace->ring).lost;
}

uint64_t damon_trace_cpu_ns(const struct damon_trace *trace)
{
    return trace->cpu_before_ns + trace_ring_sums(&trace->ring).running_ns;
}
