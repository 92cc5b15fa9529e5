// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file cmd_report.c  vmwss report: the needs of all guests, the memory that could be given back,
 * and how many more guests would fit. */
#include "base/own_memory.h"
#include "base/progress.h"
#include "history/report_timeline.h"
#include "programs/vmwss/kept.h"
#include "show/html_report.h"
#include "show/report.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct options {
    struct kept_choice kept; /* must be first: see kept.h */
    struct report_options report;
    const char *html; /* --html */
};

#define AT(member) offsetof(struct options, member)
#define SIZE_EXPECTED "a size, as in 4G"

static const struct option_line lines[] = {
    KEPT_SPAN,
    {OPTION_SIZE, 0, "guest-size", "SIZE", AT(report.guest_bytes),
     .help = "show how many more guests of that RAM would fit, as in 4G", .expect = SIZE_EXPECTED},
    {OPTION_SHARE, 0, "risk", "P%", AT(report.risk),
     .help = "the share of the time for which memory may be short (1%)", RISK_RANGE},
    {OPTION_SIZE, 0, "capacity", "SIZE", AT(report.capacity_bytes),
     .help = "memory for guests (this host's less 5 %, if it is this host's history)",
     .expect = SIZE_EXPECTED},
    {OPTION_TEXT, 0, "host", "NAME", AT(report.host),
     .help = "the host to report on, if the history has several"},
    {OPTION_TEXT, 0, "html", "FILE", AT(html),
     .help = "write an HTML page with every guest over time into FILE instead"},
    KEPT_DATABASE(AT(kept.database)),
    KEPT_JSON("one JSON object, schema vmwss.report.v1"),
    KEPT_CSV,
    {.type = OPTION_END},
};

static int check_options(void *base, int argc, char **argv)
{
    struct options *options = base;

    if (optind != argc)
        return command_refuse("report shows all guests; for one guest, use vmwss history %s",
                              argv[optind]);
    if (options->html && options->kept.format != SHOW_TABLE)
        return command_refuse("--html, --json or --csv: only one of them");
    return kept_span_check(&options->kept);
}

static const struct command_options command_options = {
    .usage =
        "Usage: vmwss report [OPTIONS]\n\n"
        "Shows what the guests of a host needed, one by one and together, what they could give back, and how\n"
        "many more would fit, from vmwssd's history.\n",
    .lines = lines,
    .check = check_options,
};

/* Returns true if the history is this host's: the named host, or that of the first guest. */
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

static void show_reading(double done, void *context)
{
    progress_say(context, "%.0f%% read", 100 * done);
}

static int write_page(struct store *store, const struct options *options,
                      const struct report *report, struct error *error)
{
    struct timeline_span span;
    struct timeline_cell *cells;
    int rc = report_timeline(store, report, &span, &cells, error);

    if (rc == 0) {
        const struct html_report page = {
            .report = report, .span = &span, .cells = cells, .now_s = options->report.to_s};

        rc = html_report_write(&page, options->html, error);
    }
    free(cells);
    return rc;
}

static int show_report(struct store *store, const struct options *options,
                       const struct report *report, struct error *error)
{
    int rc;

    if (options->html)
        return write_page(store, options, report, error);
    rc = history_refresh(store, error); /* a pager must not keep the WAL from being truncated */
    return rc == 0 ? report_print(report, options->kept.format) : rc;
}

static int make_and_show(struct store *store, struct options *options, struct error *error)
{
    struct progress progress;
    struct report report;
    int rc;

    rc = kept_window(store, 0, &options->kept, &options->report.window_s, error);
    if (rc < 0)
        return rc;
    kept_span(&options->kept, &options->report.from_s, &options->report.to_s);
    if (!options->report.capacity_bytes && is_this_host(store, options->report.host))
        options->report.capacity_bytes = own_memory_for_guests();
    if (!options->report.capacity_bytes && options->report.guest_bytes)
        return error_set(error, -EINVAL,
                         "--guest-size: this is another host's history: set with --capacity how "
                         "much memory that host has for guests");
    progress_init(&progress, "history");
    options->report.progress = show_reading;
    options->report.context = &progress;
    rc = report_make(store, &options->report, &report, error);
    progress_clear(&progress);
    if (rc < 0)
        return rc;
    rc = show_report(store, options, &report, error);
    report_free(&report);
    return rc;
}

int cmd_report(int argc, char **argv)
{
    struct options options = {.kept = KEPT_CHOICE_DEFAULT, .report = {.risk = 0.01}};
    struct store *store = NULL;
    struct error error = {0};
    int rc = options_read(&command_options, &options, argc, argv);

    if (rc != 0)
        return options_exit(rc);
    rc = history_open(options.kept.database, &store, &error);
    if (rc == 0)
        rc = make_and_show(store, &options, &error);
    return kept_end(store, rc, &error);
}
