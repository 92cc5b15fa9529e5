// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file fleet.c  The table of guests; see fleet.h. fleet_workers.c has the threads. */
#include "programs/vmwssd/scan/fleet_private.h"

#include "base/clock.h"
#include "base/cond.h"
#include "base/plural.h"
#include "base/service/log.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- one guest -------------------------------------------------------------------------------- */

/* Returns NULL while all guests are being removed. */
static struct fleet_guest *fleet_find(struct fleet *fleet, unsigned source, const char *uuid)
{
    for (struct fleet_guest *one = fleet->stop ? NULL : fleet->table.guests; one; one = one->next)
        if (one->source == source && !strcmp(one->uuid, uuid))
            return one;
    return NULL;
}

static struct fleet_guest *find_serial(struct fleet *fleet, uint64_t serial)
{
    for (struct fleet_guest *one = fleet->stop ? NULL : fleet->table.guests; one; one = one->next)
        if (one->serial == serial)
            return one;
    return NULL;
}

/* As fleet_find(), whichever source reported the guest: two URIs may lead to one libvirtd. @p uuid:
 * NULL for any, because a guest found as a process may have a UUID that we made. */
static struct fleet_guest *find_process(struct fleet *fleet, const char *uuid, pid_t pid,
                                        uint64_t start_ticks)
{
    for (struct fleet_guest *one = fleet->stop ? NULL : fleet->table.guests; one; one = one->next)
        if (one->scan.pid == pid && one->start_ticks == start_ticks &&
            (!uuid || !strcmp(one->uuid, uuid)))
            return one;
    return NULL;
}

void fleet_guest_free(struct fleet *fleet, struct fleet_guest *guest)
{
    scanner_close(fleet->sinks.scanner, &guest->scan);
    free(guest->written.curve);
    free(guest);
}

/* Takes the guest out of the table. The worker that scans it frees it; otherwise it goes to @p
 * freed, because the lock is held. */
void fleet_unlink(struct fleet *fleet, struct fleet_guest *guest, struct fleet_guest **freed)
{
    struct fleet_guest **at = &fleet->table.guests;

    while (*at != guest)
        at = &(*at)->next;
    *at = guest->next;
    fleet->table.n--;
    deadline_remove(&fleet->table.queue, &guest->deadline);
    guest->gone = true;
    publisher_forget(fleet->sinks.publisher, guest->uuid);
    if (guest->busy)
        return;
    guest->next = *freed;
    *freed = guest;
}

static void free_list(struct fleet *fleet, struct fleet_guest *list)
{
    while (list) {
        struct fleet_guest *next = list->next;

        fleet_guest_free(fleet, list);
        list = next;
    }
}

static struct fleet_guest *fleet_guest_new(struct fleet *fleet, unsigned source,
                                           const struct scan_guest_ref *opened)
{
    struct fleet_guest *guest = calloc(1, sizeof(*guest));

    if (!guest)
        return NULL;
    guest->source = source;
    guest->from_libvirt = opened->from_libvirt;
    guest->start_ticks = opened->start_ticks;
    guest->serial = ++fleet->table.serials;
    guest->generation = fleet->generation;
    memcpy(guest->uuid, opened->uuid, sizeof(guest->uuid));
    memcpy(guest->name, opened->name, sizeof(guest->name));
    guest->scan = *opened;
    return guest;
}

static int enter(struct fleet *fleet, struct fleet_guest *guest)
{
    int rc = guest_epoll_watch(fleet->epoll_fd, guest->scan.pidfd, guest->serial,
                               GUEST_EVENT_ENDED);

    guest->next = fleet->table.guests;
    fleet->table.guests = guest;
    fleet->table.n++;
    return rc < 0 ? rc : deadline_put(&fleet->table.queue, &guest->deadline, clock_ns());
}

/* --- reports of connections ------------------------------------------------------------------- */

static void note_suspended(struct fleet *fleet, struct fleet_guest *guest, bool suspended)
{
    if (guest->pauses.suspended == suspended)
        return;
    if (suspended)
        guest->pauses.since_ns = clock_ns();
    else
        guest->pauses.total_ns += clock_ns() - guest->pauses.since_ns;
    log_line(LOG_CLASS_GUEST, LOG_INFO, "domain %s: %s", guest->name,
             suspended ? "suspended: its panel waits" : "runs on");
    guest->pauses.suspended = suspended;
    writer_event(fleet->sinks.writer, guest->uuid, suspended ? EVENT_SUSPEND : EVENT_RESUME);
}

bool fleet_note(struct fleet *fleet, unsigned source, const char *uuid, pid_t pid,
                uint64_t start_ticks, bool suspended)
{
    HOLD(&fleet->mutex);

    struct fleet_guest *guest = find_process(fleet, uuid, pid, start_ticks);
    bool watched = guest && (guest->from_libvirt || guest->source == source);

    if (guest && guest->source == source)
        note_suspended(fleet, guest, suspended);
    return watched;
}

bool fleet_watches(struct fleet *fleet, pid_t pid, uint64_t start_ticks)
{
    HOLD(&fleet->mutex);
    return find_process(fleet, NULL, pid, start_ticks) != NULL;
}

bool fleet_has(struct fleet *fleet, const char *uuid, bool of_libvirt)
{
    bool has = false;

    HOLD(&fleet->mutex);
    for (const struct fleet_guest *one = fleet->table.guests; one; one = one->next)
        has |= strcmp(one->uuid, uuid) == 0 && (one->from_libvirt || !of_libvirt);
    return has;
}

void fleet_note_moving(struct fleet *fleet, unsigned source, const char *uuid, bool suspended)
{
    HOLD(&fleet->mutex);

    struct fleet_guest *guest = fleet_find(fleet, source, uuid);

    if (guest)
        note_suspended(fleet, guest, suspended);
}

void fleet_note_job(struct fleet *fleet, unsigned source, const char *uuid, unsigned flags)
{
    HOLD(&fleet->mutex);

    struct fleet_guest *guest = fleet_find(fleet, source, uuid);

    if (guest)
        guest->jobs |= flags;
}

void fleet_note_move(struct fleet *fleet, const char *uuid, enum event_kind kind)
{
    writer_event(fleet->sinks.writer, uuid, kind);
}

static void unlink_same(struct fleet *fleet, unsigned source, const struct scan_guest_ref *opened,
                        struct fleet_guest **freed)
{
    struct fleet_guest *old = fleet_find(fleet, source, opened->uuid);

    if (old)
        fleet_unlink(fleet, old, freed);
    old = find_process(fleet, NULL, opened->pid, opened->start_ticks);
    if (old)
        fleet_unlink(fleet, old, freed);
}

/* A process's own claims count less than libvirt's: any user can start a QEMU with another guest's
 * UUID. */
static void unlink_impostors(struct fleet *fleet, const struct scan_guest_ref *opened,
                             struct fleet_guest **freed)
{
    struct fleet_guest *next;

    for (struct fleet_guest *one = fleet->stop ? NULL : fleet->table.guests; one; one = next) {
        next = one->next;
        if (opened->from_libvirt && !one->from_libvirt && !strcmp(one->uuid, opened->uuid))
            fleet_unlink(fleet, one, freed);
    }
}

struct scanner *fleet_scanner(const struct fleet *fleet)
{
    return fleet->sinks.scanner;
}

void fleet_add(struct fleet *fleet, unsigned source, struct scan_guest_ref *opened)
{
    struct fleet_guest *freed = NULL;
    char name[sizeof(opened->name)];
    int rc = 0;

    memcpy(name, opened->name, sizeof(name));
    pthread_mutex_lock(&fleet->mutex);

    unlink_same(fleet, source, opened, &freed);
    unlink_impostors(fleet, opened, &freed);

    struct fleet_guest *guest = fleet->stop ? NULL : fleet_guest_new(fleet, source, opened);

    if (guest) {
        writer_event(fleet->sinks.writer, guest->uuid, EVENT_START);
        rc = enter(fleet, guest);
        if (rc < 0)
            fleet_unlink(fleet, guest, &freed);
    } else {
        rc = fleet->stop ? 0 : -ENOMEM;
    }
    fleet->spending.replan = true;
    pthread_cond_broadcast(&fleet->changed);
    pthread_mutex_unlock(&fleet->mutex);
    free_list(fleet, freed);
    if (!guest)
        scanner_close(fleet->sinks.scanner, opened);
    if (rc < 0)
        log_line(LOG_CLASS_GUEST, LOG_ERR, "domain %s: %s", name, strerror(-rc));
}

static void let_go(struct fleet *fleet, struct fleet_guest *guest, enum event_kind why,
                   struct fleet_guest **freed)
{
    writer_event(fleet->sinks.writer, guest->uuid, why);
    log_line(LOG_CLASS_GUEST, LOG_INFO, "domain %s: no longer measured", guest->name);
    fleet_unlink(fleet, guest, freed);
    fleet->spending.replan = true;
}

void fleet_remove(struct fleet *fleet, unsigned source, const char *uuid)
{
    struct fleet_guest *freed = NULL;

    pthread_mutex_lock(&fleet->mutex);

    struct fleet_guest *guest = fleet_find(fleet, source, uuid);

    if (guest)
        let_go(fleet, guest, EVENT_END, &freed);
    pthread_mutex_unlock(&fleet->mutex);
    free_list(fleet, freed);
}

/* The scanner is asked without the mutex, because it may hang. Meanwhile the guest may have been
 * removed, and another one with its UUID added. */
void fleet_plugged(struct fleet *fleet, unsigned source, const char *uuid, struct ram_config *xml)
{
    struct fleet_guest *freed = NULL;

    pthread_mutex_lock(&fleet->mutex);

    struct fleet_guest *guest = fleet_find(fleet, source, uuid);
    const uint64_t serial = guest ? guest->serial : 0;
    const uint64_t number = guest ? guest->scan.guest : 0;

    pthread_mutex_unlock(&fleet->mutex);
    if (serial && !scanner_has_ram(fleet->sinks.scanner, number, xml)) {
        pthread_mutex_lock(&fleet->mutex);
        guest = find_serial(fleet, serial);
        if (guest)
            let_go(fleet, guest, EVENT_RESIZE, &freed);
        pthread_mutex_unlock(&fleet->mutex);
        free_list(fleet, freed);
    }
    agents_plugged(fleet->sinks.agents, uuid);
}

static bool is_among(const char *uuid, const char (*uuids)[37], size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(uuids[i], uuid))
            return true;
    return false;
}

static bool has_ended(const struct fleet_guest *guest)
{
    struct pollfd end = {.fd = guest->scan.pidfd, .events = POLLIN};

    return poll(&end, 1, 0) == 1;
}

void fleet_keep_only(struct fleet *fleet, unsigned source, const char (*uuids)[37], size_t n)
{
    struct fleet_guest *freed = NULL;
    struct fleet_guest *next;

    pthread_mutex_lock(&fleet->mutex);
    for (struct fleet_guest *one = fleet->stop ? NULL : fleet->table.guests; one; one = next) {
        next = one->next;
        if (one->source == source && !is_among(one->uuid, uuids, n))
            let_go(fleet, one, has_ended(one) ? EVENT_END : EVENT_UNWATCH, &freed);
    }
    pthread_mutex_unlock(&fleet->mutex);
    free_list(fleet, freed);
}

/* --- events of the kernel --------------------------------------------------------------------- */

int fleet_epoll_fd(const struct fleet *fleet)
{
    return fleet->epoll_fd;
}

static void dispatch_event(struct fleet *fleet, const struct guest_event *event,
                           struct fleet_guest **freed)
{
    struct fleet_guest *guest = find_serial(fleet, event->serial);

    if (guest)
        let_go(fleet, guest, EVENT_END, freed);
}

void fleet_dispatch_events(struct fleet *fleet)
{
    struct guest_event events[64];
    struct fleet_guest *freed = NULL;
    size_t n = guest_epoll_take(fleet->epoll_fd, events, 64);

    pthread_mutex_lock(&fleet->mutex);
    for (size_t i = 0; i < n; i++)
        dispatch_event(fleet, &events[i], &freed);
    pthread_mutex_unlock(&fleet->mutex);
    free_list(fleet, freed);
}

/* --- all of it -------------------------------------------------------------------------------- */

static bool same_panels(const struct config *a, const struct config *b)
{
    return a->method == b->method && a->period_s == b->period_s && a->n_windows == b->n_windows &&
           !memcmp(a->window_s, b->window_s, a->n_windows * sizeof(a->window_s[0]));
}

void fleet_configure(struct fleet *fleet, const struct config *config)
{
    uint64_t now_ns;

    HOLD(&fleet->mutex);
    now_ns = clock_ns(); /* under the mutex, or it could be before the ledger's time */
    if (!same_panels(&fleet->config, config))
        fleet->generation++;
    fleet->config = *config;
    ledger_share(&fleet->spending.ledger, config->budget, now_ns, fleet_cpu_s(fleet));
    fleet->spending.held_until_ns = 0;
    fleet->spending.replan = true;
    for (struct fleet_guest *one = fleet->table.guests; one; one = one->next)
        if (one->deadline.place > 0)
            deadline_put(&fleet->table.queue, &one->deadline, now_ns);
    pthread_cond_broadcast(&fleet->changed);
}

struct fleet_state fleet_state_at(struct fleet *fleet, uint64_t now_ns)
{
    struct fleet_state state = {0};

    HOLD(&fleet->mutex);
    state.guests = fleet->table.n;
    state.waiting = fleet_waiting(fleet);
    state.period_s = fleet->spending.plan.period_s;
    state.share = fleet->spending.recent_share;
    state.records = fleet->records;
    for (const struct fleet_guest *one = fleet->table.guests; one; one = one->next) {
        state.refused += one->refused;
        state.suspended += one->pauses.suspended;
    }
    state.hanging = fleet_workers_hanging(fleet, now_ns);
    state.alive = fleet_workers_alive(fleet, now_ns);
    return state;
}

struct fleet_state fleet_state(struct fleet *fleet)
{
    return fleet_state_at(fleet, clock_ns());
}

static void fleet_free(struct fleet *fleet)
{
    deadline_queue_free(&fleet->table.queue);
    if (fleet->epoll_fd >= 0)
        close(fleet->epoll_fd);
    free(fleet);
}

int fleet_start(struct fleet **out, const struct fsroot *root, const struct config *config,
                const struct fleet_sinks *sinks, struct error *error)
{
    struct fleet *fleet = calloc(1, sizeof(*fleet));

    if (!fleet)
        return error_set(error, -ENOMEM, "out of memory");
    fleet->root = root;
    fleet->config = *config;
    fleet->sinks = *sinks;
    /* Otherwise each second of checking a large history would mean a hundred seconds without a
     * scan, at 1 %. */
    fleet->spending.ledger = ledger_open(config->budget, clock_ns(),
                                         writer_opening_cpu_s(fleet->sinks.writer));
    fleet->epoll_fd = guest_epoll_open();

    int rc = fleet->epoll_fd < 0 ? fleet->epoll_fd : fleet_start_workers(fleet);

    if (rc < 0) {
        error_set(error, rc, "the threads that scan guests: %s", strerror(-rc));
        fleet_stop_workers(fleet);
        fleet_free(fleet);
        return rc;
    }
    *out = fleet;
    return 0;
}

void fleet_stop(struct fleet *fleet)
{
    if (!fleet)
        return;

    uint64_t begin_ns = clock_ns();
    size_t n = fleet_state(fleet).guests;

    fleet_stop_workers(fleet);
    pthread_mutex_lock(&fleet->mutex);
    for (const struct fleet_guest *one = fleet->table.guests; one; one = one->next) {
        log_line(LOG_CLASS_DAEMON, LOG_WARNING,
                 "domain %s: not restored: its scan hangs; its marks end with this process",
                 one->name);
        n--;
    }
    pthread_mutex_unlock(&fleet->mutex);
    /* otherwise the scanner was not asked to end */
    if (scanner_alive(fleet->sinks.scanner, SCANNER_PATIENCE_NS) == 0)
        log_line(LOG_CLASS_DAEMON, LOG_INFO, "%zu guest%s restored in %.3g s", n, plural((double)n),
                 (double)(clock_ns() - begin_ns) / 1e9);
}
