// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file balloon_release.c  See balloon_command.h: gives back the memory that vmwss-balloond took,
 * if it does not run. */
#include "base/array.h"
#include "base/bytes.h"
#include "base/run_lock.h"
#include "base/text/units.h"
#include "decide/journal/journal.h"
#include "guest/domain/domain_mark.h"
#include "guest/domain/domain_memory.h"
#include "history/store.h"
#include "programs/vmwss/balloon_command.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct releasing {
    const struct balloon_options *options;
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

/* Adds memory that was plugged since, and subtracts what was unplugged. A row with parts has the
 * sum of them as M, which libvirt does not report. */
static void follow_plug(struct journal_balloon *row, const struct domain_memory *memory)
{
    const struct decide_input now = {.assigned_bytes = memory->maximum_bytes,
                                     .actual_bytes = memory->current_bytes};

    for (size_t a = 0; a < N_ACTUATORS; a++)
        if (row->part_bytes[a] > 0)
            return;
    if (memory->maximum_bytes != DOMAIN_MEMORY_UNKNOWN)
        row->before_bytes = balloon_shifted(row->before_bytes, row->set_bytes, row->assigned_bytes,
                                            &now);
}

/* Never takes memory from the guest: it may use all that it was given since. The row then has the
 * size that it is set to: its balloon may be moving there for a while. */
static int give_back(struct releasing *releasing, struct journal_balloon *balloon,
                     const struct domain_memory *memory, struct error *error)
{
    follow_plug(balloon, memory);

    bool is_less = memory->current_bytes < balloon->before_bytes ||
                   memory->current_bytes == DOMAIN_MEMORY_UNKNOWN;
    uint64_t target = is_less ? balloon->before_bytes : memory->current_bytes;
    int rc = set_back(releasing->libvirt, balloon, target, error);

    if (rc == 0)
        printf("%s: %s%s\n", balloon->name, BYTES_TEXT(target),
               target > balloon->before_bytes ? ", kept: more than it had before" : "");
    if (rc == 0) {
        journal_balloon_restored(balloon, target, store_clock_now().wall_s);
        rc = domain_mark_set(releasing->libvirt, balloon->uuid, &(struct domain_mark){0}, error);
    }
    return rc;
}

static bool is_asked_for(const char *domain, const struct journal_balloon *balloon)
{
    return ((balloon->before_bytes > 0 && balloon->restored_s == 0) || balloon->asked_s > 0) &&
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

/* Gives the guest back what this row of its run says. */
static int restore_row(struct releasing *releasing, struct journal_balloon *row,
                       const struct domain_memory *memory, struct error *error)
{
    const struct journal_run run = {.boot_id = releasing->boot_id,
                                    .domain_id = memory->id,
                                    .saved = memory->saved,
                                    .current_bytes = memory->current_bytes};
    bool sized = journal_balloon_is_of(row, &run, store_clock_now().wall_s);
    int rc = journal_asks(row, &run)
                 ? domain_balloon_ask(releasing->libvirt, row->uuid, row->asked_s, 0, error)
                 : 0;

    row->asked_s = rc == 0 ? 0 : row->asked_s;
    if (rc == 0 && sized && row->restored_s == 0)
        rc = give_back(releasing, row, memory, error);
    else if (!sized) /* its run has ended, and so has its balloon's state */
        row->before_bytes = 0;
    return rc;
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
    if (rc == 0)
        rc = restore_row(releasing, &row, &memory, &error);
    else if (rc == -ENOENT) {
        row.before_bytes = row.asked_s = 0;
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
    return balloon->before_bytes > 0 || balloon->panic_bytes > 0 || balloon->asked_s > 0
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

static int release_all(const struct balloon_options *options, struct error *error)
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

int balloon_release(const struct balloon_options *options, struct error *error)
{
    static const struct lock_wait at_once = {.pidfd = -1};
    struct run_lock lock = RUN_LOCK_NONE;
    cleanup_root struct fsroot root;
    int rc = fsroot_open_host(&root, error);

    if (rc == 0)
        rc = run_lock_host(&lock, &root, "balloond", &at_once, error);
    if (rc == 0)
        rc = release_all(options, error);
    run_lock_release(&lock);
    return rc;
}
