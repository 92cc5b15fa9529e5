// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file cmd_ages.c  vmwss ages: follows one panel, and prints how long ago each byte was touched.
 */
#include "base/clock.h"
#include "base/random.h"
#include "guest/domain/qemu_vcpus.h"
#include "measure/panel.h"
#include "measure/read_all.h"
#include "measure/record/flag_memory.h"
#include "measure/wait.h"
#include "programs/vmwss/sampling.h"
#include "show/ages.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct options {
    struct sampling_choice sampling; /* must be first: see session.h */
    double tick_s;                   /* 0: not given */
    double interval_s;               /* 0: one record, when the longest window has passed */
    uint64_t count;                  /* 0: until interrupted */
};

#define AT(member) offsetof(struct options, member)

static const struct option_line lines[] = {
    SAMPLING_GUEST,
    SAMPLING_WINDOWS("the ages to show, in seconds (1,10,60)"),
    {OPTION_SECONDS, 't', "tick", "S", AT(tick_s),
     .help = "read the pages every S seconds (the shortest window)"},
    {OPTION_SECONDS, 'i', "interval", "S", AT(interval_s),
     .help = "print every S seconds, each window once it has passed (default: once, when\n"
             "the longest window has passed)"},
    {OPTION_COUNT, 'k', "count", "N", AT(count),
     .help = "end after N times (with --interval; default: until interrupted)", 1, UINT64_MAX,
     "a whole number above 0"},
    SAMPLING_METHOD("auto, @names@: a method that can follow pages (auto)",
                    sampling_names_following),
    SAMPLING_SAMPLES("pages in the panel (2000)"),
    SAMPLING_PRECISION("as many pages as a 95 % interval of ± P % of the resident RAM needs"),
    {OPTION_FLAG, 0, "writes", NULL, SAMPLING_AT(watch_writes),
     .help = "also follow which bytes are written: the write working set of each window"},
    SAMPLING_CENSUS(NULL), /* rejected with an explanation */
    SAMPLING_SVG("also draw the histogram, as SVG"),
    SAMPLING_WAIT("how long to wait while another vmwss measures the guest (0)"),
    SAMPLING_JSON("one JSON object per line, schema vmwss.ages.v1"),
    {.type = OPTION_END},
};

static int check_options(void *base, int argc, char **argv)
{
    struct options *options = base;

    if (sampling_check(&options->sampling, argc, argv) < 0)
        return -EINVAL;
    if (options->sampling.census)
        return command_refuse("ages follows a panel of pages: set their number with --samples N");
    if (sampling_check_writes(&options->sampling) < 0)
        return -EINVAL;
    if (options->count > 0 && options->interval_s == 0)
        return command_refuse("--count needs --interval");
    if (options->tick_s == 0)
        options->tick_s = options->sampling.window_s[0];
    if (options->tick_s > options->sampling.window_s[0])
        return command_refuse("--tick %g is longer than the shortest window, %g s", options->tick_s,
                              options->sampling.window_s[0]);
    if (options->sampling.window_s[options->sampling.n_windows - 1] / options->tick_s >
        PANEL_MAX_TICKS)
        return command_refuse(
            "--window %g has more than %d ticks of %g s: leave out the shortest windows",
            options->sampling.window_s[options->sampling.n_windows - 1], PANEL_MAX_TICKS,
            options->tick_s);
    for (size_t w = 0; w < options->sampling.n_windows; w++)
        if (!panel_ticks_answer(options->tick_s, options->sampling.window_s[w]))
            return command_refuse(
                "--window %g cannot be answered by ticks of %g s: choose about a multiple",
                options->sampling.window_s[w], options->tick_s);
    return 0;
}

static const struct command_options command_options = {
    .usage =
        "Usage: vmwss ages (DOMAIN | --pid PID) [OPTIONS]\n\n"
        "Follows one panel of pages over time, and shows how long ago each byte of a guest's memory was last\n"
        "touched, and so its working set over every window.\n",
    .lines = lines,
    .check = check_options,
};

/* --- following -------------------------------------------------------------------------------- */

struct watch {
    struct session *session;
    struct target target;
    const struct options *options;
    struct panel *panel;
    struct resident_now now;
    uint64_t began_ns;
    uint64_t next_tick_ns;
    double shown_at_s; /* by the panel's clock */
    double cpu_s;      /* our own CPU time at the last record */
    uint64_t n_ticks;
    uint64_t n_shown;
    bool anew;           /* the panel was begun anew; the next record has the flag */
    struct own_time own; /* of the tick */
    struct flag_memory memory;
};

static int poll_panel(void *state, struct error *error)
{
    return panel_poll(state, error);
}

static int begin_panel(struct watch *watch, struct error *error)
{
    struct session *session = watch->session;
    const struct options *options = watch->options;

    session_size_panel(session, &watch->now);

    const struct panel_plan plan = {
        .method = session->plan.method,
        .samples = session->plan.samples,
        .witness = session->plan.witness,
        .presence = session->plan.presence,
        .longest_s = options->sampling.window_s[options->sampling.n_windows - 1],
        .tick_s = options->tick_s,
        .seed = random_seed(),
        .writes = options->sampling.watch_writes,
    };

    watch->target = subject_target(&session->subject);
    watch->began_ns = clock_ns();
    watch->next_tick_ns = watch->began_ns;
    watch->shown_at_s = 0;
    watch->n_ticks = 0;
    watch->memory = (struct flag_memory){0};
    return panel_open(&watch->target, &plan, &watch->panel, error);
}

static int begin(struct watch *watch, struct error *error)
{
    struct session *session = watch->session;

    watch->cpu_s = own_cpu_s();
    progress_init(&session->progress, "watching");

    int rc = subject_refresh(&session->subject, &watch->now, error);

    return rc == 0 ? begin_panel(watch, error) : rc;
}

/* RAM was plugged or unplugged: the old panel is not a sample of the present RAM. */
static int begin_anew(struct watch *watch, struct error *error)
{
    struct session *session = watch->session;
    uint64_t was_bytes = session->subject.ram.bytes;

    panel_close(watch->panel);
    watch->panel = NULL;

    int rc = session_relocate(session, &watch->now, error);

    if (rc < 0)
        return rc;
    progress_clear(&session->progress);
    command_error("the guest's RAM changed from %" PRIu64 " to %" PRIu64
                  " MiB: starting a new panel",
                  was_bytes >> 20, session->subject.ram.bytes >> 20);
    watch->anew = true;
    return begin_panel(watch, error);
}

static int wait_for_tick(struct watch *watch, struct error *error)
{
    struct session *session = watch->session;
    const struct wait wait = {
        .interrupted = session->plan.interrupted,
        .poll = poll_panel,
        .state = watch->panel,
        .wake_fd = panel_wake_fd(watch->panel),
        .progress = watch->options->interval_s > 0 ? NULL : progress_draw,
        .progress_context = &session->progress,
        .began_ns = watch->began_ns,
        .total_s = watch->options->sampling.window_s[watch->options->sampling.n_windows - 1],
        .own = &watch->own,
        .jobs = &session->subject.guest.jobs,
    };

    own_time_begin(&watch->own, &watch->target);
    /* A late tick is not made up for. */
    watch->next_tick_ns += (uint64_t)llround(watch->options->tick_s * 1e9);
    if (watch->next_tick_ns < clock_ns())
        watch->next_tick_ns = clock_ns();
    return wait_until(&watch->target, &wait, watch->next_tick_ns, error);
}

static int tick(struct watch *watch, struct error *error)
{
    struct session *session = watch->session;
    int rc = subject_refresh(&session->subject, &watch->now, error);

    if (rc < 0)
        return rc;
    if (session_ram_changed(session, &watch->now))
        return begin_anew(watch, error);
    session_size_panel(session, &watch->now);
    watch->n_ticks++;
    panel_note_own(watch->panel, &watch->own);
    rc = panel_tick(watch->panel, session->plan.presence, &watch->now, error);
    if (rc == 0 && panel_read_all(watch->panel))
        session->subject.guest.jobs |= QEMU_JOB_DUMP;
    return rc == 0 ? qemu_process_verify(&session->root, &session->subject.guest.process, error)
                   : rc;
}

static bool is_due(const struct watch *watch)
{
    const struct options *options = watch->options;
    double wanted_s = options->interval_s > 0
                          ? watch->shown_at_s + options->interval_s
                          : options->sampling.window_s[options->sampling.n_windows - 1];

    /* Ticks are not exact to the nanosecond. */
    return panel_elapsed_s(watch->panel) >= wanted_s - options->tick_s / 2;
}

/* Reading the panel takes time: with windows shorter than that, nothing would ever be printed. */
static int none_answered(const struct watch *watch, struct error *error)
{
    const struct options *options = watch->options;
    double elapsed_s = panel_elapsed_s(watch->panel);

    if (elapsed_s < 4 * options->sampling.window_s[options->sampling.n_windows - 1])
        return 0; /* not even the shortest window has passed */
    return error_set(
        error, -ETIME,
        "no window can be answered: reading the panel takes %.3g s; choose a longer --window or "
        "fewer --samples",
        elapsed_s / (double)watch->n_ticks);
}

/* With --interval these windows appear later; a single record would lack them silently. */
static void tell_left_out(const struct watch *watch, const struct ages_record *record)
{
    size_t asked = watch->options->sampling.n_windows;

    if (watch->options->interval_s == 0 && record->sample.n_windows < asked)
        command_error("%zu of %zu windows left out: reading the panel takes %.3g s",
                      asked - record->sample.n_windows, asked,
                      panel_elapsed_s(watch->panel) / (double)watch->n_ticks);
}

static int print(const struct watch *watch, const struct ages_record *record, struct error *error)
{
    const struct options *options = watch->options;
    int rc = ages_print(record, options->sampling.json ? SHOW_JSON : SHOW_TABLE);

    if (rc == 0)
        rc = command_flush(error);
    if (rc == 0 && options->sampling.svg)
        rc = ages_svg_write(record, options->sampling.svg, error);
    return rc;
}

/* A migration that libvirt reported when the guest was opened counts once. */
static void remember(struct watch *watch, struct ages_record *record)
{
    struct guest *guest = &watch->session->subject.guest;
    double now_s = panel_elapsed_s(watch->panel);

    flag_memory_scan(&watch->memory, record->sample.flags, now_s);
    flag_memory_apply_ages(&watch->memory, record, now_s);
    guest->migrating = false;
    guest->jobs = 0;
}

static int show(struct watch *watch, struct error *error)
{
    struct session *session = watch->session;
    struct ages_record record;
    double cpu_s = own_cpu_s();
    const struct panel_reading reading = {watch->panel, &watch->now, cpu_s - watch->cpu_s};
    int rc = ages_record_fill(&record, &session->subject, &session->plan, &reading, error);

    watch->cpu_s = cpu_s;
    watch->shown_at_s = panel_elapsed_s(watch->panel);
    if (rc == -EAGAIN)
        return none_answered(watch, error);
    if (rc == 0)
        remember(watch, &record);
    watch->n_shown++;
    progress_clear(&session->progress);
    if (rc < 0)
        return rc;
    if (watch->anew)
        record.sample.flags |= FLAG_NEW_PANEL;
    watch->anew = false;
    tell_left_out(watch, &record);
    return print(watch, &record, error);
}

static bool is_done(const struct watch *watch)
{
    uint64_t count = watch->options->interval_s > 0 ? watch->options->count : 1;

    return count > 0 && watch->n_shown >= count;
}

static int follow(struct session *session, const void *options, struct error *error)
{
    struct watch watch = {.session = session, .options = options};
    int rc = begin(&watch, error);

    while (rc == 0 && !is_done(&watch)) {
        rc = wait_for_tick(&watch, error);
        if (rc == 0)
            rc = tick(&watch, error);
        if (rc == 0 && is_due(&watch))
            rc = show(&watch, error);
    }
    progress_clear(&session->progress);
    panel_close(watch.panel);
    return rc;
}

int cmd_ages(int argc, char **argv)
{
    struct options options = {
        .sampling = {.n_windows = 3, .window_s = {1, 10, 60}, .follow = true}};
    int rc = options_read(&command_options, &options, argc, argv);

    if (rc != 0)
        return options_exit(rc);
    return sampling_run(&options.sampling, follow, &options);
}
