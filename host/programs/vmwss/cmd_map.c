// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file cmd_map.c  vmwss map: one measurement, or several one after the other, by guest-physical
 * addresses. */
#include "guest/ram/gpa.h"
#include "programs/vmwss/map_over.h"
#include "programs/vmwss/sampling.h"
#include "show/ram_map.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* Chunks of a map for scripts, unless --chunk is given. */
#define DEFAULT_CHUNKS 256
#define DEFAULT_PERIODS 40

static const double default_windows[] = {1, 2, 5, 10};

struct options {
    struct sampling_choice sampling; /* must be first: see session.h */
    uint64_t chunk_bytes;            /* 0: not given */
    double over_s;                   /* 0: not given */
    bool csv;
};

#define AT(member) offsetof(struct options, member)

static const struct option_line lines[] = {
    SAMPLING_GUEST,
    SAMPLING_WINDOWS("windows in seconds (1,2,5,10); with --over, the length of a period"),
    {OPTION_SECONDS, 0, "over", "S", AT(over_s),
     .help = "follow the guest for that time, as in 10m, and show a line for each period (a\n"
             "fortieth of that time, at least 1 s)"},
    {OPTION_SIZE, 0, "chunk", "SIZE", AT(chunk_bytes),
     .help = "the memory that a character, or a line of --csv, stands for: a multiple of 4K\n"
             "(so that all RAM fits into one line; with --csv and --json 256 chunks)",
     .expect = "a size, as in 2M"},
    {OPTION_FLAG, 0, "writes", NULL, SAMPLING_AT(watch_writes),
     .help =
         "also see which pages are written: how much of each region's working set is only read"},
    SAMPLING_METHOD("auto, @names@: a method that sees single pages (auto)",
                    sampling_names_following),
    SAMPLING_CENSUS("sample every page (the default up to 1 GiB of RAM, except for zap)"),
    SAMPLING_SAMPLES("a panel of N pages chosen at random (2000)"),
    SAMPLING_SVG("also draw the map, as SVG"),
    SAMPLING_WAIT("how long to wait while another vmwss measures the guest (0)"),
    {OPTION_FLAG, 0, "csv", NULL, AT(csv),
     .help = "comma-separated values, with a heading; with --over after each period"},
    SAMPLING_JSON("one JSON object, schema vmwss.map.v1; with --over one for each period"),
    {.type = OPTION_END},
};

/* Checks the length of a period, or the windows of a single measurement. */
static int check_windows(struct options *options)
{
    struct sampling_choice *sampling = &options->sampling;

    if (options->over_s == 0) {
        if (sampling->n_windows == 0) {
            sampling->n_windows = COUNT(default_windows);
            memcpy(sampling->window_s, default_windows, sizeof(default_windows));
        }
        return 0;
    }
    if (sampling->n_windows == 0) {
        sampling->n_windows = 1;
        sampling->window_s[0] = fmax(1, options->over_s / DEFAULT_PERIODS);
    }
    if (sampling->n_windows > 1)
        return command_refuse("--over takes one --window, the length of a period");
    if (options->over_s / sampling->window_s[0] > MAP_OVER_MAX_PERIODS)
        return command_refuse("--over has more than %d periods: choose a longer --window",
                              MAP_OVER_MAX_PERIODS);
    sampling->same_pages = true;
    return 0;
}

static int check_options(void *base, int argc, char **argv)
{
    struct options *options = base;

    if (check_windows(options) < 0)
        return -EINVAL;
    if (sampling_check(&options->sampling, argc, argv) < 0)
        return -EINVAL;
    if (options->sampling.watch_writes && (options->over_s > 0 || options->csv))
        return command_refuse("--writes is about regions and one measurement: no --csv, no --over");
    if (options->csv && options->sampling.json)
        return command_refuse("--json or --csv, not both");
    if (options->chunk_bytes % base_page_bytes())
        return command_refuse("--chunk %llu: expected a multiple of %llu",
                              (unsigned long long)options->chunk_bytes,
                              (unsigned long long)base_page_bytes());
    return 0;
}

static const struct command_options command_options = {
    .usage =
        "Usage: vmwss map (DOMAIN | --pid PID) [OPTIONS]\n\n"
        "Shows which guest-physical addresses were touched within each window, as a picture or as numbers.\n",
    .lines = lines,
    .check = check_options,
};

/* --- measuring -------------------------------------------------------------------------------- */

struct mapping {
    const struct session *session;
    const struct options *options;
    struct map_style style;
    struct ram_map map;
    struct write_watch writes;
    int rc;             /* result of making the map */
    uint64_t shown;     /* number of maps shown */
    struct sheet sheet; /* JSON or CSV, once one was shown */
};

static bool is_picture(const struct options *options)
{
    return !options->csv && !options->sampling.json;
}

/* An unknown layout is no reason to show nothing: then the map has offsets. */
static const struct gpa_layout *find_layout(const struct mapping *mapping,
                                            const struct guest_ram *ram, struct gpa_layout *layout)
{
    const struct session *session = mapping->session;
    struct error why = {0};

    if (gpa_layout_deduce(&session->root, &session->subject.guest.process, ram, layout, &why) == 0)
        return layout;
    if (mapping->shown == 0)
        command_error("addresses are not known: %s", why.text);
    return NULL;
}

static int make_map(struct mapping *mapping, const struct guest_ram *ram)
{
    const struct options *options = mapping->options;
    struct gpa_layout deduced;
    const struct gpa_layout *layout = find_layout(mapping, ram, &deduced);
    const size_t max = is_picture(options) ? map_cells(&mapping->style) : DEFAULT_CHUNKS;
    uint64_t chunk_bytes = options->chunk_bytes ? options->chunk_bytes
                                                : ram_map_chunk_bytes(ram, layout, max);

    return ram_map_make(&mapping->map, ram, layout, chunk_bytes, options->sampling.n_windows);
}

/* Uses the RAM of the measurement, which may have changed since the guest was opened. */
static void count_window(const struct page_set *set, size_t window, void *context)
{
    struct mapping *mapping = context;

    if (window == 0) {
        ram_map_free(&mapping->map); /* the map of a period that could not be measured */
        mapping->rc = make_map(mapping, set->ram);
    }
    if (mapping->rc < 0)
        return;
    ram_map_count(&mapping->map, set, window);
    if (mapping->options->sampling.watch_writes)
        mapping->rc = ram_map_count_writes(&mapping->map, set, &mapping->writes, window);
}

/* If two things failed, the caller reports the first. */
static int also_failed(int rc, const struct error *why, struct error *error)
{
    if (rc == 0) {
        *error = *why;
        return why->code;
    }
    if (why->code != -EPIPE) /* a closed output is not worth a message */
        command_error("%s", why->text);
    return rc;
}

static int print_map(struct mapping *mapping, const struct ram_map *map,
                     const struct sample_record *record, struct error *error)
{
    const struct options *options = mapping->options;

    if (mapping->shown++ == 0)
        ram_map_begin(&mapping->sheet, options->csv ? SHOW_CSV : SHOW_JSON, options->over_s > 0);
    return ram_map_fill(&mapping->sheet, map, record) < 0
               ? error_set(error, -ENOMEM, "out of memory")
               : command_flush(error);
}

static int show_map(struct mapping *mapping, const struct sample_record *record,
                    struct error *error)
{
    const struct options *options = mapping->options;
    struct error why = {0};
    int rc;

    if (is_picture(options)) {
        ram_map_print(&mapping->map, record, &mapping->style);
        rc = ram_map_print_read_mostly(&mapping->map, record);
        rc = rc < 0 ? error_set(error, rc, "out of memory") : command_flush(error);
    } else {
        rc = print_map(mapping, &mapping->map, record, error);
    }
    if (options->sampling.svg &&
        ram_map_svg_write(&mapping->map, record, options->sampling.svg, &why) < 0)
        rc = also_failed(rc, &why, error);
    return rc;
}

static int too_many_chunks(const struct mapping *mapping, struct error *error)
{
    return error_set(error, -E2BIG, "--chunk %llu makes more than %u chunks: choose a larger one",
                     (unsigned long long)mapping->options->chunk_bytes, RAM_MAP_MAX_CHUNKS);
}

static int check_map(const struct mapping *mapping, struct error *error)
{
    if (mapping->rc == -E2BIG)
        return too_many_chunks(mapping, error);
    return mapping->rc < 0 ? error_set(error, mapping->rc, "out of memory") : 0;
}

/* --- periods ---------------------------------------------------------------------------------- */

static int take_map(void *context, struct ram_map *map, struct error *error)
{
    struct mapping *mapping = context;
    int rc = check_map(mapping, error);

    if (rc < 0)
        return rc;
    *map = mapping->map;
    mapping->map = (struct ram_map){0};
    return 0;
}

static int show_period(void *context, const struct ram_map *map, const struct sample_record *record,
                       struct error *error)
{
    struct mapping *mapping = context;

    if (!is_picture(mapping->options))
        return print_map(mapping, map, record, error);
    mapping->shown++;
    return command_flush(error);
}

static int print_series(const struct mapping *mapping, const struct map_series *series,
                        struct error *error)
{
    return map_series_print(series, &mapping->style) < 0
               ? error_set(error, -ENOMEM, "out of memory")
               : command_flush(error);
}

/* Shows the periods seen so far, even if the measurement ended with the error @p rc. */
static int show_series(const struct mapping *mapping, const struct map_series *series, int rc,
                       struct error *error)
{
    const struct options *options = mapping->options;
    struct error why = {0};

    if (series->n == 0)
        return rc;
    if (is_picture(options) && print_series(mapping, series, &why) < 0)
        rc = also_failed(rc, &why, error);
    if (options->sampling.svg && map_series_svg_write(series, options->sampling.svg, &why) < 0)
        rc = also_failed(rc, &why, error);
    return rc;
}

static int follow_map(struct session *session, struct mapping *mapping, struct error *error)
{
    const struct options *options = mapping->options;
    const bool kept = options->sampling.svg || is_picture(options);
    struct map_series series = {0};
    struct map_over over = {
        .session = session,
        .over_s = options->over_s,
        .take = take_map,
        .show = show_period,
        .context = mapping,
        .series = kept ? &series : NULL,
    };
    int rc = show_series(mapping, &series, map_over_run(&over, error), error);

    map_series_free(&series);
    return rc;
}

/* --- one -------------------------------------------------------------------------------------- */

static int measure_once(struct session *session, struct mapping *mapping, struct error *error)
{
    struct sample_record record;
    int rc = session_measure(session, &record, error);

    if (rc == 0)
        rc = check_map(mapping, error);
    return rc == 0 ? show_map(mapping, &record, error) : rc;
}

static int measure_map(struct session *session, struct mapping *mapping, struct error *error)
{
    const uint64_t chunk_bytes = mapping->options->chunk_bytes;
    int rc;

    if (chunk_bytes && session->subject.ram.bytes / chunk_bytes > RAM_MAP_MAX_CHUNKS)
        return too_many_chunks(mapping, error); /* refuse before pages are marked in vain */

    rc = sampling_needs_pages(session, error);
    if (rc < 0)
        return rc;
    if (mapping->options->sampling.watch_writes)
        session->plan.writes = &mapping->writes;
    session->plan.collected = count_window;
    session->plan.collected_context = mapping;
    return mapping->options->over_s > 0 ? follow_map(session, mapping, error)
                                        : measure_once(session, mapping, error);
}

static int measure_and_show(struct session *session, const void *context, struct error *error)
{
    struct mapping mapping = {
        .session = session, .options = context, .style = map_style_of_output()};
    int rc = measure_map(session, &mapping, error);

    ram_map_free(&mapping.map);
    sheet_free(&mapping.sheet);
    return rc;
}

int cmd_map(int argc, char **argv)
{
    struct options options = {.sampling = {.pages = true}};
    int rc = options_read(&command_options, &options, argc, argv);

    if (rc != 0)
        return options_exit(rc);
    return sampling_run(&options.sampling, measure_and_show, &options);
}
