// SPDX-License-Identifier: LGPL-2.1-or-later
#include "wss/watch.h"

#include "base/clock.h"
#include "wss/tlb_evict.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int watch_begin(struct watch *watch, const struct fsroot *root, const struct wss_method *method,
                const struct processes *processes, struct error *error)
{
    *watch = (struct watch){.root = root,
                            .method = method,
                            .unlisted = processes->refused,
                            .hidden = processes->hidden};
    watch->watched = calloc(processes->n ? processes->n : 1, sizeof(*watch->watched));
    watch->dropped = calloc(processes->n ? processes->n : 1, sizeof(*watch->dropped));
    if (!watch->watched || !watch->dropped)
        return error_set(error, -ENOMEM, "out of memory");
    watch->n = processes->n;
    for (size_t i = 0; i < watch->n; i++)
        watch->watched[i].process = processes->process[i];
    return 0;
}

static void forget_process(const struct watch *watch, struct watched_process *watched)
{
    if (watch->method->forget)
        watch->method->forget(watched->state);
    watched->state = NULL;
}

void watch_end(struct watch *watch)
{
    for (size_t i = 0; i < watch->n; i++)
        forget_process(watch, &watch->watched[i]);
    free(watch->watched);
    free(watch->dropped);
    *watch = (struct watch){0};
}

static struct wss_subject subject_of(const struct watch *watch,
                                     const struct watched_process *watched)
{
    return (struct wss_subject){watch->root, watched->process.pid, watch->interrupted};
}

static int mark_one(const struct watch *watch, struct watched_process *watched)
{
    const struct wss_subject subject = subject_of(watch, watched);

    watched->mark_begin_ns = clock_ns();

    int rc = watch->method->mark(&subject, &watched->state);

    watched->mark_end_ns = clock_ns();
    return rc;
}

static int read_one(const struct watch *watch, struct watched_process *watched)
{
    const struct wss_subject subject = subject_of(watch, watched);
    struct process_memory memory;

    watched->read_begin_ns = clock_ns();

    int rc = watch->method->read(&subject, watched->state, &watched->reading);

    watched->read_end_ns = clock_ns();
    if (rc == 0)
        /* do not mark another process with the same pid */
        rc = process_check(watch->root, &watched->process);
    if (rc < 0 || watch->method->reads_memory)
        return rc;
    rc = process_memory_read(watch->root, subject.pid, &memory);
    memory.referenced_bytes = watched->reading.memory.referenced_bytes;
    watched->reading.memory = memory;
    return rc;
}

static int attempt(const struct watch *watch, struct watched_process *watched,
                   int (*act)(const struct watch *watch, struct watched_process *watched))
{
    int rc = wss_interrupted(watch->interrupted) ? -EINTR : act(watch, watched);

    /* the mappings changed between two pieces of smaps */
    return rc == -EBADMSG ? act(watch, watched) : rc;
}

/* Returns true if this failure of one process lets the measurement of others continue. */
static bool is_dropped(const struct watch *watch, int rc)
{
    return rc == -ESRCH || rc == -EACCES || rc == -EPERM ||
           (watch->n > 1 && (rc == -EBADMSG || rc == -EFBIG));
}

static void drop_process(struct watch *watch, struct watched_process *watched, int rc)
{
    watch->gone += rc == -ESRCH;
    watch->refused += rc == -EACCES || rc == -EPERM;
    watch->unread += rc == -EBADMSG || rc == -EFBIG;
    watch->dropped[watch->n_dropped++] = (struct dropped){watched->process, rc};
    forget_process(watch, watched);
}

static int for_each(struct watch *watch,
                    int (*act)(const struct watch *watch, struct watched_process *watched),
                    struct error *error)
{
    size_t kept = 0;
    int rc = 0;

    for (size_t i = 0; i < watch->n; i++) {
        struct watched_process *watched = &watch->watched[i];
        int one = rc == 0 ? attempt(watch, watched, act) : 0;

        if (is_dropped(watch, one)) {
            drop_process(watch, watched, one);
            continue;
        }
        if (one < 0)
            rc = error_set(error, one, "process %d: %s: %s", (int)watched->process.pid,
                           watch->method->name, strerror(-one));
        watch->watched[kept++] = *watched;
    }
    watch->n = kept;
    return rc;
}

/* Flushes TLBs once for all processes. Until then, for some ms plus the time of marking the others,
 * touches through a cached translation are not seen. Memory touched repeatedly, or for the first
 * time, is seen. */
static int forget_translations(const struct watch *watch, struct error *error)
{
    int rc = watch->root->live ? tlb_evict(watch->interrupted) : 0;

    return rc < 0 ? error_set(error, rc, "fork: %s", strerror(-rc)) : 0;
}

int watch_mark(struct watch *watch, struct error *error)
{
    int rc;

    disturbed_begin(watch->root, &watch->disturbed);
    rc = for_each(watch, mark_one, error);
    return rc < 0 || watch->n == 0 ? rc : forget_translations(watch, error);
}

int watch_read(struct watch *watch, struct error *error)
{
    int rc = for_each(watch, read_one, error);

    if (rc == 0)
        disturbed_look(watch->root, &watch->disturbed);
    return rc;
}

bool watched_is_huge(const struct watched_process *watched)
{
    uint64_t huge_bytes = watched->reading.memory.huge_bytes;

    return huge_bytes != KEYED_UNKNOWN && huge_bytes > 0;
}

static int by_referenced(const void *a, const void *b)
{
    uint64_t x = ((const struct watched_process *)a)->reading.memory.referenced_bytes;
    uint64_t y = ((const struct watched_process *)b)->reading.memory.referenced_bytes;

    return (x < y) - (x > y);
}

void watch_sort(struct watch *watch)
{
    if (watch->n > 0)
        qsort(watch->watched, watch->n, sizeof(*watch->watched), by_referenced);
}

static double middle(uint64_t begin_ns, uint64_t end_ns)
{
    return ((double)begin_ns + (double)end_ns) / 2;
}

double watched_est_s(const struct watched_process *watched)
{
    return (middle(watched->read_begin_ns, watched->read_end_ns) -
            middle(watched->mark_begin_ns, watched->mark_end_ns)) /
           1e9;
}

double watched_duration_s(const struct watched_process *watched)
{
    return (double)(watched->read_end_ns - watched->mark_begin_ns) / 1e9;
}
