// SPDX-License-Identifier: LGPL-2.1-or-later
#include "measure/kernel/fault_trace.h"

#include "base/array.h"
#include "guest/domain/qemu_vcpus.h"
#include "measure/kernel/trace_event.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct vcpu_ring {
    pid_t tid;
    struct trace_ring ring;
};

struct fault_trace {
    uint64_t event_id;
    uint32_t field_offset; /* offset of the address in the raw record */
    char filter[FAULT_FILTER_BYTES];
    size_t ring_bytes;
    int wake_fd;
    bool on;
    uint64_t ended_ticks; /* CPU time of vCPUs that have ended */
    size_t n_rings;
    struct vcpu_ring *rings;
};

static int read_event(const struct fsroot *root, uint64_t *id, uint32_t *offset,
                      struct error *error)
{
    const struct arch *arch = arch_host();
    struct trace_event event = {0};
    int rc = trace_event_find(root, arch->fault_event, "load KVM", &event, error);

    if (rc == 0 && trace_event_field(&event, arch->fault_field, sizeof(uint64_t), offset) < 0)
        rc = error_set(error, -EBADMSG, "tracepoint %s: no field %s in it", arch->fault_event,
                       arch->fault_field);
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

static bool has_ring(const struct fault_trace *trace, pid_t tid)
{
    for (size_t i = 0; i < trace->n_rings; i++)
        if (trace->rings[i].tid == tid)
            return true;
    return false;
}

/* Opens an empty ring for a thread that has ended meanwhile (an unplugged vCPU, a worker). */
static int open_ring(struct fault_trace *trace, pid_t tid, struct error *error)
{
    const struct vcpu_ring fresh = {.tid = tid};

    if (array_put(&trace->rings, &trace->n_rings, &fresh, sizeof(fresh)) < 0)
        return error_set(error, -ENOMEM, "fault trace: out of memory");

    struct vcpu_ring *mine = &trace->rings[trace->n_rings - 1];

    int rc = trace_ring_open(&mine->ring, trace->event_id, tid, trace->filter, trace->ring_bytes,
                             trace->wake_fd);

    if (rc == 0 && trace->on)
        rc = trace_ring_enable(&mine->ring, true);
    if (rc < 0 && rc != -ESRCH)
        return error_set(error, rc,
                         "perf_event_open %s on thread %d: %s (needs CAP_PERFMON; run as root)",
                         arch_host()->fault_event_perf, tid, strerror(-rc));
    return 0;
}

static int open_rings(struct fault_trace *trace, const struct qemu_process *process, bool *grown,
                      struct error *error)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < process->n_vcpus; i++)
        if (!has_ring(trace, process->vcpus[i])) {
            rc = open_ring(trace, process->vcpus[i], error);
            *grown = true;
        }
    return rc;
}

int fault_trace_open(const struct target *target, const char *filter, size_t ring_bytes,
                     int wake_fd, struct fault_trace **out, struct error *error)
{
    struct fault_trace *trace = calloc(1, sizeof(*trace));
    bool grown = false;

    if (!trace)
        return error_set(error, -ENOMEM, "fault trace: out of memory");
    trace->ring_bytes = ring_bytes;
    trace->wake_fd = wake_fd;
    snprintf(trace->filter, sizeof(trace->filter), "%s", filter);

    int rc = read_event(target->root, &trace->event_id, &trace->field_offset, error);

    if (rc == 0)
        rc = open_rings(trace, target->process, &grown, error);
    trace->ended_ticks = qemu_process_ended_guest_ticks(target->root, target->process);
    if (rc < 0) {
        fault_trace_free(trace);
        return rc;
    }
    *out = trace;
    return 0;
}

/* Returns true if a vCPU came and went since the last call, whose faults are not known. Each vCPU's
 * time is rounded down separately. */
static bool any_ended(struct fault_trace *trace, const struct target *target,
                      const struct qemu_process *now)
{
    uint64_t ticks = qemu_process_ended_guest_ticks(target->root, now);
    bool more = ticks > trace->ended_ticks + now->n_vcpus;

    if (more)
        trace->ended_ticks = ticks;
    return more;
}

int fault_trace_follow(struct fault_trace *trace, const struct target *target, bool *grown,
                       struct error *error)
{
    struct qemu_process now = *target->process;

    now.vcpus = NULL;
    now.n_vcpus = 0;
    now.threads = (struct qemu_threads){0};
    *grown = false;

    int rc = qemu_vcpus_find(target->root, &now);

    qemu_threads_free(&now.threads);
    if (rc < 0)
        return error_set(error, rc, "process %d: the guest vanished", now.pid);
    rc = open_rings(trace, &now, grown, error);
    *grown |= any_ended(trace, target, &now);
    free(now.vcpus);
    return rc;
}

void fault_trace_free(struct fault_trace *trace)
{
    if (!trace)
        return;
    for (size_t i = 0; i < trace->n_rings; i++)
        trace_ring_close(&trace->rings[i].ring);
    free(trace->rings);
    free(trace);
}

int fault_trace_enable(struct fault_trace *trace, bool on, struct error *error)
{
    trace->on = on;
    for (size_t i = 0; i < trace->n_rings; i++) {
        const struct trace_ring *ring = &trace->rings[i].ring;
        int rc = ring->fd < 0 ? 0 : trace_ring_enable(ring, on);

        if (rc < 0)
            return error_set(error, rc, "perf event: %s", strerror(-rc));
    }
    return 0;
}

/* Adds "(FIELD >= BEGIN && FIELD < END)". */
static void add_stretch(const char *field, uint64_t begin, uint64_t bytes, char *text, size_t size)
{
    size_t have = strlen(text);

    snprintf(text + have, size - have, "%s(%s >= 0x%" PRIx64 " && %s < 0x%" PRIx64 ")",
             have > 0 ? " || " : "", field, begin, field, begin + bytes);
}

void fault_filter(const struct arch *arch, const struct gpa_layout *layout, char *text, size_t size)
{
    text[0] = '\0';
    add_stretch(arch->fault_field, layout->low_begin, layout->low_bytes, text, size);
    if (layout->boot_bytes > layout->low_bytes)
        add_stretch(arch->fault_field, layout->high_begin, layout->boot_bytes - layout->low_bytes,
                    text, size);
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
        trace_ring_drain(&trace->rings[i].ring, visit_record, &visitor);
}

uint64_t fault_trace_lost(const struct fault_trace *trace)
{
    uint64_t lost = 0;

    for (size_t i = 0; i < trace->n_rings; i++)
        lost += trace_ring_sums(&trace->rings[i].ring).lost;
    return lost;
}
