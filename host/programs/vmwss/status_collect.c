// SPDX-License-Identifier: LGPL-2.1-or-later
#include "programs/vmwss/status_collect.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/text/units.h"
#include "guest/domain/domain_memory.h"
#include "guest/ram/resident.h"
#include "history/event.h"
#include "history/kept_age.h"
#include "programs/vmwss/daemon_process.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

struct collecting {
    struct status *status;
    struct store *store;        /* NULL: there is no history */
    struct history_guest *rows; /* all guests of the history */
    ssize_t n_rows;
    struct error *error;
};

/* Returns NULL if out of memory. */
static struct status_guest *append_guest(struct status *status)
{
    const struct status_guest unknown = {.assigned_bytes = STATUS_UNKNOWN,
                                         .resident_bytes = STATUS_UNKNOWN,
                                         .balloon_bytes = STATUS_UNKNOWN};

    return array_put(&status->guests, &status->n, &unknown, sizeof(unknown)) == 0
               ? &status->guests[status->n - 1]
               : NULL;
}

/* --- the history ------------------------------------------------------------------------------ */

static int add_record(const struct kept_sample *kept, void *context)
{
    struct collecting *collecting = context;
    struct status *status = collecting->status;
    const struct sample_record *sample = &kept->record.sample;
    struct status_guest *guest;

    /* A history copied here from another host does not describe this one. */
    if (kept->ended_s > 0 || strcmp(sample->host, status->host) != 0)
        return 0;
    guest = append_guest(status);
    if (!guest)
        return error_set(collecting->error, -ENOMEM, "out of memory");
    snprintf(guest->name, sizeof(guest->name), "%s", sample->domain);
    snprintf(guest->uuid, sizeof(guest->uuid), "%s", sample->uuid);
    guest->has_record = true;
    guest->assigned_bytes = sample->ram_bytes;
    guest->age_s = kept_age_s(kept, status->now_s);
    guest->kept = *kept;
    if (status->newest_s < status->now_s - guest->age_s)
        status->newest_s = status->now_s - guest->age_s;
    return 0;
}

static int read_history(struct collecting *collecting, const char *database)
{
    struct status *status = collecting->status;
    struct error unreadable = {0};
    int rc = history_open(database, &collecting->store, &unreadable);

    collecting->error = &unreadable;
    if (rc == 0)
        rc = history_latest(collecting->store, add_record, collecting, &unreadable);
    if (rc == 0)
        collecting->n_rows = history_guests(collecting->store, &collecting->rows, &unreadable);
    collecting->error = NULL;
    if (rc < 0 && rc != -ENOMEM)
        snprintf(status->no_history, sizeof(status->no_history), "%s", unreadable.text);
    return rc == -ENOMEM ? rc : 0;
}

/* --- the processes ---------------------------------------------------------------------------- */

/* After the host was restarted another guest may have the process ID of an old record. */
static bool is_another(const struct status_guest *known, const struct guest *guest)
{
    return *known->uuid && *guest->uuid && strcasecmp(known->uuid, guest->uuid) != 0;
}

/* Finds it by the process that its record names, otherwise by UUID: a guest may have been
 * restarted. */
static struct status_guest *find_guest(struct status *status, const struct guest *guest)
{
    for (size_t i = 0; i < status->n; i++)
        if (status->guests[i].has_record &&
            status->guests[i].kept.record.sample.pid == guest->process.pid &&
            !is_another(&status->guests[i], guest))
            return &status->guests[i];
    for (size_t i = 0; i < status->n && *guest->uuid; i++)
        if (!status->guests[i].pid && !strcasecmp(status->guests[i].uuid, guest->uuid))
            return &status->guests[i];
    return NULL;
}

static void name_process(struct status_guest *found, const struct guest *guest)
{
    if (*guest->name)
        snprintf(found->name, sizeof(found->name), "%s", guest->name);
    else
        snprintf(found->name, sizeof(found->name), "pid %d", (int)guest->process.pid);
    snprintf(found->uuid, sizeof(found->uuid), "%s", guest->uuid);
    if (ram_config_bytes(&guest->ram))
        found->assigned_bytes = ram_config_bytes(&guest->ram);
    if (*guest->ram.unknown)
        snprintf(found->reason, sizeof(found->reason), "its RAM is unknown: %s",
                 guest->ram.unknown);
}

/* Where nothing is known of a guest's RAM, all memory of its process is shown. Of RAM that is known
 * a part is resident, and QEMU has more memory than that. */
static void note_resident(struct status_guest *found, const struct fsroot *root)
{
    if (found->assigned_bytes != STATUS_UNKNOWN ||
        resident_of_process(root, found->pid, &found->resident_bytes) < 0)
        found->resident_bytes = STATUS_UNKNOWN;
}

/* It has ended meanwhile, is hidden from this user, or runs no guest ("-machine none", with which
 * libvirt queries a QEMU's capabilities). */
static bool is_no_guest(int rc, const struct error *why)
{
    return rc == -ESRCH || rc == -ENOENT || rc == -ENOEXEC || rc == -EACCES || rc == -EPERM ||
           strstr(why->text, "-machine none");
}

/* It is a guest even though its data cannot be read: the error is the reason for missing numbers.
 */
static int add_unreadable(struct status *status, const struct fsroot *root, pid_t pid,
                          const struct error *why)
{
    struct status_guest *guest = append_guest(status);

    if (!guest)
        return -ENOMEM;
    guest->pid = pid;
    snprintf(guest->name, sizeof(guest->name), "pid %d", (int)pid);
    snprintf(guest->reason, sizeof(guest->reason), "%s", why->text);
    note_resident(guest, root);
    return 0;
}

static int add_process(struct status *status, const struct fsroot *root, pid_t pid)
{
    struct error why = {0};
    struct guest guest;
    struct status_guest *found;
    int rc = guest_open_pid(root, pid, &guest, &why);

    if (rc < 0)
        return is_no_guest(rc, &why) ? 0 : add_unreadable(status, root, pid, &why);
    found = find_guest(status, &guest);
    if (!found) {
        found = append_guest(status);
        if (found)
            name_process(found, &guest);
    }
    if (found) {
        found->pid = pid;
        note_resident(found, root);
    }
    guest_close(&guest);
    return found ? 0 : -ENOMEM;
}

static int add_processes(struct status *status, const struct fsroot *root, struct error *error)
{
    cleanup_free pid_t *pids = NULL;
    ssize_t n = qemu_process_find_all(root, true, &pids);
    int rc = 0;

    if (n < 0)
        return error_set(error, (int)n, "/proc: %s", strerror((int)-n));
    for (ssize_t i = 0; rc == 0 && i < n; i++)
        rc = add_process(status, root, pids[i]);
    return rc < 0 ? error_set(error, rc, "out of memory") : 0;
}

/* --- state of each guest ---------------------------------------------------------------------- */

/* An old record of a process that is gone: the guest ended unnoticed. */
static bool has_ended(const struct status *status, const struct status_guest *guest)
{
    return status->sees_processes && guest->pid == 0 &&
           !kept_is_current(&guest->kept, status->now_s);
}

static void drop_ended(struct status *status)
{
    size_t n = 0;

    for (size_t i = 0; i < status->n; i++)
        if (!has_ended(status, &status->guests[i]))
            status->guests[n++] = status->guests[i];
    status->n = n;
}

/* Returns its row in the history; 0: none. One UUID has a row for each host that it ran on. */
static int64_t find_row(const struct collecting *collecting, const struct status_guest *guest)
{
    for (ssize_t i = 0; i < collecting->n_rows; i++)
        if (!strcasecmp(collecting->rows[i].uuid, guest->uuid) &&
            !strcmp(collecting->rows[i].host, collecting->status->host))
            return collecting->rows[i].id;
    return 0;
}

/* Returns true if the guest's last event is its suspension; errors are ignored. A record that came
 * at least a period later shows that it runs again, though no event was noted. */
static bool is_suspended(const struct collecting *collecting, const struct status_guest *guest,
                         double *since_s)
{
    struct error ignored = {0};
    enum event_kind kind;
    int64_t row = collecting->store && guest->has_record ? find_row(collecting, guest) : 0;

    return row &&
           history_last_event(collecting->store, row, collecting->status->now_s, &kind, since_s,
                              &ignored) == 1 &&
           kind == EVENT_SUSPEND &&
           *since_s >= collecting->status->now_s - guest->age_s - guest->kept.period_s;
}

static void explain_missing(const struct status *status, struct status_guest *guest)
{
    if (!status->daemon.pid)
        snprintf(guest->reason, sizeof(guest->reason), "vmwssd is not running");
    else if (!status->daemon.writes)
        snprintf(guest->reason, sizeof(guest->reason), "vmwssd does not write this history");
    else if (*status->no_history)
        snprintf(guest->reason, sizeof(guest->reason), "the history cannot be read");
    else
        snprintf(guest->reason, sizeof(guest->reason),
                 "no record yet: it has just started, or vmwssd does not watch it (its key "
                 "connect), or has not opened it yet");
}

static void explain_old(const struct status *status, struct status_guest *guest)
{
    char age[32];

    show_seconds(age, sizeof(age), (double)(long)guest->age_s);
    if (!status->daemon.pid)
        snprintf(guest->reason, sizeof(guest->reason),
                 "vmwssd is not running; last measured %s ago", age);
    else
        snprintf(guest->reason, sizeof(guest->reason),
                 "last measured %s ago, though a record came every %s before", age,
                 SECONDS_TEXT(guest->kept.period_s));
}

static void judge(const struct collecting *collecting, struct status_guest *guest)
{
    const struct status *status = collecting->status;
    double since_s;

    if (*guest->reason)
        return;
    guest->suspended = is_suspended(collecting, guest, &since_s);
    guest->measured = !guest->suspended && guest->has_record &&
                      kept_is_current(&guest->kept, status->now_s) &&
                      guest->kept.record.sample.n_windows > 0;
    if (guest->measured)
        return;
    if (guest->suspended)
        snprintf(guest->reason, sizeof(guest->reason), "suspended for %s",
                 SECONDS_TEXT((double)(long)(status->now_s - since_s)));
    else if (!guest->has_record)
        explain_missing(status, guest);
    else if (!kept_is_current(&guest->kept, status->now_s))
        explain_old(status, guest);
    else
        snprintf(guest->reason, sizeof(guest->reason),
                 "no method can follow it: vmwss doctor says why, and what to do");
}

/* --- balloons --------------------------------------------------------------------------------- */

static void note_balloon(struct status *status, const struct domain_memory *memory)
{
    for (size_t i = 0; i < status->n; i++)
        if (!strcasecmp(status->guests[i].uuid, memory->uuid))
            status->guests[i].balloon_bytes = memory->current_bytes;
}

static int read_balloons(struct status *status, const char *uri, struct error *error)
{
    struct domain_connection *connection;
    cleanup_free struct domain_memory *all = NULL;
    int rc = domain_connect(uri, &connection, error);

    if (rc < 0)
        return rc;

    ssize_t n = domain_memory_all(connection, &all, error);

    domain_disconnect(connection);
    for (ssize_t i = 0; i < n; i++)
        note_balloon(status, &all[i]);
    return n < 0 ? (int)n : 0;
}

/* --- together --------------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
    const struct status_guest *x = a;
    const struct status_guest *y = b;
    int order = strcmp(x->name, y->name);

    return order ? order : strcmp(x->uuid, y->uuid);
}

static int collect_all(struct collecting *collecting, const struct fsroot *root,
                       const struct status_choice *choice, struct error *error)
{
    struct status *status = collecting->status;
    int rc = meminfo_read(root, &status->memory, error);

    if (rc == 0)
        rc = daemon_process_find(root, daemon_process_shm_inode(choice->database), &status->daemon,
                                 error);
    if (rc == 0 && read_history(collecting, choice->database) < 0)
        rc = error_set(error, -ENOMEM, "out of memory");
    if (rc == 0)
        rc = add_processes(status, root, error);
    if (rc < 0)
        return rc;
    drop_ended(status);
    for (size_t i = 0; i < status->n; i++)
        judge(collecting, &status->guests[i]);
    if (status->n > 1)
        qsort(status->guests, status->n, sizeof(*status->guests), by_name);
    return choice->uri ? read_balloons(status, choice->uri, error) : 0;
}

int status_collect(const struct status_choice *choice, struct status *status, struct error *error)
{
    struct collecting collecting = {.status = status};
    cleanup_root struct fsroot root;
    int rc = fsroot_open_host(&root, error);

    *status = (struct status){.now_s = store_clock_now().wall_s, .sees_processes = geteuid() == 0};
    if (rc < 0)
        return rc;
    snprintf(status->database, sizeof(status->database), "%s", choice->database);
    if (gethostname(status->host, sizeof(status->host) - 1) < 0)
        status->host[0] = '\0';
    rc = collect_all(&collecting, &root, choice, error);
    free(collecting.rows);
    store_close(collecting.store);
    if (rc < 0)
        status_free(status);
    return rc;
}
