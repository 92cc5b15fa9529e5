// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file cmd_balloon.c  vmwss balloon: shows vmwss-balloond's decisions and reasons from its
 * journal, and gives back the memory that it took, if it does not run. */
#include "base/array.h"
#include "base/bytes.h"
#include "base/option.h"
#include "base/parse.h"
#include "base/run_lock.h"
#include "base/text/units.h"
#include "base/utf8.h"
#include "decide/journal/journal.h"
#include "guest/domain/domain_mark.h"
#include "guest/domain/domain_memory.h"
#include "history/store.h"
#include "programs/vmwss/cli.h"
#include "show/sheet.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

struct options {
    const char *journal, *uri;
    uint64_t last;
    double for_s;
    const char *verb, *domain; /* domain; for make-room: the size */
};

static const struct option_line lines[] = {
    {OPTION_COUNT, 'n', "last", "N", offsetof(struct options, last),
     .help = "the number of decisions to show (20)", 1, 1000000,
     "a number of decisions, 1 to 1000000"},
    {OPTION_SECONDS, 'f', "for", "S", offsetof(struct options, for_s),
     .help = "how long the request of make-room lasts (3600)"},
    {OPTION_TEXT, 'c', "connect", "URI", offsetof(struct options, uri),
     .help = "libvirt connection, for release (qemu:///system)"},
    {OPTION_TEXT, 'J', "journal", "FILE", offsetof(struct options, journal),
     .help = "the journal (" JOURNAL_DEFAULT_PATH ")"},
    {.type = OPTION_END},
};

static const struct command_options command_options = {
    .usage =
        "Usage: vmwss balloon status [OPTIONS]\n"
        "       vmwss balloon why DOMAIN [OPTIONS]\n"
        "       vmwss balloon log [DOMAIN] [OPTIONS]\n"
        "       vmwss balloon make-room SIZE [OPTIONS]\n"
        "       vmwss balloon release [DOMAIN] [OPTIONS]\n\n"
        "Shows vmwss-balloond's decisions, from its journal. status shows the last decision about each guest,\n"
        "why the last one about DOMAIN with its figures, log the last ones in order. make-room asks it to keep\n"
        "SIZE free on the host, and prints which guests give memory, or would in a dry run; 0 withdraws the\n"
        "request. release restores balloons that it set and did not restore, and takes no memory;\n"
        "vmwss-balloond must not run meanwhile.\n",
    .lines = lines,
};

/* As options_read(). */
static int parse_options(struct options *options, int argc, char **argv)
{
    *options = (struct options){.journal = JOURNAL_DEFAULT_PATH, .last = 20, .for_s = 3600};

    int rc = options_read(&command_options, options, argc, argv);

    if (rc != 0)
        return rc;
    options->verb = optind < argc ? argv[optind] : "";
    options->domain = optind + 1 < argc ? argv[optind + 1] : NULL;
    if (optind + 2 < argc) {
        command_error("%s: one guest at a time", argv[optind + 2]);
        return -EINVAL;
    }
    return 0;
}

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
    char reclaim[24];

    listing->n++;
    sheet_row(sheet);
    sheet_time(sheet, "time", entry->time_s, 0);
    sheet_text(sheet, "domain", entry->name);
    sheet_text(sheet, "level", entry->level);
    sheet_bytes(sheet, "actual", entry->actual_bytes);
    sheet_bytes(sheet, "resident", entry->resident_bytes);
    sheet_bytes(sheet, "target", entry->target_bytes);
    sheet_cell(sheet, "action", "%s%s%s%s",
               entry->acted || !strcmp(entry->action, "none") ? "" : "would ", entry->action,
               reclaims ? " " : "",
               reclaims ? show_bytes(reclaim, sizeof(reclaim), reclaim_bytes) : "");
    sheet_text(sheet, "why", entry->why);
    return sheet->rc;
}

static int no_decision(const char *domain, struct error *error)
{
    return error_set(error, -ENOENT, "domain %s: the journal has no decision about it", domain);
}

static int print_table(const struct options *options, struct journal *journal, struct error *error)
{
    static const struct sheet_column columns[] = {
        {"time", {.name = "TIME", .rank = 2}},
        {"domain", {.name = "DOMAIN", .cut = true}},
        {"level", {.name = "HOST", .rank = 4}},
        {"actual", {.name = "ACTUAL", .right = true, .rank = 1}},
        {"resident", {.name = "RESIDENT", .right = true, .rank = 3}},
        {"target", {.name = "TARGET", .right = true}},
        {"action", {.name = "ACTION"}},
        {"why", {.name = "WHY", .last = true}},
    };
    struct listing listing = {.n = 0};
    const bool status = !strcmp(options->verb, "status") || !strcmp(options->verb, "make-room");
    int rc;

    sheet_begin(&listing.sheet, SHOW_TABLE, NULL, NULL);
    sheet_list(&listing.sheet, NULL, columns, sizeof(columns) / sizeof(columns[0]));
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
    print_term("target", entry->target_bytes);
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
    char text[32], name[sizeof(entry->name)], why[sizeof(entry->why)];

    *(unsigned *)context += 1;
    utf8_printable_copy(why, sizeof(why), *entry->why ? entry->why : "it has what it needs");
    printf("%s: %s%s at %s, host %s, %s\n%s\n",
           utf8_printable_copy(name, sizeof(name), entry->name),
           entry->acted || !strcmp(entry->action, "none") ? "" : "would ", entry->action,
           show_time(text, sizeof(text), entry->time_s, 0), entry->level, entry->mode, why);
    print_terms(entry);
    return 0;
}

static int print_why(const struct options *options, struct journal *journal, struct error *error)
{
    unsigned n = 0;
    int rc = journal_entries(journal, options->domain, 1, explain_entry, &n, error);

    if (rc == 0 && n == 0)
        return no_decision(options->domain, error);
    return rc;
}

/* --- giving back ------------------------------------------------------------------------------ */

struct releasing {
    const struct options *options;
    struct domain_connection *libvirt;
    char boot_id[JOURNAL_BOOT_ID];
    struct error error; /* the last error */
    size_t found;       /* number of requested balloons */
    size_t n;
    struct journal_balloon *done; /* not removed while rows are read */
};

/* Restores devices first, and leaves the rest to the balloon. */
static int set_back(struct domain_connection *libvirt, const struct journal_balloon *row,
                    uint64_t target, struct error *error)
{
    uint64_t rest = row->before_bytes;
    struct domain_virtio_mem device = {0};
    int restored = 0;

    for (size_t a = 0; a < N_ACTUATORS; a++) {
        int rc = actuators[a]->restore && row->part_bytes[a] > 0
                     ? actuators[a]->restore(libvirt, row->uuid, row->part_bytes[a], &device, error)
                     : 0;

        if (rc < 0)
            return rc;
        restored += rc;
        rest = less(rest, row->part_bytes[a]);
    }
    if (restored == 0)
        return domain_memory_set(libvirt, row->uuid, target, error);
    if (!device.balloon)
        return 0;
    return domain_balloon_set(libvirt, row->uuid,
                              larger(rest, device.total_bytes - device.current_bytes), error);
}

/* Never takes memory from the guest: it may use all that it was given since. The row then has the
 * size that it is set to: its balloon may be moving there for a while. */
static int give_back(struct releasing *releasing, struct journal_balloon *balloon,
                     const struct domain_memory *memory, struct error *error)
{
    bool is_less = memory->current_bytes < balloon->before_bytes ||
                   memory->current_bytes == DOMAIN_MEMORY_UNKNOWN;
    uint64_t target = is_less ? balloon->before_bytes : memory->current_bytes;
    char text[32];
    int rc = set_back(releasing->libvirt, balloon, target, error);

    if (rc == 0)
        printf("%s: %s%s\n", balloon->name, show_bytes(text, sizeof(text), target),
               target > balloon->before_bytes ? ", kept: more than it had before" : "");
    if (rc == 0) {
        journal_balloon_restored(balloon, target, store_clock_now().wall_s);
        rc = domain_mark_set(releasing->libvirt, balloon->uuid, &(struct domain_mark){0}, error);
    }
    return rc;
}

static bool is_asked_for(const char *domain, const struct journal_balloon *balloon)
{
    return balloon->before_bytes > 0 && balloon->restored_s == 0 &&
           (!domain || !strcmp(domain, balloon->name) || !strcasecmp(domain, balloon->uuid));
}

/* Called before anything is given, so that the row can be updated. */
static int make_space(struct releasing *releasing)
{
    struct journal_balloon *more = array_grow(releasing->done, releasing->n, sizeof(*more));

    if (!more)
        return error_set(&releasing->error, -ENOMEM, "out of memory");
    releasing->done = more;
    return 0;
}

static bool is_of(const struct journal_balloon *balloon, const char *boot_id,
                  const struct domain_memory *memory)
{
    const struct journal_run run = {.boot_id = boot_id,
                                    .domain_id = memory->id,
                                    .saved = memory->saved,
                                    .current_bytes = memory->current_bytes};

    return journal_balloon_is_of(balloon, &run, store_clock_now().wall_s);
}

static int release_one(const struct journal_balloon *balloon, void *context)
{
    struct releasing *releasing = context;
    struct journal_balloon row = *balloon;
    struct domain_memory memory;
    struct error error = {0};
    int rc;

    if (!is_asked_for(releasing->options->domain, balloon) || make_space(releasing) < 0)
        return 0;
    releasing->found++;
    rc = domain_memory_fetch(releasing->libvirt, balloon->uuid, &memory, &error);
    if (rc == 0 && is_of(balloon, releasing->boot_id, &memory))
        rc = give_back(releasing, &row, &memory, &error);
    else if (rc == 0 || rc == -ENOENT) { /* its run has ended, and so has its balloon's state */
        row.before_bytes = 0;
        rc = 0;
    }
    if (rc == 0)
        releasing->done[releasing->n++] = row;
    else
        releasing->error = error;
    return 0;
}

/* The size learned from its last panic stays. */
static int forget_balloon(struct journal *journal, const struct journal_balloon *balloon,
                          struct error *error)
{
    return balloon->before_bytes > 0 || balloon->panic_bytes > 0
               ? journal_own(journal, balloon, error)
               : journal_disown(journal, balloon->uuid, error);
}

static int release_from(struct journal *journal, struct releasing *releasing, struct error *error)
{
    const char *domain = releasing->options->domain;
    int rc = domain_connect_writable(releasing->options->uri, &releasing->libvirt, error);

    if (rc < 0)
        return rc;
    journal_boot_id(releasing->boot_id);
    rc = journal_balloons(journal, release_one, releasing, error);
    domain_disconnect(releasing->libvirt);
    for (size_t i = 0; rc == 0 && i < releasing->n; i++)
        rc = forget_balloon(journal, &releasing->done[i], error);
    if (rc == 0 && releasing->error.code)
        rc = error_set(error, releasing->error.code, "%s", releasing->error.text);
    if (rc == 0 && domain && releasing->found == 0)
        rc = error_set(error, -ENOENT, "domain %s: it has no balloon to restore", domain);
    return rc;
}

static int release_all(const struct options *options, struct error *error)
{
    struct releasing releasing = {.options = options};
    struct journal *journal = NULL;
    int rc = journal_open_read(options->journal, &journal, error);

    journal_close(journal);
    journal = NULL;
    if (rc == 0)
        rc = journal_open(options->journal, &journal, error);
    if (rc == 0)
        rc = release_from(journal, &releasing, error);
    free(releasing.done);
    journal_close(journal);
    return rc;
}

static int release(const struct options *options, struct error *error)
{
    static const struct lock_wait at_once = {.pidfd = -1};
    struct run_lock lock = RUN_LOCK_NONE;
    struct fsroot root;
    int rc = fsroot_open(&root, "/");

    if (rc == 0)
        rc = run_lock_host(&lock, &root, "balloond", &at_once, error);
    if (rc == 0)
        rc = release_all(options, error);
    run_lock_release(&lock);
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
    static const struct timespec half_second = {.tv_nsec = 500000000};
    double newest_s = 0;
    int rc = 0;

    for (int i = 0; rc == 0 && newest_s <= asked_s && i < 2 * ANSWER_S; i++) {
        nanosleep(&half_second, NULL);
        rc = journal_latest(journal, see_time, &newest_s, error);
    }
    return rc;
}

static int ask_room(const struct options *options, uint64_t bytes, struct error *error)
{
    const double now_s = store_clock_now().wall_s;
    struct journal *journal = NULL;
    int rc = journal_open_read(options->journal, &journal, error); /* does not create a journal */

    journal_close(journal);
    journal = NULL;
    if (rc == 0)
        rc = journal_open(options->journal, &journal, error);
    if (rc == 0)
        rc = journal_ask_room(journal, bytes, now_s + options->for_s, error);
    if (rc == 0)
        rc = wait_for_answer(journal, now_s, error);
    if (rc == 0)
        rc = print_table(options, journal, error);
    journal_close(journal);
    return rc;
}

/* A process that holds the lock reads the journal; without such a process there are no decisions.
 */
static int make_room(const struct options *options, struct error *error)
{
    static const struct lock_wait at_once = {.pidfd = -1};
    struct run_lock lock = RUN_LOCK_NONE;
    struct fsroot root;
    uint64_t bytes;
    int rc = fsroot_open(&root, "/");

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

static int show_journal(const struct options *options, struct error *error)
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
    struct options options;
    struct error error = {0};
    int rc = parse_options(&options, argc, argv);

    if (rc != 0)
        return options_exit(rc);
    if (!strcmp(options.verb, "release"))
        rc = release(&options, &error);
    else if (!strcmp(options.verb, "make-room") && options.domain)
        rc = make_room(&options, &error);
    else if (!strcmp(options.verb, "status") || !strcmp(options.verb, "log") ||
             (!strcmp(options.verb, "why") && options.domain))
        rc = show_journal(&options, &error);
    else {
        command_error("balloon %s: expected status, why DOMAIN, log, make-room SIZE or release",
                      options.verb);
        return EXIT_USAGE;
    }
    if (rc == 0)
        rc = command_flush(&error);
    if (rc == 0)
        return EXIT_DONE;
    return rc == -EPIPE ? EXIT_PIPE : command_cannot(&error);
}
