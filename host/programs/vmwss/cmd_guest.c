// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file cmd_guest.c  vmwss guest: asks the agent in a guest, and shows its report beside the
 * host's data. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "guest/agent/agent_way.h"
#include "guest/ram/resident.h"
#include "programs/vmwss/cli.h"
#include "programs/vmwss/guest_kept.h"
#include "show/guest_view.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct choice {
    const char *uri, *domain, *database;
    double interval_s;
    uint64_t count;
    bool json;
};

/* State of repeated requests. */
struct inquiry {
    const struct choice *choice;
    struct domain_connection *connection;
    struct fsroot root;
    struct guest guest;
    struct guest_ram ram;
    struct resident_meter meter;
    bool metered;
    struct agent_way way;
    struct guest_report before;
    bool has_before, reported; /* reported: a report has come at some time */
};

/* --- the host's side -------------------------------------------------------------------------- */

static uint64_t resident_bytes(const struct inquiry *inquiry)
{
    struct resident_now now;

    if (!inquiry->metered ||
        resident_meter_read(&inquiry->meter, &inquiry->root, inquiry->guest.process.pid, &now) < 0)
        return AGENT_UNKNOWN;
    return now.resident_bytes;
}

/* Without the RAM the view has no resident bytes: finding it needs rights that asking the agent
 * does not. */
static void find_ram(struct inquiry *inquiry)
{
    struct error ignored;

    if (guest_ram_locate(&inquiry->root, &inquiry->guest.process, &inquiry->guest.ram,
                         &inquiry->ram, &ignored) == 0)
        inquiry->metered = resident_meter_init(&inquiry->meter, &inquiry->root,
                                               inquiry->guest.process.pid, &inquiry->ram) == 0;
}

/* --- the guest's side ------------------------------------------------------------------------- */

static void make_guest_stats(struct inquiry *inquiry, struct guest_view *view,
                             const struct guest_report *now)
{
    const struct host_sample host = {
        .ram_bytes = view->memory.current_bytes != DOMAIN_MEMORY_UNKNOWN
                         ? view->memory.current_bytes
                         : view->assigned_bytes,
        .resident_bytes = view->resident_bytes == AGENT_UNKNOWN ? 0 : view->resident_bytes,
    };
    bool follows = inquiry->has_before && guest_report_follows(&inquiry->before, now);

    view->before = follows ? &inquiry->before.report : NULL;
    guest_stats_make(&view->stats, follows ? &inquiry->before : NULL, now, &host);
}

/* Returns 0, or the agent's error, with inquiry->way.missing set. */
static int guest_ask(struct inquiry *inquiry, struct guest_report *now, struct agent_top *top)
{
    struct agent_event event;
    int rc = agent_way_ask(&inquiry->way, inquiry->connection, inquiry->guest.uuid, &event);

    if (rc < 0)
        return rc;
    guest_report_of_agent(now, agent_channel_hello(inquiry->way.channel), &event.message.report,
                          (double)clock_ns() / 1e9);
    *top = event.message.top;
    return 0;
}

/* --- vmwssd's --------------------------------------------------------------------------------- */

/* The history may not exist, or this user may not read it: the user has not named it, so this is
 * not an error. */
static void read_history(const struct inquiry *inquiry, struct guest_view *view,
                         struct guest_kept *kept)
{
    struct error error = {0};
    int rc = guest_kept_read(inquiry->choice->database ? inquiry->choice->database
                                                       : STORE_DEFAULT_PATH,
                             inquiry->guest.uuid, inquiry->guest.ram.total_bytes, kept, &error);

    if (rc < 0 && inquiry->choice->database)
        command_error("%s", error.text);
    if (!kept->has_record)
        return;
    view->record = &kept->sample.record.sample;
    view->record_age_s = kept->record_age_s;
}

/* If the agent cannot be asked, its last report to vmwssd is shown, with vmwssd's verdict. */
static void take_last_report(struct guest_view *view, const struct guest_kept *kept)
{
    view->hello = &kept->last_report.hello;
    view->report = &kept->last_report.report;
    view->top = &kept->last_report.top;
    view->report_age_s = kept->report_age_s;
    view->stats = view->record->guest;
}

/* --- together --------------------------------------------------------------------------------- */

static void show_guest(const struct choice *choice, const struct guest_view *view)
{
    if (choice->json)
        guest_view_print_json(view);
    else
        guest_view_print(view);
}

static int inquire(struct inquiry *inquiry, struct error *error)
{
    struct guest_view view = {.domain = inquiry->guest.name,
                              .uuid = inquiry->guest.uuid,
                              .pid = inquiry->guest.process.pid,
                              .assigned_bytes = inquiry->guest.ram.total_bytes,
                              .report_age_s = NAN};
    cleanup_free struct guest_kept *kept = malloc(sizeof(*kept));
    struct guest_report now;
    struct agent_top top;
    int rc = domain_memory_fetch(inquiry->connection, inquiry->guest.uuid, &view.memory, error);

    if (rc < 0)
        return rc == -ENOENT ? -ESRCH : rc;
    if (!kept)
        return error_set(error, -ENOMEM, "out of memory");
    view.resident_bytes = resident_bytes(inquiry);
    rc = guest_ask(inquiry, &now, &top);
    view.unix_s = clock_s(CLOCK_REALTIME);
    read_history(inquiry, &view, kept);
    if (rc == 0) {
        view.hello = agent_channel_hello(inquiry->way.channel);
        view.report = &now.report;
        view.top = &top;
        make_guest_stats(inquiry, &view, &now);
    } else if (kept->has_report) {
        take_last_report(&view, kept);
    } else {
        view.unavailable = inquiry->way.missing.text;
        guest_stats_unavailable(&view.stats, "%s", view.unavailable);
        command_error("domain %s: %s", view.domain, view.unavailable);
    }
    show_guest(inquiry->choice, &view);
    inquiry->reported |= view.report || domain_memory_is_reported(&view.memory);
    if (rc == 0) {
        inquiry->before = now;
        inquiry->has_before = true;
    }
    return command_flush(error);
}

static int inquire_often(struct inquiry *inquiry, struct error *error)
{
    const struct choice *choice = inquiry->choice;
    int rc = 0;

    for (uint64_t i = 0; rc == 0 && i < choice->count; i++) {
        if (i > 0) {
            clock_sleep((uint64_t)(choice->interval_s * 1e9));
            if (!choice->json)
                putchar('\n');
        }
        rc = inquire(inquiry, error);
    }
    return rc;
}

static int open_all(struct inquiry *inquiry, struct error *error)
{
    const struct choice *choice = inquiry->choice;
    int rc = domain_connect(choice->uri, &inquiry->connection, error);

    if (rc == 0)
        rc = guest_open_domain(inquiry->connection, &inquiry->root, choice->domain, &inquiry->guest,
                               error);
    if (rc < 0)
        return rc;
    find_ram(inquiry);
    return 0;
}

static void close_all(struct inquiry *inquiry)
{
    agent_way_end(&inquiry->way);
    if (inquiry->metered)
        resident_meter_free(&inquiry->meter);
    guest_ram_free(&inquiry->ram);
    guest_close(&inquiry->guest);
    domain_disconnect(inquiry->connection);
    fsroot_close(&inquiry->root);
}

static int guest_run(const struct choice *choice)
{
    struct inquiry inquiry = {.choice = choice, .guest.process.pidfd = -1};
    struct error error = {0};

    if (fsroot_open_host(&inquiry.root, &error) < 0)
        return command_cannot(&error);

    int rc = open_all(&inquiry, &error);
    bool opened = rc == 0;

    if (opened)
        rc = inquire_often(&inquiry, &error);
    close_all(&inquiry);
    if (rc == -EPIPE)
        return EXIT_PIPE;
    if (rc < 0) {
        command_error("%s", error.text);
        return opened && rc == -ESRCH ? EXIT_VANISHED : EXIT_CANNOT;
    }
    return inquiry.reported ? EXIT_DONE : EXIT_CANNOT;
}

#define AT(member) offsetof(struct choice, member)

static const struct option_line lines[] = {
    {OPTION_TEXT, 'c', "connect", "URI", AT(uri), .help = "libvirt connection (qemu:///system)"},
    {OPTION_TEXT, 'D', "database", "F", AT(database),
     .help = "vmwssd's history (" STORE_DEFAULT_PATH ")"},
    {OPTION_SECONDS, 'i', "interval", "S", AT(interval_s),
     .help = "seconds between two questions (5); paging is shown as rates between them"},
    {OPTION_COUNT, 'k', "count", "N", AT(count), .help = "ask N times (1; with --interval 2)", 1,
     UINT64_MAX, "a number, 1 or more"},
    {OPTION_FLAG, 'j', "json", NULL, AT(json),
     .help = "one JSON object per line, schema vmwss.guest.v1"},
    {.type = OPTION_END},
};

static const struct command_options command_options = {
    .usage =
        "Usage: vmwss guest DOMAIN [OPTIONS]\n\n"
        "Shows what the guest reports about its memory: its use, pressure and paging, and the largest "
        "processes. The agent vmwss-guest in the guest reports it, within 2 seconds; without an agent "
        "the statistics of the balloon driver are shown, if there are any. Their form and range are "
        "checked, but a guest may lie, so what the host knows and vmwssd's last measurement stand "
        "beside them.\n\n"
        "While vmwssd asks the agent, no other client can: then the agent's last report to vmwssd is "
        "shown, with its age.\n",
    .lines = lines,
    .after =
        "Exit status: 0 the guest reported something, 1 usage, 2 it did not, 3 the guest vanished.\n",
};

int cmd_guest(int argc, char **argv)
{
    struct choice choice = {0};
    int rc = options_read(&command_options, &choice, argc, argv);

    if (rc != 0)
        return options_exit(rc);
    if (optind != argc - 1) {
        command_error("name one DOMAIN; see vmwss guest --help");
        return EXIT_USAGE;
    }
    choice.domain = argv[optind];
    if (choice.count == 0)
        choice.count = choice.interval_s > 0 ? 2 : 1;
    if (choice.interval_s <= 0)
        choice.interval_s = 5;
    return guest_run(&choice);
}
