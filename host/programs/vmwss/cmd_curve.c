// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file cmd_curve.c  vmwss profile and vmwss grow: WSS against the window, from one marking.
 *
 * Both mark once and read again and again; touches add up. They differ in when they read: profile
 * after windows that double (wss.pl -P), grow at equal steps (wss.pl -C). Several guests are
 * measured at the same time, each by its own process, which writes its records into shared memory;
 * the output covers all of them.
 */
#include "base/cleanup.h"
#include "programs/vmwss/sampling.h"
#include "programs/vmwss/several.h"
#include "show/chart.h"
#include "show/curve.h"
#include "show/sample_json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define MAX_COUNT 1000

/* The differences between profile and grow. */
struct curve_kind {
    const char *title, *write_title;
    const char *first_name; /* name of the option for the first window, with its dashes */
    const char *last_name;  /* name of the option for the last window */
    double first_s, last_s; /* defaults */
    /* each window is twice the one before; otherwise windows are multiples of the first */
    bool doubling;
    struct command_options options;
};

struct curve {
    bool whole; /* the record is complete */
    struct sample_record record;
};

struct options {
    struct sampling_choice sampling; /* must be first: see session.h */
    const struct curve_kind *kind;
    double first_s, last_s;
    bool csv;
    uint64_t count;   /* number of measurements, one after the other */
    char **domains;   /* names of several guests */
    size_t n_domains; /* 0: one guest, in .sampling */
    /* .count for each guest, in the order of the names; shared with the processes that measure */
    struct curve *curves;
    size_t n_curves;
};

#define AT(member) offsetof(struct options, member)
static const struct option_line common_lines[] = {
    SAMPLING_GUEST,
    SAMPLING_METHOD("auto, @names@", sampling_names),
    SAMPLING_SAMPLES("pages in the panel (2000)"),
    SAMPLING_PRECISION("as many pages as a 95 % interval of ± P % of the resident RAM needs"),
    SAMPLING_CENSUS("read every page, which takes longer than a short window"),
    SAMPLING_SVG("also draw up to 8 curves, as SVG"),
    {OPTION_COUNT, 'k', "count", "N", AT(count), .help = "measure N times, one after the other (1)",
     1, MAX_COUNT, "a whole number, 1 to 1000"},
    SAMPLING_WAIT("how long to wait while another vmwss measures the guest (0)"),
    SAMPLING_JSON("one JSON object, schema vmwss.sample.v1"),
    {OPTION_FLAG, 0, "csv", NULL, AT(csv), .help = "comma-separated values, with a heading"},
    {.type = OPTION_END},
};
static const struct option_line profile_lines[] = {
    {OPTION_SECONDS, 0, "from", "S", AT(first_s), .help = "the shortest window in seconds (0.01)"},
    {OPTION_SECONDS, 0, "to", "S", AT(last_s), .help = "the longest window in seconds (10.24)"},
    {OPTION_FLAG, 0, "writes", NULL, SAMPLING_AT(writes),
     .help = "the write working set instead: the bytes written at least once within each window"},
    {OPTION_TABLE, .lines = common_lines},
    {.type = OPTION_END},
};

static const struct option_line grow_lines[] = {
    {OPTION_SECONDS, 0, "every", "S", AT(first_s), .help = "seconds between two readings (1)"},
    {OPTION_SECONDS, 0, "duration", "S", AT(last_s),
     .help = "how long to measure, in seconds (20)"},
    {OPTION_TABLE, .lines = common_lines},
    {.type = OPTION_END},
};

static const char est_help[] =
    "EST is the window as measured, from the midpoint of marking to the midpoint of reading.\n";

static const struct curve_kind profile = {
    .title = "WSS over windows that double",
    .write_title = "write working set over windows that double",
    .first_name = "--from",
    .last_name = "--to",
    .first_s = 0.01,
    .last_s = 10.24,
    .doubling = true,
    .options =
        {
            .usage =
                "Usage: vmwss profile (DOMAIN... | --pid PID) [OPTIONS]\n\n"
                "Measures how the working set depends on the window, over windows that double.\n",
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
                "Usage: vmwss grow (DOMAIN... | --pid PID) [OPTIONS]\n\n"
                "Measures how the working set grows: the memory touched since the beginning, at each reading.\n",
            .lines = grow_lines,
            .after = est_help,
        },
};

/* The names of several guests go into options->domains; the checks are those for one guest. */
static int check_guests(struct options *options, int argc, char **argv)
{
    const size_t n = argc - optind > 1 ? (size_t)(argc - optind) : 1;

    if (n > 1) {
        options->domains = argv + optind;
        options->n_domains = n;
        argc = optind + 1;
    }
    if (options->sampling.svg && n * options->count > CHART_CURVES)
        return command_refuse("--svg: %zu curves; one picture has room for %d", n * options->count,
                              CHART_CURVES);
    return sampling_check(&options->sampling, argc, argv);
}

/* As options_read(). */
static int parse_options(struct options *options, const struct curve_kind *kind, int argc,
                         char **argv)
{
    *options = (struct options){
        .kind = kind, .first_s = kind->first_s, .last_s = kind->last_s, .count = 1};
    options->sampling.prefer_panel = true;

    int rc = options_read(&kind->options, options, argc, argv);

    if (rc != 0)
        return rc;
    if (options->csv && options->sampling.json)
        return command_refuse("--json or --csv, not both");
    return check_guests(options, argc, argv);
}

static int make_windows(struct options *options)
{
    const struct curve_kind *kind = options->kind;
    struct sampling_choice *sampling = &options->sampling;
    double window_s = options->first_s;

    sampling->n_windows = 0;
    /* Slightly more than the last window, because sums of steps are not exact. */
    for (; window_s <= options->last_s * (1 + 1e-9); sampling->n_windows++) {
        if (sampling->n_windows == RUN_MAX_WINDOWS)
            return command_refuse("%s %g, %s %g: more than %d windows", kind->first_name,
                                  options->first_s, kind->last_name, options->last_s,
                                  RUN_MAX_WINDOWS);
        sampling->window_s[sampling->n_windows] = window_s;
        window_s = kind->doubling ? 2 * window_s
                                  : options->first_s * (double)(sampling->n_windows + 2);
    }
    if (sampling->n_windows > 0)
        return 0;
    return command_refuse("%s %g is longer than %s %g", kind->first_name, options->first_s,
                          kind->last_name, options->last_s);
}

static int print_curves(const struct sample_record *const *records, size_t n,
                        const struct options *options)
{
    int rc = 0;

    if (options->csv)
        return curve_print(records, n, SHOW_CSV);
    for (size_t i = 0; rc == 0 && i < n; i++)
        rc = options->sampling.json ? sample_json_print(records[i])
                                    : curve_print(&records[i], 1, SHOW_TABLE);
    return rc;
}

/* Shows the curves that were measured, even if others were not. */
static int show_curves(const struct options *options, struct error *error)
{
    const struct curve_kind *kind = options->kind;
    cleanup_free const struct sample_record **records = calloc(options->n_curves,
                                                               sizeof(const void *));
    size_t n = 0;

    if (!records)
        return error_set(error, -ENOMEM, "out of memory");
    for (size_t i = 0; i < options->n_curves; i++)
        if (options->curves[i].whole)
            records[n++] = &options->curves[i].record;

    int rc = n > 0 ? print_curves(records, n, options) : 0;

    if (rc == 0)
        rc = command_flush(error);
    if (rc == 0 && n > 0 && options->sampling.svg)
        rc = curve_svg_write(records, n, options->sampling.writes ? kind->write_title : kind->title,
                             kind->doubling, options->sampling.svg, error);
    return rc;
}

/* Measures one guest's part of the curves. */
static int measure_curves(struct session *session, const void *context, struct error *error)
{
    const struct options *options = context;
    int rc = 0;

    for (uint64_t i = 0; rc == 0 && i < options->count; i++) {
        struct curve *curve = &options->curves[i];

        rc = session_measure(session, &curve->record, error);
        curve->whole = rc == 0;
    }
    return rc;
}

static size_t place_of(const struct options *options, const char *name)
{
    size_t i = 0;

    while (options->domains[i] != name)
        i++;
    return i;
}

static int measure_one(const char *name, void *context)
{
    struct options options = *(struct options *)context;

    options.curves += place_of(&options, name) * options.count;
    options.sampling.guest.domain = name;
    options.sampling.quiet = true;
    return sampling_run(&options.sampling, measure_curves, &options);
}

static int measure_all(struct options *options)
{
    return options->n_domains > 0
               ? several_run(options->domains, options->n_domains,
                             several_in_turn(options->sampling.guest.uri), measure_one, options)
               : sampling_run(&options->sampling, measure_curves, options);
}

static int curves_run(struct options *options)
{
    const size_t guests = options->n_domains > 0 ? options->n_domains : 1;
    struct error error = {0};
    int code;

    options->n_curves = guests * options->count;
    options->curves = mmap(NULL, options->n_curves * sizeof(*options->curves),
                           PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (options->curves == MAP_FAILED) {
        command_error("mmap: %s", strerror(errno));
        return EXIT_CANNOT;
    }
    code = measure_all(options);
    if (show_curves(options, &error) < 0) {
        const int failed = command_cannot(&error);

        code = code == EXIT_DONE ? failed : code;
    }
    munmap(options->curves, options->n_curves * sizeof(*options->curves));
    return code;
}

static int curve_run(const struct curve_kind *kind, int argc, char **argv)
{
    struct options options;
    int rc = parse_options(&options, kind, argc, argv);

    if (rc == 0)
        rc = make_windows(&options);
    if (rc == 0)
        rc = sampling_check_writes(&options.sampling);
    return rc != 0 ? options_exit(rc) : curves_run(&options);
}

int cmd_profile(int argc, char **argv)
{
    return curve_run(&profile, argc, argv);
}

int cmd_grow(int argc, char **argv)
{
    return curve_run(&grow, argc, argv);
}
