// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file cmd_pressure.c  vmwss-guest pressure: how long tasks wait for memory, disks and CPUs. */
#include "command/command.h"
#include "command/pressure_print.h"
#include "command/pressure_stalls.h"
#include "command/repeat.h"
#include "command/triggers.h"

struct options {
    struct pressure_scope scope;
    struct repeat repeat;
    struct triggers triggers;
    struct pressure_format format;
};

#define AT(member) offsetof(struct options, member)
static const struct option_line lines[] = {
    {OPTION_TEXT, 'g', "cgroup", "PATH", AT(scope.cgroup),
     .help = "one control group (version 2), as in /system.slice/redis.service"},
    {OPTION_FLAG, 'G', "cgroups", NULL, AT(scope.all),
     .help = "the whole guest and all its control groups"},
    {OPTION_CALL, 's', "sort", "RESOURCE[:KIND]", AT(format),
     .help = "with -G: those groups first that waited most for memory, io or cpu; some (or full)",
     .call = pressure_format_sort},
    {OPTION_COUNT, 'n', "top", "N", AT(format.top),
     .help = "with -G: only N groups, by default sorted by memory", 1, INT32_MAX,
     "a number of groups, from 1"},
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
    .no_arguments = true,
};

/* As options_read(). */
static int read_options(struct options *options, int argc, char **argv)
{
    int rc = options_read(&command_line, options, argc, argv);

    if (rc != 0)
        return rc;
    /* sorted by memory, the first resource, by default */
    options->format.sorted |= options->format.top > 0;
    if (options->scope.all && (options->scope.cgroup || options->triggers.n))
        return command_refuse("--cgroups goes with neither --cgroup nor --trigger");
    if (options->format.sorted && !options->scope.all)
        return command_refuse("--sort and --top are for --cgroups");
    if (options->triggers.n && options->repeat.interval_s > 0)
        return command_refuse("--trigger waits for stalls, not for an --interval");
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

static int show_pressure(const struct fsroot *root, void *at, char **operands, struct error *error)
{
    const struct options *options = at;

    (void)operands;
    if (options->triggers.n == 0)
        return survey(root, options, error);
    return pressure_stalls(root, options->scope.cgroup, &options->triggers, options->repeat.count,
                           options->format.json, error);
}

int cmd_pressure(int argc, char **argv)
{
    struct options options = {0};
    int rc = read_options(&options, argc, argv);

    return rc != 0 ? options_exit(rc) : command_on_root(&options, NULL, show_pressure);
}
