// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file cmd_report.c  vmwss report: what all guests needed, what could be given back, and what
 * more would fit. */
#include "base/clock.h"
#include "base/parse.h"
#include "cli/kept.h"
#include "keep/report.h"
#include "show/progress.h"
#include "show/report.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <unistd.h>

struct options {
    struct kept_choice kept;
    struct report_options report;
};

/* Of this host's own memory what its kernel and daemons need is not for guests. */
#define HOST_SHARE 0.05

static const char help[] =
    "Usage: vmwss report [OPTIONS]\n\n"
    "What the guests of a host needed, one by one and together, what could be given back, and how many\n"
    "more would fit: from what vmwssd has kept.\n\n"
    "  -s, --since TIME       how far back: 90m, 12h, 7d, 2w (7d)\n"
    "  -w, --window S         the window, in seconds, among those that are kept (60)\n"
    "      --guest-size SIZE  how many more guests of so much RAM would fit, as in 4G\n"
    "      --risk P%          the share of the time that memory may not suffice for (1%)\n"
    "      --capacity SIZE    memory for guests (this host's less 5 %, if it is this host's history)\n"
    "      --host NAME        of several hosts in one history\n"
    "  -D, --database FILE    the history (" STORE_DEFAULT_PATH ")\n"
    "  -j, --json             one JSON object, schema vmwss.report.v1\n"
    "      --csv              comma-separated values, with a heading\n"
    "  -h, --help             this text\n";

static int set_size(const char *option, const char *value, uint64_t *bytes)
{
    return parse_size(value, bytes) == 0 ? 0 : command_bad_value(option, value, "a size, as in 4G");
}

static int set_risk(struct options *options, const char *value)
{
    char *end;
    double percent = strtod(value, &end);

    if (end == value || (*end && strcmp(end, "%") != 0) || !(percent >= 0.001 && percent <= 50))
        return command_bad_value("--risk", value, "0.001% to 50%");
    options->report.risk = percent / 100;
    return 0;
}

static int set_option(struct options *options, int option, const char *value)
{
    switch (option) {
    case 'g':
        return set_size("--guest-size", value, &options->report.guest_bytes);
    case 'C':
        return set_size("--capacity", value, &options->report.capacity_bytes);
    case 'r':
        return set_risk(options, value);
    case 'H':
        options->report.host = value;
        return 0;
    default:
        return kept_option(&options->kept, option, value);
    }
}

/* 0, 1 for "help was shown", or -EINVAL. */
static int parse_options(struct options *options, int argc, char **argv)
{
    static const struct option longs[] = {
        KEPT_LONG_OPTIONS,
        {"guest-size", required_argument, NULL, 'g'},
        {"capacity", required_argument, NULL, 'C'},
        {"risk", required_argument, NULL, 'r'},
        {"host", required_argument, NULL, 'H'},
        {0},
    };
    int option;

    *options = (struct options){.kept = KEPT_CHOICE_DEFAULT, .report = {.risk = 0.01}};
    while ((option = getopt_long(argc, argv, KEPT_SHORT_OPTIONS, longs, NULL)) >= 0) {
        if (option == 'h') {
            fputs(help, stdout);
            return 1;
        }
        if (set_option(options, option, optarg) < 0)
            return -EINVAL;
    }
    if (optind != argc) {
        command_error("report is of all guests; vmwss history %s is of one", argv[optind]);
        return -EINVAL;
    }
    return 0;
}

/* The host whose history it is: named, or the one of the first guest. */
static bool is_this_host(struct store *store, const char *named)
{
    struct history_guest *guests;
    char name[256] = "";
    ssize_t n = history_guests(store, &guests, NULL);
    bool same = false;

    gethostname(name, sizeof(name) - 1);
    if (n > 0)
        same = strcmp(named ? named : guests[0].host, name) == 0;
    if (n >= 0)
        free(guests);
    return same;
}

static uint64_t own_capacity(void)
{
    struct sysinfo info;

    if (sysinfo(&info) < 0)
        return 0;
    return (uint64_t)((double)info.totalram * (double)info.mem_unit * (1 - HOST_SHARE));
}

struct reading {
    struct progress progress;
    uint64_t began_ns;
};

static void show_reading(double done, void *context)
{
    struct reading *reading = context;
    char text[32];

    snprintf(text, sizeof(text), "%.0f%% read", 100 * done);
    progress_say((double)(clock_ns() - reading->began_ns) / 1e9, text, &reading->progress);
}

static int print(struct store *store, struct options *options, struct error *error)
{
    struct reading reading = {.began_ns = clock_ns()};
    struct report report;
    int rc;

    options->report.window_s = options->kept.window_s;
    kept_span(&options->kept, &options->report.from_s, &options->report.to_s);
    if (!options->report.capacity_bytes && is_this_host(store, options->report.host))
        options->report.capacity_bytes = own_capacity();
    if (!options->report.capacity_bytes && options->report.guest_bytes)
        return error_set(error, -EINVAL,
                         "--guest-size: it is another host's history: say with --capacity how "
                         "much memory that has for guests");
    progress_init(&reading.progress, "history");
    options->report.progress = show_reading;
    options->report.context = &reading;
    rc = report_make(store, &options->report, &report, error);
    progress_clear(&reading.progress);
    if (rc < 0)
        return rc;
    rc = history_refresh(store, error); /* a pager must not keep the WAL from being cut */
    if (rc == 0)
        rc = report_print(&report, options->kept.format);
    report_free(&report);
    return rc;
}

int cmd_report(int argc, char **argv)
{
    struct options options;
    struct store *store;
    struct error error = {0};
    int rc = parse_options(&options, argc, argv);

    if (rc != 0)
        return rc > 0 ? 0 : EXIT_USAGE;
    rc = kept_open(&options.kept, &store, &error);
    if (rc == 0)
        rc = print(store, &options, &error);
    return kept_end(store, rc, &error);
}
