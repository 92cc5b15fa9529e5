// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file cmd_wss.c  vmwss-guest wss: the working set of processes. */
#include "base/clock.h"
#include "base/interrupt.h"
#include "command/command.h"
#include "command/wss_options.h"
#include "proc/hidden.h"
#include "proc/rights.h"
#include "wss/watch.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct session {
    const struct wss_options *options;
    struct watch watch;
    char what[64]; /* text of the progress */
    uint64_t began_ns, marked_ns;
    double slept_s; /* time slept since the mark */
    struct disturbed told;
    size_t n_reported;  /* number of dropped processes already reported */
    bool told_unlisted; /* the unlisted processes were reported, too */
    bool incomplete;    /* a process that was named could not be measured to the end */
};

/* Prints the previous failure. The last failure is the command's own error if no process is
 * left. */
static void add_missing(struct processes *processes, pid_t pid, int rc)
{
    if (processes->failure.code)
        command_cannot(&processes->failure);
    processes->failed++;
    if (rc == -ESRCH)
        error_set(&processes->failure, rc, "process %d: there is no such process", (int)pid);
    else
        error_set(&processes->failure, rc, "/proc/%d/stat: %s%s%s", (int)pid, strerror(-rc),
                  rc == -EACCES || rc == -EPERM ? "; " : "",
                  rc == -EACCES || rc == -EPERM ? RIGHTS_REMEDY(CAP_SYS_PTRACE) : "");
}

static int named_processes(const struct fsroot *root, const struct wss_options *options,
                           struct processes *processes, struct error *error)
{
    *processes = (struct processes){
        .process = calloc(options->n_pids, sizeof(*processes->process))};
    if (!processes->process)
        return error_set(error, -ENOMEM, "out of memory");
    for (size_t i = 0; i < options->n_pids; i++) {
        int rc = process_identify(root, options->pid[i], &processes->process[processes->n]);

        processes->n += rc == 0;
        if (rc < 0)
            add_missing(processes, options->pid[i], rc);
    }
    if (processes->n == 0) {
        *error = processes->failure;
        return error->code;
    }
    if (processes->failure.code)
        command_cannot(&processes->failure);
    return 0;
}

static int find_processes(const struct fsroot *root, const struct wss_options *options,
                          struct processes *processes, struct error *error)
{
    int rc;

    if (!options->all)
        return named_processes(root, options, processes, error);
    rc = processes_list(root, processes, error);
    processes_drop_self(root, processes);
    return rc;
}

/* Sets the error if no process is left to measure. */
static int check_left(const struct watch *watch, struct error *error)
{
    if (watch->n > 0)
        return 0;
    if (watch->refused + watch->unlisted > 0)
        return error_set(error, -EPERM, "not permitted to look at %s; %s",
                         watch->refused + watch->unlisted > 1 ? "these processes" : "this process",
                         RIGHTS_REMEDY(CAP_SYS_PTRACE));
    if (watch->hidden)
        return error_set(error, -EPERM, PROCESSES_HIDDEN "; %s", RIGHTS_REMEDY(CAP_SYS_PTRACE));
    if (watch->unread > 0)
        return error_set(error, -EBADMSG,
                         "/proc/PID/smaps of these processes changes while it is read, or is too "
                         "large; try them one by one");
    return error_set(error, -ESRCH, "%s has ended",
                     watch->gone > 1 ? "each of these processes" : "the process");
}

static void report_named(const struct dropped *dropped)
{
    const struct process *process = &dropped->process;
    const char *what = ": /proc/PID/smaps changes while it is read, or is too large; try it alone";
    const char *remedy = "";

    if (dropped->rc == -ESRCH)
        what = " has ended";
    if (dropped->rc == -EACCES || dropped->rc == -EPERM) {
        what = ": not permitted to look at it; ";
        remedy = RIGHTS_REMEDY(CAP_SYS_PTRACE);
    }
    command_error("process %d (%s)%s%s", (int)process->pid, process->name, what, remedy);
}

/* With --all, the number of processes that may not be read is reported once, and processes that end
 * are not reported. */
static void report_all(struct session *session)
{
    const struct watch *watch = &session->watch;

    size_t refused = watch->refused + watch->unlisted;

    if (session->n_reported > 0 || (watch->n_dropped == watch->gone && session->told_unlisted))
        return;
    session->told_unlisted = true;
    if (refused > 0)
        command_error("not permitted to look at %zu of %zu processes; %s", refused,
                      watch->n + watch->n_dropped + watch->unlisted, RIGHTS_REMEDY(CAP_SYS_PTRACE));
    if (watch->hidden)
        command_error(PROCESSES_HIDDEN ": they are not measured; %s",
                      RIGHTS_REMEDY(CAP_SYS_PTRACE));
    if (watch->unread > 0)
        command_error("%zu processes change while they are read, or are too large; try them alone",
                      watch->unread);
    session->n_reported = watch->n_dropped;
}

static void report_dropped(struct session *session)
{
    const struct watch *watch = &session->watch;

    if (session->options->all) {
        report_all(session);
        return;
    }
    for (; session->n_reported < watch->n_dropped; session->n_reported++)
        report_named(&watch->dropped[session->n_reported]);
    session->incomplete |= watch->n_dropped > 0;
}

/* Reports processes that were dropped; returns an error if none is left. */
static int check_dropped(struct session *session, struct error *error)
{
    int rc = check_left(&session->watch, error);

    if (rc == 0)
        report_dropped(session);
    return rc;
}

static int mark_processes(struct session *session, struct error *error)
{
    int rc = watch_mark(&session->watch, error);

    session->marked_ns = clock_ns();
    session->slept_s = 0;
    return rc < 0 ? rc : check_dropped(session, error);
}

static int sleep_until(struct session *session, double after_s, const char *what)
{
    uint64_t began_ns = clock_ns();
    bool whole = interrupt_wait(session->marked_ns + (uint64_t)(after_s * 1e9), what);

    session->slept_s += (double)(clock_ns() - began_ns) / 1e9;
    return whole ? 0 : -EINTR;
}

/* Prints each message once. */
static void tell_disturbed(struct session *session)
{
    const struct disturbed *disturbed = &session->watch.disturbed;
    struct disturbed *told = &session->told;

    if (disturbed->reclaim && !told->reclaim)
        command_error(
            "reclaim looked for pages meanwhile and clears accessed bits too: more may have been touched");
    if (disturbed->reclaim_unknown && !told->reclaim_unknown)
        command_error("/proc/vmstat does not say whether reclaim looked for pages meanwhile, and "
                      "cleared accessed bits too");
    if (disturbed->damon && !told->damon)
        command_error(
            "DAMON (kdamond) is running and clears accessed bits too: more may have been touched");
    if (disturbed->damon_unknown && !told->damon_unknown)
        command_error("/proc shows no kernel threads here, so whether DAMON is running, which "
                      "clears accessed bits too, is not known");
    told->damon_unknown |= disturbed->damon_unknown;
    told->reclaim |= disturbed->reclaim;
    told->reclaim_unknown |= disturbed->reclaim_unknown;
    told->damon |= disturbed->damon;
}

static int read_and_print(struct session *session, struct error *error)
{
    int rc = watch_read(&session->watch, error);

    if (rc == 0)
        rc = check_dropped(session, error);
    if (rc < 0)
        return rc;
    watch_sort(&session->watch);
    tell_disturbed(session);
    rc = wss_output_reading(&session->options->output, &session->watch, session->slept_s);
    return rc < 0 ? error_set(error, rc, "out of memory") : command_flush(error);
}

/* Between two snapshots: pauses, and marks again. */
static int pause_and_mark(struct session *session, struct error *error)
{
    session->marked_ns = clock_ns();

    int rc = sleep_until(session, session->options->plan.pause_s, "until the next snapshot");

    return rc < 0 ? rc : mark_processes(session, error);
}

static int panel_plan(struct session *session, struct error *error)
{
    const struct plan *plan = &session->options->plan;
    int rc = 0;

    for (unsigned k = 0;
         rc == 0 && plan_goes_on(plan, k, (double)(clock_ns() - session->began_ns) / 1e9); k++) {
        if (k > 0 && plan->kind == PLAN_SNAPSHOTS)
            rc = pause_and_mark(session, error);
        if (rc == 0)
            rc = sleep_until(session, plan_due_s(plan, k), session->what);
        if (rc == 0)
            rc = read_and_print(session, error);
    }
    return rc;
}

static int measure_processes(struct session *session, struct error *error)
{
    const struct watch *watch = &session->watch;
    int rc;

    session->began_ns = clock_ns();
    rc = mark_processes(session, error);
    if (rc < 0)
        return rc;
    if (watch->n == 1)
        snprintf(session->what, sizeof(session->what), "watching %s",
                 watch->watched[0].process.name);
    else
        snprintf(session->what, sizeof(session->what), "watching %zu processes", watch->n);
    wss_output_begin(&session->options->output, watch, session->options->plan.duration_s);
    return panel_plan(session, error);
}

static int wss_run(const struct fsroot *root, void *at, char **operands, struct error *error)
{
    const struct wss_options *options = at;
    struct session session = {.options = options};
    struct processes processes = {0};
    const struct wss_method *method = wss_method_find(root, options->method, error);
    int rc = method ? find_processes(root, options, &processes, error) : -ENOTSUP;

    (void)operands;
    if (rc == 0)
        processes_find_sharing(root, &processes);
    if (processes.sharing_unknown)
        command_error(MEMORY_SHARING_UNKNOWN);
    if (rc == 0)
        rc = watch_begin(&session.watch, root, method, &processes, error);
    session.incomplete = !options->all && processes.failed > 0;
    processes_free(&processes);
    if (rc == 0) {
        interrupt_catch();
        session.watch.interrupted = &interrupted;
        rc = measure_processes(&session, error);
    }
    watch_end(&session.watch);
    return rc == 0 && session.incomplete ? EXIT_CANNOT : rc;
}

int cmd_wss(int argc, char **argv)
{
    struct wss_options options;
    int rc = wss_options_read(&options, argc, argv);

    return rc != 0 ? options_exit(rc) : command_on_root(&options, NULL, wss_run);
}
