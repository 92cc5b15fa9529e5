// SPDX-License-Identifier: LGPL-2.1-or-later
#include "measure/kernel/trace_event.h"

#include "base/array.h"
#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/kernel_number.h"
#include "base/page_sizes.h"
#include "guest/arch/arch.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#define FORMAT_MAX 65536

static const char *const tracefs[] = {"sys/kernel/tracing", "sys/kernel/debug/tracing"};

int trace_event_find(const struct fsroot *root, const char *name, const char *source,
                     struct trace_event *event, struct error *error)
{
    for (size_t i = 0; i < COUNT(tracefs); i++) {
        if (fsroot_read_u64(root, &event->id, "%s/events/%s/id", tracefs[i], name) < 0)
            continue;

        ssize_t n = fsroot_read_all(root, &event->format, FORMAT_MAX, "%s/events/%s/format",
                                    tracefs[i], name);

        return n < 0 ? error_set(error, (int)n, "/%s/events/%s/format: %s", tracefs[i], name,
                                 strerror((int)-n))
                     : 0;
    }
    return error_set(error, -ENOENT,
                     "the tracepoint %s is not visible: %s, and as root: "
                     "mount -t tracefs none /sys/kernel/tracing",
                     name, source);
}

void trace_event_free(struct trace_event *event)
{
    free(event->format);
    event->format = NULL;
}

/* "\tfield:u64 fault_address;\toffset:24;\tsize:8;\tsigned:0;" */
int trace_event_field(const struct trace_event *event, const char *name, size_t bytes,
                      uint32_t *offset)
{
    char key[64];

    snprintf(key, sizeof(key), " %s;", name);

    const char *field = strstr(event->format, key);
    const char *at = field ? strstr(field, "offset:") : NULL;
    const char *size = at ? strstr(at, "size:") : NULL;
    uint64_t begin, length;

    if (!size || !kernel_u64(at + strlen("offset:"), &begin) ||
        !kernel_u64(size + strlen("size:"), &length) || length != bytes ||
        begin + bytes > TRACE_RECORD_BYTES)
        return -EBADMSG;
    *offset = (uint32_t)begin;
    return 0;
}

bool trace_event_is_recorded(const struct fsroot *root, uint64_t id)
{
    const char *const names[] = {arch_host()->fault_event, TRACE_DAMON_AGGREGATED,
                                 TRACE_KVM_AGE_HVA};
    bool found = false;

    for (size_t i = 0; i < COUNT(names) && !found; i++) {
        struct trace_event event = {0};

        found = trace_event_find(root, names[i], "", &event, NULL) == 0 && event.id == id;
        trace_event_free(&event);
    }
    return found;
}

int trace_event_open(uint64_t id, pid_t tid, uint32_t wake_bytes)
{
    struct perf_event_attr attr = {
        .type = PERF_TYPE_TRACEPOINT,
        .size = sizeof(attr),
        .config = id,
        .sample_period = 1,
        .sample_type = PERF_SAMPLE_RAW,
        .read_format = PERF_FORMAT_TOTAL_TIME_RUNNING | PERF_FORMAT_LOST,
        .disabled = 1,
        .watermark = 1,
        .wakeup_watermark = wake_bytes,
    };
    long fd = syscall(SYS_perf_event_open, &attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);

    return fd < 0 ? -errno : (int)fd;
}

static int (*open_event)(uint64_t id, pid_t tid, uint32_t wake_bytes) = trace_event_open;

void trace_event_keep(int (*open)(uint64_t id, pid_t tid, uint32_t wake_bytes))
{
    open_event = open ? open : trace_event_open;
}

int trace_wake_open(void)
{
    int fd = epoll_create1(EPOLL_CLOEXEC);

    return fd < 0 ? -errno : fd;
}

/* An edge-triggered event is consumed when it is returned. One call returns at most this many
 * rings; the others are returned by the next call. */
void trace_wake_clear(int wake_fd)
{
    struct epoll_event events[64];

    (void)!epoll_wait(wake_fd, events, COUNT(events), 0);
}

/* Uses edge-triggered events, because the ring of an ended thread stays readable for ever
 * (perf_poll() in kernel/events/core.c). */
static int wake_by(int wake_fd, int ring_fd)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLET};

    return epoll_ctl(wake_fd, EPOLL_CTL_ADD, ring_fd, &event) < 0 ? -errno : 0;
}

int trace_ring_open(struct trace_ring *ring, uint64_t id, pid_t tid, const char *filter,
                    size_t bytes, int wake_fd)
{
    *ring = TRACE_RING_NONE;
    ring->bytes = larger(bytes, base_page_bytes());
    ring->fd = open_event(id, tid, (uint32_t)(ring->bytes / 4));
    if (ring->fd < 0)
        return ring->fd;
    if (filter && ioctl(ring->fd, PERF_EVENT_IOC_SET_FILTER, filter) < 0)
        return -errno;

    void *map = mmap(NULL, ring->bytes + base_page_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED,
                     ring->fd, 0);

    if (map == MAP_FAILED)
        return -errno;
    ring->control = map;
    return wake_by(wake_fd, ring->fd);
}

void trace_ring_close(struct trace_ring *ring)
{
    if (ring->control)
        munmap(ring->control, ring->bytes + base_page_bytes());
    cleanup_close_at(&ring->fd);
    *ring = TRACE_RING_NONE;
}

int trace_ring_enable(const struct trace_ring *ring, bool on)
{
    return ioctl(ring->fd, on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0) < 0 ? -errno : 0;
}

/* Copies @p n bytes from position @p at of the ring, which may wrap. */
static void copy_out(const struct trace_ring *ring, uint64_t at, void *to, size_t n)
{
    const char *data = (const char *)ring->control + base_page_bytes();
    size_t start = at % ring->bytes;
    size_t first = n < ring->bytes - start ? n : ring->bytes - start;

    memcpy(to, data + start, first);
    memcpy((char *)to + first, data, n - first);
}

/* PERF_SAMPLE_RAW: u32 size, then the raw record */
static void visit_sample(const struct trace_ring *ring, uint64_t at, size_t size,
                         void (*visit)(const void *record, void *context), void *context)
{
    _Alignas(uint64_t) char record[TRACE_RECORD_BYTES] = {0};

    copy_out(ring, at + sizeof(uint32_t), record, size < sizeof(record) ? size : sizeof(record));
    visit(record, context);
}

void trace_ring_drain(const struct trace_ring *ring,
                      void (*visit)(const void *record, void *context), void *context)
{
    struct perf_event_mmap_page *control = ring->control;

    if (!control)
        return;

    uint64_t head = __atomic_load_n(&control->data_head, __ATOMIC_ACQUIRE);
    uint64_t tail = control->data_tail;

    while (tail < head) {
        struct perf_event_header header = {0};
        const size_t before = sizeof(header) + sizeof(uint32_t);

        copy_out(ring, tail, &header, sizeof(header));
        if (header.size < sizeof(header))
            break;
        if (header.type == PERF_RECORD_SAMPLE && header.size > before)
            visit_sample(ring, tail + sizeof(header), header.size - before, visit, context);
        tail += header.size;
    }
    __atomic_store_n(&control->data_tail, tail, __ATOMIC_RELEASE);
}

struct trace_ring_sums trace_ring_sums(const struct trace_ring *ring)
{
    struct {
        uint64_t count, running_ns, lost;
    } read_out;

    if (ring->fd < 0 || read(ring->fd, &read_out, sizeof(read_out)) != (ssize_t)sizeof(read_out))
        return (struct trace_ring_sums){0};
    return (struct trace_ring_sums){.running_ns = read_out.running_ns, .lost = read_out.lost};
}
