// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file cmd_map.c  vmwss map: one measurement, by guest-physical addresses. */
#include "cli/session.h"
#include "guest_ram/gpa.h"
#include "show/ram_map.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Of a map for scripts, unless --chunk says otherwise. */
#define DEFAULT_CHUNKS 256

struct options {
    struct sampling_choice sampling; /* first: see session.h */
    uint64_t chunk_bytes;            /* 0: not given */
    bool csv;
};

#define AT(member) offsetof(struct options, member)

static const struct option_line lines[] = {
    SAMPLING_GUEST,
    SAMPLING_WINDOWS("windows in seconds (1,2,5,10)"),
    {OPTION_SIZE, 0, "chunk", "SIZE", AT(chunk_bytes),
     .help = "how much each character, or line of --csv, stands for: a multiple of 4K\n"
             "(as much as makes one line of all RAM; with --csv and --json 256 chunks)",
     .expect = "a size, as in 2M"},
    SAMPLING_METHOD("auto, @followers@: one that sees single pages"),
    SAMPLING_CENSUS("look at every page (the default up to 1 GiB of RAM, but for zap)"),
    SAMPLING_SAMPLES("a panel of N pages chosen at random (2000)"),
    SAMPLING_SVG("draw the map into FILE too"),
    SAMPLING_WAIT("how long to wait while another vmwss measures the guest (0)"),
    {OPTION_FLAG, 0, "csv", NULL, AT(csv), .help = "comma-separated values, with a heading"},
    SAMPLING_JSON("one JSON object, schema vmwss.map.v1"),
    {.type = OPTION_END},
};

static const struct command_options command_options = {
    .usage =
        "Usage: vmwss map (DOMAIN | --pid PID) [OPTIONS]\n\n"
        "Which guest-physical addresses were touched within each window, as a picture or in figures.\n",
    .lines = lines,
};

static int check_options(struct options *options, int argc, char **argv)
{
    if (sampling_check(&options->sampling, argc, argv) < 0)
        return -EINVAL;
    if (options->csv && options->sampling.json) {
        command_error("--json or --csv, not both");
        return -EINVAL;
    }
    if (options->chunk_bytes % BASE_PAGE_BYTES) {
        command_error("--chunk %llu: expected a multiple of 4096",
                      (unsigned long long)options->chunk_bytes);
        return -EINVAL;
    }
    return 0;
}

/* As options_read(). */
static int parse_options(struct options *options, int argc, char **argv)
{
    *options = (struct options){
        .sampling = {.n_windows = 4, .window_s = {1, 2, 5, 10}, .pages = true}};

    int rc = options_read(&command_options, options, argc, argv);

    return rc == 0 ? check_options(options, argc, argv) : rc;
}

/* --- measuring -------------------------------------------------------------------------------- */

struct mapping {
    const struct session *session;
    const struct options *options;
    struct map_style style;
    struct ram_map map;
    int rc; /* of making it */
};

/* A layout that is not known is no reason to show nothing: then there are offsets. */
static const struct gpa_layout *find_layout(const struct mapping *mapping,
                                            const struct guest_ram *ram, struct gpa_layout *layout)
{
    const struct session *session = mapping->session;
    struct error why = {0};

    if (gpa_layout_deduce(&session->root, &session->subject.guest.process, ram, layout, &why) == 0)
        return layout;
    command_error("addresses are not known: %s", why.text);
    return NULL;
}

static int make_map(struct mapping *mapping, const struct guest_ram *ram)
{
    const struct options *options = mapping->options;
    const bool picture = !options->csv && !options->sampling.json;
    struct gpa_layout deduced;
    const struct gpa_layout *layout = find_layout(mapping, ram, &deduced);
    const size_t max = picture ? map_cells(&mapping->style) : DEFAULT_CHUNKS;
    uint64_t chunk_bytes = options->chunk_bytes ? options->chunk_bytes
                                                : ram_map_chunk_bytes(ram, layout, max);

    return ram_map_make(&mapping->map, ram, layout, chunk_bytes, options->sampling.n_windows);
}

/* The RAM is that of the measurement, which may have changed since the guest was opened. */
static void count(const struct page_set *set, size_t window, void *context)
{
    struct mapping *mapping = context;

    if (window == 0)
        mapping->rc = make_map(mapping, set->ram);
    if (mapping->rc == 0)
        ram_map_count(&mapping->map, set, window);
}

static int show(const struct mapping *mapping, const struct sample_record *record,
                struct error *error)
{
    const struct options *options = mapping->options;
    int rc = 0;

    if (options->sampling.json)
        rc = ram_map_json_print(&mapping->map, record);
    else if (options->csv)
        ram_map_csv_print(&mapping->map, record);
    else
        ram_map_print(&mapping->map, record, &mapping->style);
    if (rc == 0)
        rc = command_flush(error);
    if (rc == 0 && options->sampling.svg)
        rc = ram_map_svg_write(&mapping->map, record, options->sampling.svg, error);
    return rc;
}

static int too_many_chunks(const struct mapping *mapping, struct error *error)
{
    return error_set(error, -E2BIG, "--chunk %llu makes more than %u chunks: choose a larger one",
                     (unsigned long long)mapping->options->chunk_bytes, RAM_MAP_MAX_CHUNKS);
}

static int measure(struct session *session, struct mapping *mapping, struct error *error)
{
    const uint64_t chunk_bytes = mapping->options->chunk_bytes;
    struct sample_record record;
    int rc;

    if (chunk_bytes && session->subject.ram.bytes / chunk_bytes > RAM_MAP_MAX_CHUNKS)
        return too_many_chunks(mapping, error); /* before pages are marked for nothing */

    if (!session->plan.method->needs_pages)
        return error_set(error, -ENOTSUP,
                         "%s counts touches without telling where: choose one of "
                         "idle, damon, zap, pageout",
                         session->plan.method->name);
    session->plan.collected = count;
    session->plan.collected_context = mapping;
    rc = session_measure(session, &record, error);
    if (rc == 0 && mapping->rc == -E2BIG)
        rc = too_many_chunks(mapping, error);
    else if (rc == 0 && mapping->rc < 0)
        rc = error_set(error, mapping->rc, "out of memory");
    return rc == 0 ? show(mapping, &record, error) : rc;
}

static int work(struct session *session, const void *context, struct error *error)
{
    struct mapping mapping = {
        .session = session, .options = context, .style = map_style_of_output()};
    int rc = measure(session, &mapping, error);

    ram_map_free(&mapping.map);
    return rc;
}

int cmd_map(int argc, char **argv)
{
    struct options options;
    int rc = parse_options(&options, argc, argv);

    if (rc != 0)
        return options_exit(rc);
    return session_run(&options.sampling, work, &options);
}
