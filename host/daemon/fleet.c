// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file fleet.c  The table of guests; see fleet.h. The threads: fleet_workers.c. */
#include "daemon/fleet_private.h"

#include "base/clock.h"
#include "daemon/log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

/* --- one guest --------------------------------------------------------------------------------- */

static struct member *find(struct fleet *fleet, const char *uuid)
{
    for (struct member *one = fleet->members; one; one = one->next)
        if (!strcmp(one->uuid, uuid))
            return one;
    return NULL;
}

void member_free(struct member *member)
{
    watched_free(member->watched);
    free(member);
}

/* Out of the table. Whoever is looking at it frees it; else it goes to @p freed, for the lock is held. */
void fleet_unlink(struct fleet *fleet, struct member *member, struct member **freed)
{
    struct member **at = &fleet->members;

    while (*at != member)
        at = &(*at)->next;
    *at = member->next;
    fleet->n--;
    due_remove(&fleet->queue, &member->due);
    epoll_ctl(fleet->epoll_fd, EPOLL_CTL_DEL, member->pidfd, NULL);
    member->gone = true;
    publisher_forget(fleet->publisher, member->uuid);
    if (member->busy)
        return;
    member->next = *freed;
    *freed = member;
}

static void free_list(struct member *list)
{
    while (list) {
        struct member *next = list->next;

        member_free(list);
        list = next;
    }
}

static struct member *member_new(struct fleet *fleet, unsigned source, struct guest *guest)
{
    struct member *member = calloc(1, sizeof(*member));

    if (!member)
        return NULL;
    member->source = source;
    member->pid = guest->process.pid;
    member->pidfd = guest->process.pidfd;
    member->start_ticks = guest->process.start_ticks;
    member->ram_bytes = guest->ram.total_bytes;
    member->serial = ++fleet->serials;
    member->generation = fleet->generation;
    memcpy(member->uuid, guest->uuid, sizeof(member->uuid));
    memcpy(member->name, guest->name, sizeof(member->name));
    member->watched = watched_new(guest, fleet->root);
    if (!member->watched) {
        free(member);
        return NULL;
    }
    return member;
}

static int enter(struct fleet *fleet, struct member *member)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLONESHOT, .data.u64 = member->serial};

    member->next = fleet->members;
    fleet->members = member;
    fleet->n++;
    if (epoll_ctl(fleet->epoll_fd, EPOLL_CTL_ADD, member->pidfd, &event) < 0)
        return -errno;
    return due_put(&fleet->queue, &member->due, clock_ns());
}

/* --- what connections say ---------------------------------------------------------------------- */

bool fleet_note(struct fleet *fleet, const char *uuid, pid_t pid, uint64_t start_ticks,
                bool suspended)
{
    pthread_mutex_lock(&fleet->mutex);

    struct member *member = find(fleet, uuid);
    bool same = member && member->pid == pid && member->start_ticks == start_ticks;

    if (same && suspended && !member->suspended)
        member->suspended_ns = clock_ns();
    if (same && !suspended && member->suspended)
        member->stood_still_ns += clock_ns() - member->suspended_ns;
    if (same && member->suspended != suspended)
        log_line(LOG_CLASS_GUEST, LOG_INFO, "domain %s: %s", member->name,
                 suspended ? "suspended: its panel waits" : "runs on");
    if (same)
        member->suspended = suspended;
    pthread_mutex_unlock(&fleet->mutex);
    return same;
}

void fleet_add(struct fleet *fleet, unsigned source, struct guest *guest)
{
    struct member *freed = NULL;
    char name[sizeof(guest->name)];
    int rc = -ENOMEM;

    memcpy(name, guest->name, sizeof(name));
    pthread_mutex_lock(&fleet->mutex);

    struct member *old = find(fleet, guest->uuid);
    struct member *member = member_new(fleet, source, guest);

    if (old)
        fleet_unlink(fleet, old, &freed);
    if (member) {
        rc = enter(fleet, member);
        if (rc < 0)
            fleet_unlink(fleet, member, &freed);
    } else {
        guest_close(guest);
    }
    fleet->replan = true;
    pthread_cond_broadcast(&fleet->changed);
    pthread_mutex_unlock(&fleet->mutex);
    free_list(freed);
    if (rc < 0)
        log_line(LOG_CLASS_GUEST, LOG_ERR, "domain %s: %s", name, strerror(-rc));
}

uint64_t fleet_ram_bytes(struct fleet *fleet, const char *uuid)
{
    pthread_mutex_lock(&fleet->mutex);

    const struct member *member = find(fleet, uuid);
    uint64_t bytes = member ? member->ram_bytes : 0;

    pthread_mutex_unlock(&fleet->mutex);
    return bytes;
}

static void let_go(struct fleet *fleet, struct member *member, struct member **freed)
{
    log_line(LOG_CLASS_GUEST, LOG_INFO, "domain %s: no longer watched", member->name);
    fleet_unlink(fleet, member, freed);
    fleet->replan = true;
}

void fleet_remove(struct fleet *fleet, const char *uuid)
{
    struct member *freed = NULL;

    pthread_mutex_lock(&fleet->mutex);

    struct member *member = find(fleet, uuid);

    if (member)
        let_go(fleet, member, &freed);
    pthread_mutex_unlock(&fleet->mutex);
    free_list(freed);
}

static bool is_among(const char *uuid, const char (*uuids)[37], size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(uuids[i], uuid))
            return true;
    return false;
}

void fleet_keep_only(struct fleet *fleet, unsigned source, const char (*uuids)[37], size_t n)
{
    struct member *freed = NULL;
    struct member *next;

    pthread_mutex_lock(&fleet->mutex);
    for (struct member *one = fleet->members; one; one = next) {
        next = one->next;
        if (one->source == source && !is_among(one->uuid, uuids, n))
            let_go(fleet, one, &freed);
    }
    pthread_mutex_unlock(&fleet->mutex);
    free_list(freed);
}

/* --- what the kernel says ---------------------------------------------------------------------- */

int fleet_ended_fd(const struct fleet *fleet)
{
    return fleet->epoll_fd;
}

void fleet_bury(struct fleet *fleet)
{
    struct epoll_event events[64];
    struct member *freed = NULL;
    struct member *next;
    int n = epoll_wait(fleet->epoll_fd, events, 64, 0);

    pthread_mutex_lock(&fleet->mutex);
    for (int i = 0; i < n; i++)
        for (struct member *one = fleet->members; one; one = next) {
            next = one->next;
            if (one->serial == events[i].data.u64)
                let_go(fleet, one, &freed);
        }
    pthread_mutex_unlock(&fleet->mutex);
    free_list(freed);
}

/* --- all of it --------------------------------------------------------------------------------- */

static bool same_panels(const struct config *a, const struct config *b)
{
    return a->method == b->method && a->period_s == b->period_s && a->n_windows == b->n_windows &&
           !memcmp(a->window_s, b->window_s, a->n_windows * sizeof(a->window_s[0]));
}

void fleet_configure(struct fleet *fleet, const struct config *config)
{
    uint64_t now_ns = clock_ns();

    pthread_mutex_lock(&fleet->mutex);
    if (!same_panels(&fleet->config, config))
        fleet->generation++;
    fleet->config = *config;
    fleet->ledger = ledger_open(config->budget, now_ns, own_cpu_s());
    fleet->replan = true;
    for (struct member *one = fleet->members; one; one = one->next)
        if (one->due.place > 0) {
            one->look_due_ns = now_ns;
            due_put(&fleet->queue, &one->due, now_ns);
        }
    pthread_cond_broadcast(&fleet->changed);
    pthread_mutex_unlock(&fleet->mutex);
}

struct fleet_state fleet_state(struct fleet *fleet)
{
    struct fleet_state state = {.alive = true};
    uint64_t now_ns = clock_ns();

    pthread_mutex_lock(&fleet->mutex);
    state.guests = fleet->n;
    state.period_s = fleet->plan.period_s;
    state.share = fleet->recent_share;
    state.records = fleet->records;
    for (const struct member *one = fleet->members; one; one = one->next) {
        state.refused += one->refused;
        state.suspended += one->suspended;
    }
    for (size_t i = 0; i < FLEET_WORKERS; i++)
        state.alive &= now_ns - fleet->seen_ns[i] < FLEET_STUCK_NS;
    pthread_mutex_unlock(&fleet->mutex);
    return state;
}

int fleet_start(struct fleet **out, const struct fsroot *root, const struct config *config,
                struct writer *writer, struct publisher *publisher, struct error *error)
{
    struct fleet *fleet = calloc(1, sizeof(*fleet));

    if (!fleet)
        return error_set(error, -ENOMEM, "out of memory");
    fleet->root = root;
    fleet->config = *config;
    fleet->writer = writer;
    fleet->publisher = publisher;
    fleet->ledger = ledger_open(config->budget, clock_ns(), own_cpu_s());
    fleet->epoll_fd = epoll_create1(EPOLL_CLOEXEC);

    int rc = fleet->epoll_fd < 0 ? -errno : fleet_start_workers(fleet);

    if (rc < 0) {
        error_set(error, rc, "the threads that look at guests: %s", strerror(-rc));
        fleet_stop(fleet);
        return rc;
    }
    *out = fleet;
    return 0;
}

void fleet_stop(struct fleet *fleet)
{
    if (!fleet)
        return;
    fleet_stop_workers(fleet);
    free_list(fleet->members);
    due_queue_free(&fleet->queue);
    if (fleet->epoll_fd >= 0)
        close(fleet->epoll_fd);
    free(fleet);
}
