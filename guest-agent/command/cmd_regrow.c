// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file cmd_regrow.c  vmwss-guest regrow: drops the clean page cache, and measures what comes
 * back. */
#include "base/clock.h"
#include "base/interrupt.h"
#include "base/progress.h"
#include "base/text/units.h"
#include "command/command.h"
#include "command/regrow_output.h"
#include "proc/keyed.h"
#include "regrow/drop.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* Each point takes some 130 bytes of memory, and 250 of JSON. */
#define POINTS_MAX 100000

struct options {
    struct regrow_output output;
    double duration_s;
    bool drop;
};

#define AT(member) offsetof(struct options, member)
static const struct option_line lines[] = {
    {OPTION_FLAG, 0, "drop-caches", NULL, AT(drop),
     .help = "yes, drop the clean page cache of this whole machine now"},
    {OPTION_SECONDS, 'w', "window", "S", AT(output.window_s), .help = "read every S seconds (1)"},
    {OPTION_SECONDS, 'd', "duration", "S", AT(duration_s),
     .help = "watch for so long at most (10m)"},
    {OPTION_SECONDS, 's', "settle", "S", AT(output.settle_s),
     .help = "end when the cache has not grown by 1 % within so long (30s)"},
    {OPTION_FLAG, 'j', "json", NULL, AT(output.json),
     .help = "one JSON object at the end, schema vmwss.guest_regrow.v1"},
    {.type = OPTION_END},
};
static const struct command_options command_line = {
    .usage =
        "Usage: vmwss-guest regrow --drop-caches [OPTIONS]\n\n"
        "The page cache that is really needed, by experiment: drops this machine's clean page cache, and watches how fast\n"
        "what comes back. Whatever reads files waits for the disks meanwhile. Root only; not in a container.\n",
    .lines = lines,
    .no_arguments = true,
    .after =
        "BACK is page cache of files, without tmpfs and shared memory; READ is what the disks had to deliver. What is mapped,\n"
        "dirty or locked is not dropped, and whether it is needed stays open.\n",
};

static int check_options(const struct options *options)
{
    if (options->duration_s / options->output.window_s <= POINTS_MAX)
        return 0;
    return command_refuse("--duration and --window make more than %d readings", POINTS_MAX);
}

/* Without --drop-caches, prints what it would do. */
static int say_what_would_be(const struct fsroot *root)
{
    struct regrow_reading now;
    char cache[32] = "?", dirty[32] = "?";

    if (regrow_read(root, &now, NULL) == 0) {
        show_bytes(cache, sizeof(cache), regrow_cache_bytes(&now));
        if (now.dirty_bytes != KEYED_UNKNOWN)
            show_bytes(dirty, sizeof(dirty), now.dirty_bytes);
    }
    command_error("regrow drops the clean page cache of this whole machine (of %s, all but what is "
                  "mapped, dirty (%s) or locked), and what reads files then waits for the disks "
                  "until it is back: add --drop-caches to do it",
                  cache, dirty);
    return EXIT_USAGE;
}

static int add_point(const struct fsroot *root, uint64_t began_ns, struct regrow_curve *curve,
                     struct error *error)
{
    struct regrow_point point = {.after_s = (double)(clock_ns() - began_ns) / 1e9,
                                 .unix_s = clock_s(CLOCK_REALTIME)};
    int rc = regrow_read(root, &point.reading, error);

    if (rc == 0 && regrow_curve_add(curve, &point) < 0)
        rc = error_set(error, -ENOMEM, "out of memory");
    return rc;
}

/* Waits until the next whole window since the drop, or the end. */
static bool wait_for_window(const struct options *options, uint64_t began_ns)
{
    double elapsed_s = (double)(clock_ns() - began_ns) / 1e9;
    double next_s = (floor(elapsed_s / options->output.window_s) + 1) * options->output.window_s;

    return interrupt_wait(began_ns + (uint64_t)(fmin(next_s, options->duration_s) * 1e9),
                          "waiting for the next reading");
}

/* A table shows the progress itself. */
static void show_progress(const struct options *options, double elapsed_s,
                          struct progress *progress)
{
    if (options->output.json)
        progress_draw(elapsed_s, options->duration_s, progress);
}

static int watch_growth(const struct fsroot *root, const struct options *options, uint64_t began_ns,
                        struct regrow_curve *curve, enum regrow_end *end, struct error *error)
{
    struct progress progress;
    int rc = 0;

    progress_init(&progress, "what comes back");
    *end = REGROW_TIME;
    while (rc == 0 && curve->point[curve->n - 1].after_s < options->duration_s) {
        if (!wait_for_window(options, began_ns)) {
            *end = REGROW_INTERRUPTED;
            break;
        }
        rc = add_point(root, began_ns, curve, error);
        if (rc < 0)
            break;
        regrow_output_point(&options->output, curve);
        show_progress(options, curve->point[curve->n - 1].after_s, &progress);
        if (regrow_settled(curve, options->output.settle_s)) {
            *end = REGROW_SETTLED;
            break;
        }
    }
    progress_clear(&progress);
    return rc;
}

/* If watching fails later, the readings so far are still shown. */
static int drop_and_watch(const struct fsroot *root, const struct options *options,
                          struct regrow_curve *curve, struct error *error)
{
    enum regrow_end end;
    uint64_t began_ns = clock_ns();
    int rc = interrupted ? -EINTR : drop_clean_caches(root, error);

    if (rc == 0)
        rc = add_point(root, began_ns, curve, error);
    if (rc < 0)
        return rc;
    regrow_output_begin(&options->output, curve);
    rc = watch_growth(root, options, began_ns, curve, &end, error);
    if (regrow_output_end(&options->output, curve, end) < 0 && rc == 0)
        rc = error_set(error, -ENOMEM, "out of memory");
    return rc == 0 && end == REGROW_INTERRUPTED ? -EINTR : rc;
}

static int regrow(const struct fsroot *root, void *at, char **operands, struct error *error)
{
    const struct options *options = at;
    struct regrow_curve curve = {0};
    int rc = options->drop ? drop_allowed(root, error) : 0;

    (void)operands;
    if (!options->drop)
        return say_what_would_be(root);
    if (rc == 0)
        rc = regrow_read(root, &curve.before, error);
    if (rc == 0) {
        interrupt_catch();
        rc = drop_and_watch(root, options, &curve, error);
    }
    regrow_curve_free(&curve);
    return rc;
}

int cmd_regrow(int argc, char **argv)
{
    struct options options = {.output = {.window_s = 1, .settle_s = 30}, .duration_s = 600};
    int rc = options_read(&command_line, &options, argc, argv);

    if (rc == 0)
        rc = check_options(&options);
    return rc != 0 ? options_exit(rc) : command_on_root(&options, NULL, regrow);
}
