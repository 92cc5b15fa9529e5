// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file wss_options.c  See wss_options.h. */
#include "command/wss_options.h"

#include "base/parse.h"
#include "command/command.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#define DURATION_S 10
#define TOP 20
#define STEPS_MAX 30

static const char help[] =
    "Usage: vmwss-guest wss [OPTIONS] PID[,PID...] [DURATION]\n"
    "       vmwss-guest wss [OPTIONS] --all [DURATION]\n\n"
    "The working set of processes: what they touch within DURATION seconds (10).\n\n"
    "  -C, --cumulative      growth: read every DURATION, counting from one begin\n"
    "  -P, --profile STEPS   read after DURATION, then after times that double, counting from one begin\n"
    "  -s, --snapshot SECS   again and again, each for DURATION, with a pause of SECS (may be 0) between\n"
    "  -d, --total SECS      end -C or -s after so long; without it Ctrl-C does\n"
    "  -t, --times           also: how long was slept, and from the begin of marking to the end of reading\n"
    "  -a, --all             all processes; the 20 with the largest working set are shown\n"
    "  -n, --top N           show the N largest\n"
    "  -m, --method NAME     page_idle, clear_refs or auto: page_idle where the kernel has it\n"
    "  -b, --bytes           bytes instead of MiB\n"
    "  -j, --json            one object a reading, schema vmwss.guest_wss.v1\n"
    "  -h, --help            this text\n\n"
    "Est(s) is what was really measured: from the middle of marking a process to the middle of reading it.\n\n"
    "What it costs: two walks through the page tables, in which the process waits with changes of its mappings and page faults; some ms\n"
    "for each GiB, for page_idle some hundred. clear_refs clears the bits by which this kernel chooses what to reclaim: for a\n"
    "while it takes pages for unused that are not, which hurts when memory is short or swap is in use. page_idle\n"
    "does not; but where others map a page too, it counts their touches. After marking, each CPU switches between some\n"
    "processes of ours, so that it forgets its translations: what it touches through one does not show.\n";

static int parse_count(const char *option, const char *text, uint64_t max, size_t *count)
{
    uint64_t value;

    if (parse_u64(text, 1, max, &value) < 0)
        return command_bad_value(option, text, "a number of 1 or more, and not too large");
    *count = (size_t)value;
    return 0;
}

static int parse_time(const char *option, const char *text, double *seconds)
{
    return parse_seconds(text, seconds) < 0
               ? command_bad_value(option, text, PARSE_SECONDS_EXPECTED)
               : 0;
}

/* -C, -P and -s exclude each other. */
static int set_kind(struct plan *plan, enum plan_kind kind)
{
    if (plan->kind != PLAN_ONCE && plan->kind != kind) {
        command_error("only one of --cumulative, --profile and --snapshot");
        return -EINVAL;
    }
    plan->kind = kind;
    return 0;
}

static int parse_plan_option(struct plan *plan, int option)
{
    size_t steps = 0;
    int rc;

    switch (option) {
    case 'C':
        return set_kind(plan, PLAN_GROWTH);
    case 'P':
        rc = parse_count("--profile", optarg, STEPS_MAX, &steps);
        plan->steps = (unsigned)steps;
        return rc < 0 ? rc : set_kind(plan, PLAN_PROFILE);
    case 's':
        rc = strcmp(optarg, "0") == 0 ? 0 : parse_time("--snapshot", optarg, &plan->pause_s);
        return rc < 0 ? rc : set_kind(plan, PLAN_SNAPSHOTS);
    case 'd':
        return parse_time("--total", optarg, &plan->total_s);
    default:
        return -EINVAL; /* getopt has said why */
    }
}

static int parse_option(struct wss_options *options, int option)
{
    switch (option) {
    case 't':
        options->output.times = true;
        return 0;
    case 'a':
        options->all = true;
        return 0;
    case 'n':
        return parse_count("--top", optarg, INT_MAX, &options->output.top);
    case 'm':
        options->method = optarg;
        return 0;
    case 'b':
        options->output.bytes = true;
        return 0;
    case 'j':
        options->output.json = true;
        return 0;
    case 'h':
        fputs(help, stdout);
        return 1;
    default:
        return parse_plan_option(&options->plan, option);
    }
}

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

        if (parse_u64(one, 1, INT_MAX, &pid) < 0 || options->n_pids == WSS_PIDS_MAX) {
            command_error("'%s': expected a PID, at most %d of them", one, WSS_PIDS_MAX);
            return -EINVAL;
        }
        if (!is_named(options, (pid_t)pid))
            options->pid[options->n_pids++] = (pid_t)pid;
    }
    if (options->n_pids > 0)
        return 0;
    command_error("expected a PID, or --all; see vmwss-guest wss --help");
    return -EINVAL;
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

static int check(struct wss_options *options)
{
    const struct plan *plan = &options->plan;

    if (plan->total_s > 0 && plan->kind != PLAN_GROWTH && plan->kind != PLAN_SNAPSHOTS) {
        command_error("--total is for --cumulative and --snapshot");
        return -EINVAL;
    }
    options->output.names = options->all || options->n_pids > 1;
    if (options->all && options->output.top == 0)
        options->output.top = TOP;
    return 0;
}

int wss_options_parse(struct wss_options *options, int argc, char **argv)
{
    static const struct option longs[] = {
        {"cumulative", no_argument, NULL, 'C'},     {"profile", required_argument, NULL, 'P'},
        {"snapshot", required_argument, NULL, 's'}, {"total", required_argument, NULL, 'd'},
        {"times", no_argument, NULL, 't'},          {"all", no_argument, NULL, 'a'},
        {"top", required_argument, NULL, 'n'},      {"method", required_argument, NULL, 'm'},
        {"bytes", no_argument, NULL, 'b'},          {"json", no_argument, NULL, 'j'},
        {"help", no_argument, NULL, 'h'},           {0}};
    int option;
    int rc = 0;

    *options = (struct wss_options){.plan.duration_s = DURATION_S, .method = "auto"};
    while (rc == 0 && (option = getopt_long(argc, argv, "CP:s:d:tan:m:bjh", longs, NULL)) >= 0)
        rc = parse_option(options, option);
    if (rc == 0)
        rc = parse_operands(options, argc - optind, argv + optind);
    return rc != 0 ? rc : check(options);
}
