// SPDX-License-Identifier: LGPL-2.1-or-later
#include "measure/cache/counters.h"

#include "base/cleanup.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>

struct counters {
    size_t n_events, n_threads;
    int *fds; /* n_events for each thread; -1: the thread has ended */
};

static int open_event(const struct counter_event *event, pid_t tid, int leader)
{
    struct perf_event_attr attr = {
        .type = event->type,
        .size = sizeof(attr),
        .config = event->config,
        .read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED |
                       PERF_FORMAT_TOTAL_TIME_RUNNING,
        .exclude_host = event->guest,
    };
    long fd = syscall(SYS_perf_event_open, &attr, tid, -1, leader, PERF_FLAG_FD_CLOEXEC);

    return fd < 0 ? -errno : (int)fd;
}

/* Explains an error of perf_event_open(2) to people. */
static int explain(const struct fsroot *root, int rc, pid_t tid, bool software, const char *what,
                   struct error *error)
{
    char paranoid[16] = "?";

    switch (rc) {
    case -ENOENT:
    case -EOPNOTSUPP:
    case -ENODEV:
    case -ENXIO:
    case -ENOSYS:
        if (software)
            return error_set(error, -ENOTSUP,
                             "%s: this kernel does not count them (perf_event_open: %s; "
                             "CONFIG_PERF_EVENTS)",
                             what, strerror(-rc));
        return error_set(error, -ENOTSUP,
                         "%s: this host has no counter of them (%s): a CPU, or a virtual machine, "
                         "without PMU",
                         what, strerror(-rc));
    case -EACCES:
    case -EPERM:
        fsroot_read(root, paranoid, sizeof(paranoid), "proc/sys/kernel/perf_event_paranoid");
        return error_set(error, -EACCES,
                         "%s of thread %d: not permitted (kernel.perf_event_paranoid is %s): run "
                         "as root, or with CAP_PERFMON",
                         what, (int)tid, paranoid);
    case -EMFILE:
        return error_set(error, rc, "%s: too many open files: raise `ulimit -n`", what);
    case -EBUSY:
        return error_set(error, rc, "%s: another program holds the counters (EBUSY)", what);
    default:
        return error_set(error, rc, "%s of thread %d: perf_event_open: %s", what, (int)tid,
                         strerror(-rc));
    }
}

static int open_thread(struct counters *counters, size_t thread, const struct counter_event *events,
                       pid_t tid)
{
    int *fds = &counters->fds[thread * counters->n_events];

    for (size_t e = 0; e < counters->n_events; e++) {
        int fd = open_event(&events[e], tid, e == 0 ? -1 : fds[0]);

        if (fd < 0)
            return fd;
        fds[e] = fd;
    }
    return 0;
}

/* Raises the limit of descriptors: each vCPU needs several. */
static void raise_limit(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

static struct counters *make_counters(size_t n_events, size_t n_threads)
{
    struct counters *counters = calloc(1, sizeof(*counters));

    if (!counters)
        return NULL;
    counters->fds = calloc(n_events * n_threads + 1, sizeof(*counters->fds));
    if (!counters->fds) {
        free(counters);
        return NULL;
    }
    counters->n_events = n_events;
    counters->n_threads = n_threads;
    for (size_t i = 0; i < n_events * n_threads; i++)
        counters->fds[i] = -1;
    return counters;
}

int counters_open(const struct fsroot *root, const struct counted *counted, const pid_t *tids,
                  size_t n_tids, struct counters **out, struct error *error)
{
    const struct counter_event *events = counted->events;
    struct counters *counters = counted->n_events <= COUNTERS_EVENTS_MAX
                                    ? make_counters(counted->n_events, n_tids)
                                    : NULL;
    int rc = counters ? 0 : -ENOMEM;

    raise_limit();
    for (size_t t = 0; rc == 0 && t < n_tids; t++) {
        rc = open_thread(counters, t, events, tids[t]);
        if (rc == -ESRCH)
            rc = 0;
        else if (rc < 0)
            rc = explain(root, rc, tids[t], events->type == PERF_TYPE_SOFTWARE, counted->what,
                         error);
    }
    if (!counters)
        error_set(error, rc, "out of memory");
    if (rc < 0)
        counters_close(counters);
    else
        *out = counters;
    return rc;
}

int counters_read(const struct counters *counters, size_t thread, struct counter_values *values)
{
    struct {
        uint64_t n, enabled_ns, running_ns, value[COUNTERS_EVENTS_MAX];
    } group = {0};
    const int *fds = &counters->fds[thread * counters->n_events];

    *values = (struct counter_values){0};
    if (fds[counters->n_events - 1] < 0)
        return 0;
    /* an event in error state cannot be read */
    ssize_t n = read(fds[0], &group, sizeof(group));

    if (n < 0)
        return -errno;
    if (group.n != counters->n_events || (size_t)n < (3 + counters->n_events) * sizeof(uint64_t))
        return -EIO;
    values->enabled_ns = group.enabled_ns;
    values->running_ns = group.running_ns;
    memcpy(values->value, group.value, counters->n_events * sizeof(uint64_t));
    return 0;
}

void counters_close(struct counters *counters)
{
    if (!counters)
        return;
    /* closes the leaders last */
    for (size_t i = counters->n_events * counters->n_threads; i-- > 0;)
        cleanup_close_at(&counters->fds[i]);
    free(counters->fds);
    free(counters);
}
