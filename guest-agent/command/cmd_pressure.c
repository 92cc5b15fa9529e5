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
    bool json;
};

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
    case 't':
        return triggers_option(&options->triggers, optarg);
    case 'j':
        options->json = true;
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
        {"interval", required_argument, NULL, 'i'}, {"count", required_argument, NULL, 'k'},
        {"trigger", required_argument, NULL, 't'},  {"json", no_argument, NULL, 'j'},
        {"help", no_argument, NULL, 'h'},           {0}};
    int option, rc = 0;

    while (rc == 0 && (option = getopt_long(argc, argv, "g:Gi:k:t:jh", longs, NULL)) >= 0)
        rc = parse_option(options, option);
    if (rc != 0)
        return rc;
    if (optind < argc)
        return complain("pressure takes no argument");
    if (options->scope.all && (options->scope.cgroup || options->triggers.n))
        return complain("--cgroups goes with neither --cgroup nor --trigger");
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
        rc = pressure_print(NULL, &before, options->json);
    for (uint64_t i = 0; rc == 0 && repeat_again(&options->repeat, i); i++) {
        rc = pressure_survey_take(root, &options->scope, &now, error);
        if (rc == 0)
            rc = pressure_print(&before, &now, options->json);
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
                             options.json, &error);
    else
        rc = survey(&root, &options, &error);
    fsroot_close(&root);
    if (rc < 0 && !error.code)
        error_set(&error, rc, "%s", strerror(-rc));
    return rc < 0 ? command_cannot(&error) : EXIT_DONE;
}
