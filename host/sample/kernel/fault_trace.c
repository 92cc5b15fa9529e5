// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file fault_trace.c  See fault_trace.h. */
#include "sample/kernel/fault_trace.h"

#include "base/cleanup.h"
#include "sample/kernel/trace_event.h"

#include <errno.h>
#include <string.h>

#define EVENT "kvm/kvm_page_fault"

struct fault_trace {
    uint32_t field_offset; /* of fault_address in the raw record */
    size_t n_rings;
    struct trace_ring rings[];
};

static int read_event(const struct fsroot *root, uint64_t *id, uint32_t *offset,
                      struct error *error)
{
    struct trace_event event = {0};
    int rc = trace_event_find(root, EVENT, "load KVM", &event, error);

    if (rc == 0 && trace_event_field(&event, "fault_address", sizeof(uint64_t), offset) < 0)
        rc = error_set(error, -EBADMSG, "tracepoint " EVENT ": no field fault_address in it");
    *id = event.id;
    trace_event_free(&event);
    return rc;
}

int fault_trace_host(const struct fsroot *root, struct error *error)
{
    uint64_t id = 0;
    uint32_t offset = 0;

    return read_event(root, &id, &offset, error);
}

static int open_rings(struct fault_trace *trace, const struct target *target, uint64_t id,
                      const char *filter, unsigned ring_pages, int wake_fd, struct error *error)
{
    for (size_t i = 0; i < target->process->n_vcpus; i++) {
        pid_t tid = target->process->vcpus[i];
        int rc = trace_ring_open(&trace->rings[trace->n_rings++], id, tid, filter, ring_pages,
                                 wake_fd);

        if (rc == -ESRCH) /* a vCPU that was unplugged, or a worker thread that ended */
            continue;
        if (rc < 0)
            return error_set(error, rc,
                             "perf_event_open kvm:kvm_page_fault on thread %d: %s (needs "
                             "CAP_PERFMON; run as root)",
                             tid, strerror(-rc));
    }
    return 0;
}

int fault_trace_open(const struct target *target, const char *filter, unsigned ring_pages,
                     int wake_fd, struct fault_trace **out, struct error *error)
{
    uint64_t id = 0;
    uint32_t offset = 0;
    int rc = read_event(target->root, &id, &offset, error);

    if (rc < 0)
        return rc;

    size_t n = target->process->n_vcpus;
    struct fault_trace *trace = calloc(1, sizeof(*trace) + n * sizeof(trace->rings[0]));

    if (!trace)
        return error_set(error, -ENOMEM, "fault trace: out of memory");
    trace->field_offset = offset;
    rc = open_rings(trace, target, id, filter, ring_pages, wake_fd, error);
    if (rc < 0) {
        fault_trace_free(trace);
        return rc;
    }
    *out = trace;
    return 0;
}

void fault_trace_free(struct fault_trace *trace)
{
    if (!trace)
        return;
    for (size_t i = 0; i < trace->n_rings; i++)
        trace_ring_close(&trace->rings[i]);
    free(trace);
}

int fault_trace_enable(struct fault_trace *trace, bool on, struct error *error)
{
    for (size_t i = 0; i < trace->n_rings; i++) {
        int rc = trace->rings[i].fd < 0 ? 0 : trace_ring_enable(&trace->rings[i], on);

        if (rc < 0)
            return error_set(error, rc, "perf event: %s", strerror(-rc));
    }
    return 0;
}

struct visitor {
    uint32_t field_offset;
    void (*visit)(uint64_t gpa, void *context);
    void *context;
};

static void visit_record(const void *record, void *context)
{
    const struct visitor *visitor = context;
    uint64_t gpa;

    memcpy(&gpa, (const char *)record + visitor->field_offset, sizeof(gpa));
    visitor->visit(gpa, visitor->context);
}

void fault_trace_drain(struct fault_trace *trace, void (*visit)(uint64_t gpa, void *context),
                       void *context)
{
    struct visitor visitor = {trace->field_offset, visit, context};

    for (size_t i = 0; i < trace->n_rings; i++)
        trace_ring_drain(&trace->rings[i], visit_record, &visitor);
}

uint64_t fault_trace_lost(const struct fault_trace *trace)
{
    uint64_t lost = 0;

    for (size_t i = 0; i < trace->n_rings; i++)
        lost += trace_ring_sums(&trace->rings[i]).lost;
    return lost;
}
