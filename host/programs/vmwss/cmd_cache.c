// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file cmd_cache.c  vmwss cache: shows whether the memory that a guest touches fits into the
 * last-level cache. */
#include "base/clock.h"
#include "base/interrupt.h"
#include "base/progress.h"
#include "programs/vmwss/cli.h"
#include "show/cache.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

struct options {
    struct guest_choice guest;
    double window_s;
    bool json;
};

static const struct option_line lines[] = {
    OPTION_PID(offsetof(struct options, guest)),
    OPTION_CONNECT(offsetof(struct options, guest)),
    {OPTION_SECONDS, 'w', "window", "S", offsetof(struct options, window_s),
     .help = "the window, in seconds (10)"},
    {OPTION_FLAG, 'j', "json", NULL, offsetof(struct options, json),
     .help = "one JSON object, schema vmwss.cache.v1"},
    {.type = OPTION_END},
};

static int check_options(void *base, int argc, char **argv)
{
    struct options *options = base;
    int rc = guest_choice_take(&options->guest, argc, argv, "cache");

    if (rc == 0 && !options->guest.domain && !options->guest.pid)
        return command_refuse("name a DOMAIN or a --pid; see vmwss cache --help");
    return rc;
}

static const struct command_options command_options = {
    .usage =
        "Usage: vmwss cache (DOMAIN | --pid PID) [OPTIONS]\n\n"
        "Counts how the vCPUs of a KVM guest use the last-level cache: references and misses in guest mode\n"
        "(perf), occupancy and memory bandwidth (resctrl). Tells whether the memory that the guest touches\n"
        "is larger than the cache, if the counts show it.\n",
    .lines = lines,
    .check = check_options,
    .after = "Exit status: 0 measured, 1 usage, 2 refused, 3 the guest ended, 130 interrupted.\n",
};

struct waiting {
    struct progress progress;
    double window_s;
};

static void draw(double elapsed_s, void *context)
{
    struct waiting *waiting = context;

    progress_draw(elapsed_s, waiting->window_s, &waiting->progress);
}

static int show_result(const struct options *options, const struct guest *guest,
                       const struct cache_result *result, struct error *error)
{
    struct cache_report report = {
        .domain = guest->name,
        .uuid = guest->uuid,
        .pid = guest->process.pid,
        .result = result,
        .cpu_s = own_cpu_s(),
    };
    int rc;

    gethostname(report.host, sizeof(report.host) - 1);
    rc = cache_print(&report, options->json ? SHOW_JSON : SHOW_TABLE);
    return rc < 0 ? error_set(error, rc, "out of memory") : command_flush(error);
}

static int measure_guest(const struct options *options, const struct fsroot *root,
                         const struct guest *guest, struct error *error)
{
    struct waiting waiting = {.window_s = options->window_s};
    const struct cache_plan plan = {.window_s = options->window_s,
                                    .interrupted = &interrupted,
                                    .tick = draw,
                                    .context = &waiting};
    struct cache_result result;
    int rc;

    progress_init(&waiting.progress, "cache");
    rc = cache_measure(root, &guest->process, &plan, &result, error);
    progress_clear(&waiting.progress);
    return rc < 0 ? rc : show_result(options, guest, &result, error);
}

/* A guest that never existed has not vanished. */
static int run(const struct options *options)
{
    cleanup_root struct fsroot root;
    struct error error = {0};
    struct guest guest;
    int rc = fsroot_open_host(&root, &error);

    if (rc == 0)
        rc = guest_choice_open(&options->guest, &root, &guest, &error);
    if (rc < 0)
        return command_cannot(&error);
    rc = measure_guest(options, &root, &guest, &error);

    guest_close(&guest);
    if (rc == -ESRCH) {
        command_error("%s", error.text);
        return EXIT_VANISHED;
    }
    return command_end(rc, &error);
}

int cmd_cache(int argc, char **argv)
{
    struct options options = {.window_s = 10};
    int rc = options_read(&command_options, &options, argc, argv);

    if (rc != 0)
        return options_exit(rc);
    interrupt_catch();
    return run(&options);
}
