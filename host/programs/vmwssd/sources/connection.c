// SPDX-License-Identifier: LGPL-2.1-or-later
#include "programs/vmwssd/sources/connection.h"

#include "base/cleanup.h"
#include "base/compare.h"
#include "base/cond.h"
#include "base/proc_pid.h"
#include "base/service/log.h"
#include "guest/domain/domain_events.h"
#include "programs/vmwssd/sources/moves.h"
#include "programs/vmwssd/sources/open_queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PENDING 256
#define FIRST_RETRY_S 1
#define LAST_RETRY_S 60
#define LIST_AGAIN_S 600 /* in case an event was lost */
#define LIST_RETRY_S 5   /* after libvirt has failed */
#define EVENTS_RETRY_S 1

struct connection {
    unsigned number;
    char uri[512];
    const struct fsroot *root;
    struct fleet *fleet;
    pthread_mutex_t mutex; /* protects the fields below */
    pthread_cond_t happened;
    bool wanted, up, lost;
    bool list; /* list all domains */
    size_t n_pending;
    struct domain_event pending[PENDING];
    /* used only by the thread: */
    struct domain_connection *libvirt; /* NULL: not connected */
    struct domain_subscription *subscription;
    unsigned retry_s;
    bool logged_down;
    bool logged_unlisted;
    uint64_t list_ns; /* when to list all domains again */
    struct moves moves;
    struct open_queue open_queue;
    uint64_t open_ns;   /* when the budget allows the next guest to be opened */
    uint64_t opened_ns; /* when the last guest was opened; 0: none was */
};

/* --- libvirt's thread ------------------------------------------------------------------------- */

static void *run_events(void *context)
{
    bool logged = false;

    (void)context;
    for (;;) {
        bool failed = domain_events_run_once() < 0;

        if (failed && !logged)
            log_line(LOG_CLASS_CONNECTION, LOG_ERR,
                     "libvirt's event loop has failed; trying again");
        logged = failed;
        if (failed)
            sleep(EVENTS_RETRY_S);
    }
    return NULL;
}

int connections_init(struct error *error)
{
    pthread_t thread;
    int rc = domain_events_init(error);

    if (rc == 0 && pthread_create(&thread, NULL, run_events, NULL) != 0)
        rc = error_set(error, -EAGAIN, "libvirt's event loop: no thread");
    if (rc == 0)
        pthread_detach(thread);
    return rc;
}

/* Runs in libvirt's thread: notes the event for ours. */
static void on_event(const struct domain_event *event, void *context)
{
    struct connection *connection = context;

    HOLD(&connection->mutex);
    if (event->change == DOMAIN_CHANGE_CLOSED)
        connection->lost = true;
    else if (connection->n_pending < PENDING)
        connection->pending[connection->n_pending++] = *event;
    else
        connection->list = true;
    pthread_cond_signal(&connection->happened);
}

/* --- domains ---------------------------------------------------------------------------------- */

static int open_guest(struct connection *connection, const char *uuid, struct scan_guest_ref *guest,
                      struct error *error)
{
    struct domain_description description;
    struct domain_info info;
    int rc = domain_describe_running(connection->libvirt, uuid, &info, &description, error);

    if (rc < 0)
        return rc;
    rc = scanner_open_domain(fleet_scanner(connection->fleet), domain_pid_dir(connection->libvirt),
                             &info, &description.ram, guest, error);
    if (rc == 0)
        owner_of_domain(&description.owner, info.name, &guest->owner);
    domain_description_free(&description);
    return rc == -ENOENT ? -ENODEV : rc;
}

static int open_and_add(struct connection *connection, const char *uuid)
{
    struct scan_guest_ref guest;
    struct error error = {0};
    int rc = open_guest(connection, uuid, &guest, &error);

    if (rc == 0 && fleet_note(connection->fleet, connection->number, uuid, guest.pid,
                              guest.start_ticks, false)) /* another connection has added it */
        scanner_close(fleet_scanner(connection->fleet), &guest);
    else if (rc == 0)
        fleet_add(connection->fleet, connection->number, &guest);
    if (rc == 0 || rc == -ENOEXEC || rc == -ENOENT)
        open_queue_drop(&connection->open_queue, uuid);
    else
        open_queue_put_off(&connection->open_queue, uuid, clock_ns());
    if (rc == 0 || rc == -ENOTCONN)
        return rc;
    if (rc != -ENODEV && rc != -ENOENT &&
        rc != -EAGAIN) /* it has just stopped, was suspended, or is migrating */
        log_line(LOG_CLASS_GUEST, LOG_WARNING, "%s", error.text);
    return 0;
}

/* Returns for how long no guest may be opened, and reports to the fleet how many wait. */
static double wait_to_open(struct connection *connection)
{
    return fleet_wait_to_open(connection->fleet, connection->number,
                              open_queue_ready(&connection->open_queue, clock_ns()),
                              connection->opened_ns);
}

/* Opens one of the waiting guests, if the budget allows it: events that came meanwhile are handled
 * first. */
static int open_next(struct connection *connection)
{
    double wait_s = wait_to_open(connection);
    const char *next = wait_s > 0 ? NULL : open_queue_next(&connection->open_queue, clock_ns());
    char uuid[37];

    connection->open_ns = cond_in_s(wait_s);
    if (!next)
        return 0;
    memcpy(uuid, next, sizeof(uuid));

    int rc = open_and_add(connection, uuid);

    connection->opened_ns = clock_ns();
    wait_to_open(connection);
    return rc;
}

static bool has_process(const struct domain_info *info)
{
    return info->pid > 0 && (info->state == DOMAIN_RUNNING || info->state == DOMAIN_PAUSED ||
                             info->state == DOMAIN_OTHER);
}

/* Handles a guest that moves from one libvirtd of this machine to another. A guest that is measured
 * stays so; the one that runs here is opened when the other has ended. */
static void compare_moving(struct connection *connection, const struct domain_info *info)
{
    fleet_note_moving(connection->fleet, connection->number, info->uuid,
                      info->state != DOMAIN_RUNNING);
    if (info->state == DOMAIN_RUNNING && !open_queue_put(&connection->open_queue, info->uuid))
        log_line(LOG_CLASS_GUEST, LOG_ERR, "domain %s: out of memory", info->name);
}

/* If /proc is mounted with hidepid, only the scanner sees other users' processes. */
static int read_start(struct connection *connection, pid_t pid, uint64_t *start_ticks)
{
    struct proc_stat stat;

    if (proc_stat_read(connection->root, pid, &stat) < 0)
        return scanner_start_ticks(fleet_scanner(connection->fleet), pid, start_ticks);
    *start_ticks = stat.start_ticks;
    return 0;
}

/* If the scanner could not find its process, nothing is concluded. */
static void compare_domain(struct connection *connection, const struct domain_info *info)
{
    uint64_t start_ticks;

    if (info->migrating)
        fleet_note_job(connection->fleet, connection->number, info->uuid, FLAG_MIGRATING);
    if (info->two_processes) {
        compare_moving(connection, info);
        return;
    }

    int rc = has_process(info) ? read_start(connection, info->pid, &start_ticks) : -ESRCH;

    if (info->process_unknown || scanner_is_gone(rc)) {
        connection->list_ns = cond_in_s(LIST_RETRY_S);
        return;
    }
    if (rc < 0) {
        fleet_remove(connection->fleet, connection->number, info->uuid);
        open_queue_drop(&connection->open_queue, info->uuid);
        return;
    }
    if (fleet_note(connection->fleet, connection->number, info->uuid, info->pid, start_ticks,
                   info->state != DOMAIN_RUNNING) ||
        info->state != DOMAIN_RUNNING)
        open_queue_drop(&connection->open_queue, info->uuid);
    else if (!open_queue_put(&connection->open_queue, info->uuid))
        log_line(LOG_CLASS_GUEST, LOG_ERR, "domain %s: out of memory", info->name);
}

/* libvirt's IDs ascend with the order of starts. */
COMPARE_BY(newest_last, struct domain_info, id)

/* A list that failed is requested again soon; otherwise guests that ran before us would be unknown
 * for long. */
static void plan_list(struct connection *connection, bool failed, const struct error *error)
{
    connection->list_ns = cond_in_s(failed ? LIST_RETRY_S : LIST_AGAIN_S);
    if (failed && !connection->logged_unlisted)
        log_line(LOG_CLASS_CONNECTION, LOG_WARNING, "%s: domains are not known: %s; trying again",
                 connection->uri, error->text);
    connection->logged_unlisted = failed;
}

static int list_domains(struct connection *connection)
{
    struct domain_info *list = NULL;
    struct error error = {0};
    ssize_t n = domain_list(connection->libvirt, connection->root, &list, &error);
    char(*uuids)[37] = n >= 0 ? calloc((size_t)n + 1, sizeof(*uuids)) : NULL;
    size_t kept = 0;

    plan_list(connection, n < 0, &error);
    for (ssize_t i = 0; uuids && i < n; i++)
        if (has_process(&list[i]) || list[i].two_processes || list[i].process_unknown)
            memcpy(uuids[kept++], list[i].uuid, sizeof(*uuids));
    if (uuids)
        fleet_keep_only(connection->fleet, connection->number, (const char(*)[37])uuids, kept);
    if (n > 0)
        qsort(list, (size_t)n, sizeof(*list), newest_last);
    for (ssize_t i = 0; i < n; i++)
        compare_domain(connection, &list[i]);
    free(list);
    free(uuids);
    return n == -ENOTCONN ? -ENOTCONN : 0;
}

/* A plugged DIMM changes the guest's RAM. */
static int compare_ram(struct connection *connection, const char *uuid)
{
    cleanup_free char *xml = NULL;
    struct domain_description description;
    int rc = domain_xml_fetch(connection->libvirt, uuid, &xml, NULL);

    if (rc < 0 || domain_xml_parse(xml, strlen(xml), &description, NULL) < 0)
        return rc == -ENOTCONN ? rc : 0;
    fleet_plugged(connection->fleet, connection->number, uuid,
                  &description.ram); /* if it is removed, it is opened again */
    domain_description_free(&description);
    return 0;
}

static int handle(struct connection *connection, const struct domain_event *event)
{
    struct domain_info info;
    int rc = 0;

    moves_log(event);
    moves_note(&connection->moves, connection->fleet, event);
    if (event->change == DOMAIN_CHANGE_JOB)
        fleet_note_job(connection->fleet, connection->number, event->uuid, FLAG_MIGRATING);
    if (event->change == DOMAIN_CHANGE_REBOOT || event->change == DOMAIN_CHANGE_BALLOON ||
        event->change == DOMAIN_CHANGE_JOB)
        return 0;
    if (event->change == DOMAIN_CHANGE_DEVICES)
        rc = compare_ram(connection, event->uuid);
    if (rc == 0)
        rc = domain_find(connection->libvirt, connection->root, event->uuid, &info, NULL);
    if (rc == -ENOENT) {
        fleet_remove(connection->fleet, connection->number, event->uuid);
        open_queue_drop(&connection->open_queue, event->uuid);
    }
    if (rc == 0)
        compare_domain(connection, &info);
    else if (rc != -ENOENT) /* the subject of the event must not be missed */
        connection->list_ns = cond_in_s(LIST_RETRY_S);
    return rc == -ENOTCONN ? rc : 0;
}

/* --- the connection --------------------------------------------------------------------------- */

static void set_up(struct connection *connection, bool up)
{
    HOLD(&connection->mutex);
    connection->up = up;
    connection->lost = false;
    connection->list = up;
    if (up)
        connection->n_pending = 0;
}

static void hang_up(struct connection *connection)
{
    domain_events_unsubscribe(connection->subscription);
    domain_disconnect(connection->libvirt);
    connection->subscription = NULL;
    connection->libvirt = NULL;
    connection->moves = (struct moves){0}; /* its events are missed now */
    open_queue_free(&connection->open_queue);
    fleet_wait_to_open(connection->fleet, connection->number, 0, 0);
    set_up(connection, false);
}

static void try_connect(struct connection *connection)
{
    struct error error = {0};
    int rc = domain_connect(connection->uri, &connection->libvirt, &error);

    if (rc == 0) {
        domain_find_pids_by(connection->libvirt, scanner_find, fleet_scanner(connection->fleet));
        set_up(connection, true); /* before events can come */
        rc = domain_events_subscribe(connection->libvirt, on_event, connection,
                                     &connection->subscription, &error);
        if (rc < 0)
            hang_up(connection);
    }
    if (rc == 0) {
        log_line(LOG_CLASS_CONNECTION, LOG_INFO, "%s: connected", connection->uri);
        connection->logged_down = false;
        connection->retry_s = FIRST_RETRY_S;
        return;
    }
    connection->libvirt = NULL;
    if (!connection->logged_down)
        log_line(LOG_CLASS_CONNECTION, LOG_WARNING, "%s; trying again", error.text);
    connection->logged_down = true;
    connection->retry_s = connection->retry_s < LAST_RETRY_S / 2 ? 2 * connection->retry_s
                                                                 : LAST_RETRY_S;
}

/* Returns when there is something to do without an event. */
static uint64_t wake_up_ns(const struct connection *connection)
{
    uint64_t open_ns = open_queue_at_ns(&connection->open_queue);

    if (open_ns < connection->open_ns)
        open_ns = connection->open_ns;
    return open_ns < connection->list_ns ? open_ns : connection->list_ns;
}

/* Waits for an event, or until there is something to do; takes the events. */
static size_t take_events(struct connection *connection, struct domain_event *events, bool *list)
{
    uint64_t until_ns = wake_up_ns(connection);
    int rc = 0;

    while (rc == 0 && connection->wanted == (connection->libvirt != NULL) && !connection->lost &&
           !connection->list && connection->n_pending == 0)
        rc = cond_wait_until(&connection->happened, &connection->mutex, until_ns);

    size_t n = connection->n_pending;

    memcpy(events, connection->pending, n * sizeof(*events));
    *list = connection->list || clock_ns() >= connection->list_ns;
    connection->n_pending = 0;
    connection->list = false;
    return n;
}

static void follow_events(struct connection *connection)
{
    struct domain_event events[PENDING];
    bool list;
    int rc = 0;

    pthread_mutex_lock(&connection->mutex);

    size_t n = take_events(connection, events, &list);
    bool lost = connection->lost;

    pthread_mutex_unlock(&connection->mutex);
    if (!lost && list)
        rc = list_domains(connection);
    for (size_t i = 0; !lost && rc == 0 && i < n; i++)
        rc = handle(connection, &events[i]);
    if (!lost && rc == 0)
        rc = open_next(connection);
    if (!lost && rc == 0)
        return;
    log_line(LOG_CLASS_CONNECTION, LOG_WARNING,
             "%s: the connection is lost; its guests are still measured", connection->uri);
    connection->logged_down = true;
    hang_up(connection);
}

static void wait_to_retry(struct connection *connection)
{
    uint64_t until_ns = cond_in_s(connection->retry_s);

    HOLD(&connection->mutex);
    while (connection->wanted &&
           cond_wait_until(&connection->happened, &connection->mutex, until_ns) != ETIMEDOUT)
        ;
}

static void wait_until_wanted(struct connection *connection)
{
    HOLD(&connection->mutex);
    while (!connection->wanted)
        pthread_cond_wait(&connection->happened, &connection->mutex);
}

static bool is_wanted(struct connection *connection)
{
    HOLD(&connection->mutex);
    return connection->wanted;
}

static void *connection_run(void *context)
{
    struct connection *connection = context;

    for (;;) {
        if (!is_wanted(connection)) {
            if (connection->libvirt)
                hang_up(connection);
            fleet_keep_only(connection->fleet, connection->number, NULL, 0);
            wait_until_wanted(connection);
        } else if (connection->libvirt) {
            follow_events(connection);
        } else {
            try_connect(connection);
            if (!connection->libvirt)
                wait_to_retry(connection);
        }
    }
    return NULL;
}

struct connection *connection_start(unsigned number, const char *uri, const struct fsroot *root,
                                    struct fleet *fleet)
{
    struct connection *connection = calloc(1, sizeof(*connection));
    pthread_t thread;

    if (!connection)
        return NULL;
    connection->number = number;
    snprintf(connection->uri, sizeof(connection->uri), "%s", uri);
    connection->root = root;
    connection->fleet = fleet;
    connection->wanted = true;
    connection->retry_s = FIRST_RETRY_S;
    pthread_mutex_init(&connection->mutex, NULL);
    cond_init(&connection->happened);
    if (pthread_create(&thread, NULL, connection_run, connection) != 0) {
        free(connection);
        return NULL;
    }
    pthread_detach(thread);
    return connection;
}

void connection_use(struct connection *connection, bool wanted)
{
    HOLD(&connection->mutex);
    connection->wanted = wanted;
    pthread_cond_signal(&connection->happened);
}

bool connection_up(struct connection *connection)
{
    HOLD(&connection->mutex);
    return connection->up;
}
