// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file connection.c  See connection.h. */
#include "daemon/connection.h"

#include "base/cleanup.h"
#include "daemon/log.h"
#include "domain/domain_events.h"
#include "domain/proc_pid.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PENDING 256
#define FIRST_RETRY_S 1
#define LAST_RETRY_S 60
#define LIST_AGAIN_S 600 /* should an event have been lost */
#define OPEN_AGAIN_S 5   /* a guest that could not be opened */

struct connection {
    unsigned number;
    char uri[512];
    const struct fsroot *root;
    struct fleet *fleet;
    pthread_mutex_t mutex; /* of what follows */
    pthread_cond_t happened;
    bool wanted, up, lost;
    bool list; /* look at all domains */
    size_t n_pending;
    struct domain_event pending[PENDING];
    /* the thread's own */
    struct domain_connection *libvirt; /* NULL: not connected */
    struct domain_subscription *subscription;
    unsigned retry_s;
    bool said_down;
    bool open_again; /* a guest could not be opened: list again soon */
};

/* --- libvirt's thread -------------------------------------------------------------------------- */

static void *run_events(void *context)
{
    (void)context;
    while (domain_events_run_once() == 0)
        ;
    log_line(LOG_CLASS_CONNECTION, LOG_ERR, "libvirt's event loop has failed");
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

/* In libvirt's thread: notes it for ours. */
static void on_event(const struct domain_event *event, void *context)
{
    struct connection *connection = context;

    pthread_mutex_lock(&connection->mutex);
    if (event->change == DOMAIN_CHANGE_CLOSED)
        connection->lost = true;
    else if (connection->n_pending < PENDING)
        connection->pending[connection->n_pending++] = *event;
    else
        connection->list = true;
    pthread_cond_signal(&connection->happened);
    pthread_mutex_unlock(&connection->mutex);
}

/* --- domains ----------------------------------------------------------------------------------- */

static int open_and_add(struct connection *connection, const struct domain_info *info)
{
    struct guest guest;
    struct error error = {0};
    int rc = guest_open_domain(connection->libvirt, connection->root, info->uuid, &guest, &error);

    if (rc == 0)
        fleet_add(connection->fleet, connection->number, &guest);
    if (rc == 0 || rc == -ENOTCONN)
        return rc;
    connection->open_again = rc != -ENOEXEC;
    if (rc != -ENODEV) /* it has just stopped, or was suspended */
        log_line(LOG_CLASS_GUEST, LOG_WARNING, "%s", error.text);
    return 0;
}

static bool has_process(const struct domain_info *info)
{
    return info->pid > 0 && (info->state == DOMAIN_RUNNING || info->state == DOMAIN_PAUSED ||
                             info->state == DOMAIN_OTHER);
}

/* 0 or -ENOTCONN. */
static int compare_domain(struct connection *connection, const struct domain_info *info)
{
    struct proc_stat stat;

    if (!has_process(info) || proc_stat_read(connection->root, info->pid, &stat) < 0) {
        fleet_remove(connection->fleet, info->uuid);
        return 0;
    }
    if (fleet_note(connection->fleet, info->uuid, info->pid, stat.start_ticks,
                   info->state != DOMAIN_RUNNING))
        return 0;
    return info->state == DOMAIN_RUNNING ? open_and_add(connection, info) : 0;
}

static int list_domains(struct connection *connection)
{
    struct domain_info *list = NULL;
    struct error error = {0};
    ssize_t n = domain_list(connection->libvirt, connection->root, &list, &error);
    char(*uuids)[37] = n >= 0 ? calloc((size_t)n + 1, sizeof(*uuids)) : NULL;
    size_t kept = 0;
    int rc = 0;

    connection->open_again = false;
    for (ssize_t i = 0; uuids && i < n; i++)
        if (has_process(&list[i]))
            memcpy(uuids[kept++], list[i].uuid, sizeof(*uuids));
    if (uuids)
        fleet_keep_only(connection->fleet, connection->number, (const char(*)[37])uuids, kept);
    for (ssize_t i = 0; rc == 0 && i < n; i++)
        rc = compare_domain(connection, &list[i]);
    free(list);
    free(uuids);
    return n == -ENOTCONN ? -ENOTCONN : rc;
}

/* A DIMM that was plugged changes what the guest's RAM is. */
static int compare_ram(struct connection *connection, const char *uuid)
{
    cleanup_free char *xml = NULL;
    struct domain_description description;
    int rc = domain_xml_fetch(connection->libvirt, uuid, &xml, NULL);

    if (rc < 0 || domain_xml_parse(xml, strlen(xml), &description, NULL) < 0)
        return rc == -ENOTCONN ? rc : 0;
    if (fleet_ram_bytes(connection->fleet, uuid) != description.ram.total_bytes)
        fleet_remove(connection->fleet, uuid); /* to be opened again */
    domain_description_free(&description);
    return 0;
}

static int handle(struct connection *connection, const struct domain_event *event)
{
    struct domain_info info;
    int rc = 0;

    switch (event->change) {
    case DOMAIN_CHANGE_REBOOT:
        log_line(LOG_CLASS_GUEST, LOG_INFO, "domain %s: reset; its panel goes on", event->uuid);
        return 0;
    case DOMAIN_CHANGE_BALLOON:
        log_line(LOG_CLASS_GUEST, LOG_DEBUG, "domain %s: the balloon leaves it %llu MiB",
                 event->uuid, (unsigned long long)(event->bytes >> 20));
        return 0;
    case DOMAIN_CHANGE_DEVICES:
        rc = compare_ram(connection, event->uuid);
        break;
    default:
        break;
    }
    if (rc == 0)
        rc = domain_find(connection->libvirt, connection->root, event->uuid, &info, NULL);
    if (rc == -ENOENT)
        fleet_remove(connection->fleet, event->uuid);
    if (rc == 0)
        rc = compare_domain(connection, &info);
    return rc == -ENOTCONN ? rc : 0;
}

/* --- the connection ---------------------------------------------------------------------------- */

static void set_up(struct connection *connection, bool up)
{
    pthread_mutex_lock(&connection->mutex);
    connection->up = up;
    connection->lost = false;
    connection->list = up;
    if (up)
        connection->n_pending = 0;
    pthread_mutex_unlock(&connection->mutex);
}

static void hang_up(struct connection *connection)
{
    domain_events_unsubscribe(connection->subscription);
    domain_disconnect(connection->libvirt);
    connection->subscription = NULL;
    connection->libvirt = NULL;
    set_up(connection, false);
}

static void try_connect(struct connection *connection)
{
    struct error error = {0};
    int rc = domain_connect(connection->uri, &connection->libvirt, &error);

    if (rc == 0) {
        set_up(connection, true); /* before events may come */
        rc = domain_events_subscribe(connection->libvirt, on_event, connection,
                                     &connection->subscription, &error);
        if (rc < 0)
            hang_up(connection);
    }
    if (rc == 0) {
        log_line(LOG_CLASS_CONNECTION, LOG_INFO, "%s: connected", connection->uri);
        connection->said_down = false;
        connection->retry_s = FIRST_RETRY_S;
        return;
    }
    connection->libvirt = NULL;
    if (!connection->said_down)
        log_line(LOG_CLASS_CONNECTION, LOG_WARNING, "%s; trying again", error.text);
    connection->said_down = true;
    connection->retry_s = connection->retry_s < LAST_RETRY_S / 2 ? 2 * connection->retry_s
                                                                 : LAST_RETRY_S;
}

/* Waits until something happened, or for @p seconds; takes what did. */
static size_t take_events(struct connection *connection, unsigned seconds,
                          struct domain_event *events, bool *list)
{
    struct timespec until;
    int rc = 0;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += seconds;
    while (rc == 0 && connection->wanted == (connection->libvirt != NULL) && !connection->lost &&
           !connection->list && connection->n_pending == 0)
        rc = pthread_cond_timedwait(&connection->happened, &connection->mutex, &until);

    size_t n = connection->n_pending;

    memcpy(events, connection->pending, n * sizeof(*events));
    *list = connection->list || rc == ETIMEDOUT;
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

    size_t n = take_events(connection, connection->open_again ? OPEN_AGAIN_S : LIST_AGAIN_S, events,
                           &list);
    bool lost = connection->lost;

    pthread_mutex_unlock(&connection->mutex);
    if (!lost && list)
        rc = list_domains(connection);
    for (size_t i = 0; !lost && rc == 0 && i < n; i++)
        rc = handle(connection, &events[i]);
    if (!lost && rc == 0)
        return;
    log_line(LOG_CLASS_CONNECTION, LOG_WARNING,
             "%s: the connection is lost; its guests stay watched", connection->uri);
    connection->said_down = true;
    hang_up(connection);
}

static void wait_to_retry(struct connection *connection)
{
    struct timespec until;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += connection->retry_s;
    pthread_mutex_lock(&connection->mutex);
    while (connection->wanted &&
           pthread_cond_timedwait(&connection->happened, &connection->mutex, &until) != ETIMEDOUT)
        ;
    pthread_mutex_unlock(&connection->mutex);
}

static void wait_until_wanted(struct connection *connection)
{
    pthread_mutex_lock(&connection->mutex);
    while (!connection->wanted)
        pthread_cond_wait(&connection->happened, &connection->mutex);
    pthread_mutex_unlock(&connection->mutex);
}

static bool is_wanted(struct connection *connection)
{
    pthread_mutex_lock(&connection->mutex);

    bool wanted = connection->wanted;

    pthread_mutex_unlock(&connection->mutex);
    return wanted;
}

static void *run(void *context)
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
    pthread_condattr_t attributes;
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
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&connection->happened, &attributes);
    pthread_condattr_destroy(&attributes);
    if (pthread_create(&thread, NULL, run, connection) != 0) {
        free(connection);
        return NULL;
    }
    pthread_detach(thread);
    return connection;
}

const char *connection_uri(const struct connection *connection)
{
    return connection->uri;
}

void connection_use(struct connection *connection, bool wanted)
{
    pthread_mutex_lock(&connection->mutex);
    connection->wanted = wanted;
    pthread_cond_signal(&connection->happened);
    pthread_mutex_unlock(&connection->mutex);
}

bool connection_up(struct connection *connection)
{
    pthread_mutex_lock(&connection->mutex);

    bool up = connection->up;

    pthread_mutex_unlock(&connection->mutex);
    return up;
}
