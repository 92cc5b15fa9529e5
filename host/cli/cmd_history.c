// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file cmd_history.c  vmwss history: what is kept of one guest. */
#include "cli/kept.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct options {
    struct kept_choice kept; /* first: see kept.h */
    const char *domain;
    int level_s; /* --step; -1: by the span */
};

static int set_step(void *base, const char *value)
{
    struct options *options = base;
    static const struct {
        const char *name;
        int level_s;
    } steps[] = {{"record", 0}, {"minute", BUCKET_MINUTE}, {"hour", BUCKET_HOUR}};

    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
        if (!strcmp(value, steps[i].name)) {
            options->level_s = steps[i].level_s;
            return 0;
        }
    return command_bad_value("--step", value, "record, minute or hour");
}

static const struct option_line lines[] = {
    KEPT_SPAN,
    KEPT_WINDOW,
    {OPTION_CALL, 0, "step", "STEP", 0,
     .help = "record, minute or hour (what shows the time in some hundred rows)", .call = set_step},
    KEPT_DATABASE(offsetof(struct options, kept.database)),
    KEPT_JSON("one JSON object per line, schema vmwss.history.v1"),
    KEPT_CSV,
    {.type = OPTION_END},
};

static const struct command_options command_options = {
    .usage = "Usage: vmwss history DOMAIN [OPTIONS]\n\n"
             "The working set of one guest over time, as vmwssd has kept it.\n",
    .lines = lines,
};

/* As options_read(). */
static int parse_options(struct options *options, int argc, char **argv)
{
    *options = (struct options){.kept = KEPT_CHOICE_DEFAULT, .level_s = -1};

    int rc = options_read(&command_options, options, argc, argv);

    if (rc != 0)
        return rc;
    if (optind != argc - 1) {
        command_error("history needs one DOMAIN, by name or UUID; see vmwss history --help");
        return -EINVAL;
    }
    options->domain = argv[optind];
    return 0;
}

struct collected {
    size_t n, room;
    struct history_point *points;
};

static int history_see(const struct history_point *point, void *context)
{
    struct collected *collected = context;

    if (collected->n == collected->room) {
        size_t room = collected->room ? 2 * collected->room : 64;
        struct history_point *more = reallocarray(collected->points, room, sizeof(*more));

        if (!more)
            return -ENOMEM;
        collected->points = more;
        collected->room = room;
    }
    collected->points[collected->n++] = *point;
    return 0;
}

/* Why there is nothing: another window may be kept, or nothing of that time. */
static int nothing(struct store *store, const struct options *options,
                   const struct history_guest *guest, struct error *error)
{
    double window_s[RUN_MAX_WINDOWS];
    char list[512] = "";
    size_t used = 0;
    bool kept = false;
    ssize_t n = history_windows(store, guest->id, window_s, error);

    if (n < 0)
        return (int)n;
    for (ssize_t w = 0; w < n && used < sizeof(list); w++) {
        kept = kept || window_s[w] == options->kept.window_s;
        used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%g", w ? ", " : "",
                                 window_s[w]);
    }
    if (kept)
        return error_set(error, -ENODATA, "domain %s: nothing is kept of that time; see --since",
                         guest->name);
    return error_set(error, -ENODATA, "domain %s: no window of %g s is kept; there are %s",
                     guest->name, options->kept.window_s, list);
}

static int print(const struct options *options, const struct history_guest *guest,
                 const struct history_query *query, const struct collected *collected,
                 struct error *error)
{
    struct history_output *output = history_output_new(options->kept.format, guest, query);
    int rc = 0;

    for (size_t i = 0; output && rc == 0 && i < collected->n; i++)
        rc = history_output_point(output, &collected->points[i]);
    if (!output || rc < 0)
        rc = error_set(error, -ENOMEM, "out of memory");
    history_output_end(output);
    return rc;
}

/* The reader of the output may take as long as it likes: by then the history is not held, or
 * its WAL would grow. */
static int read_and_print(struct store *store, const struct options *options, struct error *error)
{
    struct history_guest guest;
    struct history_query query = {.window_s = options->kept.window_s};
    struct collected collected = {0};
    int rc = history_find(store, options->domain, &guest, error);

    if (rc < 0)
        return rc;
    kept_span(&options->kept, &query.from_s, &query.to_s);
    query.level_s = options->level_s < 0 ? history_level(options->kept.since_s) : options->level_s;
    rc = history_points(store, &guest, &query, history_see, &collected, error);
    if (rc == -ENOMEM)
        error_set(error, rc, "out of memory");
    if (rc == 0 && collected.n == 0)
        rc = nothing(store, options, &guest, error);
    if (rc == 0)
        rc = history_refresh(store, error);
    if (rc == 0)
        rc = print(options, &guest, &query, &collected, error);
    free(collected.points);
    return rc;
}

int cmd_history(int argc, char **argv)
{
    struct options options;
    struct store *store;
    struct error error = {0};
    int rc = parse_options(&options, argc, argv);

    if (rc != 0)
        return options_exit(rc);
    rc = kept_open(&options.kept, &store, &error);
    if (rc == 0)
        rc = read_and_print(store, &options, &error);
    return kept_end(store, rc, &error);
}
