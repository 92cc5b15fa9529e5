// SPDX-License-Identifier: LGPL-2.1-or-later
#include "command/pressure_stalls.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/text/json.h"
#include "print/record.h"
#include "proc/keyed.h"
#include "proc/pressure_survey.h"
#include "proc/stall_history.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

/* The armed triggers and their samples. */
struct stalls {
    const struct fsroot *root;
    const char *cgroup; /* the cgroup of the pressure; NULL: the whole guest */
    const struct triggers *triggers;
    struct pollfd fds[TRIGGERS_MAX];
    struct stall_history history[TRIGGERS_MAX];
    bool json;
};

/* The stall that fired a trigger; KEYED_UNKNOWN or NAN if not known. */
struct violation {
    uint64_t stalled_us, over_us, total_us;
    double avg10;
};

static struct stalled read_stalled(const struct stalls *stalls, const struct stall_trigger *trigger)
{
    struct pressure pressure;

    pressure_read(stalls->root, stalls->cgroup, trigger->resource, &pressure, NULL);
    return strcmp(trigger->kind, "full") == 0 ? pressure.full : pressure.some;
}

static struct violation find_violation(const struct stalls *stalls, unsigned i)
{
    const struct stall_trigger *trigger = &stalls->triggers->trigger[i];
    struct stalled now = read_stalled(stalls, trigger);
    struct violation violation = {KEYED_UNKNOWN, KEYED_UNKNOWN, now.total_us, now.avg10};

    if (now.total_us != KEYED_UNKNOWN)
        stall_history_since(&stalls->history[i], clock_ns(), now.total_us, trigger->window_us,
                            &violation.stalled_us, &violation.over_us);
    return violation;
}

static int print_json(const struct stall_trigger *trigger, const struct violation *violation)
{
    json_t *stall = json_pack("{ss ss sI sI}", "resource", trigger->resource, "kind", trigger->kind,
                              "threshold_us", (json_int_t)trigger->threshold_us, "window_us",
                              (json_int_t)trigger->window_us);

    json_set_known(stall, "stalled_us", violation->stalled_us);
    json_set_known(stall, "over_us", violation->over_us);
    json_set_known(stall, "total_us", violation->total_us);
    if (!isnan(violation->avg10))
        json_object_set_new(stall, "avg10", json_real(violation->avg10));
    return json_print_line(json_pack("{ss ss so}", "schema", "vmwss.guest_pressure.v1", "time",
                                     RECORD_TIME, "stall", stall));
}

static int print_text(const struct stall_trigger *trigger, const struct violation *violation)
{

    printf("%s %s %s: more than %" PRIu64 " ms of %" PRIu64 " ms", RECORD_TIME, trigger->resource,
           trigger->kind, trigger->threshold_us / 1000, trigger->window_us / 1000);
    if (violation->stalled_us != KEYED_UNKNOWN)
        printf(": %" PRIu64 " ms of %" PRIu64 " ms", violation->stalled_us / 1000,
               violation->over_us / 1000);
    if (!isnan(violation->avg10))
        printf(", avg10 %.2f%%", violation->avg10);
    putchar('\n');
    fflush(stdout);
    return 0;
}

static int print_stall(const struct stalls *stalls, unsigned i)
{
    const struct stall_trigger *trigger = &stalls->triggers->trigger[i];
    struct violation violation = find_violation(stalls, i);

    return stalls->json ? print_json(trigger, &violation) : print_text(trigger, &violation);
}

/* Prints each trigger that fired; returns their number. */
static int print_fired(const struct stalls *stalls, struct error *error)
{
    int fired = 0;

    for (unsigned i = 0; i < stalls->triggers->n; i++) {
        const struct stall_trigger *trigger = &stalls->triggers->trigger[i];

        if (stalls->fds[i].revents & POLLERR)
            return error_set(error, -ENODEV, "%s %s: the control group is gone", trigger->resource,
                             trigger->kind);
        if (!(stalls->fds[i].revents & POLLPRI))
            continue;
        if (print_stall(stalls, i) < 0)
            return error_set(error, -ENOMEM, "out of memory");
        fired++;
    }
    return fired;
}

static void take_samples(struct stalls *stalls)
{
    uint64_t now_ns = clock_ns();

    for (unsigned i = 0; i < stalls->triggers->n; i++) {
        const struct stall_trigger *trigger = &stalls->triggers->trigger[i];
        struct stalled now;

        if (!stall_history_due(&stalls->history[i], now_ns, trigger->window_us))
            continue;
        now = read_stalled(stalls, trigger);
        if (now.total_us != KEYED_UNKNOWN)
            stall_history_add(&stalls->history[i], now_ns, now.total_us);
    }
}

/* The time until the next sample of the trigger with the shortest window; at least 125 ms. */
static int sample_ms(const struct triggers *triggers)
{
    uint64_t window_us = UINT64_MAX;

    for (unsigned i = 0; i < triggers->n; i++)
        if (triggers->trigger[i].window_us < window_us)
            window_us = triggers->trigger[i].window_us;
    return (int)(window_us / STALL_SAMPLES_PER_WINDOW / 1000);
}

static int wait_for_stalls(struct stalls *stalls, uint64_t count, struct error *error)
{
    int timeout_ms = sample_ms(stalls->triggers);

    for (uint64_t told = 0; count == 0 || told < count;) {
        take_samples(stalls);
        if (poll(stalls->fds, stalls->triggers->n, timeout_ms) < 0)
            return error_set(error, -errno, "poll: %s", strerror(errno));

        int rc = print_fired(stalls, error);

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
    struct stalls stalls = {.root = root, .cgroup = path, .triggers = triggers, .json = json};
    unsigned armed = 0;
    int rc = cgroup && !path ? -ENOTSUP : 0;

    for (; rc >= 0 && armed < triggers->n; armed += rc >= 0) {
        rc = stall_trigger_open(root, path, &triggers->trigger[armed], error);
        stalls.fds[armed] = (struct pollfd){.fd = rc, .events = POLLPRI};
    }
    if (rc >= 0)
        rc = wait_for_stalls(&stalls, count, error);
    while (armed > 0)
        close(stalls.fds[--armed].fd);
    return rc;
}
