// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file cmd_measure.c  vmwss measure: find → locate → sample → estimate → record → show, once or repeatedly. */
#include "base/clock.h"
#include "cli/cli.h"
#include "domain/qemu_vcpus.h"
#include "guest_ram/resident.h"
#include "record/sample_record.h"
#include "show/progress.h"
#include "show/sample_json.h"
#include "show/sample_table.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define DEFAULT_WINDOW_S 10.0
#define DEFAULT_SAMPLES 2000
#define MAX_SAMPLES 10000000

/* Up to here a census of every page is the default: it has no sampling error, and marking a GiB page by
 * page costs well under a second. Above, the panel: its cost does not grow with the guest. */
#define CENSUS_UP_TO_BYTES (1ULL << 30)

struct options {
    struct guest_choice guest;
    const char *method; /* NULL: auto */
    size_t n_windows;
    double window_s[RUN_MAX_WINDOWS];
    bool census;
    uint64_t samples;  /* 0: not given */
    double interval_s; /* 0: not given */
    uint64_t count;    /* 0: until interrupted */
    bool json;
};

static volatile int interrupted;

static void on_signal(int number)
{
    (void)number;
    interrupted = 1;
}

static void catch_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal}; /* no SA_RESTART: waits shall end */

    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
}

static void print_help(void)
{
    puts(
        "Usage: vmwss measure (DOMAIN | --pid PID) [OPTIONS]\n\n"
        "Measures the working set size of a running guest: bytes of its RAM touched within a window.\n\n"
        "  DOMAIN              name, UUID or id of a libvirt domain\n"
        "  -p, --pid PID       a QEMU process, without libvirt\n"
        "  -c, --connect URI   libvirt connection (qemu:///system)\n"
        "  -w, --window S,...  windows in seconds (10); several are answered by one run\n"
        "  -m, --method NAME   auto, idle, zap, pageout, zap-all, referenced, cold (auto)\n"
        "      --census        look at every page\n"
        "  -n, --samples N     look at a panel of N pages chosen at random\n"
        "                      (default: census up to 1 GiB of RAM where the method has one, else n = 2000;\n"
        "                      zap always takes a panel unless told otherwise)\n"
        "  -i, --interval S    measure every S seconds\n"
        "  -k, --count N       how often (with --interval; default: until interrupted)\n"
        "  -j, --json          one JSON object per line, schema vmwss.sample.v1\n"
        "  -h, --help          this text\n\n"
        "Exit status: 0 measured, 1 usage, 2 cannot measure, 3 the guest vanished meanwhile,\n"
        "130 interrupted.");
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return (x > y) - (x < y);
}

static int parse_windows(struct options *options, const char *list)
{
    char copy[256];
    char *rest = NULL;

    if (strlen(list) >= sizeof(copy))
        return -EINVAL;
    snprintf(copy, sizeof(copy), "%s", list);
    options->n_windows = 0;
    for (char *one = strtok_r(copy, ",", &rest); one; one = strtok_r(NULL, ",", &rest)) {
        if (options->n_windows == RUN_MAX_WINDOWS ||
            cli_parse_seconds(one, &options->window_s[options->n_windows]) < 0)
            return -EINVAL;
        options->n_windows++;
    }
    qsort(options->window_s, options->n_windows, sizeof(double), compare_doubles);
    return options->n_windows > 0 ? 0 : -EINVAL;
}

static int bad_value(const char *option, const char *value, const char *expected)
{
    cli_error("%s %s: expected %s", option, value, expected);
    return -EINVAL;
}

static int set_option(struct options *options, int option, const char *value)
{
    switch (option) {
    case 'c':
    case 'p':
        return guest_choice_option(&options->guest, option, value);
    case 'w':
        return parse_windows(options, value) == 0
                   ? 0
                   : bad_value("--window", value, "up to 16 numbers of seconds, as in 1,10,60");
    case 'm':
        options->method = strcmp(value, "auto") ? value : NULL;
        return !options->method || method_by_name(value) || !strcmp(value, "damon")
                   ? 0
                   : bad_value("--method", value,
                               "auto, idle, zap, pageout, zap-all, referenced or cold");
    case 'C':
        options->census = true;
        return 0;
    case 'n':
        return cli_parse_u64(value, 1, MAX_SAMPLES, &options->samples) == 0
                   ? 0
                   : bad_value("--samples", value, "a number of pages, 1 to 10000000");
    case 'i':
        return cli_parse_seconds(value, &options->interval_s) == 0
                   ? 0
                   : bad_value("--interval", value, "a number of seconds");
    case 'k':
        return cli_parse_u64(value, 1, UINT64_MAX, &options->count) == 0
                   ? 0
                   : bad_value("--count", value, "a whole number above 0");
    case 'j':
        options->json = true;
        return 0;
    default:
        return -EINVAL;
    }
}

static int check_options(struct options *options, int argc, char **argv)
{
    if (optind < argc)
        options->guest.domain = argv[optind++];
    if (optind < argc) {
        cli_error("one guest at a time: '%s' is too much", argv[optind]);
        return -EINVAL;
    }
    if (!options->guest.domain == !options->guest.pid) {
        cli_error("name a DOMAIN or a --pid, one of them; see vmwss measure --help");
        return -EINVAL;
    }
    if (options->census && options->samples) {
        cli_error("--census and --samples exclude each other");
        return -EINVAL;
    }
    if (options->count > 1 && options->interval_s == 0) {
        cli_error("--count needs --interval");
        return -EINVAL;
    }
    if (options->interval_s > 0 &&
        options->interval_s < options->window_s[options->n_windows - 1]) {
        cli_error("--interval %g is shorter than the longest window, %g s", options->interval_s,
                  options->window_s[options->n_windows - 1]);
        return -EINVAL;
    }
    return 0;
}

/* 0, 1 for "help was shown", or -EINVAL. */
static int parse_options(struct options *options, int argc, char **argv)
{
    static const struct option longs[] = {
        GUEST_CHOICE_OPTIONS,
        {"window", required_argument, NULL, 'w'},
        {"method", required_argument, NULL, 'm'},
        {"census", no_argument, NULL, 'C'},
        {"samples", required_argument, NULL, 'n'},
        {"interval", required_argument, NULL, 'i'},
        {"count", required_argument, NULL, 'k'},
        {"json", no_argument, NULL, 'j'},
        {"help", no_argument, NULL, 'h'},
        {0},
    };
    int option;

    *options = (struct options){.n_windows = 1, .window_s = {DEFAULT_WINDOW_S}};
    while ((option = getopt_long(argc, argv, "c:p:w:m:n:i:k:jh", longs, NULL)) >= 0) {
        if (option == 'h') {
            print_help();
            return 1;
        }
        if (set_option(options, option, optarg) < 0)
            return -EINVAL;
    }
    return check_options(options, argc, argv);
}

/* --- one guest, opened ------------------------------------------------------------------------- */

struct session {
    struct fsroot root;
    struct guest guest;
    struct guest_ram ram;
    struct resident_meter resident;
    struct sample_plan plan;
    struct progress progress;
};

static int choose_method(struct session *session, const struct options *options,
                         struct error *error)
{
    const struct target target = {
        .root = &session->root, .process = &session->guest.process, .ram = &session->ram};
    struct error why = {0};

    if (!options->method) {
        session->plan.method = method_auto(&target, options->census, options->samples > 0, error);
        return session->plan.method ? 0 : -ENOTSUP;
    }
    session->plan.method = method_by_name(options->method);
    if (!session->plan.method)
        return error_set(error, -ENOTSUP, "%s: not in this version", options->method);
    if (options->census && !session->plan.method->census)
        return error_set(error, -ENOTSUP, "%s takes no census; use --samples", options->method);
    if (options->samples && !session->plan.method->panel)
        return error_set(error, -ENOTSUP, "%s cannot follow chosen pages; use --census",
                         options->method);

    int rc = session->plan.method->probe(&target, &why);

    return rc < 0 ? error_set(error, rc, "%s: %s", options->method, why.text) : 0;
}

static bool wants_census(const struct session *session, const struct options *options)
{
    const struct method *method = session->plan.method;

    if (options->census || !method->panel)
        return true;
    if (options->samples || !method->census || method == &method_zap)
        return false; /* a census by zap drops every mapping of the guest: only when asked for */
    return session->ram.bytes <= CENSUS_UP_TO_BYTES;
}

static void make_plan(struct session *session, const struct options *options)
{
    struct sample_plan *plan = &session->plan;

    plan->census = wants_census(session, options);
    plan->samples = options->samples ? options->samples : DEFAULT_SAMPLES;
    plan->n_windows = options->n_windows;
    memcpy(plan->window_s, options->window_s, sizeof(plan->window_s));
    plan->interrupted = &interrupted;
    plan->progress = progress_draw;
    plan->progress_context = &session->progress;
}

static int refuse_stopped(const struct session *session, struct error *error)
{
    if (!qemu_process_stopped(&session->root, &session->guest.process))
        return 0;
    return error_set(error, -ENODEV,
                     "process %d is stopped by a signal or a debugger: its vCPUs do not "
                     "run, so nothing is touched; let it continue (kill -CONT %d)",
                     session->guest.process.pid, session->guest.process.pid);
}

static int prepare(struct session *session, const struct options *options, struct error *error)
{
    int rc = refuse_stopped(session, error);

    if (rc == 0)
        rc = guest_ram_locate(&session->root, &session->guest.process, &session->guest.ram,
                              &session->ram, error);
    if (rc == 0)
        rc = resident_meter_init(&session->resident, &session->root, session->guest.process.pid,
                                 &session->ram);
    if (rc == 0)
        rc = choose_method(session, options, error);
    if (rc == 0)
        make_plan(session, options);
    return rc;
}

/* --- measuring --------------------------------------------------------------------------------- */

static int show(const struct sample_record *record, bool json, bool heading)
{
    if (json)
        return sample_json_print(record);
    sample_table_print(record, heading);
    fflush(stdout);
    return 0;
}

/* Fresh for each period: vCPUs come and go, and a migration may begin at any time. */
static int refresh(struct session *session, struct resident_now *now, struct error *error)
{
    struct qemu_process *process = &session->guest.process;
    int rc = qemu_vcpus_find(&session->root, process);

    if (rc == 0)
        rc = resident_meter_read(&session->resident, &session->root, process->pid, now);
    if (rc < 0)
        return error_set(error, rc, "the guest vanished");
    session->guest.migrating |= qemu_process_migrating(&session->root, process);
    return 0;
}

static int measure_once(struct session *session, const struct options *options, bool heading,
                        struct error *error)
{
    const struct target target = {
        .root = &session->root, .process = &session->guest.process, .ram = &session->ram};
    struct sample_plan *plan = &session->plan;
    struct sample_result result;
    struct sample_record record;
    struct resident_now now = {0};
    int rc = refresh(session, &now, error);

    if (rc < 0)
        return rc;
    plan->presence = (double)(plan->method->sees_unmapped ? now.resident_bytes : now.mapped_bytes) /
                     (double)session->ram.bytes;
    if (getrandom(&plan->seed, sizeof(plan->seed), 0) < 0)
        plan->seed = clock_ns();
    progress_init(&session->progress, "measuring");
    rc = sample_run(&target, plan, &result, error);
    progress_clear(&session->progress);
    if (rc == 0)
        rc = refresh(session, &now, error);
    if (rc == 0)
        rc = sample_record_fill(&record, &session->root, &session->guest, &session->ram, plan,
                                &result, &now, error);
    if (rc == 0)
        rc = qemu_process_verify(&session->root, &session->guest.process, error);
    if (rc == 0)
        rc = show(&record, options->json, heading);
    return rc;
}

/* Waits for the begin of the next period, or for the end of the guest. */
static void wait_for_period(const struct session *session, uint64_t next_ns)
{
    for (uint64_t now = clock_ns(); now < next_ns && !interrupted; now = clock_ns()) {
        struct pollfd end = {.fd = session->guest.process.pidfd, .events = POLLIN};

        if (poll(&end, 1, (int)((next_ns - now) / 1000000) + 1) > 0)
            return;
    }
}

static int measure_repeatedly(struct session *session, const struct options *options,
                              struct error *error)
{
    uint64_t count = options->interval_s > 0 ? options->count : 1;
    uint64_t next_ns = clock_ns();

    for (uint64_t i = 0; count == 0 || i < count; i++) {
        int rc = measure_once(session, options, i % 20 == 0, error);

        if (rc < 0)
            return rc;
        next_ns += (uint64_t)(options->interval_s * 1e9);
        if (count == 0 || i + 1 < count)
            wait_for_period(session, next_ns);
        if (interrupted)
            return error_set(error, -EINTR, "interrupted");
    }
    return 0;
}

/* Whatever failed, a guest that is gone is the reason that a person wants to read. */
static int explain_end(const struct session *session, int rc, struct error *error)
{
    if (rc == 0 || rc == -EINTR || rc == -ESRCH ||
        qemu_process_verify(&session->root, &session->guest.process, NULL) == 0)
        return rc;
    return error_set(error, -ESRCH, "the guest vanished meanwhile");
}

static int report(int rc, const struct error *error)
{
    if (rc == 0)
        return EXIT_MEASURED;
    if (rc == -EINTR)
        return EXIT_INTERRUPTED;
    cli_error("%s", *error->text ? error->text : strerror(-rc));
    return rc == -ESRCH ? EXIT_VANISHED : EXIT_CANNOT;
}

int cmd_measure(int argc, char **argv)
{
    struct options options;
    struct session session = {0};
    struct error error = {0};
    int rc = parse_options(&options, argc, argv);

    if (rc != 0)
        return rc > 0 ? 0 : EXIT_USAGE;
    catch_signals();
    rc = fsroot_open(&session.root, "/");
    if (rc == 0)
        rc = guest_choice_open(&options.guest, &session.root, &session.guest, &error);
    if (rc < 0) {
        report(rc == -ESRCH ? -ENOENT : rc, &error); /* it was never there */
        return EXIT_CANNOT;
    }
    rc = prepare(&session, &options, &error);
    if (rc == 0)
        rc = measure_repeatedly(&session, &options, &error);
    rc = explain_end(&session, rc, &error);
    guest_ram_free(&session.ram);
    guest_close(&session.guest);
    fsroot_close(&session.root);
    return report(rc, &error);
}
