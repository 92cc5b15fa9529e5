// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file cmd_pressure.c  vmwss-guest pressure: who waits for memory, disks and CPUs. */
#include "base/parse.h"
#include "command/command.h"
#include "command/pressure_print.h"
#include "command/pressure_stalls.h"
#include "command/repeat.h"
#include "command/triggers.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

static const char help[] =
    "Usage: vmwss-guest pressure [OPTIONS]\n\n"
    "The share of the time in which at least one task (some), or every one that could have run (full), waited for\n"
    "memory, io or a CPU: over the last 10, 60 and 300 s, the total since boot, and over an interval.\n\n"
    "  -g, --cgroup PATH   one control group (version 2), as in /system.slice/redis.service\n"
    "  -G, --cgroups       the whole guest and all its control groups\n"
    "  -s, --sort RESOURCE[:KIND]  with -G: those groups first that waited most for memory, io or cpu; some (or full)\n"
    "  -n, --top N         with -G: only N groups, by default sorted by memory\n"
    "  -i, --interval S    every S seconds, over these\n"
    "  -k, --count N       end after N of them, or of the stalls\n"
    "  -t, --trigger RESOURCE:KIND:THRESHOLD_US:WINDOW_US\n"
    "                      wait, and print each window with a stall longer than this at once; may be given again\n"
    "  -j, --json          one JSON object a line, schema vmwss.guest_pressure.v1\n"
    "  -h, --help          this text\n";

struct options {
    struct pressure_scope scope;
    struct repeat repeat;
    struct triggers triggers;
    struct pressure_format format;
};

static int parse_top(struct pressure_format *format, const char *value)
{
    uint64_t top;

    if (parse_u64(value, 1, INT32_MAX, &top) < 0)
        return command_bad_value("--top", value, "a number of groups, from 1");
    format->top = (size_t)top;
    format->sorted = true; /* by memory, the first of the resources */
    return 0;
}

static int parse_option(struct options *options, int option)
{
    switch (option) {
    case 'g':
        options->scope.cgroup = optarg;
        return 0;
    case 'G':
        options->scope.all = true;
        return 0;
    case 'i':
    case 'k':
        return repeat_option(&options->repeat, option, optarg);
    case 's':
        return pressure_format_sort(&options->format, optarg);
    case 'n':
        return parse_top(&options->format, optarg);
    case 't':
        return triggers_option(&options->triggers, optarg);
    case 'j':
        options->format.json = true;
        return 0;
    case 'h':
        fputs(help, stdout);
        return 1;
    default:
        return -EINVAL; /* getopt has said why */
    }
}

static int complain(const char *what)
{
    command_error("%s", what);
    return -EINVAL;
}

/* 0, 1 for "help was shown", or -EINVAL. */
static int parse_options(struct options *options, int argc, char **argv)
{
    static const struct option longs[] = {
        {"cgroup", required_argument, NULL, 'g'},   {"cgroups", no_argument, NULL, 'G'},
        {"sort", required_argument, NULL, 's'},     {"top", required_argument, NULL, 'n'},
        {"interval", required_argument, NULL, 'i'}, {"count", required_argument, NULL, 'k'},
        {"trigger", required_argument, NULL, 't'},  {"json", no_argument, NULL, 'j'},
        {"help", no_argument, NULL, 'h'},           {0}};
    int option, rc = 0;

    while (rc == 0 && (option = getopt_long(argc, argv, "g:Gs:n:i:k:t:jh", longs, NULL)) >= 0)
        rc = parse_option(options, option);
    if (rc != 0)
        return rc;
    if (optind < argc)
        return complain("pressure takes no argument");
    if (options->scope.all && (options->scope.cgroup || options->triggers.n))
        return complain("--cgroups goes with neither --cgroup nor --trigger");
    if (options->format.sorted && !options->scope.all)
        return complain("--sort and --top are for --cgroups");
    if (options->triggers.n && options->repeat.interval_s > 0)
        return complain("--trigger waits for stalls, not for an --interval");
    return 0;
}

/* Once, or again and again over the time since the last. */
static int survey(const struct fsroot *root, const struct options *options, struct error *error)
{
    struct pressure_survey before = {0}, now = {0};
    int rc = pressure_survey_take(root, &options->scope, &before, error);

    if (rc == 0 && options->repeat.interval_s <= 0)
        rc = pressure_print(NULL, &before, &options->format);
    for (uint64_t i = 0; rc == 0 && repeat_again(&options->repeat, i); i++) {
        rc = pressure_survey_take(root, &options->scope, &now, error);
        if (rc == 0)
            rc = pressure_print(&before, &now, &options->format);
        pressure_survey_free(&before);
        before = now;
        now = (struct pressure_survey){0};
    }
    pressure_survey_free(&before);
    return rc;
}

int cmd_pressure(int argc, char **argv)
{
    struct options options = {0};
    struct error error = {0};
    struct fsroot root;
    int rc = parse_options(&options, argc, argv);

    if (rc != 0)
        return rc > 0 ? EXIT_DONE : EXIT_USAGE;
    if (command_root(&root) != EXIT_DONE)
        return EXIT_CANNOT;
    if (options.triggers.n > 0)
        rc = pressure_stalls(&root, options.scope.cgroup, &options.triggers, options.repeat.count,
                             options.format.json, &error);
    else
        rc = survey(&root, &options, &error);
    fsroot_close(&root);
    if (rc < 0 && !error.code)
        error_set(&error, rc, "%s", strerror(-rc));
    return rc < 0 ? command_cannot(&error) : EXIT_DONE;
}
