// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file cmd_cgroups.c  vmwss cgroups: measures the memory that control groups touch within a
 * window. */
#include "base/clock.h"
#include "base/debug.h"
#include "base/interrupt.h"
#include "base/progress.h"
#include "base/utf8.h"
#include "measure/ageing.h"
#include "measure/method/tlb_flush.h"
#include "measure/record/disturbance.h"
#include "programs/vmwss/cgroup_guests.h"
#include "programs/vmwss/cli.h"
#include "show/cgroups.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define DEFAULT_SAMPLES 2000
#define SLICE_MS 100

struct options {
    double window_s;
    double wait_s;
    uint64_t samples, top;
    const char *path;
    bool census, kinds;
    enum show_format format;
};

#define AT(member) offsetof(struct options, member)

static const struct option_line lines[] = {
    {OPTION_SECONDS, 'w', "window", "S", AT(window_s), .help = "the window, in seconds (10)"},
    {OPTION_COUNT, 'n', "samples", "N", AT(samples),
     .help = "mark N page frames of each kind of memory of each group (2000)", 1, 10000000,
     "a number of page frames, 1 to 10000000"},
    {OPTION_FLAG, 0, "census", NULL, AT(census), .help = "mark every page frame of the groups"},
    {OPTION_FLAG, 0, "kinds", NULL, AT(kinds),
     .help = "show a line for each kind: guest RAM, anonymous, shared memory, page cache"},
    {OPTION_COUNT, 0, "top", "N", AT(top), .help = "show only the N groups that touch most", 1,
     1000000, "a number of groups"},
    {OPTION_SECONDS, 0, "wait", "S", AT(wait_s),
     .help = "how long to wait while another vmwss measures a guest (0)"},
    FORMAT_CSV(AT(format)),
    FORMAT_JSON(AT(format), "one JSON object, schema vmwss.cgroups.v1"),
    {.type = OPTION_END},
};

static int check_path(const char *path)
{
    if (*path == '/' && !strstr(path, "/../") && strlen(path) < 4000)
        return 0;
    return command_bad_value("PATH", path, "a control group, as in /machine.slice");
}

static int check_options(void *base, int argc, char **argv)
{
    struct options *options = base;

    if (optind < argc)
        options->path = argv[optind++];
    if (optind < argc)
        return command_refuse("name at most one PATH: '%s' is one too many", argv[optind]);
    if (options->census)
        options->samples = UINT64_MAX;
    return check_path(options->path);
}

static const struct command_options command_options = {
    .usage =
        "Usage: vmwss cgroups [PATH] [OPTIONS]\n\n"
        "Shows how much memory each control group (at and below PATH) touches within a window, "
        "by page_idle.\n",
    .lines = lines,
    .check = check_options,
};

/* --- measuring -------------------------------------------------------------------------------- */

/* The state on which a guest's accessed bits depend. */
struct guest_bits {
    bool stale;        /* its TLB was not flushed after marking */
    uint64_t odometer; /* value before the window */
};

struct measuring {
    const struct options *options;
    struct fsroot root;
    struct cgroup_tree tree;
    struct cgroup_guests guests;
    struct group_scan *scan;
    uint64_t *odometers;     /* one for each group, values before the window */
    struct guest_bits *bits; /* one for each guest */
    bool damon;              /* DAMON was running before the window */
    struct cgroups_report report;
};

static bool may_flush(const struct cgroup_guest *guest, const struct target *target)
{
    return guest->located &&
           (!guest->neighbour.owner || neighbour_bears_flush(&guest->neighbour, target));
}

static void flush_guests(struct measuring *measuring)
{
    for (size_t i = 0; i < measuring->guests.n; i++) {
        const struct cgroup_guest *guest = &measuring->guests.guests[i];
        const struct target target = subject_target(&guest->subject);

        measuring->bits[i].stale = !(may_flush(guest, &target) && tlb_flush_guest(&target));
    }
}

static int wait_window(double window_s, struct error *error)
{
    struct progress progress;
    uint64_t began_ns = clock_ns();
    double elapsed_s = 0;

    progress_init(&progress, "control groups");
    while (!interrupted && elapsed_s < window_s) {
        double left_ms = (window_s - elapsed_s) * 1000;

        poll(NULL, 0, left_ms < SLICE_MS ? (int)left_ms + 1 : SLICE_MS);
        elapsed_s = (double)(clock_ns() - began_ns) / 1e9;
        progress_draw(elapsed_s, window_s, &progress);
    }
    progress_clear(&progress);
    return interrupted ? error_set(error, -EINTR, "interrupted") : 0;
}

static double seconds_between(uint64_t a0, uint64_t a1, uint64_t b0, uint64_t b1)
{
    return ((double)(b0 + b1) - (double)(a0 + a1)) / 2 / 1e9;
}

static int measure_window(struct measuring *measuring, struct error *error)
{
    const struct options *options = measuring->options;
    const struct group_scan_plan plan = {.tree = &measuring->tree,
                                         .guest_ram = &measuring->guests.ram,
                                         .taken = &measuring->guests.taken,
                                         .samples = options->samples};
    uint64_t marked_ns[2];
    uint64_t read_ns[2];
    int rc;

    measuring->report.unix_s = clock_s(CLOCK_REALTIME);
    marked_ns[0] = clock_ns();
    rc = group_scan_begin(&measuring->root, &plan, &measuring->scan, error);
    if (rc < 0)
        return rc;
    flush_guests(measuring);
    marked_ns[1] = clock_ns();
    rc = wait_window(options->window_s, error);
    read_ns[0] = clock_ns();
    if (rc == 0)
        rc = group_scan_collect(measuring->scan, error);
    read_ns[1] = clock_ns();
    measuring->report.window_s = options->window_s;
    measuring->report.est_window_s = seconds_between(marked_ns[0], marked_ns[1], read_ns[0],
                                                     read_ns[1]);
    return rc;
}

/* --- the report ------------------------------------------------------------------------------- */

/* NUMA balancing unmaps a guest's pages, and KVM may then lose their accessed bits: the group's own
 * odometer does not count that. */
static unsigned guest_flags(const struct measuring *measuring, size_t i)
{
    const struct guest_bits *bits = &measuring->bits[i];
    const struct target target = subject_target(&measuring->guests.guests[i].subject);
    bool aged = ageing_odometer(&target, SIGNAL_IDLE_FLAG) != bits->odometer;

    return (bits->stale ? CGROUPS_STALE_TLB : 0U) | (aged ? CGROUPS_AGEING : 0U);
}

static void name_guests(const struct measuring *measuring, struct cgroups_row *row)
{
    size_t used = 0;

    for (size_t i = 0; i < measuring->guests.n; i++) {
        const struct cgroup_guest *guest = &measuring->guests.guests[i];
        const char *name = guest->subject.guest.name;
        char pid[32];

        if (strcmp(guest->path, row->path) != 0)
            continue;
        row->flags |= guest_flags(measuring, i);
        snprintf(pid, sizeof(pid), "pid %d", guest->subject.guest.process.pid);
        if (used < sizeof(row->guests))
            used += (size_t)snprintf(row->guests + used, sizeof(row->guests) - used, "%s%s",
                                     used ? "," : "", *name ? name : pid);
    }
    utf8_printable(row->guests);
}

/* Flags that the row already has make all kinds doubtful. */
static void estimate(const struct measuring *measuring, const struct group_seen *seen,
                     struct cgroups_row *row)
{
    const bool doubt = row->flags != 0;

    for (unsigned kind = 0; kind < FRAME_KINDS; kind++) {
        bool missed = seen->kinds[kind].frames > 0 &&
                      group_scan_misses_calls(&measuring->root, (enum frame_kind)kind);

        row->flags |= missed ? CGROUPS_MGLRU : 0;
        row->kinds[kind] = group_usage_of(&seen->kinds[kind], doubt || missed);
        group_usage_add(&row->all, &row->kinds[kind]);
    }
}

static void make_row(const struct measuring *measuring, size_t index, bool damon,
                     struct cgroups_row *row)
{
    const struct group_seen *seen = group_scan_seen(measuring->scan, index);
    const char *path = measuring->tree.groups[index].path;

    *row = (struct cgroups_row){.path = path,
                                .kernel_bytes = seen->kernel_frames * base_page_bytes(),
                                .flags = damon ? CGROUPS_DAMON : 0};
    if (ageing_group_odometer(&measuring->root, path) != measuring->odometers[index])
        row->flags |= CGROUPS_AGEING;
    name_guests(measuring, row);
    estimate(measuring, seen, row);
}

static void make_report(struct measuring *measuring)
{
    struct cgroups_report *report = &measuring->report;
    bool damon = measuring->damon || disturbance_damon(&measuring->root);

    gethostname(report->host, sizeof(report->host) - 1);
    for (size_t i = 0; i < measuring->tree.n; i++) {
        make_row(measuring, i, damon, &report->rows[report->n]);
        if (report->rows[report->n].all.bytes || report->rows[report->n].kernel_bytes)
            report->n++;
    }
    report->cpu_s = own_cpu_s();
    cgroups_sort(report);
}

static int show_groups(const struct measuring *measuring, struct error *error)
{
    const struct options *options = measuring->options;
    const int rc = cgroups_print(&measuring->report, options->top, options->kinds, options->format);

    return rc < 0 ? error_set(error, rc, "out of memory") : command_flush(error);
}

static void read_odometers(struct measuring *measuring)
{
    for (size_t i = 0; i < measuring->tree.n; i++)
        measuring->odometers[i] = ageing_group_odometer(&measuring->root,
                                                        measuring->tree.groups[i].path);
    for (size_t i = 0; i < measuring->guests.n; i++) {
        const struct target target = subject_target(&measuring->guests.guests[i].subject);

        measuring->bits[i].odometer = ageing_odometer(&target, SIGNAL_IDLE_FLAG);
    }
}

static int prepare_measuring(struct measuring *measuring, struct error *error)
{
    const struct lock_wait wait = {
        .seconds = measuring->options->wait_s, .interrupted = &interrupted, .pidfd = -1};
    int rc = group_scan_check(&measuring->root, error);

    if (rc == 0)
        rc = cgroup_tree_read(&measuring->root, measuring->options->path, &measuring->tree, error);
    if (rc == 0)
        rc = cgroup_guests_open(&measuring->guests, &measuring->root, &wait, error);
    if (rc < 0)
        return rc;
    debug_log("%zu control groups, %zu guests", measuring->tree.n, measuring->guests.n);
    measuring->odometers = calloc(measuring->tree.n, sizeof(*measuring->odometers));
    measuring->bits = calloc(measuring->guests.n + 1, sizeof(*measuring->bits));
    measuring->report.rows = calloc(measuring->tree.n, sizeof(*measuring->report.rows));
    if (!measuring->odometers || !measuring->bits || !measuring->report.rows)
        return error_set(error, -ENOMEM, "out of memory");
    read_odometers(measuring);
    measuring->damon = disturbance_damon(&measuring->root);
    return 0;
}

static int measure_groups(struct measuring *measuring, struct error *error)
{
    int rc = prepare_measuring(measuring, error);

    if (rc == 0)
        rc = measure_window(measuring, error);
    if (rc < 0)
        return rc;
    make_report(measuring);
    return show_groups(measuring, error);
}

static int end_measuring(struct measuring *measuring, int rc, struct error *error)
{
    group_scan_free(measuring->scan);
    cgroup_guests_close(&measuring->guests);
    cgroup_tree_free(&measuring->tree);
    free(measuring->odometers);
    free(measuring->bits);
    free(measuring->report.rows);
    fsroot_close(&measuring->root);
    return command_end(rc, error);
}

int cmd_cgroups(int argc, char **argv)
{
    struct options options = {
        .window_s = 10, .samples = DEFAULT_SAMPLES, .top = UINT64_MAX, .path = "/"};
    struct measuring measuring = {.options = &options};
    struct error error = {0};
    int rc = options_read(&command_options, &options, argc, argv);

    if (rc != 0)
        return options_exit(rc);
    interrupt_catch();
    if (fsroot_open_host(&measuring.root, &error) < 0)
        return command_cannot(&error);
    measuring.guests.root = &measuring.root;
    return end_measuring(&measuring, measure_groups(&measuring, &error), &error);
}
