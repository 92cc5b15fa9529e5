// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file cmd_balloon.c  vmwss balloon: shows vmwss-balloond's decisions and reasons from its
 * journal. */
#include "base/clock.h"
#include "base/option.h"
#include "base/parse.h"
#include "base/run_lock.h"
#include "base/text/units.h"
#include "base/utf8.h"
#include "decide/journal/journal.h"
#include "history/store.h"
#include "programs/vmwss/balloon_command.h"
#include "programs/vmwss/cli.h"
#include "show/note.h"
#include "show/sheet.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct option_line lines[] = {
    {OPTION_COUNT, 'n', "last", "N", offsetof(struct balloon_options, last),
     .help = "the number of decisions to show (20)", 1, 1000000,
     "a number of decisions, 1 to 1000000"},
    {OPTION_SECONDS, 'f', "for", "S", offsetof(struct balloon_options, for_s),
     .help = "how long the request of make-room lasts (3600)"},
    {OPTION_TEXT, 'c', "connect", "URI", offsetof(struct balloon_options, uri),
     .help = "libvirt connection, for release (qemu:///system)"},
    {OPTION_MOMENT, 's', "since", "TIME", offsetof(struct balloon_options, kept.from_s),
     .help = "the beginning of the report, in the forms of vmwss history (7d)"},
    {OPTION_KEY, 'w', "window", "S,S,S", offsetof(struct balloon_options, windows),
     .help = "the windows of the report's backtest (60,600,3600)", .set = decide_windows_parse,
     .expect = DECIDE_WINDOWS_EXPECTED},
    KEPT_JSON("report as JSON"),
    KEPT_DATABASE(offsetof(struct balloon_options, kept.database)),
    {OPTION_TEXT, 'J', "journal", "FILE", offsetof(struct balloon_options, journal),
     .help = "the journal (" JOURNAL_DEFAULT_PATH ")"},
    {.type = OPTION_END},
};

static int check_options(void *base, int argc, char **argv)
{
    struct balloon_options *options = base;

    options->verb = optind < argc ? argv[optind] : "";
    options->domain = optind + 1 < argc ? argv[optind + 1] : NULL;
    if (optind + 2 < argc)
        return command_refuse("%s: one guest at a time", argv[optind + 2]);
    if (options->kept.format == SHOW_JSON && strcmp(options->verb, "report") != 0)
        return command_refuse("--json: only report has it");
    return 0;
}

static const struct command_options command_options = {
    .usage =
        "Usage: vmwss balloon status [OPTIONS]\n"
        "       vmwss balloon why DOMAIN [OPTIONS]\n"
        "       vmwss balloon log [DOMAIN] [OPTIONS]\n"
        "       vmwss balloon report [OPTIONS]\n"
        "       vmwss balloon make-room SIZE [OPTIONS]\n"
        "       vmwss balloon release [DOMAIN] [OPTIONS]\n\n"
        "Shows vmwss-balloond's decisions, from its journal. status shows the last decision about each guest,\n"
        "why the last one about DOMAIN with its figures, log the last ones in order. report shows what came of\n"
        "them since --since, or would have, and a replay of that time. make-room asks vmwss-balloond to keep\n"
        "SIZE free on the host, and prints which guests give memory, or would in a dry run; 0 withdraws the\n"
        "request. release restores balloons that it set and did not restore, and takes no memory;\n"
        "vmwss-balloond must not run meanwhile.\n",
    .lines = lines,
    .check = check_options,
};

/* --- decisions -------------------------------------------------------------------------------- */

static const char *bytes_text(char *text, size_t size, uint64_t value)
{
    return value == DECIDE_UNKNOWN ? "-" : show_bytes(text, size, value);
}

struct listing {
    struct sheet sheet;
    size_t n;
};

static int add_row(const struct journal_entry *entry, void *context)
{
    struct listing *listing = context;
    struct sheet *sheet = &listing->sheet;
    const uint64_t reclaim_bytes = entry->ordered_bytes[ACTUATOR_RECLAIM];
    const bool reclaims = reclaim_bytes != DECIDE_UNKNOWN;

    listing->n++;
    sheet_row(sheet);
    sheet_time(sheet, "time", entry->time_s, 0);
    sheet_text(sheet, "domain", entry->name);
    sheet_text(sheet, "level", entry->level);
    sheet_bytes(sheet, "actual", entry->actual_bytes);
    sheet_bytes(sheet, "resident", entry->resident_bytes);
    sheet_bytes(sheet, "target", entry->target_bytes);
    sheet_bytes(sheet, "goal", entry->goal_bytes);
    sheet_cell(sheet, "action", "%s%s%s%s",
               entry->acted || !strcmp(entry->action, "none") ? "" : "would ", entry->action,
               reclaims ? " " : "", reclaims ? BYTES_TEXT(reclaim_bytes) : "");
    sheet_text(sheet, "why", entry->why);
    return sheet->rc;
}

static int no_decision(const char *domain, struct error *error)
{
    return error_set(error, -ENOENT, "domain %s: the journal has no decision about it", domain);
}

static int print_table(const struct balloon_options *options, struct journal *journal,
                       struct error *error)
{
    static const struct sheet_column columns[] = {
        {"time", {.name = "TIME", .rank = 2}},
        {"domain", {.name = "DOMAIN", .cut = true}},
        {"level", {.name = "HOST", .rank = 4}},
        {"actual", {.name = "ACTUAL", .right = true, .rank = 1}},
        {"resident", {.name = "RESIDENT", .right = true, .rank = 3}},
        {"target", {.name = "TARGET", .right = true}},
        {"goal", {.name = "GOAL", .right = true}},
        {"action", {.name = "ACTION"}},
        {"why", {.name = "WHY", .last = true}},
    };
    struct listing listing = {.n = 0};
    const bool status = !strcmp(options->verb, "status") || !strcmp(options->verb, "make-room");
    int rc;

    sheet_begin(&listing.sheet, SHOW_TABLE, NULL, NULL);
    sheet_list(&listing.sheet, NULL, columns, COUNT(columns));
    rc = status ? journal_latest(journal, add_row, &listing, error)
                : journal_entries(journal, options->domain, (unsigned)options->last, add_row,
                                  &listing, error);
    if (rc == 0 && !status && options->domain && listing.n == 0)
        rc = no_decision(options->domain, error);
    if (rc == 0)
        sheet_close(&listing.sheet);
    sheet_free(&listing.sheet);
    return rc;
}

static void print_term(const char *name, uint64_t bytes)
{
    char text[32];

    if (name)
        printf("  %-38s %12s\n", name, bytes_text(text, sizeof(text), bytes));
}

static void print_terms(const struct journal_entry *entry)
{
    print_term("assigned", entry->assigned_bytes);
    print_term("actual", entry->actual_bytes);
    print_term("resident", entry->resident_bytes);
    print_term("touched in the middle window, at most", entry->wss_high_bytes);
    print_term("floor", entry->floor_bytes);
    print_term("wished, without the host's limits", entry->wish_bytes);
    print_term("target, the next step", entry->target_bytes);
    print_term("goal, where it would come to", entry->goal_bytes);
    for (size_t i = 0; i < N_ACTUATORS; i++) {
        print_term(actuators[i]->ordered_column.term, entry->ordered_bytes[i]);
        print_term(actuators[i]->done_column.term, entry->done_bytes[i]);
    }
    print_term("free on the host", entry->free_bytes);
    print_term("actual after 5 s", entry->after_actual_bytes[0]);
    print_term("actual after 30 s", entry->after_actual_bytes[1]);
    print_term("actual after 60 s", entry->after_actual_bytes[2]);
    print_term("resident after 60 s", entry->after_resident_bytes[2]);
}

static int explain_entry(const struct journal_entry *entry, void *context)
{
    char name[sizeof(entry->name)], why[sizeof(entry->why)];

    *(unsigned *)context += 1;
    utf8_printable_copy(why, sizeof(why), *entry->why ? entry->why : "it has what it needs");
    note("%s: %s%s at %s, host %s, %s\n%s\n", utf8_printable_copy(name, sizeof(name), entry->name),
         entry->acted || !strcmp(entry->action, "none") ? "" : "would ", entry->action,
         TIME_TEXT(entry->time_s, 0), entry->level, entry->mode, why);
    print_terms(entry);
    return 0;
}

static int print_why(const struct balloon_options *options, struct journal *journal,
                     struct error *error)
{
    unsigned n = 0;
    int rc = journal_entries(journal, options->domain, 1, explain_entry, &n, error);

    if (rc == 0 && n == 0)
        return no_decision(options->domain, error);
    return rc;
}

/* --- asking for room -------------------------------------------------------------------------- */

#define ANSWER_S 15

static int see_time(const struct journal_entry *entry, void *context)
{
    *(double *)context = fmax(*(double *)context, entry->time_s);
    return 0;
}

/* Waits for a decision made after the request; if decisions do not change, there may be none. */
static int wait_for_answer(struct journal *journal, double asked_s, struct error *error)
{
    double newest_s = 0;
    int rc = 0;

    for (int i = 0; rc == 0 && newest_s <= asked_s && i < 2 * ANSWER_S; i++) {
        clock_sleep(500000000);
        rc = journal_latest(journal, see_time, &newest_s, error);
    }
    return rc;
}

static int ask_room(const struct balloon_options *options, uint64_t bytes, struct error *error)
{
    const struct store_clock now = store_clock_now();
    struct journal *journal = NULL;
    int rc = journal_open_read(options->journal, &journal, error); /* does not create a journal */

    journal_close(journal);
    journal = NULL;
    if (rc == 0)
        rc = journal_open(options->journal, &journal, error);
    if (rc == 0)
        rc = journal_ask_room(journal, bytes, now.steady_s + options->for_s, error);
    if (rc == 0)
        rc = wait_for_answer(journal, now.wall_s, error);
    if (rc == 0)
        rc = print_table(options, journal, error);
    journal_close(journal);
    return rc;
}

/* A process that holds the lock reads the journal; without such a process there are no decisions.
 */
static int make_room(const struct balloon_options *options, struct error *error)
{
    static const struct lock_wait at_once = {.pidfd = -1};
    struct run_lock lock = RUN_LOCK_NONE;
    cleanup_root struct fsroot root;
    uint64_t bytes;
    int rc = fsroot_open_host(&root, NULL);

    if (parse_size(options->domain, &bytes) < 0 && strcmp(options->domain, "0") != 0)
        return error_set(error, -EINVAL, "make-room %s: expected a size, as in 8G",
                         options->domain);
    if (!strcmp(options->domain, "0"))
        bytes = 0;
    if (rc == 0)
        rc = run_lock_host(&lock, &root, "balloond", &at_once, NULL);
    run_lock_release(&lock);
    if (rc == 0)
        return error_set(
            error, -ESRCH,
            "vmwss-balloond is not running: it decides which guests give memory; start it first");
    return rc == -EBUSY ? ask_room(options, bytes, error)
                        : error_set(error, rc, "the lock of vmwss-balloond: %s", strerror(-rc));
}

/* --- the command ------------------------------------------------------------------------------ */

static int show_journal(const struct balloon_options *options, struct error *error)
{
    struct journal *journal = NULL;
    int rc = journal_open_read(options->journal, &journal, error);

    if (rc == 0)
        rc = (!strcmp(options->verb, "why") ? print_why : print_table)(options, journal, error);
    journal_close(journal);
    return rc;
}

int cmd_balloon(int argc, char **argv)
{
    struct balloon_options options = {.kept = KEPT_CHOICE_DEFAULT,
                                      .windows = decide_windows_default,
                                      .journal = JOURNAL_DEFAULT_PATH,
                                      .last = 20,
                                      .for_s = 3600};
    struct error error = {0};
    int rc = options_read(&command_options, &options, argc, argv);

    if (rc != 0)
        return options_exit(rc);
    if (!strcmp(options.verb, "release"))
        rc = balloon_release(&options, &error);
    else if (!strcmp(options.verb, "report") && !options.domain)
        rc = balloon_report(&options, &error);
    else if (!strcmp(options.verb, "make-room") && options.domain)
        rc = make_room(&options, &error);
    else if (!strcmp(options.verb, "status") || !strcmp(options.verb, "log") ||
             (!strcmp(options.verb, "why") && options.domain))
        rc = show_journal(&options, &error);
    else {
        command_error("balloon%s%s: expected status, why DOMAIN, log, report, make-room SIZE or "
                      "release",
                      options.verb[0] ? " " : "", options.verb);
        return EXIT_USAGE;
    }
    return command_end(rc, &error);
}
