// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file cmd_curve.c  vmwss profile and vmwss grow: WSS against the window, from one marking.
 *
 * Both mark once and read again and again; touches add up. They differ in when they read: profile
 * after windows that double (wss.pl -P), grow at equal steps (wss.pl -C).
 */
#include "cli/session.h"
#include "show/curve.h"
#include "show/sample_json.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What profile and grow do differently. */
struct curve_kind {
    const char *title;
    const char *first_name; /* option for the first window, with its dashes */
    const char *last_name;  /* option for the last */
    double first_s, last_s; /* defaults */
    bool doubling;          /* windows double; else they are multiples of the first */
    struct command_options options;
};

struct options {
    struct sampling_choice sampling; /* first: see session.h */
    const struct curve_kind *kind;
    double first_s, last_s;
    bool csv;
};

#define AT(member) offsetof(struct options, member)
#define COMMON_LINES                                                                              \
    SAMPLING_GUEST, SAMPLING_METHOD("auto, @names@", sampling_names),                             \
        SAMPLING_SAMPLES("pages in the panel (2000)"),                                            \
        SAMPLING_PRECISION("as many as a 95 % interval of ± P % of the resident RAM needs"),      \
        SAMPLING_CENSUS("every page; slower to read than a short window is long"),                \
        SAMPLING_SVG("draw the curve into FILE too"),                                             \
        SAMPLING_WAIT("how long to wait while another vmwss measures the guest (0)"),             \
        SAMPLING_JSON("one JSON object, schema vmwss.sample.v1"),                                 \
        {OPTION_FLAG, 0, "csv", NULL, AT(csv), .help = "comma-separated values, with a heading"}, \
    {                                                                                             \
        .type = OPTION_END                                                                        \
    }

static const struct option_line profile_lines[] = {
    {OPTION_SECONDS, 0, "from", "S", AT(first_s), .help = "the shortest window in seconds (0.01)"},
    {OPTION_SECONDS, 0, "to", "S", AT(last_s), .help = "the longest (10.24)"},
    COMMON_LINES,
};

static const struct option_line grow_lines[] = {
    {OPTION_SECONDS, 0, "every", "S", AT(first_s),
     .help = "seconds from one reading to the next (1)"},
    {OPTION_SECONDS, 0, "duration", "S", AT(last_s), .help = "how long (20)"},
    COMMON_LINES,
};

static const char est_help[] =
    "EST is what was really measured, from the midpoint of marking to that of reading.\n";

static const struct curve_kind profile = {
    .title = "WSS over windows that double",
    .first_name = "--from",
    .last_name = "--to",
    .first_s = 0.01,
    .last_s = 10.24,
    .doubling = true,
    .options =
        {
            .usage = "Usage: vmwss profile (DOMAIN | --pid PID) [OPTIONS]\n\n"
                     "The working set over windows that double: how it depends on the window.\n",
            .lines = profile_lines,
            .after = est_help,
        },
};

static const struct curve_kind grow = {
    .title = "cumulative growth of the WSS",
    .first_name = "--every",
    .last_name = "--duration",
    .first_s = 1,
    .last_s = 20,
    .options =
        {
            .usage =
                "Usage: vmwss grow (DOMAIN | --pid PID) [OPTIONS]\n\n"
                "The cumulative growth of the working set: what was touched since the begin, step by step.\n",
            .lines = grow_lines,
            .after = est_help,
        },
};

/* As options_read(). */
static int parse_options(struct options *options, const struct curve_kind *kind, int argc,
                         char **argv)
{
    *options = (struct options){.kind = kind, .first_s = kind->first_s, .last_s = kind->last_s};
    options->sampling.prefer_panel = true;

    int rc = options_read(&kind->options, options, argc, argv);

    if (rc != 0)
        return rc;
    if (options->csv && options->sampling.json) {
        command_error("--json or --csv, not both");
        return -EINVAL;
    }
    return sampling_check(&options->sampling, argc, argv);
}

static int make_windows(struct options *options)
{
    const struct curve_kind *kind = options->kind;
    struct sampling_choice *sampling = &options->sampling;
    double window_s = options->first_s;

    sampling->n_windows = 0;
    /* A little more than the last, for sums of steps are not exact. */
    for (; window_s <= options->last_s * (1 + 1e-9); sampling->n_windows++) {
        if (sampling->n_windows == RUN_MAX_WINDOWS) {
            command_error("%s %g, %s %g: more than %d windows", kind->first_name, options->first_s,
                          kind->last_name, options->last_s, RUN_MAX_WINDOWS);
            return -EINVAL;
        }
        sampling->window_s[sampling->n_windows] = window_s;
        window_s = kind->doubling ? 2 * window_s
                                  : options->first_s * (double)(sampling->n_windows + 2);
    }
    if (sampling->n_windows > 0)
        return 0;
    command_error("%s %g is longer than %s %g", kind->first_name, options->first_s, kind->last_name,
                  options->last_s);
    return -EINVAL;
}

static int show_curve(const struct sample_record *record, const struct options *options,
                      struct error *error)
{
    const struct curve_kind *kind = options->kind;
    const char *svg = options->sampling.svg;
    int rc = 0;

    if (options->sampling.json)
        rc = sample_json_print(record);
    else if (options->csv)
        curve_csv_print(record);
    else
        curve_table_print(record);
    if (rc == 0)
        rc = command_flush(error);
    if (rc == 0 && svg)
        rc = curve_svg_write(record, kind->title, kind->doubling, svg, error);
    return rc;
}

static int measure_curve(struct session *session, const void *options, struct error *error)
{
    struct sample_record record;
    int rc = session_measure(session, &record, error);

    return rc == 0 ? show_curve(&record, options, error) : rc;
}

static int curve_run(const struct curve_kind *kind, int argc, char **argv)
{
    struct options options;
    int rc = parse_options(&options, kind, argc, argv);

    if (rc == 0)
        rc = make_windows(&options);
    if (rc != 0)
        return options_exit(rc);
    return session_run(&options.sampling, measure_curve, &options);
}

int cmd_profile(int argc, char **argv)
{
    return curve_run(&profile, argc, argv);
}

int cmd_grow(int argc, char **argv)
{
    return curve_run(&grow, argc, argv);
}
