// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file cmd_measure.c  vmwss measure: find → locate → sample → estimate → record → show, once or
 * repeatedly. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/interrupt.h"
#include "base/parse.h"
#include "guest/domain/pods.h"
#include "measure/estimate/pace.h"
#include "programs/vmwss/asking.h"
#include "programs/vmwss/sampling.h"
#include "programs/vmwss/several.h"
#include "show/guest_stats.h"
#include "show/sample_json.h"
#include "show/sample_table.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define DEFAULT_WINDOW_S 10.0
/* A migration's last round takes tenths of a second, its first one many seconds. */
static const double write_windows_s[] = {WRITE_WINDOWS_S};

/* A guest hardly notices a pause of a tenth of a second; marking 512 MiB page by page takes half of
 * that. */
#define DEFAULT_PAUSE_MS 100
#define MAX_PAUSE_MS 10000

/* 64 MiB of the guest are mapped in small pages for a window, and 3 / 32 limits the share that may
 * have been missed. */
#define DEFAULT_FINE 32

struct options {
    struct sampling_choice sampling; /* must be first: see session.h */
    double interval_s;               /* 0: not given */
    uint64_t count;                  /* 0: until interrupted */
    /* the time between two measurements may grow to this many intervals */
    uint64_t stretch;
    bool agent;       /* also ask the guest */
    bool all;         /* --all */
    char **domains;   /* names of several guests */
    size_t n_domains; /* 0: one guest, in .sampling */
    /* with several guests, which share it: set once the heading was printed */
    atomic_flag *headed;
};

static int set_fine(void *base, const char *value)
{
    struct options *options = base;

    options->sampling.fine = DEFAULT_FINE;
    return !value || parse_u64(value, 2, FINE_MAX_HUGE_PAGES, &options->sampling.fine) == 0
               ? 0
               : command_bad_value("--fine", value, "a number of huge pages, 2 to 512");
}

static int set_pause(void *base, const char *value)
{
    struct options *options = base;
    uint64_t ms = DEFAULT_PAUSE_MS;

    if (value && parse_u64(value, 1, MAX_PAUSE_MS, &ms) < 0)
        return command_bad_value("--pause", value, "a number of milliseconds, 1 to 10000");
    options->sampling.pause_ms = (unsigned)ms;
    return 0;
}

#define AT(member) offsetof(struct options, member)

static const struct option_line lines[] = {
    SAMPLING_GUEST,
    SAMPLING_WINDOWS("windows in seconds (10); one measurement answers all of them"),
    SAMPLING_METHOD("auto, @names@ (auto)", sampling_names),
    SAMPLING_CENSUS("sample every page"),
    SAMPLING_SAMPLES(
        "sample a panel of N pages chosen at random\n"
        "(default: census up to 1 GiB of RAM where the method has one, else n = 2000;\n"
        "zap takes a panel by default)"),
    SAMPLING_PRECISION(
        "sample as many pages as a 95 % interval of ± P % of the resident RAM needs"),
    SAMPLING_WITNESS(
        "also watch N pages of a KVM guest by its faults, as a witness (200; 0: none)"),
    {OPTION_CALL, 0, "fine", "[=N]", 0,
     .help = "split N of the touched huge pages (32), measure them by pages of 4 KiB for another\n"
             "window, and join them again",
     .call = set_fine},
    {OPTION_FLAG, 0, "writes", NULL, SAMPLING_AT(writes),
     .help = "measure the write working set instead: the bytes written at least once within each\n"
             "window (0.1,0.2,0.5,1,2,5,10)"},
    {OPTION_SECONDS, 'i', "interval", "S", AT(interval_s), .help = "measure every S seconds"},
    {OPTION_COUNT, 0, "stretch", "N", AT(stretch),
     .help = "while successive confidence intervals overlap, measure less and less often, down\n"
             "to every N-th time; measure every time again when they do not",
     1, 1000, "a whole number, 1 to 1000"},
    SAMPLING_WAIT("how long to wait while another vmwss measures the guest (default: not at\n"
                  "all; with --interval, the interval minus the longest window)"),
    {OPTION_CALL, 0, "pause", "[=MS]", 0,
     .help = "suspend the guest while it is marked and while it is read, each time for at\n"
             "most MS milliseconds (100), so that no touch is missed in between",
     .call = set_pause},
    {OPTION_FLAG, 'a', "all", NULL, AT(all),
     .help = "every running guest of the libvirt connection"},
    {OPTION_FLAG, 0, "agent", NULL, AT(agent),
     .help = "also ask the agent in the guest, and show what it reports"},
    {OPTION_COUNT, 'k', "count", "N", AT(count),
     .help = "end after N times (with --interval; default: until interrupted)", 1, UINT64_MAX,
     "a whole number above 0"},
    SAMPLING_JSON("one JSON object per line, schema vmwss.sample.v1"),
    {.type = OPTION_END},
};

/* The names of several guests go into options->domains; the checks are those for one guest. */
static int take_domains(struct options *options, int argc, char **argv)
{
    const int n = argc - optind;

    if (options->all && (n > 0 || options->sampling.guest.pid))
        return command_refuse("--all, DOMAIN or --pid: only one of them");
    if (options->all) {
        options->sampling.guest.domain = "all";
        return sampling_check(&options->sampling, argc, argv);
    }
    if (n > 1) {
        options->domains = argv + optind;
        options->n_domains = (size_t)n;
        argc = optind + 1;
    }
    return sampling_check(&options->sampling, argc, argv);
}

static void default_windows(struct sampling_choice *sampling)
{
    if (sampling->n_windows > 0)
        return;
    if (sampling->writes) {
        memcpy(sampling->window_s, write_windows_s, sizeof(write_windows_s));
        sampling->n_windows = COUNT(write_windows_s);
    } else {
        sampling->window_s[0] = DEFAULT_WINDOW_S;
        sampling->n_windows = 1;
    }
}

static int check_options(void *base, int argc, char **argv)
{
    struct options *options = base;

    default_windows(&options->sampling);
    if (take_domains(options, argc, argv) < 0)
        return -EINVAL;
    /* The second measurement cannot pause the guest in the same way, and of two guardians one would
     * wait for the other. */
    if (options->sampling.fine > 0 && options->sampling.pause_ms > 0)
        return command_refuse("--fine and --pause exclude each other");
    if (sampling_check_writes(&options->sampling) < 0)
        return -EINVAL;
    if (options->count > 1 && options->interval_s == 0)
        return command_refuse("--count needs --interval");
    if (options->stretch > 1 && options->interval_s == 0)
        return command_refuse("--stretch needs --interval");
    return sampling_check_interval(&options->sampling, options->interval_s);
}

static const struct command_options command_options = {
    .usage =
        "Usage: vmwss measure (DOMAIN... | --all | --pid PID) [OPTIONS]\n\n"
        "Measures the working set size of a running guest: the bytes of its RAM touched within a window.\n"
        "Several guests are measured at the same time, and each is printed when it is done.\n\n"
        "  DOMAIN              name, UUID or id of a libvirt domain",
    .lines = lines,
    .check = check_options,
    .after = "Exit status: 0 measured, 1 usage, 2 cannot measure, 3 the guest ended meanwhile,\n"
             "130 interrupted.\n",
};

/* --- measuring -------------------------------------------------------------------------------- */

/* Printed separately, because the table has no room for the reason. */
static void say_missing(const struct guest_stats *stats)
{
    if (stats->source == GUEST_STATS_NONE && guest_stats_requested(stats))
        command_error("the guest reports nothing: %s", stats->unavailable);
}

static bool is_of_several(const struct options *options)
{
    return options->all || options->n_domains > 0;
}

/* With several guests, the heading stands above the first one that is done. */
static bool needs_heading(const struct options *options, bool heading)
{
    return is_of_several(options) ? !atomic_flag_test_and_set(options->headed) : heading;
}

static int show_record(const struct sample_record *record, const struct options *options,
                       bool first, struct error *error)
{
    const bool heading = !options->sampling.json && needs_heading(options, first);
    int rc = 0;

    if (options->sampling.json)
        rc = sample_json_print(record);
    else if (options->interval_s > 0 || is_of_several(options))
        sample_table_print_series(record, heading);
    else
        sample_table_print(record, heading);
    if (!options->sampling.json && first)
        say_missing(&record->guest);
    return rc == 0 ? command_flush(error) : rc;
}

/* Returns the seconds until the next measurement. The interval of a census has almost no width: two
 * of its numbers count as equal if they are as close as those of a panel. */
static double next_period(struct pace *pace, const struct sample_record *record)
{
    if (record->n_windows == 0) {
        const struct write_point *point = &record->writes.points[record->writes.n - 1];

        return pace_next(pace, point->bytes, point->high_bytes, record->resident_bytes / 50);
    }

    const struct window_record *last = &record->windows[record->n_windows - 1];
    uint64_t slack_bytes = record->census ? record->resident_bytes / 50 : 0;

    return pace_next(pace, last->unit_low_bytes, last->wss_high_bytes, slack_bytes);
}

struct measuring {
    struct pace pace;
    uint64_t shown;
    int why_none; /* the error of the last period without a result */
    uint64_t next_ns;
    struct asking asking;
};

/* Measures one period; measuring->shown is unchanged if another vmwss had the guest all the time,
 * or if the method saw nothing. */
static int measure_period(struct session *session, const struct options *options,
                          struct measuring *measuring, struct error *error)
{
    struct sample_record record;
    double period_s = options->interval_s;
    int rc = session_measure(session, &record, error);

    if ((rc == -EBUSY || rc == -ENOMSG) && options->interval_s > 0) {
        command_error("period %s: %s", rc == -EBUSY ? "skipped" : "without a result", error->text);
        measuring->why_none = rc;
        rc = 0;
    } else if (rc == 0) {
        if (options->agent)
            asking_annotate(&measuring->asking, &record);
        rc = show_record(&record, options, measuring->shown % 20 == 0, error);
        if (options->agent && *measuring->asking.instead)
            command_error("the guest's statistics are %s", measuring->asking.instead);
        period_s = next_period(&measuring->pace, &record);
        measuring->shown++;
    }
    measuring->next_ns += (uint64_t)(period_s * 1e9);
    session_yield(session);
    return rc;
}

static int measure_all(struct session *session, const struct options *options,
                       struct measuring *measuring, struct error *error)
{
    uint64_t count = options->interval_s > 0 ? options->count : 1;

    for (uint64_t i = 0; count == 0 || i < count; i++) {
        int rc = measure_period(session, options, measuring, error);

        if (rc < 0)
            return rc;
        if (count == 0 || i + 1 < count)
            session_wait(session, measuring->next_ns);
        if (interrupted)
            return error_set(error, -EINTR, "interrupted");
    }
    return measuring->shown > 0 ? 0 : measuring->why_none;
}

static int measure_repeatedly(struct session *session, const void *context, struct error *error)
{
    const struct options *options = context;
    struct measuring measuring = {
        .pace = pace_start(options->interval_s, options->interval_s * (double)options->stretch),
    };

    if (options->agent)
        asking_begin(&measuring.asking, &session->subject.guest);
    measuring.next_ns = clock_ns();

    int rc = measure_all(session, options, &measuring, error);

    asking_end(&measuring.asking);
    return rc;
}

/* --- several ---------------------------------------------------------------------------------- */

static int measure_one(const char *name, void *context)
{
    struct options options = *(struct options *)context;

    options.sampling.guest.domain = name;
    options.sampling.quiet = true;
    return sampling_run(&options.sampling, measure_repeatedly, &options);
}

static ssize_t list_all(const struct fsroot *root, const char *uri, struct domain_info **infos,
                        struct error *error)
{
    struct domain_connection *connection;

    if (domain_is_pods(uri))
        return pods_list(root, infos, error);

    int rc = domain_connect(uri, &connection, error);

    if (rc < 0)
        return rc;

    const ssize_t n = domain_list(connection, root, infos, error);

    domain_disconnect(connection);
    return n;
}

/* Uses UUIDs: a rename in between cannot make them another guest's. The names point into infos,
 * which the caller frees. */
static int name_all(struct options *options, struct domain_info **infos, struct error *error)
{
    cleanup_root struct fsroot root;
    int rc = fsroot_open_host(&root, error);

    if (rc < 0)
        return rc;

    const ssize_t n = list_all(&root, options->sampling.guest.uri, infos, error);

    if (n < 0)
        return (int)n;
    options->domains = calloc((size_t)n + 1, sizeof(*options->domains));
    if (!options->domains)
        return error_set(error, -ENOMEM, "out of memory");
    for (ssize_t i = 0; i < n; i++)
        if ((*infos)[i].state == DOMAIN_RUNNING)
            options->domains[options->n_domains++] = (*infos)[i].uuid;
    return options->n_domains > 0 ? 0 : error_set(error, -ENOENT, "no guest is running");
}

static int measure_several(struct options *options)
{
    int code;

    options->headed = mmap(NULL, sizeof(*options->headed), PROT_READ | PROT_WRITE,
                           MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (options->headed == MAP_FAILED) {
        command_error("mmap: %s", strerror(errno));
        return EXIT_CANNOT;
    }
    atomic_flag_clear(options->headed);
    code = several_run(options->domains, options->n_domains,
                       several_in_turn(options->sampling.guest.uri), measure_one, options);
    munmap(options->headed, sizeof(*options->headed));
    return code;
}

static int measure_all_guests(struct options *options)
{
    cleanup_free struct domain_info *infos = NULL;
    struct error error = {0};
    int rc = name_all(options, &infos, &error);
    int code = rc < 0 ? command_cannot(&error) : measure_several(options);

    free(options->domains);
    return code;
}

int cmd_measure(int argc, char **argv)
{
    struct options options = {.stretch = 1};
    int rc = options_read(&command_options, &options, argc, argv);

    if (rc != 0)
        return options_exit(rc);
    if (options.all)
        return measure_all_guests(&options);
    if (options.n_domains > 0)
        return measure_several(&options);
    return sampling_run(&options.sampling, measure_repeatedly, &options);
}
