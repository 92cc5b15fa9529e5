// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file cmd_migrate.c  vmwss migrate: foretells a live migration of a guest, from what it writes.
 */
#include "base/clock.h"
#include "base/interrupt.h"
#include "programs/vmwss/migrate_ask.h"
#include "programs/vmwss/migrate_at.h"
#include "programs/vmwss/migrate_terms.h"
#include "programs/vmwss/sampling.h"
#include "show/migrate.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

struct options {
    struct sampling_choice sampling; /* must be first: see session.h */
    struct migrate_terms terms;
    struct migrate_settings settings; /* of the guest itself */
    const char *curve;
    const char *at;
    bool explain;
};

#define AT(member) offsetof(struct options, member)

static const struct option_line lines[] = {
    SAMPLING_GUEST,
    {OPTION_TABLE, .offset = AT(terms), .lines = migrate_terms_lines},
    SAMPLING_WINDOWS("windows of the write curve (0.1,0.2,0.5,1,2,5,10)"),
    {OPTION_TEXT, 0, "curve", "FILE", AT(curve),
     .help = "take the guest from FILE, which vmwss measure --writes --json printed"},
    {OPTION_TEXT, 0, "at", "HISTORY", AT(at),
     .help = "measure nothing: foretell for each hour of the week, from the writes in a history"},
    {OPTION_FLAG, 'e', "explain", NULL, AT(explain), .help = "also say how that was found"},
    SAMPLING_WAIT("how long to wait while another vmwss measures the guest (0)"),
    SAMPLING_JSON("one JSON object, schema vmwss.migrate.v1"),
    {.type = OPTION_END},
};

static const struct command_options command_options = {
    .usage =
        "Usage: vmwss migrate (DOMAIN | --pid PID | --curve FILE | DOMAIN --at HISTORY) [OPTIONS]\n\n"
        "Foretells a live migration: whether it converges, how long it takes, how long the guest stands\n"
        "still, and the least bandwidth and downtime that would do. It measures what the guest writes, and\n"
        "goes through QEMU's rounds with that. Nothing is migrated.\n",
    .lines = lines,
    .after =
        "Exit status: 0 foretold, whatever the verdict, 1 usage, 2 cannot measure, 3 the guest ended\n"
        "meanwhile, 130 interrupted.\n",
};

static int check_guest(struct options *options, int argc, char **argv)
{
    if (options->at) {
        if (options->curve || options->explain || options->sampling.guest.pid || optind != argc - 1)
            return command_refuse("--at takes one DOMAIN of the history, and no --curve, --pid "
                                  "and --explain");
        options->sampling.guest.domain = argv[optind];
        return 0;
    }
    if (!options->curve)
        return sampling_check(&options->sampling, argc, argv);
    if (optind == argc && !options->sampling.guest.pid)
        return 0;
    return command_refuse("--curve has its own guest: no DOMAIN and no --pid");
}

static int parse_options(struct options *options, int argc, char **argv)
{
    static const double windows[] = {WRITE_WINDOWS_S};

    *options = (struct options){.terms = MIGRATE_TERMS_DEFAULT,
                                .settings = MIGRATE_SETTINGS_UNKNOWN};
    options->terms.downtime_s = NAN; /* the guest may have its own */
    options->sampling.n_windows = COUNT(windows);
    memcpy(options->sampling.window_s, windows, sizeof(windows));

    int rc = options_read(&command_options, options, argc, argv);

    if (rc != 0)
        return rc;
    rc = migrate_terms_check(&options->terms);
    if (rc < 0)
        return rc;
    if (options->sampling.n_windows > WRITE_POINTS_MAX)
        return command_refuse("--window: a write curve has at most %d windows", WRITE_POINTS_MAX);
    return check_guest(options, argc, argv);
}

/* --- the forecast ----------------------------------------------------------------------------- */

static int foretell(const struct options *options, const struct migrate_guest *guest, double cpu_s,
                    struct error *error)
{
    const struct migrate_path path = migrate_path_of(&options->terms, guest->kvm);
    const struct migrate_memory memory = {
        .ram_bytes = (double)guest->ram_bytes,
        .filled_bytes = migrate_guest_filled(guest),
        .wss_bytes = guest->wss_bytes ? (double)guest->wss_bytes : NAN,
        .writes = &guest->writes,
        .quiet = guest->n_markings > 1 ? &guest->quiet : NULL,
    };
    struct migrate_forecast forecast;

    migrate_foretell(&memory, &path, &forecast);

    const struct migrate_report report = {.guest = guest,
                                          .filled_bytes = memory.filled_bytes,
                                          .settings = &options->settings,
                                          .path = &path,
                                          .forecast = &forecast,
                                          .bandwidth_assumed = options->terms.bandwidth_bytes_s ==
                                                               0,
                                          .cpu_s = cpu_s,
                                          .explain = options->explain};
    const int rc = migrate_print(&report, options->sampling.json ? SHOW_JSON : SHOW_TABLE);

    return rc < 0 ? error_set(error, rc, "out of memory") : command_flush(error);
}

/* --- the guest -------------------------------------------------------------------------------- */

static int foretell_file(const struct options *options)
{
    struct migrate_guest guest;
    struct error error = {0};
    int rc = migrate_curve_read(options->curve, &guest, &error);

    if (rc == 0)
        rc = foretell(options, &guest, NAN, &error);
    return command_end(rc, &error);
}

static void take_guest(const struct sample_record *record, struct migrate_guest *guest)
{
    *guest = (struct migrate_guest){
        .kvm = record->accel == ACCEL_KVM,
        .ram_bytes = record->ram_bytes,
        .resident_bytes = record->resident_bytes,
    };
    migrate_guest_mark(guest, &record->writes);
    snprintf(guest->domain, sizeof(guest->domain), "%s", record->domain);
    snprintf(guest->uuid, sizeof(guest->uuid), "%s", record->uuid);
}

/* Marks the guest several times more, for the short windows, as it may have phases. */
static int mark_again(struct session *session, double downtime_s, struct migrate_guest *guest,
                      double *cpu_s, struct error *error)
{
    struct sample_plan *plan = &session->plan;
    struct sample_record record;
    int rc = 0;

    while (plan->n_windows > 0 &&
           plan->window_s[plan->n_windows - 1] > migrate_marking_window_s(downtime_s))
        plan->n_windows--;
    for (unsigned i = 1; rc == 0 && i < MIGRATE_MARKINGS && plan->n_windows > 0; i++) {
        session_wait(session, clock_ns() + (uint64_t)(migrate_marking_pause_s(i) * 1e9));
        rc = interrupted ? error_set(error, -EINTR, "interrupted")
                         : session_measure(session, &record, error);
        if (rc == 0) {
            migrate_guest_join(guest, &record.writes);
            *cpu_s += record.cpu_s;
        }
    }
    return rc;
}

static int foretell_guest(struct session *session, const void *context, struct error *error)
{
    struct options options = *(const struct options *)context;
    struct sample_record record;
    struct migrate_guest guest;

    migrate_ask(&session->root, &session->subject.guest, options.sampling.guest.uri,
                &options.settings);
    migrate_settings_apply(&options.settings, &options.terms);

    int rc = session_measure(session, &record, error);

    if (rc < 0)
        return rc;
    take_guest(&record, &guest);
    guest.arrived = session->subject.guest.process.config.incoming;
    guest.vhost_user = session->subject.guest.process.config.vhost_user;
    options.terms.unforetold |= guest.vhost_user ? MIGRATE_TAKES_LONGER : 0;
    rc = mark_again(session, options.terms.downtime_s, &guest, &record.cpu_s, error);
    return rc < 0 ? rc : foretell(&options, &guest, record.cpu_s, error);
}

int cmd_migrate(int argc, char **argv)
{
    struct options options;
    int rc = parse_options(&options, argc, argv);

    if (rc != 0)
        return options_exit(rc);
    if (options.curve || options.at)
        migrate_settings_apply(&options.settings, &options.terms);
    if (options.curve)
        return foretell_file(&options);
    if (options.at)
        return migrate_at(options.at, options.sampling.guest.domain, &options.terms,
                          options.sampling.json ? SHOW_JSON : SHOW_TABLE);
    options.sampling.writes = true;
    return sampling_run(&options.sampling, foretell_guest, &options);
}
