// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file cmd_history.c  vmwss history: prints the history of one guest. */
#include "base/array.h"
#include "programs/vmwss/kept.h"
#include "show/chart.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct options {
    struct kept_choice kept; /* must be first: see kept.h */
    const char *domain;
    int step;        /* --step; -1: depends on the span */
    const char *svg; /* --svg */
    bool events;     /* --events */
    bool writes;     /* --writes */
};

static const char *const steps[] = {"record", "minute", "hour", NULL};
static const int levels_s[] = {0, BUCKET_MINUTE, BUCKET_HOUR};

static const struct option_line lines[] = {
    KEPT_SPAN,
    {OPTION_WORD, 0, "step", "STEP", offsetof(struct options, step),
     .help = "record, minute or hour (whichever gives some hundred rows)",
     .expect = "record, minute or hour", .words = steps},
    {OPTION_TEXT, 0, "svg", "FILE", offsetof(struct options, svg),
     .help = "also draw the curve with the events, as SVG"},
    {OPTION_FLAG, 'e', "events", NULL, offsetof(struct options, events),
     .help = "show events of the guest instead: start, suspend, resume, resize, stall, end"},
    {OPTION_FLAG, 0, "writes", NULL, offsetof(struct options, writes),
     .help = "show instead what the guest wrote within each window (writes in vmwssd.conf)"},
    KEPT_DATABASE(offsetof(struct options, kept.database)),
    KEPT_JSON("one JSON object per line, schema vmwss.history.v1, vmwss.event.v1 or\n"
              "vmwss.write_set.v1"),
    KEPT_CSV,
    {.type = OPTION_END},
};

static int check_options(void *base, int argc, char **argv)
{
    struct options *options = base;

    if (optind != argc - 1)
        return command_refuse("name one DOMAIN, by name or UUID; see vmwss history --help");
    options->domain = argv[optind];
    if (options->writes && (options->events || options->svg || options->step >= 0))
        return command_refuse("--writes stands alone: no --events, --svg and --step");
    return kept_span_check(&options->kept);
}

static const struct command_options command_options = {
    .usage = "Usage: vmwss history DOMAIN [OPTIONS]\n\n"
             "Shows the working set of one guest over time, from vmwssd's history.\n",
    .lines = lines,
    .check = check_options,
};

struct collected {
    size_t n, n_events;
    struct history_point *points;
    struct history_event *events;
};

static int history_see(const struct history_point *point, void *context)
{
    struct collected *collected = context;
    return array_put(&collected->points, &collected->n, point, sizeof(*collected->points));
}

static int see_event(enum event_kind kind, double time_s, void *context)
{
    struct collected *collected = context;
    return array_put(&collected->events, &collected->n_events,
                     &(struct history_event){kind, time_s}, sizeof(*collected->events));
}

/* Explains why there is nothing: another window may be in the history, or nothing of that time. */
static int nothing(struct store *store, const struct options *options,
                   const struct history_query *query, const struct history_guest *guest,
                   struct error *error)
{
    const double asked_s = options->kept.window_s;
    double window_s[RUN_MAX_WINDOWS];
    char list[512] = "";
    size_t used = 0;
    ssize_t n = history_windows_within(store, guest->id, query->from_s, query->to_s, window_s,
                                       error);
    /* a window that was not requested was chosen among those in the history */
    bool kept = n == 0 || asked_s == 0;

    if (n < 0)
        return (int)n;
    for (ssize_t w = 0; w < n && used < sizeof(list); w++) {
        kept = kept || window_s[w] == asked_s;
        used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%g", w ? ", " : "",
                                 window_s[w]);
    }
    if (kept)
        return error_set(error, -ENODATA,
                         "domain %s: the history has nothing of that time; see --since and --until",
                         guest->name);
    return error_set(error, -ENODATA, "domain %s: the history has no window of %g s; it has %s",
                     guest->name, asked_s, list);
}

static int print_points(const struct options *options, const struct history_guest *guest,
                        const struct history_query *query, const struct collected *collected)
{
    struct history_output *output = history_output_new(options->kept.format, guest, query);

    if (!output)
        return -ENOMEM;
    for (size_t i = 0; i < collected->n; i++)
        history_output_point(output, &collected->points[i]);
    return history_output_end(output);
}

static int print_history(const struct options *options, const struct history_guest *guest,
                         const struct history_query *query, const struct collected *collected,
                         struct error *error)
{
    const struct history_picture picture = {.guest = guest,
                                            .query = query,
                                            .n_points = collected->n,
                                            .points = collected->points,
                                            .n_events = collected->n_events,
                                            .events = collected->events};
    int rc = options->events ? history_events_print(options->kept.format, guest, collected->events,
                                                    collected->n_events)
                             : print_points(options, guest, query, collected);

    if (rc < 0)
        return error_set(error, rc, "out of memory");
    rc = command_flush(error);
    return rc == 0 && options->svg ? history_svg_write(&picture, options->svg, error) : rc;
}

/* Reads the level that shows the span; if that has nothing of that time, because records are kept
 * for some days only, and minutes for some weeks, the next coarser one. */
static int collect_points(struct store *store, const struct options *options,
                          const struct history_guest *guest, struct history_query *query,
                          struct collected *collected, struct error *error)
{
    int rc;

    query->level_s = options->step < 0 ? history_level(query->to_s - query->from_s)
                                       : levels_s[options->step];
    rc = history_points(store, guest, query, history_see, collected, error);
    while (rc == 0 && collected->n == 0 && options->step < 0 && query->level_s < BUCKET_HOUR) {
        query->level_s = query->level_s == 0 ? BUCKET_MINUTE : BUCKET_HOUR;
        rc = history_points(store, guest, query, history_see, collected, error);
    }
    return rc;
}

static int collect(struct store *store, const struct options *options,
                   const struct history_guest *guest, struct history_query *query,
                   struct collected *collected, struct error *error)
{
    const bool points = !options->events || options->svg;
    int rc = points ? collect_points(store, options, guest, query, collected, error) : 0;

    if (rc == 0 && (options->events || options->svg))
        rc = history_events(store, guest->id, query, see_event, collected, error);
    if (rc == -ENOMEM)
        error_set(error, rc, "out of memory");
    return rc == 0 && points && collected->n == 0 ? nothing(store, options, query, guest, error)
                                                  : rc;
}

struct collected_writes {
    size_t n;
    struct kept_writes *all;
};

static int see_writes(const struct kept_writes *writes, void *context)
{
    struct collected_writes *collected = context;

    return array_put(&collected->all, &collected->n, writes, sizeof(*writes));
}

static int print_writes(struct store *store, const struct options *options,
                        const struct history_guest *guest, struct error *error)
{
    struct collected_writes collected = {0};
    struct history_query query = {0};
    int rc;

    kept_span(&options->kept, &query.from_s, &query.to_s);
    rc = history_writes(store, guest->id, &query, see_writes, &collected, error);
    if (rc == 0 && collected.n == 0)
        rc = error_set(error, -ENODATA,
                       "domain %s: the history has no writes of that time; see --since, and writes "
                       "in vmwssd(8)",
                       guest->name);
    if (rc == 0)
        rc = history_refresh(store, error);
    if (rc == 0)
        rc = history_writes_print(options->kept.format, guest, collected.all, collected.n,
                                  options->kept.window_s);
    free(collected.all);
    if (rc == -ENOMEM)
        error_set(error, rc, "out of memory");
    return rc == 0 ? command_flush(error) : rc;
}

/* The reader of the output may take any time: the history is closed before that, because otherwise
 * its WAL would grow. */
static int read_and_print(struct store *store, const struct options *options, struct error *error)
{
    struct history_guest guest;
    struct history_query query = {0};
    struct collected collected = {0};
    int rc = history_find(store, options->domain, &guest, error);

    if (rc == 0 && options->writes)
        return print_writes(store, options, &guest, error);
    if (rc == 0)
        rc = kept_window(store, guest.id, &options->kept, &query.window_s, error);
    kept_span(&options->kept, &query.from_s, &query.to_s);
    if (rc == 0)
        rc = collect(store, options, &guest, &query, &collected, error);
    if (rc == 0)
        rc = history_refresh(store, error);
    if (rc == 0)
        rc = print_history(options, &guest, &query, &collected, error);
    free(collected.points);
    free(collected.events);
    return rc;
}

int cmd_history(int argc, char **argv)
{
    struct options options = {.kept = KEPT_CHOICE_DEFAULT, .step = -1};
    struct store *store = NULL;
    struct error error = {0};
    int rc = options_read(&command_options, &options, argc, argv);

    if (rc != 0)
        return options_exit(rc);
    rc = options.svg ? chart_check("--svg", options.svg, &error) : 0;
    if (rc == 0)
        rc = history_open(options.kept.database, &store, &error);
    if (rc == 0)
        rc = read_and_print(store, &options, &error);
    return kept_end(store, rc, &error);
}
