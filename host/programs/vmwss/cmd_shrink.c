// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file cmd_shrink.c  vmwss shrink: the memory shrinking experiment on a running guest. */
#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/interrupt.h"
#include "base/progress.h"
#include "base/text/units.h"
#include "base/utf8.h"
#include "programs/vmwss/cli.h"
#include "programs/vmwss/guest_kept.h"
#include "programs/vmwss/shrink_guest.h"
#include "show/shrink.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* How often the guest is read while a step settles: an alarm is noticed within this time. */
#define LOOK_S 1.0
/* A balloon that has not moved for this long counts as at rest. */
#define NO_PROGRESS_S 10.0
#define RESTORE_S 30.0
/* A driver works in pieces: a size within this distance counts as reached. */
#define NEAR_BYTES (1 << 20)
/* Steps may turn out smaller, so there is room for more. */
#define STEPS_MOST (SHRINK_STEPS_MAX / 2)

struct options {
    const char *uri, *domain, *database;
    double settle_s;
    uint64_t step_bytes, min_bytes;
    bool yes, json;
};

#define AT(member) offsetof(struct options, member)

static const struct option_line lines[] = {
    {OPTION_TEXT, 'c', "connect", "URI", AT(uri), .help = "libvirt connection (qemu:///system)"},
    {OPTION_SECONDS, 's', "settle", "S", AT(settle_s),
     .help = "how long to watch the guest at each size (10)"},
    {OPTION_SIZE, 0, "step", "SIZE", AT(step_bytes),
     .help = "how much memory to take at a time (a twentieth of the guest's)",
     .expect = "a size, as in 64M"},
    {OPTION_SIZE, 0, "min", "SIZE", AT(min_bytes),
     .help = "the smallest size to try (a quarter of the guest's)", .expect = "a size, as in 512M"},
    {OPTION_FLAG, 'y', "yes", NULL, AT(yes), .help = "do not ask: the guest may become slow"},
    {OPTION_TEXT, 'D', "database", "F", AT(database),
     .help = "vmwssd's history, to compare the WSS (" STORE_DEFAULT_PATH ")"},
    {OPTION_FLAG, 'j', "json", NULL, AT(json), .help = "one JSON object, schema vmwss.shrink.v1"},
    {.type = OPTION_END},
};

static void catch_signals(void)
{
    interrupt_catch();
    signal(SIGPIPE, SIG_IGN); /* closing the output must not keep us from restoring */
    signal(SIGTSTP, SIG_IGN); /* otherwise the guest would stay small and unobserved */
}

static int check_options(void *base, int argc, char **argv)
{
    struct options *options = base;

    if (optind != argc - 1)
        return command_refuse("name one DOMAIN; see vmwss shrink --help");
    options->domain = argv[optind];
    if (!(options->settle_s >= 2 && options->settle_s <= 3600))
        return command_refuse("--settle: expected 2 to 3600 seconds");
    return 0;
}

static const struct command_options command_options = {
    .usage =
        "Usage: vmwss shrink DOMAIN [OPTIONS]\n\n"
        "The memory shrinking experiment: takes memory from a running guest by its balloon, step by step,\n"
        "until its agent or its balloon driver reports a complaint (pressure, refaults, swap-in, little\n"
        "available), then gives all back. The knee lies between the last two sizes. The guest may become\n"
        "slow, so the command asks first. Whatever ends the experiment, the balloon is restored.\n",
    .lines = lines,
    .check = check_options,
    .after =
        "Exit status: 0 done, 1 usage, 2 failed or refused, 3 the guest ended, 130 interrupted.\n",
};

/* --- the experiment --------------------------------------------------------------------------- */

struct experiment {
    const struct options *options;
    struct fsroot root;
    struct shrink_guest guest;
    struct shrink_rules rules;
    struct shrink_report report;
    struct guest_report last; /* the last report */
    struct guest_kept *kept;
    char name[256]; /* the domain's name, for people */
    struct progress progress;
    double began_s;
};

static double now_s(void)
{
    return clock_s(CLOCK_MONOTONIC);
}

static void sleep_s(double seconds)
{
    if (!interrupted && seconds > 0)
        poll(NULL, 0, (int)(seconds * 1000));
}

static void say(struct experiment *experiment)
{
    progress_say(&experiment->progress, "step %zu, it has %s", experiment->report.n,
                 BYTES_TEXT(experiment->guest.memory.current_bytes));
}

/* Reads the guest once: returns 0, and its alarms; or a negative errno. */
static int look(struct experiment *experiment, unsigned *alarms, struct error *error)
{
    struct guest_report now;
    int rc = shrink_guest_look(&experiment->guest, &now, error);

    if (rc < 0)
        return rc;

    const struct shrink_reading reading = shrink_guest_reading(&experiment->guest,
                                                               &experiment->last, &now);

    *alarms = shrink_alarms(&experiment->rules, &reading);
    experiment->last = now;
    say(experiment);
    return 0;
}

static bool is_at(const struct experiment *experiment, uint64_t target)
{
    return experiment->guest.memory.current_bytes <= target + NEAR_BYTES;
}

/* Waits until the guest has the size or alarms, or its balloon stops moving. */
static int wait_for_size(struct experiment *experiment, uint64_t target, unsigned *alarms,
                         struct error *error)
{
    uint64_t smallest = UINT64_MAX;
    double moved_s = now_s();
    int rc = 0;

    *alarms = 0;
    while (rc == 0 && !interrupted && !*alarms && !is_at(experiment, target)) {
        sleep_s(LOOK_S);
        rc = look(experiment, alarms, error);
        if (experiment->guest.memory.current_bytes < smallest) {
            smallest = experiment->guest.memory.current_bytes;
            moved_s = now_s();
        }
        if (now_s() - moved_s > NO_PROGRESS_S)
            break;
    }
    return rc;
}

static int reported_nothing(const struct experiment *experiment, struct error *error)
{
    if (experiment->guest.source == GUEST_STATS_AGENT)
        return error_set(error, -ENODATA,
                         "domain %s: its agent's reports start anew: was the guest rebooted?",
                         experiment->name);
    return error_set(error, -ENODATA,
                     "domain %s: no new report for %.0f s: make its balloon driver report more "
                     "often (virsh dommemstat %s --period 1)",
                     experiment->name, experiment->options->settle_s, experiment->name);
}

/* Observes the guest for the time of a step, and judges all of that time; a step that has alarmed
 * already is judged from @p before, when its size was set. */
static int watch_step(struct experiment *experiment, const struct guest_report *before,
                      struct shrink_step *step, struct error *error)
{
    const struct guest_report first = step->complaints ? *before : experiment->last;
    const double until_s = now_s() + experiment->options->settle_s;
    unsigned alarms = step->complaints;
    int rc = 0;

    while (rc == 0 && !interrupted && !alarms && now_s() < until_s) {
        sleep_s(fmin(LOOK_S, until_s - now_s()));
        rc = look(experiment, &alarms, error);
    }
    step->actual_bytes = experiment->guest.memory.current_bytes;
    step->reading = shrink_guest_reading(&experiment->guest, &first, &experiment->last);
    step->complaints = alarms;
    if (rc == 0 && !interrupted && !alarms && !guest_report_follows(&first, &experiment->last))
        return reported_nothing(experiment, error);
    return rc;
}

static struct shrink_step *add_step(struct experiment *experiment, uint64_t target)
{
    struct shrink_step *step = &experiment->report.steps[experiment->report.n++];

    *step = (struct shrink_step){.target_bytes = target};
    return step;
}

/* Measures the full size, with which the other steps are compared. */
static int first_step(struct experiment *experiment, struct error *error)
{
    struct shrink_step *step = add_step(experiment, experiment->guest.full_bytes);
    int rc = shrink_guest_look(&experiment->guest, &experiment->last, error);

    if (rc == 0)
        rc = watch_step(experiment, &experiment->last, step, error);
    if (rc < 0 || interrupted)
        experiment->report.n--; /* it was not observed for its full time */
    else if (step->complaints)
        experiment->report.end = SHRINK_COMPLAINT;
    return rc;
}

static int shrink_once(struct experiment *experiment, uint64_t target, struct error *error)
{
    struct shrink_report *report = &experiment->report;
    struct shrink_step *step = add_step(experiment, target);
    const struct guest_report before = experiment->last;
    int rc = shrink_guest_set(&experiment->guest, target, error);

    if (rc == 0)
        rc = wait_for_size(experiment, target, &step->complaints, error);
    if (rc == 0)
        rc = watch_step(experiment, &before, step, error);
    if (rc < 0 || interrupted) {
        report->n--;
        return rc;
    }
    step->complaints |= shrink_complaints(&experiment->rules, &report->steps[0].reading,
                                          &step->reading);
    if (step->complaints)
        report->end = SHRINK_COMPLAINT;
    else if (!is_at(experiment, target))
        report->end = SHRINK_NO_MORE;
    return 0;
}

static int step_down(struct experiment *experiment, struct error *error)
{
    struct shrink_report *report = &experiment->report;
    int rc = first_step(experiment, error);

    while (rc == 0 && !interrupted && report->end == SHRINK_GOES_ON) {
        const struct shrink_step *last = &report->steps[report->n - 1];
        uint64_t next = shrink_next(&experiment->rules, last->actual_bytes,
                                    last->reading.available_bytes);

        if (next == 0 || report->n == SHRINK_STEPS_MAX)
            report->end = SHRINK_FLOOR;
        else
            rc = shrink_once(experiment, next, error);
    }
    if (interrupted)
        report->end = SHRINK_INTERRUPTED;
    else if (rc < 0)
        report->end = rc == -ENODATA ? SHRINK_SILENT : SHRINK_FAILED;
    return rc;
}

/* Waits for the guest, which takes memory back at its own pace. */
static int wait_for_full(struct experiment *experiment, double until_s, struct error *error)
{
    struct shrink_guest *guest = &experiment->guest;
    int rc = 0;

    while (rc == 0 && !interrupted && now_s() < until_s &&
           less(guest->full_bytes, guest->memory.current_bytes) > NEAR_BYTES) {
        sleep_s(LOOK_S / 4);
        rc = shrink_guest_refresh(guest, error);
        say(experiment);
    }
    return rc;
}

/* A signal only ends the waiting: for another job, then for the guest. */
static int restore_balloon(struct experiment *experiment, struct error *error)
{
    const double until_s = now_s() + RESTORE_S;
    bool is_set;
    int rc;

    interrupted = 0;
    while ((rc = shrink_guest_restore(&experiment->guest, error)) == -EBUSY && !interrupted &&
           now_s() < until_s)
        sleep_s(LOOK_S);
    is_set = rc == 0;
    if (is_set)
        rc = wait_for_full(experiment, until_s, error);
    progress_clear(&experiment->progress);
    experiment->report.restored_bytes = is_set ? experiment->guest.memory.current_bytes
                                               : DECIDE_UNKNOWN;
    return rc;
}

/* Printed in any case: the user must know this. */
static void warn_not_restored(const struct experiment *experiment, const char *why)
{
    command_error("domain %s: its balloon is not restored yet (%s): another process goes on "
                  "trying, for a minute, and while another job runs on it; by hand: virsh setmem "
                  "%s %llu --live",
                  experiment->name, why, experiment->name,
                  (unsigned long long)(experiment->guest.full_bytes / 1024));
}

/* --- confirmation ----------------------------------------------------------------------------- */

static int confirm(const struct experiment *experiment, struct error *error)
{
    const struct shrink_rules *rules = &experiment->rules;
    char name[sizeof(experiment->name)], line[16] = "";

    if (experiment->options->yes)
        return 0;
    if (!isatty(STDIN_FILENO))
        return error_set(error, -EPERM,
                         "domain %s: it may become slow while memory is taken from it; confirm "
                         "with --yes",
                         experiment->report.domain);
    fprintf(stderr,
            "%s has %s, and is shrunk in steps of %s until it complains, at most down to %s; "
            "it may become slow. Type yes: ",
            utf8_printable_copy(name, sizeof(name), experiment->name),
            BYTES_TEXT(experiment->guest.full_bytes), BYTES_TEXT(rules->step_bytes),
            BYTES_TEXT(rules->floor_bytes));
    if (fgets(line, sizeof(line), stdin) && !strcmp(line, "yes\n"))
        return 0;
    return error_set(error, -EPERM, "domain %s: nothing was done", experiment->report.domain);
}

/* --- beginning and end ------------------------------------------------------------------------ */

static int set_rules(struct experiment *experiment, struct error *error)
{
    const struct options *options = experiment->options;
    uint64_t full = experiment->guest.full_bytes;

    experiment->rules = shrink_rules_default(full);
    if (options->step_bytes)
        experiment->rules.step_bytes = options->step_bytes;
    if (options->min_bytes)
        experiment->rules.floor_bytes = options->min_bytes;
    if (experiment->rules.floor_bytes >= full || experiment->rules.step_bytes >= full)
        return error_set(error, -EINVAL, "domain %s: it has %llu bytes, less than --min or --step",
                         experiment->report.domain, (unsigned long long)full);
    if (experiment->rules.step_bytes >= SHRINK_STEP_MIN_BYTES &&
        (full - experiment->rules.floor_bytes) / experiment->rules.step_bytes < STEPS_MOST)
        return 0;
    return error_set(error, -EINVAL,
                     "domain %s: --step is too small: at least 4M, and at most %d steps",
                     experiment->report.domain, STEPS_MOST);
}

/* The history may not exist, or this user may not read it. */
static void read_kept(struct experiment *experiment)
{
    const char *database = experiment->options->database;
    struct error ignored;

    experiment->kept = malloc(sizeof(*experiment->kept));
    if (!experiment->kept)
        return;
    guest_kept_read(database ? database : STORE_DEFAULT_PATH, experiment->guest.memory.uuid,
                    experiment->guest.memory.maximum_bytes, experiment->kept, &ignored);
    if (experiment->kept->has_record)
        experiment->report.record = &experiment->kept->sample.record.sample;
}

static int begin_experiment(struct experiment *experiment, struct error *error)
{
    struct shrink_guest *guest = &experiment->guest;
    int rc = shrink_guest_begin(guest, &experiment->root, experiment->options->domain, error);

    if (rc < 0)
        return rc;
    snprintf(experiment->name, sizeof(experiment->name), "%s", guest->memory.name);
    experiment->report.domain = experiment->name;
    experiment->report.uuid = guest->memory.uuid;
    experiment->report.unix_s = clock_s(CLOCK_REALTIME);
    experiment->report.settle_s = experiment->options->settle_s;
    experiment->report.source = guest_stats_source_name(guest->source);
    experiment->report.full_bytes = experiment->report.restored_bytes = guest->full_bytes;
    rc = set_rules(experiment, error);
    if (rc < 0)
        return rc;
    catch_signals();
    rc = confirm(experiment, error);
    if (interrupted) {
        experiment->report.end = SHRINK_INTERRUPTED;
        return error_set(error, -EINTR, "interrupted");
    }
    if (rc == 0)
        read_kept(experiment);
    return rc;
}

static int run(struct experiment *experiment, struct error *error)
{
    struct error while_restoring = {0};
    int rc = begin_experiment(experiment, error);
    int restored;

    if (rc < 0)
        return rc;
    progress_init(&experiment->progress, experiment->name);
    experiment->began_s = now_s();
    rc = step_down(experiment, error);
    restored = restore_balloon(experiment, &while_restoring);
    shrink_print(&experiment->report, experiment->options->json ? SHOW_JSON : SHOW_TABLE);
    if (experiment->report.restored_bytes == DECIDE_UNKNOWN && restored != -ENOENT)
        warn_not_restored(experiment, while_restoring.text);
    /* A guest that is just ending may make libvirt fail with another error first. */
    if (restored == -ENOENT || (rc == 0 && restored < 0))
        rc = error_set(error, restored, "%s", while_restoring.text);
    return rc < 0 ? rc : command_flush(error);
}

static int exit_code(const struct experiment *experiment, int rc, struct error *error)
{
    if (experiment->report.end == SHRINK_INTERRUPTED && rc != -EPIPE)
        return EXIT_INTERRUPTED;
    if (rc == -ENOENT && experiment->began_s > 0) {
        command_error("%s", error->text);
        return EXIT_VANISHED;
    }
    return command_end(rc, error);
}

int cmd_shrink(int argc, char **argv)
{
    struct options options = {.settle_s = 10, .database = NULL};
    cleanup_free struct experiment *experiment = calloc(1, sizeof(*experiment));
    struct error error = {0};
    int rc = options_read(&command_options, &options, argc, argv);

    if (rc != 0)
        return options_exit(rc);
    if (!experiment || fsroot_open(&experiment->root, "/") < 0)
        return EXIT_CANNOT;
    experiment->options = &options;
    experiment->guest.uri = options.uri;
    experiment->guest.lock = RUN_LOCK_NONE;
    rc = exit_code(experiment, run(experiment, &error), &error);
    shrink_guest_end(&experiment->guest);
    free(experiment->kept);
    fsroot_close(&experiment->root);
    return rc;
}
