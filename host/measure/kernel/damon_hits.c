// SPDX-License-Identifier: LGPL-2.1-or-later
#include "measure/kernel/damon_hits.h"

#include "base/cleanup.h"
#include "base/proc_pid.h"
#include "measure/kernel/damon_others.h"
#include "measure/kernel/trace_event.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The kernel's buffer: room for 26,000 pages between two reads. */
#define RING_BYTES (1U << 20)
/* Maximum number of pages that are kept, the latest ones: an array of 8 MiB. */
#define KEPT (1U << 19)

struct hit {
    uint64_t hva, bytes;
};

/* The host has only one DAMON. */
static struct {
    pid_t tid; /* 0: nothing is recorded */
    struct trace_ring ring;
    int wake_fd;
    uint32_t start, end; /* fields of the event */
    uint64_t epoch;
    uint64_t n;       /* pages recorded so far */
    struct hit *hits; /* page number n is at hits[n % KEPT] */
} recording = {.wake_fd = -1};

/* --- which kdamond ---------------------------------------------------------------------------- */

static bool is_kdamond(const struct fsroot *root, pid_t tid)
{
    char comm[32];

    return fsroot_read(root, comm, sizeof(comm), "proc/%d/comm", (int)tid) > 0 &&
           strncmp(comm, "kdamond.", 8) == 0;
}

/* Finds the thread of that name; 0 unless there is exactly one. Not all kernels show in sysfs which
 * thread belongs to a module. */
static pid_t find_kdamond(const struct fsroot *root)
{
    cleanup_free pid_t *pids = NULL;
    const ssize_t n = proc_numbers(root, "proc", &pids);
    pid_t tid = 0;
    unsigned found = 0;

    for (ssize_t i = 0; i < n; i++)
        if (is_kdamond(root, pids[i])) {
            tid = pids[i];
            found++;
        }
    return found == 1 ? tid : 0;
}

/* --- the record ------------------------------------------------------------------------------- */

static void stop(void)
{
    if (!recording.tid)
        return;
    trace_ring_close(&recording.ring);
    cleanup_close_at(&recording.wake_fd);
    recording.wake_fd = -1;
    free(recording.hits);
    recording.hits = NULL;
    recording.tid = 0;
}

static int find_event(const struct fsroot *root, uint64_t *id)
{
    struct trace_event event = {0};
    int rc = trace_event_find(root, TRACE_KVM_AGE_HVA, "load KVM", &event, NULL);

    if (rc == 0)
        rc = trace_event_field(&event, "start", sizeof(uint64_t), &recording.start);
    if (rc == 0)
        rc = trace_event_field(&event, "end", sizeof(uint64_t), &recording.end);
    *id = event.id;
    trace_event_free(&event);
    return rc;
}

static void start(const struct fsroot *root)
{
    uint64_t id = 0;
    pid_t tid = find_kdamond(root);

    if (!tid || find_event(root, &id) < 0)
        return;
    recording.tid = tid;
    recording.ring = TRACE_RING_NONE;
    recording.epoch++;
    recording.n = 0;
    recording.hits = calloc(KEPT, sizeof(*recording.hits));
    recording.wake_fd = trace_wake_open();
    if (!recording.hits || recording.wake_fd < 0 ||
        trace_ring_open(&recording.ring, id, tid, NULL, RING_BYTES, recording.wake_fd) < 0 ||
        trace_ring_enable(&recording.ring, true) < 0)
        stop();
}

static void add_hit(const void *record, void *context)
{
    struct hit hit;
    uint64_t end;

    (void)context;
    memcpy(&hit.hva, (const char *)record + recording.start, sizeof(hit.hva));
    memcpy(&end, (const char *)record + recording.end, sizeof(end));
    hit.bytes = end - hit.hva;
    recording.hits[recording.n++ % KEPT] = hit;
}

/* Takes the kernel's records of the running kdamond. If records were lost, or another kdamond runs,
 * the record restarts with the next mark. */
static bool drain(const struct fsroot *root)
{
    if (!recording.tid)
        return false;
    trace_ring_drain(&recording.ring, add_hit, NULL);
    if (!damon_only_looks(root) || !is_kdamond(root, recording.tid) ||
        trace_ring_sums(&recording.ring).lost > 0)
        stop();
    return recording.tid != 0;
}

struct damon_mark damon_mark_now(const struct fsroot *root)
{
    if (!drain(root) && damon_only_looks(root))
        start(root);
    return (struct damon_mark){
        .active = damon_others_on(root) > 0,
        .traced = recording.tid != 0,
        .place = recording.n,
        .epoch = recording.epoch,
    };
}

int damon_hits_since(const struct fsroot *root, const struct damon_mark *mark, uint64_t low,
                     uint64_t high, void (*visit)(uint64_t hva, uint64_t bytes, void *context),
                     void *context)
{
    if (!mark->active && !damon_others_on(root))
        return 0;
    if (!mark->traced || !drain(root) || mark->epoch != recording.epoch ||
        recording.n - mark->place > KEPT)
        return -ENODATA;
    for (uint64_t i = mark->place; i < recording.n; i++) {
        const struct hit *hit = &recording.hits[i % KEPT];

        if (hit->hva < high && hit->hva + hit->bytes > low)
            visit(hit->hva, hit->bytes, context);
    }
    return 0;
}
