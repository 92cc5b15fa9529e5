// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file pressure_stalls.c  See pressure_stalls.h. */
#include "command/pressure_stalls.h"

#include "base/cleanup.h"
#include "print/record.h"
#include "proc/pressure_survey.h"
#include "show/json.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

static int print_stall(const struct stall_trigger *trigger, bool json)
{
    char time[RECORD_TIME];

    record_time(time);
    if (json)
        return json_print_line(json_pack(
            "{ss ss s{ss ss sI sI}}", "schema", "vmwss.guest_pressure.v1", "time", time, "stall",
            "resource", trigger->resource, "kind", trigger->kind, "threshold_us",
            (json_int_t)trigger->threshold_us, "window_us", (json_int_t)trigger->window_us));
    printf("%s %s %s: more than %" PRIu64 " ms of %" PRIu64 " ms\n", time, trigger->resource,
           trigger->kind, trigger->threshold_us / 1000, trigger->window_us / 1000);
    fflush(stdout);
    return 0;
}

/* How many fired; each is printed. */
static int print_fired(const struct stall_trigger *trigger, const struct pollfd *fds, unsigned n,
                       bool json, struct error *error)
{
    int fired = 0;

    for (unsigned i = 0; i < n; i++) {
        if (fds[i].revents & POLLERR)
            return error_set(error, -ENODEV, "%s %s: the control group is gone",
                             trigger[i].resource, trigger[i].kind);
        if (!(fds[i].revents & POLLPRI))
            continue;
        if (print_stall(&trigger[i], json) < 0)
            return error_set(error, -ENOMEM, "out of memory");
        fired++;
    }
    return fired;
}

static int wait_for_stalls(const struct stall_trigger *trigger, struct pollfd *fds, unsigned n,
                           uint64_t count, bool json, struct error *error)
{
    for (uint64_t told = 0; count == 0 || told < count;) {
        int rc = poll(fds, n, -1);

        if (rc < 0)
            return error_set(error, -errno, "poll: %s", strerror(errno));
        rc = print_fired(trigger, fds, n, json, error);
        if (rc < 0)
            return rc;
        told += (uint64_t)rc;
    }
    return 0;
}

int pressure_stalls(const struct fsroot *root, const char *cgroup, const struct triggers *triggers,
                    uint64_t count, bool json, struct error *error)
{
    cleanup_free char *path = cgroup ? pressure_scope_path(root, cgroup, error) : NULL;
    struct pollfd fds[TRIGGERS_MAX];
    unsigned armed = 0;
    int rc = cgroup && !path ? -ENOTSUP : 0;

    for (; rc >= 0 && armed < triggers->n; armed += rc >= 0) {
        rc = stall_trigger_open(root, path, &triggers->trigger[armed], error);
        fds[armed] = (struct pollfd){.fd = rc, .events = POLLPRI};
    }
    if (rc >= 0)
        rc = wait_for_stalls(triggers->trigger, fds, triggers->n, count, json, error);
    while (armed > 0)
        close(fds[--armed].fd);
    return rc;
}
