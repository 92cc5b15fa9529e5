// SPDX-License-Identifier: LGPL-2.1-or-later
#include "serve/own_round.h"

#include "base/clock.h"
#include "base/wire/wire.h"
#include "proc/keyed.h"
#include "proc/meminfo.h"
#include "proc/touched.h"
#include "wss/watch.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

struct round {
    const struct fsroot *root;
    struct watch watch;
    uint64_t mark_begin_ns, mark_end_ns, read_begin_ns, read_end_ns;
    uint64_t anon_bytes, file_bytes;
    struct processes touching; /* the processes that could be read */
    /* number of processes that could not be read, except those that ended */
    size_t unread;
};

int own_round_check(const struct fsroot *root, struct error *why)
{
    return wss_clear_refs.check(root, why);
}

static int begin_round(struct round *round, struct error *error)
{
    struct processes all;
    int rc = processes_list(round->root, &all, error);

    processes_drop_self(round->root, &all);
    if (rc == 0)
        processes_find_sharing(round->root, &all);
    if (rc == 0)
        rc = watch_begin(&round->watch, round->root, &wss_clear_refs, &all, error);
    processes_free(&all);
    return rc;
}

static int mark_processes(struct round *round, struct error *error)
{
    int rc;

    round->mark_begin_ns = clock_ns();
    rc = watch_mark(&round->watch, error);
    round->mark_end_ns = clock_ns();
    if (rc == 0 && round->watch.n == 0)
        rc = round->watch.refused ? error_set(error, -EPERM,
                                              "not permitted to clear other processes' referenced "
                                              "bits: needs CAP_SYS_PTRACE and CAP_DAC_OVERRIDE")
                                  : error_set(error, -ESRCH, "there are no processes");
    return rc;
}

static void sleep_until(uint64_t until_ns)
{
    const struct timespec until = timespec_of_ns(until_ns);

    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
        ;
}

static int own_round_read(const struct round *round, const struct process *process,
                          struct touched *touched)
{
    int rc = touched_read(round->root, process->pid, touched);

    if (rc == -EBADMSG) /* the mappings changed between two pieces */
        rc = touched_read(round->root, process->pid, touched);
    return rc == 0 ? process_check(round->root, process) : rc;
}

static int read_all(struct round *round, struct error *error)
{
    const struct watch *watch = &round->watch;

    round->touching.process = calloc(watch->n, sizeof(*round->touching.process));
    if (!round->touching.process)
        return error_set(error, -ENOMEM, "out of memory");
    round->unread = watch->refused + watch->unlisted + watch->unread;
    round->read_begin_ns = clock_ns();
    for (size_t i = 0; i < watch->n; i++) {
        struct process process = watch->watched[i].process;
        struct touched touched;
        int rc = 0;

        if (process_is_counted(&process, round->touching.process, round->touching.n))
            continue;
        rc = own_round_read(round, &process, &touched);
        round->unread += rc < 0 && rc != -ESRCH;
        if (rc < 0)
            continue;
        process.memory = touched.memory;
        round->touching.process[round->touching.n++] = process;
        round->anon_bytes += touched.anon_bytes;
        round->file_bytes += touched.file_bytes;
    }
    round->read_end_ns = clock_ns();
    if (round->touching.n == 0)
        return error_set(error, -ESRCH, "no process that was marked could be read");
    return 0;
}

static double middle_s(uint64_t begin_ns, uint64_t end_ns)
{
    return ((double)begin_ns + (double)end_ns) / 2e9;
}

/* Limits the sum to the guest's memory, because memory that one process freed and another took
 * counts twice. */
static json_int_t at_most(uint64_t bytes, uint64_t total_bytes)
{
    return (json_int_t)(bytes < total_bytes ? bytes : total_bytes);
}

static json_t *round_json(struct round *round)
{
    struct processes *touching = &round->touching;
    struct meminfo meminfo = {.total_bytes = KEYED_UNKNOWN};
    double window_s = middle_s(round->read_begin_ns, round->read_end_ns) -
                      middle_s(round->mark_begin_ns, round->mark_end_ns);

    meminfo_read(round->root, &meminfo, NULL);
    processes_sort(touching, PROCESS_REFERENCED);
    if (touching->n > WIRE_PROCESSES_MAX)
        touching->n = WIRE_PROCESSES_MAX;
    return json_pack("{s{sI sI sf ss sI} so}", "working_set", "anon_bytes",
                     at_most(round->anon_bytes, meminfo.total_bytes), "file_bytes",
                     at_most(round->file_bytes, meminfo.total_bytes), "window_s", window_s, "how",
                     wss_clear_refs.name, "unread", (json_int_t)round->unread, "processes",
                     processes_json(touching, true));
}

json_t *own_round(const struct fsroot *root, double window_s, struct error *error)
{
    struct round round = {.root = root};
    json_t *json = NULL;
    int rc = begin_round(&round, error);

    if (rc == 0)
        rc = mark_processes(&round, error);
    if (rc == 0) {
        sleep_until(round.mark_end_ns + (uint64_t)(window_s * 1e9));
        rc = read_all(&round, error);
    }
    if (rc == 0) {
        json = round_json(&round);
        if (!json)
            error_set(error, -ENOMEM, "out of memory");
    }
    processes_free(&round.touching);
    watch_end(&round.watch);
    return json;
}
