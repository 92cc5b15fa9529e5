// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file agent.c  See agent.h.
 *
 * epoll is used edge-triggered, because while no host has the other end of a virtio-serial port
 * open, poll() would report a hang-up at once, again and again. When a host opens the port, the
 * kernel wakes us (drivers/char/virtio_console.c, handle_control_message), so no timer is needed.
 * With edge-triggered events, `readable` has to remember that there may be more to read. Each turn
 * reads only one block, so that triggers are served, too.
 */
#include "serve/agent.h"

#include "base/clock.h"
#include "base/wire/inbox.h"
#include "serve/endpoint.h"
#include "serve/outbox.h"
#include "serve/own_set.h"
#include "serve/question.h"
#include "serve/report.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

enum source {
    SOURCE_HOST,
    SOURCE_LISTENER,
    SOURCE_OWN_SET,
    SOURCE_TRIGGER, /* the first trigger; the others follow */
};

/* Below a second, so that each event of a trigger with a window of 1 s is reported. */
#define STALL_PAUSE_NS 900000000ULL

#define LISTEN_PAUSE_MS 1000

/* A connected client holds the agent for 30 s after its last request. */
#define HOST_HELD_NS 30000000000ULL

struct watched_trigger {
    struct stall_trigger trigger;
    int fd;
    uint64_t told_ns; /* 0: never */
    bool fired;       /* fired, and not reported yet */
};

struct agent {
    const struct fsroot *root;
    int epoll;
    int listener;       /* -1: none */
    uint64_t listen_ns; /* time before which it does not accept; 0: it accepts */
    int host;           /* -1: no host is connected */
    bool is_device;     /* if the host closes it, a host may open it again */
    bool closed;        /* the host closed its side of the device */
    bool readable;
    uint64_t heard_ns;     /* time of the last input */
    bool asked[ASK_KINDS]; /* a question of this kind is pending */
    struct question question[ASK_KINDS];
    struct watched_trigger watched[AGENT_TRIGGERS_MAX];
    unsigned n_watched;
    struct own_set *own_set; /* NULL: not measured */
    struct inbox inbox;
    struct outbox outbox;
};

static int watch_fd(const struct agent *agent, int fd, uint32_t events, unsigned source)
{
    struct epoll_event event = {.events = events, .data.u32 = source};

    return epoll_ctl(agent->epoll, EPOLL_CTL_ADD, fd, &event) == 0 ? 0 : -errno;
}

int agent_new(struct agent **out, const struct fsroot *root, struct error *error)
{
    struct agent *agent = calloc(1, sizeof(*agent));

    if (!agent)
        return error_set(error, -ENOMEM, "out of memory");
    agent->root = root;
    agent->host = agent->listener = -1;
    agent->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (agent->epoll < 0) {
        int rc = -errno;

        free(agent);
        return error_set(error, rc, "epoll: %s", strerror(-rc));
    }
    *out = agent;
    return 0;
}

/* Drops output for a host that has gone away. */
static void say_nothing(struct agent *agent)
{
    memset(agent->asked, 0, sizeof(agent->asked));
    outbox_drop(&agent->outbox);
}

static void forget_stalls(struct agent *agent)
{
    for (unsigned i = 0; i < agent->n_watched; i++)
        agent->watched[i].fired = false;
}

static void detach(struct agent *agent)
{
    if (agent->host >= 0)
        close(agent->host);
    agent->host = -1;
    agent->readable = false;
    inbox_reset(&agent->inbox);
    forget_stalls(agent);
    say_nothing(agent);
}

void agent_free(struct agent *agent)
{
    if (!agent)
        return;
    detach(agent);
    if (agent->listener >= 0)
        close(agent->listener);
    for (unsigned i = 0; i < agent->n_watched; i++)
        close(agent->watched[i].fd);
    own_set_free(agent->own_set);
    close(agent->epoll);
    free(agent);
}

static bool is_device(int fd)
{
    struct stat stat;

    return fstat(fd, &stat) == 0 && S_ISCHR(stat.st_mode);
}

int agent_attach(struct agent *agent, int fd)
{
    detach(agent);
    agent->host = fd;
    agent->is_device = is_device(fd);
    agent->closed = false; /* if not, reading will show it */
    agent->readable = true;
    /* only on a device does another host continue where the first one stopped */
    agent->outbox.cut = agent->outbox.cut && agent->is_device;
    return watch_fd(agent, fd, EPOLLIN | EPOLLOUT | EPOLLET, SOURCE_HOST);
}

int agent_listen(struct agent *agent, int listener)
{
    agent->listener = listener;
    return watch_fd(agent, listener, EPOLLIN, SOURCE_LISTENER);
}

int agent_watch(struct agent *agent, const struct stall_trigger *trigger, int fd)
{
    unsigned i = agent->n_watched;
    int rc = i < AGENT_TRIGGERS_MAX ? watch_fd(agent, fd, EPOLLPRI, SOURCE_TRIGGER + i) : -E2BIG;

    if (rc == 0) {
        agent->watched[i] = (struct watched_trigger){.trigger = *trigger, .fd = fd};
        agent->n_watched++;
    }
    return rc;
}

int agent_own_set(struct agent *agent, double period_s, void (*complain)(const char *why),
                  struct error *error)
{
    return own_set_new(&agent->own_set, agent->root, period_s, OWN_SET_LATE_S, complain, error);
}

bool agent_attached(const struct agent *agent)
{
    return agent->host >= 0;
}

/* Makes the next message with present data; NULL if there is none. */
static json_t *next_message(struct agent *agent)
{
    for (unsigned i = 0; i < agent->n_watched; i++)
        if (agent->watched[i].fired) {
            agent->watched[i].fired = false;
            return report_stall(agent->root, &agent->watched[i].trigger);
        }
    for (unsigned i = 0; i < ASK_KINDS; i++)
        if (agent->asked[i]) {
            agent->asked[i] = false;
            return question_answer(&agent->question[i], agent->root, agent->own_set);
        }
    return NULL;
}

/* Sends pending messages, as far as the host takes them. */
static void agent_send(struct agent *agent)
{
    while (agent->host >= 0) {
        int rc = outbox_write(&agent->outbox, agent->host);
        json_t *message = rc == 0 ? next_message(agent) : NULL;

        if (rc < 0 && rc != -EAGAIN)
            detach(agent);
        if (!message)
            return;
        outbox_put(&agent->outbox, message);
    }
}

/* Reads all lines before it answers, so that a flood causes one answer. */
static void receive_lines(struct agent *agent)
{
    struct question question;
    const char *line;
    size_t length;

    while (inbox_line(&agent->inbox, &line, &length))
        if (question_parse(&question, line, length)) {
            agent->asked[question.ask] = true;
            agent->question[question.ask] = question;
        }
}

/*
 * The host closed its side of the device. Or another host has opened it since: the kernel reports
 * that in two steps, but may already have delivered, and we may have read, the new host's question.
 * So output is kept, and dropped only when a host opens the port after the first host's deadline.
 */
static void closed(struct agent *agent)
{
    agent->closed = true;
    inbox_reset(&agent->inbox);
    forget_stalls(agent);
}

static void opened(struct agent *agent)
{
    agent->closed = false;
    if (clock_ns() - agent->heard_ns > WIRE_DEADLINE_MS * 1000000ULL)
        say_nothing(agent);
}

static void agent_receive(struct agent *agent)
{
    ssize_t rc = inbox_fill(&agent->inbox, agent->host);

    agent->readable = rc > 0;
    if (agent->closed && (rc > 0 || rc == -EAGAIN))
        opened(agent);
    if (rc > 0) {
        agent->heard_ns = clock_ns();
        receive_lines(agent);
    } else if (rc == 0 && agent->is_device)
        closed(agent);
    else if (rc != -EAGAIN)
        detach(agent);
}

static void watch_listener(const struct agent *agent, bool yes)
{
    struct epoll_event event = {.events = yes ? EPOLLIN : 0, .data.u32 = SOURCE_LISTENER};

    epoll_ctl(agent->epoll, EPOLL_CTL_MOD, agent->listener, &event);
}

/* Stops accepting for a while: a client that cannot be accepted, because descriptors or memory are
 * short, stays in the queue, and epoll would report it at once. */
static void rest(struct agent *agent)
{
    agent->listen_ns = clock_ns() + LISTEN_PAUSE_MS * 1000000ULL;
    watch_listener(agent, false);
}

static void listen_again(struct agent *agent)
{
    if (!agent->listen_ns || clock_ns() < agent->listen_ns)
        return;
    agent->listen_ns = 0;
    watch_listener(agent, true);
}

/* If a host has closed its end, reads the rest of its input, and answers it in case only one
 * direction was closed. Then another host can be accepted. */
static void end_closed(struct agent *agent)
{
    struct pollfd peer = {.fd = agent->host, .events = POLLRDHUP};

    if (agent->is_device || poll(&peer, 1, 0) <= 0)
        return;
    do {
        agent_receive(agent);
        agent_send(agent);
    } while (agent->host >= 0 && agent->readable);
    detach(agent);
}

static bool is_held(const struct agent *agent)
{
    return agent->host >= 0 && clock_ns() - agent->heard_ns < HOST_HELD_NS;
}

static void take_connection(struct agent *agent)
{
    int fd = endpoint_accept(agent->listener);

    if (agent->host >= 0)
        end_closed(agent);
    if (fd >= 0 && is_held(agent)) {
        close(fd);
        return;
    }
    if (fd >= 0) {
        agent->heard_ns = clock_ns();
        if (agent_attach(agent, fd) < 0)
            detach(agent);
    }
    if (fd == -EMFILE || fd == -ENFILE || fd == -ENOBUFS || fd == -ENOMEM)
        rest(agent);
}

/* POLLERR is permanent, and means that the trigger no longer exists. */
static void stalled(struct agent *agent, struct watched_trigger *watched, uint32_t events)
{
    uint64_t now_ns = clock_ns();

    if (events & EPOLLERR)
        epoll_ctl(agent->epoll, EPOLL_CTL_DEL, watched->fd, NULL);
    else if (!watched->told_ns || now_ns - watched->told_ns >= STALL_PAUSE_NS) {
        watched->told_ns = now_ns;
        watched->fired = agent->host >= 0 && !agent->closed;
    }
}

static void happened(struct agent *agent, const struct epoll_event *event)
{
    if (event->data.u32 == SOURCE_HOST)
        agent->readable = true; /* or writable, or closed: reading will show it */
    else if (event->data.u32 == SOURCE_LISTENER)
        take_connection(agent);
    else if (event->data.u32 >= SOURCE_TRIGGER)
        stalled(agent, &agent->watched[event->data.u32 - SOURCE_TRIGGER], event->events);
}

/* Handles what is due for the working set; closing its descriptor removes it from the epoll set. */
static void turn_own_set(const struct agent *agent)
{
    if (agent->own_set && own_set_turn(agent->own_set))
        watch_fd(agent, own_set_fd(agent->own_set), EPOLLIN, SOURCE_OWN_SET);
}

static int sooner_ms(int a, int b)
{
    return a < 0 || (b >= 0 && b < a) ? b : a;
}

static int wait_ms(const struct agent *agent, int timeout_ms)
{
    if (agent->readable)
        return 0;
    if (agent->listen_ns)
        timeout_ms = sooner_ms(timeout_ms, LISTEN_PAUSE_MS);
    return agent->own_set ? sooner_ms(timeout_ms, own_set_wait_ms(agent->own_set)) : timeout_ms;
}

int agent_turn(struct agent *agent, int timeout_ms)
{
    struct epoll_event event[4];
    int n;

    turn_own_set(agent);
    listen_again(agent);
    n = epoll_wait(agent->epoll, event, 4, wait_ms(agent, timeout_ms));

    if (n < 0)
        return errno == EINTR ? 0 : -errno;
    for (int i = 0; i < n; i++)
        happened(agent, &event[i]);
    if (agent->host >= 0 && agent->readable)
        agent_receive(agent);
    agent_send(agent);
    return 0;
}
