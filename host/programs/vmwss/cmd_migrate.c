// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file cmd_migrate.c  vmwss migrate: foretells a live migration of a guest, from what it writes.
 */
#include "base/parse.h"
#include "programs/vmwss/sampling.h"
#include "show/migrate.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Uncertainties of what was not measured: a connection shares its host, and moves. */
#define BANDWIDTH_SHARE 0.05
#define LINK_SHARE 0.25
/* Standstill for the devices' state and for starting at the other end: QEMU 7.2, a guest of few
 * devices. */
#define STATE_S 0.02
#define STATE_TIMES 3
/* Zero and absent memory is read at both ends; absent memory by a page fault each. */
#define ZEROES_BYTES_S 4e9
#define ZEROES_TIMES 4
#define ZEROES_GIVEN_TIMES 1.5
/* QEMU's stream has pages of 4 KiB. */
#define STREAM_PAGE_BYTES 4096

struct options {
    struct sampling_choice sampling;                        /* must be first: see session.h */
    double bandwidth_bytes_s, link_bytes_s, zeroes_bytes_s; /* 0: not given */
    double downtime_s, state_s;
    const char *curve;
    bool auto_converge, explain;
};

static int set_speed(double *speed, const char *option, const char *value)
{
    return parse_speed(value, speed) < 0 ? command_bad_value(option, value, PARSE_SPEED_EXPECTED)
                                         : 0;
}

static int set_bandwidth(void *speed, const char *value)
{
    return set_speed(speed, "--bandwidth", value);
}

static int set_link(void *speed, const char *value)
{
    return set_speed(speed, "--link", value);
}

static int set_zeroes(void *speed, const char *value)
{
    return set_speed(speed, "--zeroes", value);
}

#define AT(member) offsetof(struct options, member)

static const struct option_line lines[] = {
    SAMPLING_GUEST,
    {OPTION_CALL, 'b', "bandwidth", "SPEED", AT(bandwidth_bytes_s),
     .help = "the limit of the migration's bandwidth, with its unit: 1192MiB/s, 10Gbit/s\n"
             "(128MiB/s, as QEMU without libvirt)",
     .call = set_bandwidth},
    {OPTION_CALL, 'l', "link", "SPEED", AT(link_bytes_s),
     .help = "the connection without that limit, at which the last pages are sent (the same)",
     .call = set_link},
    {OPTION_SECONDS, 'd', "downtime", "TIME", AT(downtime_s),
     .help = "the longest standstill that is allowed (300ms, as QEMU)"},
    {OPTION_SECONDS, 0, "state", "TIME", AT(state_s),
     .help = "standstill for all but memory (20ms)"},
    {OPTION_CALL, 0, "zeroes", "SPEED", AT(zeroes_bytes_s),
     .help = "how fast both hosts pass over memory that is zero or absent (4GB/s)",
     .call = set_zeroes},
    {OPTION_FLAG, 0, "auto-converge", NULL, AT(auto_converge),
     .help = "QEMU slows the guest down while it does not converge"},
    SAMPLING_WINDOWS("windows of the write curve (0.1,0.2,0.5,1,2,5,10)"),
    {OPTION_TEXT, 0, "curve", "FILE", AT(curve),
     .help = "take the guest from FILE, which vmwss measure --writes --json printed"},
    {OPTION_FLAG, 'e', "explain", NULL, AT(explain), .help = "also say how that was found"},
    SAMPLING_WAIT("how long to wait while another vmwss measures the guest (0)"),
    SAMPLING_JSON("one JSON object, schema vmwss.migrate.v1"),
    {.type = OPTION_END},
};

static const struct command_options command_options = {
    .usage =
        "Usage: vmwss migrate (DOMAIN | --pid PID | --curve FILE) [OPTIONS]\n\n"
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
    if (!options->curve)
        return sampling_check(&options->sampling, argc, argv);
    if (optind == argc && !options->sampling.guest.pid)
        return 0;
    command_error("--curve has its own guest: no DOMAIN and no --pid");
    return -EINVAL;
}

static int parse_options(struct options *options, int argc, char **argv)
{
    static const double windows[] = {0.1, 0.2, 0.5, 1, 2, 5, 10};

    *options = (struct options){.downtime_s = MIGRATE_DOWNTIME_DEFAULT_S, .state_s = STATE_S};
    options->sampling.n_windows = sizeof(windows) / sizeof(windows[0]);
    memcpy(options->sampling.window_s, windows, sizeof(windows));

    int rc = options_read(&command_options, options, argc, argv);

    if (rc != 0)
        return rc;
    if (options->downtime_s > MIGRATE_DOWNTIME_MAX_S) {
        command_error("--downtime: QEMU allows at most %d s", MIGRATE_DOWNTIME_MAX_S);
        return -EINVAL;
    }
    if (options->sampling.n_windows > WRITE_POINTS_MAX) {
        command_error("--window: a write curve has at most %d windows", WRITE_POINTS_MAX);
        return -EINVAL;
    }
    return check_guest(options, argc, argv);
}

/* --- the forecast ----------------------------------------------------------------------------- */

static struct migrate_range within(double value, double share)
{
    return (struct migrate_range){value, value * (1 - share), value * (1 + share)};
}

static struct migrate_range times(double value, double factor)
{
    return (struct migrate_range){value, value / factor, value * factor};
}

static struct migrate_path path_of(const struct options *options, bool kvm)
{
    const double bandwidth = options->bandwidth_bytes_s > 0 ? options->bandwidth_bytes_s
                                                            : MIGRATE_BANDWIDTH_DEFAULT;
    const bool has_link = options->link_bytes_s > 0;
    const bool given = options->zeroes_bytes_s > 0;
    const double zeroes = given ? options->zeroes_bytes_s : ZEROES_BYTES_S;

    return (struct migrate_path){
        .bandwidth_bytes_s = within(bandwidth, BANDWIDTH_SHARE),
        .link_bytes_s = within(has_link ? options->link_bytes_s : bandwidth,
                               has_link ? LINK_SHARE : BANDWIDTH_SHARE),
        .downtime_s = options->downtime_s,
        .device_s = times(options->state_s, STATE_TIMES),
        .zero_page_s = times(STREAM_PAGE_BYTES / zeroes, given ? ZEROES_GIVEN_TIMES : ZEROES_TIMES),
        .tracks_pieces = kvm,
        .auto_converge = options->auto_converge,
    };
}

static int foretell(const struct options *options, const struct migrate_guest *guest, double cpu_s,
                    struct error *error)
{
    const struct migrate_path path = path_of(options, guest->kvm);
    const double resident = fmin((double)guest->resident_bytes, (double)guest->ram_bytes);
    const struct migrate_memory memory = {
        .ram_bytes = (double)guest->ram_bytes,
        .filled_bytes = {resident, resident, resident},
        .wss_bytes = guest->wss_bytes ? (double)guest->wss_bytes : NAN,
        .writes = &guest->writes,
    };
    struct migrate_forecast forecast;

    migrate_foretell(&memory, &path, &forecast);

    const struct migrate_report report = {guest, &path, &forecast, cpu_s, options->explain};
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
    return rc < 0 ? command_cannot(&error) : EXIT_DONE;
}

static void take_guest(const struct sample_record *record, struct migrate_guest *guest)
{
    *guest = (struct migrate_guest){
        .kvm = record->accel == ACCEL_KVM,
        .ram_bytes = record->ram_bytes,
        .resident_bytes = record->resident_bytes,
        .writes = record->writes,
    };
    snprintf(guest->domain, sizeof(guest->domain), "%s", record->domain);
    snprintf(guest->uuid, sizeof(guest->uuid), "%s", record->uuid);
}

static int foretell_guest(struct session *session, const void *context, struct error *error)
{
    const struct options *options = context;
    struct sample_record record;
    struct migrate_guest guest;
    int rc = session_measure(session, &record, error);

    if (rc < 0)
        return rc;
    take_guest(&record, &guest);
    return foretell(options, &guest, record.cpu_s, error);
}

int cmd_migrate(int argc, char **argv)
{
    struct options options;
    int rc = parse_options(&options, argc, argv);

    if (rc != 0)
        return options_exit(rc);
    if (options.curve)
        return foretell_file(&options);
    options.sampling.writes = true;
    return sampling_run(&options.sampling, foretell_guest, &options);
}
