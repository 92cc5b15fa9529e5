// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file fault_trace.c  See fault_trace.h. */
#include "sample/kernel/fault_trace.h"

#include "base/cleanup.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#define PAGE_SIZE 4096UL
#define EVENT_DIR "events/kvm/kvm_page_fault"

struct ring {
    int fd;
    struct perf_event_mmap_page *control; /* followed by the ring's pages of data */
};

struct fault_trace {
    uint32_t field_offset; /* of fault_address in the raw record */
    size_t ring_bytes;     /* of data, without the control page */
    size_t n_rings;
    struct ring rings[];
};

static const char *const tracefs[] = {"sys/kernel/tracing", "sys/kernel/debug/tracing"};

/* "\tfield:u64 fault_address;\toffset:24;\tsize:8;\tsigned:0;" */
static int parse_format(const char *format, uint32_t *offset)
{
    const char *field = strstr(format, " fault_address;");
    const char *at = field ? strstr(field, "offset:") : NULL;
    const char *size = at ? strstr(at, "size:") : NULL;

    if (!size || strtoul(size + 5, NULL, 10) != sizeof(uint64_t))
        return -EBADMSG;
    *offset = (uint32_t)strtoul(at + 7, NULL, 10);
    return *offset < 256 ? 0 : -EBADMSG;
}

static int read_event(const struct fsroot *root, uint64_t *id, uint32_t *offset,
                      struct error *error)
{
    for (size_t i = 0; i < 2; i++) {
        cleanup_free char *format = NULL;

        if (fsroot_read_u64(root, id, "%s/" EVENT_DIR "/id", tracefs[i]) < 0)
            continue;
        if (fsroot_read_all(root, &format, 65536, "%s/" EVENT_DIR "/format", tracefs[i]) < 0 ||
            parse_format(format, offset) < 0)
            return error_set(error, -EBADMSG,
                             "/%s/" EVENT_DIR "/format: no field fault_address in it", tracefs[i]);
        return 0;
    }
    return error_set(error, -ENOENT,
                     "the tracepoint kvm:kvm_page_fault is not visible: load KVM, and as "
                     "root: mount -t tracefs none /sys/kernel/tracing");
}

int fault_trace_host(const struct fsroot *root, struct error *error)
{
    uint64_t id;
    uint32_t offset;

    return read_event(root, &id, &offset, error);
}

static int open_ring(struct ring *ring, pid_t tid, uint64_t id, const char *filter,
                     size_t ring_bytes)
{
    struct perf_event_attr attr = {
        .type = PERF_TYPE_TRACEPOINT,
        .size = sizeof(attr),
        .config = id,
        .sample_period = 1,
        .sample_type = PERF_SAMPLE_RAW,
        .read_format = PERF_FORMAT_LOST,
        .disabled = 1,
    };

    ring->fd = (int)syscall(SYS_perf_event_open, &attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (ring->fd < 0)
        return -errno;

    if (filter && ioctl(ring->fd, PERF_EVENT_IOC_SET_FILTER, filter) < 0)
        return -errno;

    void *map = mmap(NULL, ring_bytes + PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, 0);

    if (map == MAP_FAILED)
        return -errno;
    ring->control = map;
    return 0;
}

static int open_rings(struct fault_trace *trace, const struct target *target, uint64_t id,
                      const char *filter, struct error *error)
{
    for (size_t i = 0; i < target->process->n_vcpus; i++) {
        pid_t tid = target->process->vcpus[i];
        int rc;

        trace->rings[trace->n_rings].fd = -1;
        rc = open_ring(&trace->rings[trace->n_rings++], tid, id, filter, trace->ring_bytes);
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
                     struct fault_trace **out, struct error *error)
{
    uint64_t id;
    uint32_t offset;
    int rc = read_event(target->root, &id, &offset, error);

    if (rc < 0)
        return rc;

    size_t n = target->process->n_vcpus;
    struct fault_trace *trace = calloc(1, sizeof(*trace) + n * sizeof(trace->rings[0]));

    if (!trace)
        return error_set(error, -ENOMEM, "fault trace: out of memory");
    trace->field_offset = offset;
    trace->ring_bytes = ring_pages * PAGE_SIZE;
    rc = open_rings(trace, target, id, filter, error);
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
    for (size_t i = 0; i < trace->n_rings; i++) {
        if (trace->rings[i].control)
            munmap(trace->rings[i].control, trace->ring_bytes + PAGE_SIZE);
        cleanup_close_at(&trace->rings[i].fd);
    }
    free(trace);
}

int fault_trace_enable(struct fault_trace *trace, bool on, struct error *error)
{
    for (size_t i = 0; i < trace->n_rings; i++) {
        int fd = trace->rings[i].fd;

        if (fd >= 0 && ioctl(fd, on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0) < 0)
            return error_set(error, -errno, "perf event: %s", strerror(errno));
    }
    return 0;
}

/* Copies @p n bytes from position @p at of the ring, which may wrap. */
static void copy_out(const struct ring *ring, size_t size, uint64_t at, void *to, size_t n)
{
    const char *data = (const char *)ring->control + PAGE_SIZE;
    size_t start = at % size;
    size_t first = n < size - start ? n : size - start;

    memcpy(to, data + start, first);
    memcpy((char *)to + first, data, n - first);
}

static void drain_ring(const struct fault_trace *trace, struct ring *ring,
                       void (*visit)(uint64_t gpa, void *context), void *context)
{
    uint64_t head = __atomic_load_n(&ring->control->data_head, __ATOMIC_ACQUIRE);
    uint64_t tail = ring->control->data_tail;

    while (tail < head) {
        struct perf_event_header header = {0};

        copy_out(ring, trace->ring_bytes, tail, &header, sizeof(header));
        if (header.size < sizeof(header))
            break;
        if (header.type == PERF_RECORD_SAMPLE) { /* u32 size, then the raw record */
            uint64_t gpa = 0;

            copy_out(ring, trace->ring_bytes,
                     tail + sizeof(header) + sizeof(uint32_t) + trace->field_offset, &gpa,
                     sizeof(gpa));
            visit(gpa, context);
        }
        tail += header.size;
    }
    __atomic_store_n(&ring->control->data_tail, tail, __ATOMIC_RELEASE);
}

void fault_trace_drain(struct fault_trace *trace, void (*visit)(uint64_t gpa, void *context),
                       void *context)
{
    for (size_t i = 0; i < trace->n_rings; i++)
        if (trace->rings[i].control)
            drain_ring(trace, &trace->rings[i], visit, context);
}

uint64_t fault_trace_lost(const struct fault_trace *trace)
{
    uint64_t lost = 0;

    for (size_t i = 0; i < trace->n_rings; i++) {
        uint64_t value_and_lost[2];

        if (read(trace->rings[i].fd, value_and_lost, sizeof(value_and_lost)) ==
            (ssize_t)sizeof(value_and_lost))
            lost += value_and_lost[1];
    }
    return lost;
}
