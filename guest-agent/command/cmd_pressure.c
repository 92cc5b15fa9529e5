// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file cmd_pressure.c  vmwss-guest pressure: who waits for memory, disks and CPUs. */
#include "base/parse.h"
#include "command/command.h"
#include "command/pressure_print.h"
#include "command/pressure_stalls.h"
#include "command/repeat.h"
#include "command/triggers.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct options {
    struct pressure_scope scope;
    struct repeat repeat;
    struct triggers triggers;
    struct pressure_format format;
};

static int set_top(void *at, const char *value)
{
    struct pressure_format *format = at;
    uint64_t top;

    if (parse_u64(value, 1, INT32_MAX, &top) < 0)
        return command_bad_value("--top", value, "a number of groups, from 1");
    format->top = (size_t)top;
    format->sorted = true; /* by memory, the first of the resources */
    return 0;
}

static int set_sort(void *at, const char *value)
{
    return pressure_format_sort(at, value);
}

#define AT(member) offsetof(struct options, member)
static const struct option_line lines[] = {
    {OPTION_TEXT, 'g', "cgroup", "PATH", AT(scope.cgroup),
     .help = "one control group (version 2), as in /system.slice/redis.service"},
    {OPTION_FLAG, 'G', "cgroups", NULL, AT(scope.all),
     .help = "the whole guest and all its control groups"},
    {OPTION_CALL, 's', "sort", "RESOURCE[:KIND]", AT(format),
     .help = "with -G: those groups first that waited most for memory, io or cpu; some (or full)",
     .call = set_sort},
    {OPTION_CALL, 'n', "top", "N", AT(format),
     .help = "with -G: only N groups, by default sorted by memory", .call = set_top},
    REPEAT_INTERVAL(AT(repeat), "every S seconds, over these"),
    REPEAT_COUNT(AT(repeat), "end after N of them, or of the stalls"),
    {OPTION_CALL, 't', "trigger", TRIGGERS_VALUE, AT(triggers),
     .help =
         "\nwait, and print each window with a stall longer than this at once; may be given again",
     .call = triggers_add},
    {OPTION_FLAG, 'j', "json", NULL, AT(format.json),
     .help = "one JSON object a line, schema vmwss.guest_pressure.v1"},
    {.type = OPTION_END},
};
static const struct command_options command_line = {
    .usage =
        "Usage: vmwss-guest pressure [OPTIONS]\n\n"
        "The share of the time in which at least one task (some), or every one that could have run (full), waited for\n"
        "memory, io or a CPU: over the last 10, 60 and 300 s, the total since boot, and over an interval.\n",
    .lines = lines,
    .column = 20,
};

static int complain(const char *what)
{
    command_error("%s", what);
    return -EINVAL;
}

/* As options_read(). */
static int read_options(struct options *options, int argc, char **argv)
{
    int rc = command_options_alone(&command_line, options, argc, argv);

    if (rc != 0)
        return rc;
    if (options->scope.all && (options->scope.cgroup || options->triggers.n))
        return complain("--cgroups goes with neither --cgroup nor --trigger");
    if (options->format.sorted && !options->scope.all)
        return complain("--sort and --top are for --cgroups");
    if (options->triggers.n && options->repeat.interval_s > 0)
        return complain("--trigger waits for stalls, not for an --interval");
    return 0;
}

/* Prints the pressure once, or repeatedly over the time since the last print. */
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
    int rc = read_options(&options, argc, argv);

    if (rc != 0)
        return options_exit(rc);
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
