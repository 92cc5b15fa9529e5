// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file scan_table.c  See scan_table.h. scan_requests.c has the answers. */
#include "programs/vmwssd/scanner/scan_table_private.h"

#include "base/clock.h"
#include "base/cond.h"
#include "programs/vmwssd/scanner/guest_epoll.h"

#include <stdlib.h>

#define RESTORERS 4
#define LEAVE_NS 5000000000ULL
#define FETCH_AT_ONCE 64

struct scan_table *scan_table_new(const struct fsroot *root, pid_t parent)
{
    struct scan_table *table = calloc(1, sizeof(*table));

    if (!table)
        return NULL;
    table->root = root;
    table->parent = parent;
    table->epoll_fd = guest_epoll_open();
    if (table->epoll_fd < 0) {
        free(table);
        return NULL;
    }
    pthread_mutex_init(&table->mutex, NULL);
    cond_init(&table->changed);
    return table;
}

/* --- one guest -------------------------------------------------------------------------------- */

struct scan_entry *scan_table_find(const struct scan_table *table, uint64_t number)
{
    struct scan_entry *guest = table->ended ? NULL : table->guests;

    while (guest && guest->number != number)
        guest = guest->next;
    return guest;
}

bool scan_table_has_ended(struct scan_table *table)
{
    HOLD(&table->mutex);
    return table->ended;
}

static void unlink_guest(struct scan_table *table, const struct scan_entry *guest)
{
    struct scan_entry **at = &table->guests;

    while (*at != guest)
        at = &(*at)->next;
    *at = guest->next;
}

/* The mutex is held. */
static void begin(struct scan_entry *guest)
{
    guest->busy = true;
    guest->since_ns = clock_ns();
}

struct scan_entry *scan_table_take(struct scan_table *table, uint64_t number)
{
    struct scan_entry *guest;

    HOLD(&table->mutex);
    while ((guest = scan_table_find(table, number)) && guest->busy)
        pthread_cond_wait(&table->changed, &table->mutex);
    if (guest)
        begin(guest);
    return guest;
}

void scan_table_give_back(struct scan_table *table, struct scan_entry *guest)
{
    int wake_fd = guest_scan_wake_fd(guest->scan);

    if (wake_fd >= 0)
        guest_epoll_watch(table->epoll_fd, wake_fd, guest->number, GUEST_EVENT_FETCH);
    HOLD(&table->mutex);
    guest->busy = false;
    pthread_cond_broadcast(&table->changed);
}

void scan_table_free_guest(struct scan_table *table, struct scan_entry *guest)
{
    pthread_mutex_lock(&table->mutex);

    struct guest_scan *scan = guest->scan;

    guest->scan = NULL;
    guest->gone = true;
    pthread_mutex_unlock(&table->mutex);
    guest_scan_free(scan);
    pthread_mutex_lock(&table->mutex);
    unlink_guest(table, guest);
    pthread_cond_broadcast(&table->changed);
    pthread_mutex_unlock(&table->mutex);
    free(guest);
}

uint64_t scan_table_add(struct scan_table *table, struct guest *opened)
{
    struct scan_entry *guest = calloc(1, sizeof(*guest));

    if (guest) {
        guest->pid = opened->process.pid;
        guest->scan = guest_scan_new(opened, table->root);
    }
    if (!guest || !guest->scan) {
        free(guest);
        guest_close(opened);
        return 0;
    }
    HOLD(&table->mutex);

    uint64_t number = guest->number = ++table->numbers;

    guest->next = table->guests;
    table->guests = guest;
    return number;
}

/* --- between scans ---------------------------------------------------------------------------- */

int scan_table_fd(const struct scan_table *table)
{
    return table->epoll_fd;
}

/* Events of a guest that is being scanned are handled after the scan. */
static struct scan_entry *take_idle(struct scan_table *table, uint64_t number)
{
    HOLD(&table->mutex);

    struct scan_entry *guest = scan_table_find(table, number);

    if (guest && guest->busy)
        guest = NULL;
    if (guest)
        begin(guest);
    return guest;
}

void scan_table_fetch(struct scan_table *table)
{
    struct guest_event events[FETCH_AT_ONCE];
    size_t n = guest_epoll_take(table->epoll_fd, events, FETCH_AT_ONCE);

    for (size_t i = 0; i < n; i++) {
        struct scan_entry *guest = take_idle(table, events[i].serial);

        if (!guest)
            continue;
        guest_scan_poll(guest->scan, NULL);
        scan_table_give_back(table, guest);
    }
}

/* --- the end ---------------------------------------------------------------------------------- */

static struct scan_entry *take_any(struct scan_table *table)
{
    struct scan_entry *guest = table->guests;

    while (guest && guest->busy)
        guest = guest->next;
    if (guest)
        guest->busy = guest->gone = true;
    return guest;
}

static void *restore(void *context)
{
    struct scan_table *table = context;
    struct scan_entry *guest;

    for (;;) {
        pthread_mutex_lock(&table->mutex);
        guest = take_any(table);
        pthread_mutex_unlock(&table->mutex);
        if (!guest)
            return NULL;
        scan_table_free_guest(table, guest);
    }
}

/* Counts guests that are being restored, or with @p scanned those that are not. */
static size_t count(const struct scan_table *table, bool scanned)
{
    size_t n = 0;

    for (const struct scan_entry *guest = table->guests; guest; guest = guest->next)
        n += guest->gone != scanned;
    return n;
}

/* Returns true unless its scan hangs: a restore is waited for, however long it takes, and so are
 * guests still to be restored. */
static bool is_awaited(const struct scan_entry *guest, uint64_t now_ns)
{
    return guest->gone || !guest->busy || now_ns < guest->since_ns + LEAVE_NS;
}

static bool any_awaited(const struct scan_table *table)
{
    uint64_t now_ns = clock_ns();

    for (const struct scan_entry *guest = table->guests; guest; guest = guest->next)
        if (is_awaited(guest, now_ns))
            return true;
    return false;
}

size_t scan_table_end(struct scan_table *table)
{
    pthread_t threads[RESTORERS];
    size_t n = 0;

    table->ending = 1;
    pthread_mutex_lock(&table->mutex);
    table->ended = true;
    pthread_cond_broadcast(&table->changed);
    while (n < RESTORERS && pthread_create(&threads[n], NULL, restore, table) == 0)
        pthread_detach(threads[n++]);
    while (any_awaited(table)) {
        struct scan_entry *idle = n == 0 || count(table, false) == 0 ? take_any(table) : NULL;

        pthread_mutex_unlock(&table->mutex);
        if (idle)
            scan_table_free_guest(table, idle);
        pthread_mutex_lock(&table->mutex);
        if (table->guests)
            cond_wait_until(&table->changed, &table->mutex, clock_ns() + 50000000);
    }

    size_t left = count(table, true);

    pthread_mutex_unlock(&table->mutex);
    return left;
}
