// SPDX-License-Identifier: LGPL-2.1-or-later
#include "guest/domain/pause.h"

#include "base/clock.h"
#include "base/guardian.h"
#include "guest/domain/suspend.h"

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define NS_PER_MS 1000000ULL

/* Time beyond the limit: QEMU may wait this long for its disks, and libvirt for another job. */
#define PATIENCE_MS 60000
#define TRY_AGAIN_MS 50
#define WAKE_MS 500 /* a child that has not replied for so long may be stopped */

enum order {
    ORDER_ATTACH,
    ORDER_BEGIN,
    ORDER_END,
};

struct request {
    enum order order;
    struct suspend_where where; /* for ORDER_ATTACH */
};

struct reply {
    int rc;
    bool cut;
    uint64_t paused_ns;
    struct error error;
};

/* State that the parent needs if the child is killed. */
struct shared {
    atomic_bool suspended; /* the guest is suspended by the child, or about to be */
};

struct guest_pause {
    struct guardian *guardian;
    unsigned limit_ms;
    struct suspend_where where;
};

/* --- the child -------------------------------------------------------------------------------- */

struct child {
    struct shared *shared;
    unsigned limit_ms;
    bool attached;
    struct suspender suspender;
    uint64_t began_ns; /* time at which the pause began */
    struct reply ended;
};

/* Retries without a time limit; 0, or -ESRCH when the guest is gone. */
static int resume_for_sure(struct suspender *suspender, struct shared *shared, struct error *error)
{
    int rc;

    while ((rc = suspender_resume(suspender, error)) < 0 && rc != -ESRCH)
        poll(NULL, 0, TRY_AGAIN_MS);
    atomic_store(&shared->suspended, false);
    return rc;
}

static void end_pause(struct child *child, bool cut)
{
    struct reply *ended = &child->ended;

    *ended = (struct reply){.cut = cut};
    ended->rc = resume_for_sure(&child->suspender, child->shared, &ended->error);
    ended->paused_ns = clock_ns() - child->began_ns;
}

static bool is_paused(const struct child *child)
{
    return atomic_load(&child->shared->suspended);
}

static uint64_t left_ns(const struct child *child)
{
    uint64_t used_ns = clock_ns() - child->began_ns;
    uint64_t limit_ns = child->limit_ms * NS_PER_MS;

    return used_ns < limit_ns ? limit_ns - used_ns : 0;
}

static void attach(struct child *child, const struct suspend_where *where, struct reply *reply)
{
    reply->rc = suspender_open(&child->suspender, where, &reply->error);
    if (reply->rc < 0)
        return;
    child->attached = true;
    reply->rc = suspender_prove(&child->suspender, &reply->error);
}

/* Notes the intention first: a begun suspension must be undone, even if it seems to have failed. */
static void begin_pause(struct child *child, struct reply *reply)
{
    child->began_ns = clock_ns();
    atomic_store(&child->shared->suspended, true);
    reply->rc = suspender_suspend(&child->suspender, &reply->error);
    if (reply->rc == -ENODEV)
        atomic_store(&child->shared->suspended, false);
    else if (reply->rc < 0)
        resume_for_sure(&child->suspender, child->shared, NULL);
}

static void obey(struct child *child, const struct request *request, struct reply *reply)
{
    switch (request->order) {
    case ORDER_ATTACH:
        attach(child, &request->where, reply);
        break;
    case ORDER_BEGIN:
        begin_pause(child, reply);
        break;
    case ORDER_END:
        if (is_paused(child))
            end_pause(child, false);
        *reply = child->ended;
        break;
    }
}

/* False if the parent is gone, or has finished. */
static bool take_order(struct child *child, int socket)
{
    struct request request;
    struct reply reply = {0};

    if (recv(socket, &request, sizeof(request), 0) != (ssize_t)sizeof(request))
        return false;
    if (request.order == ORDER_ATTACH ? child->attached : !child->attached)
        reply.rc = -EINVAL;
    else
        obey(child, &request, &reply);
    return send(socket, &reply, sizeof(reply), MSG_NOSIGNAL) == (ssize_t)sizeof(reply);
}

static void guard_pause(int socket, void *shared, void *context)
{
    struct child child = {.shared = shared, .limit_ms = *(const unsigned *)context};
    bool wanted = true;

    while (wanted) {
        struct pollfd order = {.fd = socket, .events = POLLIN};
        uint64_t left = is_paused(&child) ? left_ns(&child) : 0;
        const struct timespec timeout = timespec_of_ns(left);

        if (ppoll(&order, 1, is_paused(&child) ? &timeout : NULL, NULL) != 0)
            wanted = take_order(&child, socket);
        else
            end_pause(&child, true);
    }
    if (is_paused(&child))
        end_pause(&child, false);
    if (child.attached)
        suspender_close(&child.suspender);
}

/* --- the parent ------------------------------------------------------------------------------- */

int guest_pause_start(struct guest_pause **out, unsigned limit_ms, struct error *error)
{
    struct guest_pause *pause = calloc(1, sizeof(*pause));

    if (!pause)
        return error_set(error, -ENOMEM, "out of memory");
    pause->limit_ms = limit_ms;

    int rc = guardian_employ(&pause->guardian, sizeof(struct shared), guard_pause, &pause->limit_ms,
                             error);

    if (rc < 0)
        free(pause);
    else
        *out = pause;
    return rc;
}

void guest_pause_stop(struct guest_pause *pause)
{
    if (!pause)
        return;
    guardian_dismiss(pause->guardian);
    free(pause);
}

/* The child is dead: the parent resumes the guest that the child suspended. */
static int take_over(struct guest_pause *pause, struct error *error)
{
    struct shared *shared = guardian_shared(pause->guardian);
    struct suspender suspender;

    if (atomic_load(&shared->suspended) && suspender_open(&suspender, &pause->where, NULL) == 0) {
        resume_for_sure(&suspender, shared, NULL);
        suspender_close(&suspender);
    }
    return error_set(error, -EIO, "the process that suspends and resumes the guest was killed");
}

static int still_trying(const struct guest_pause *pause, struct error *error)
{
    return error_set(error, -EIO,
                     "the guest may still be suspended: neither QEMU nor libvirt answers; process "
                     "%d keeps trying to resume it",
                     (int)guardian_pid(pause->guardian));
}

/* Signals do not end the wait: the guest is suspended for a bounded time only, and then the reply
 * comes. */
static int await_reply(struct guest_pause *pause, struct reply *reply, struct error *error)
{
    struct pollfd in = {.fd = guardian_socket(pause->guardian), .events = POLLIN};
    uint64_t until_ns = clock_ns() + (pause->limit_ms + PATIENCE_MS) * NS_PER_MS;

    while (poll(&in, 1, WAKE_MS) <= 0) {
        if (clock_ns() >= until_ns)
            return still_trying(pause, error);
        guardian_wake(pause->guardian);
    }
    if (recv(in.fd, reply, sizeof(*reply), 0) != (ssize_t)sizeof(*reply))
        return take_over(pause, error);
    return reply->rc < 0 ? error_set(error, reply->rc, "%s", reply->error.text) : 0;
}

static int command(struct guest_pause *pause, enum order order, struct reply *reply,
                   struct error *error)
{
    const struct request request = {.order = order, .where = pause->where};

    if (send(guardian_socket(pause->guardian), &request, sizeof(request), MSG_NOSIGNAL) !=
        (ssize_t)sizeof(request))
        return take_over(pause, error);
    return await_reply(pause, reply, error);
}

int guest_pause_attach(struct guest_pause *pause, const struct guest *guest, const char *uri,
                       struct error *error)
{
    struct reply reply;

    /* the driver that this process opened stays open until the process ends */
    if (guest->from_libvirt && uri && strstr(uri, "///embed"))
        return error_set(
            error, -ENOTSUP,
            "%s: an embedded driver can be open in one process only, and to resume the "
            "guest should this one die takes a second; run libvirtd",
            uri);
    pause->where = (struct suspend_where){.by_libvirt = guest->from_libvirt,
                                          .pid = guest->process.pid,
                                          .start_ticks = guest->process.start_ticks};
    snprintf(pause->where.uri, sizeof(pause->where.uri), "%s", uri ? uri : domain_default_uri());
    memcpy(pause->where.uuid, guest->uuid, sizeof(pause->where.uuid));
    return command(pause, ORDER_ATTACH, &reply, error);
}

int guest_pause_begin(struct guest_pause *pause, struct error *error)
{
    struct reply reply;

    return command(pause, ORDER_BEGIN, &reply, error);
}

int guest_pause_end(struct guest_pause *pause, uint64_t *paused_ns, bool *cut, struct error *error)
{
    struct reply reply = {0};
    int rc = command(pause, ORDER_END, &reply, error);

    *paused_ns = reply.paused_ns;
    *cut = reply.cut;
    return rc;
}
