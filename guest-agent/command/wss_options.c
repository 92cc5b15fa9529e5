// SPDX-License-Identifier: LGPL-2.1-or-later
#include "command/wss_options.h"

#include "base/parse.h"
#include "command/command.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <string.h>

#define DURATION_S 10
#define TOP 20
#define STEPS_MAX 30

static int parse_time(const char *option, const char *text, double *seconds)
{
    return parse_seconds(text, seconds) < 0
               ? command_bad_value(option, text, PARSE_SECONDS_EXPECTED)
               : 0;
}

/* -C, -P and -s exclude each other. */
static int set_kind(struct plan *plan, enum plan_kind kind)
{
    if (plan->kind != PLAN_ONCE && plan->kind != kind)
        return command_refuse("only one of --cumulative, --profile and --snapshot");
    plan->kind = kind;
    return 0;
}

static int set_growth(void *plan, const char *none)
{
    (void)none;
    return set_kind(plan, PLAN_GROWTH);
}

#define COUNT_EXPECTED "a number of 1 or more, and not too large"

static int set_profile(void *at, const char *value)
{
    struct plan *plan = at;
    uint64_t steps;

    if (parse_u64(value, 1, STEPS_MAX, &steps) < 0)
        return command_bad_value("--profile", value, COUNT_EXPECTED);
    plan->steps = (unsigned)steps;
    return set_kind(plan, PLAN_PROFILE);
}

static int set_snapshot(void *at, const char *value)
{
    struct plan *plan = at;
    int rc = strcmp(value, "0") == 0 ? 0 : parse_time("--snapshot", value, &plan->pause_s);

    return rc < 0 ? rc : set_kind(plan, PLAN_SNAPSHOTS);
}

#define AT(member) offsetof(struct wss_options, member)
static const struct option_line lines[] = {
    {OPTION_CALL, 'C', "cumulative", NULL, AT(plan),
     .help = "growth: read every DURATION, counting from one begin", .call = set_growth},
    {OPTION_CALL, 'P', "profile", "STEPS", AT(plan),
     .help = "read after DURATION, then after times that double, counting from one begin",
     .call = set_profile},
    {OPTION_CALL, 's', "snapshot", "SECS", AT(plan),
     .help = "again and again, each for DURATION, with a pause of SECS (may be 0) between",
     .call = set_snapshot},
    {OPTION_SECONDS, 'd', "total", "SECS", AT(plan.total_s),
     .help = "end -C or -s after so long; without it Ctrl-C does"},
    {OPTION_FLAG, 't', "times", NULL, AT(output.times),
     .help = "also: how long was slept, and from the begin of marking to the end of reading"},
    {OPTION_FLAG, 'a', "all", NULL, AT(all),
     .help = "all processes; the 20 with the largest working set are shown"},
    {OPTION_COUNT, 'n', "top", "N", AT(output.top), .help = "show the N largest", 1, INT_MAX,
     COUNT_EXPECTED},
    {OPTION_TEXT, 'm', "method", "NAME", AT(method),
     .help = "page_idle, clear_refs or auto: page_idle where the kernel has it"},
    {OPTION_FLAG, 'b', "bytes", NULL, AT(output.bytes), .help = "bytes instead of MiB"},
    {OPTION_FLAG, 'j', "json", NULL, AT(output.json),
     .help = "one object a reading, schema vmwss.guest_wss.v1"},
    {.type = OPTION_END},
};
static const struct command_options command_line = {
    .usage = "Usage: vmwss-guest wss [OPTIONS] PID[,PID...] [DURATION]\n"
             "       vmwss-guest wss [OPTIONS] --all [DURATION]\n\n"
             "The working set of processes: what they touch within DURATION seconds (10).\n",
    .lines = lines,
    .after =
        "Est(s) is what was really measured: from the middle of marking a process to the middle of reading it.\n\n"
        "What it costs: two walks through the page tables, in which the process waits with changes of its mappings and page faults; some ms\n"
        "for each GiB, for page_idle some hundred. clear_refs clears the bits by which this kernel chooses what to reclaim: for a\n"
        "while it takes pages for unused that are not, which hurts when memory is short or swap is in use. page_idle\n"
        "does not; but where others map a page too, it counts their touches. After marking, each CPU switches between some\n"
        "processes of ours, so that it forgets its translations: what it touches through one does not show.\n",
    .column = 22,
};

static bool is_named(const struct wss_options *options, pid_t pid)
{
    for (size_t i = 0; i < options->n_pids; i++)
        if (options->pid[i] == pid)
            return true;
    return false;
}

static int parse_pids(struct wss_options *options, char *list)
{
    char *rest = NULL;

    for (char *one = strtok_r(list, ",", &rest); one; one = strtok_r(NULL, ",", &rest)) {
        uint64_t pid;

        if (parse_u64(one, 1, INT_MAX, &pid) < 0 || options->n_pids == WSS_PIDS_MAX)
            return command_refuse("'%s': expected a PID, at most %d of them", one, WSS_PIDS_MAX);
        if (!is_named(options, (pid_t)pid))
            options->pid[options->n_pids++] = (pid_t)pid;
    }
    if (options->n_pids > 0)
        return 0;
    return command_refuse("expected a PID, or --all; see vmwss-guest wss --help");
}

static int parse_operands(struct wss_options *options, int n, char **operand)
{
    char none[] = "";
    int rc = options->all ? 0 : parse_pids(options, n > 0 ? operand[0] : none);
    int used = options->all || n == 0 ? 0 : 1;

    if (rc == 0 && n > used)
        rc = parse_time("DURATION", operand[used++], &options->plan.duration_s);
    if (rc == 0 && n > used) {
        command_error("'%s' is too much; see vmwss-guest wss --help", operand[used]);
        rc = -EINVAL;
    }
    return rc;
}

static int check_options(struct wss_options *options)
{
    const struct plan *plan = &options->plan;

    if (plan->total_s > 0 && plan->kind != PLAN_GROWTH && plan->kind != PLAN_SNAPSHOTS)
        return command_refuse("--total is for --cumulative and --snapshot");
    options->output.names = options->all || options->n_pids > 1;
    if (options->all && options->output.top == 0)
        options->output.top = TOP;
    return 0;
}

int wss_options_read(struct wss_options *options, int argc, char **argv)
{
    int rc;

    *options = (struct wss_options){.plan.duration_s = DURATION_S, .method = "auto"};
    rc = options_read(&command_line, options, argc, argv);
    if (rc == 0)
        rc = parse_operands(options, argc - optind, argv + optind);
    return rc != 0 ? rc : check_options(options);
}
