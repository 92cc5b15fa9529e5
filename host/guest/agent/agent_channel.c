// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file agent_channel.c  See agent_channel.h. For incoming data see agent_receive.c. */
#include "guest/agent/agent_channel_private.h"

#include "base/random.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

/* This header needs the declarations before it. */
#include <linux/sockios.h>

#define NS_PER_S 1000000000ULL
#define DEADLINE_NS (WIRE_DEADLINE_MS * 1000000ULL)

const char *agent_fault_name(enum agent_fault fault)
{
    static const char *const names[AGENT_FAULTS] = {
        [AGENT_FAULT_CONNECT] = "connect",   [AGENT_FAULT_BUSY] = "busy",
        [AGENT_FAULT_SILENT] = "silent",     [AGENT_FAULT_CLOSED] = "closed",
        [AGENT_FAULT_MESSAGE] = "message",   [AGENT_FAULT_LONG] = "long",
        [AGENT_FAULT_SEQUENCE] = "sequence", [AGENT_FAULT_FLOOD] = "flood",
        [AGENT_FAULT_REFUSED] = "refused",
    };

    return names[fault];
}

/* --- life ------------------------------------------------------------------------------------- */

struct agent_channel *agent_channel_new(const struct agent_endpoint *endpoint, uint64_t ram_bytes)
{
    struct agent_channel *channel = calloc(1, sizeof(*channel));

    if (!channel)
        return NULL;
    channel->endpoint = *endpoint;
    channel->ram_bytes = ram_bytes;
    channel->fd = -1;
    channel->uptime_s = NAN;
    /* begins below 2^32, so that it never reaches INT64_MAX */
    channel->seq = random_seed() >> 32;
    channel->bytes = (struct agent_bucket){AGENT_UNASKED_BYTES, AGENT_UNREAD_BYTES,
                                           AGENT_UNASKED_BYTES_A_SECOND};
    channel->lines = (struct agent_bucket){AGENT_UNASKED_LINES, AGENT_UNREAD_LINES,
                                           AGENT_UNASKED_LINES_A_SECOND};
    return channel;
}

static void hang_up(struct agent_channel *channel)
{
    if (channel->fd >= 0)
        close(channel->fd);
    channel->fd = -1;
    channel->asked = ASK_NOTHING;
    channel->greeted = false;
    channel->skipping = false;
    free(channel->inbox);
    channel->inbox = NULL;
}

void agent_channel_free(struct agent_channel *channel)
{
    if (!channel)
        return;
    hang_up(channel);
    free(channel);
}

const struct agent_endpoint *agent_channel_endpoint(const struct agent_channel *channel)
{
    return &channel->endpoint;
}

void agent_channel_set_ram(struct agent_channel *channel, uint64_t ram_bytes)
{
    channel->ram_bytes = ram_bytes;
}

void agent_channel_suspend(struct agent_channel *channel)
{
    hang_up(channel);
    channel->failed.set = false;
}

void agent_channel_redirect(struct agent_channel *channel, const struct agent_endpoint *endpoint)
{
    agent_channel_suspend(channel);
    channel->endpoint = *endpoint;
}

void agent_channel_set_endpoint(struct agent_channel *channel,
                                const struct agent_endpoint *endpoint)
{
    agent_channel_redirect(channel, endpoint);
    channel->failures = 0;
    channel->backoff_ns = 0;
}

const struct agent_hello *agent_channel_hello(const struct agent_channel *channel)
{
    return channel->has_hello ? &channel->hello : NULL;
}

/* --- faults ----------------------------------------------------------------------------------- */

void channel_fail(struct agent_channel *channel, enum agent_fault fault, int code,
                  const char *format, ...)
{
    va_list args;

    channel->failed = (struct wrong){.set = true, .fault = fault, .error.code = code};
    va_start(args, format);
    vsnprintf(channel->failed.error.text, sizeof(channel->failed.error.text), format, args);
    va_end(args);
}

static void back_off(struct agent_channel *channel, uint64_t now_ns)
{
    uint64_t seconds = AGENT_BACKOFF_MAX_S;

    if (++channel->failures < 8)
        seconds = 1ULL << channel->failures;
    channel->backoff_ns = now_ns + seconds * NS_PER_S;
}

static void tell_failure(struct agent_channel *channel, uint64_t now_ns, struct agent_event *event)
{
    const struct wrong *failed = &channel->failed;
    /* faulty lines were counted when they came */
    bool counted = channel->first.set && channel->first.fault == failed->fault;

    if (!counted)
        channel->faults[failed->fault]++;
    channel_tell(failed, AGENT_FAILED, event);
    channel->failed.set = false;
    hang_up(channel);
    back_off(channel, now_ns);
}

/* Returns true if QEMU has read the question. It does so only while the client has its turn, and
 * the guest has the port open with room in it. */
static bool question_was_taken(const struct agent_channel *channel)
{
    int left = 0;

    return !channel->endpoint.path[0] || ioctl(channel->fd, SIOCOUTQ, &left) < 0 || left == 0;
}

static void fail_unanswered(struct agent_channel *channel)
{
    char name[300];

    agent_endpoint_name(&channel->endpoint, name, sizeof(name));
    if (channel->first.set)
        channel_fail(channel, channel->first.fault, -EPROTO,
                     "no answer within %d s; what came is wrong: %s", WIRE_DEADLINE_MS / 1000,
                     channel->first.error.text);
    else if (channel->asked == ASK_CONNECTION)
        channel_fail(channel, AGENT_FAULT_CONNECT, -ETIMEDOUT, "%s: no connection within %d s",
                     name, WIRE_DEADLINE_MS / 1000);
    else if (question_was_taken(channel))
        channel_fail(channel, AGENT_FAULT_SILENT, -ETIMEDOUT, "no answer within %d s",
                     WIRE_DEADLINE_MS / 1000);
    else
        channel_fail(
            channel, AGENT_FAULT_BUSY, -EBUSY,
            "%s: the question is not taken: no program in the guest has the port open (is vmwss-guest "
            "running?), or it is in use here, by vmwssd or another program, for QEMU serves one at "
            "a time",
            name);
}

/* An agent that serves another program by vsock accepts the connection, and closes it at once; with
 * the port, QEMU does this. */
void channel_lost(struct agent_channel *channel, int code)
{
    char name[300];

    if (channel->asked == ASK_HELLO && !channel->greeted && !channel->endpoint.path[0])
        channel_fail(channel, AGENT_FAULT_BUSY, -EBUSY,
                     "%s: in use, by vmwssd or another program; the agent serves one at a time",
                     agent_endpoint_name(&channel->endpoint, name, sizeof(name)));
    else if (code == 0)
        channel_fail(channel, AGENT_FAULT_CLOSED, -EPIPE, "the other end hung up");
    else
        channel_fail(channel, AGENT_FAULT_CLOSED, code, "the connection: %s", strerror(-code));
}

/* --- questions -------------------------------------------------------------------------------- */

void channel_ask(struct agent_channel *channel, enum question question, uint64_t now_ns)
{
    char line[64];
    /* the newline ends a line that an earlier client may have left unfinished */
    int length = snprintf(line, sizeof(line), "%s{\"ask\":\"%s\",\"seq\":%llu}\n",
                          channel->greeted ? "" : "\n", question == ASK_HELLO ? "hello" : "report",
                          (unsigned long long)++channel->seq);
    ssize_t sent = send(channel->fd, line, (size_t)length, MSG_NOSIGNAL | MSG_DONTWAIT);

    channel->asked = question;
    channel->deadline_ns = now_ns + DEADLINE_NS;
    if (sent == length)
        return;
    if (sent < 0 && errno != EAGAIN)
        channel_lost(channel, -errno);
    else
        fail_unanswered(channel);
}

void agent_channel_connect_by(struct agent_channel *channel,
                              int (*connect)(const struct agent_endpoint *endpoint, void *context,
                                             struct error *error),
                              void *context)
{
    channel->connect = connect;
    channel->connect_context = context;
}

static void open_connection(struct agent_channel *channel, uint64_t now_ns)
{
    struct error error;
    int fd = channel->connect
                 ? channel->connect(&channel->endpoint, channel->connect_context, &error)
                 : agent_endpoint_connect(&channel->endpoint, &error);

    if (fd < 0) {
        channel_fail(channel, fd == -EAGAIN ? AGENT_FAULT_BUSY : AGENT_FAULT_CONNECT, fd, "%s",
                     error.text);
        return;
    }
    channel->fd = fd;
    channel->asked = ASK_CONNECTION;
    channel->deadline_ns = now_ns + DEADLINE_NS;
}

int agent_channel_ask(struct agent_channel *channel, uint64_t now_ns)
{
    if (channel->asked != ASK_NOTHING || channel->failed.set)
        return -EALREADY;
    if (now_ns < channel->backoff_ns)
        return -EAGAIN;
    channel->first.set = false;
    channel->greeted_again = false;
    if (channel->fd < 0)
        open_connection(channel, now_ns);
    else
        channel_ask(channel, channel->greeted ? ASK_REPORT : ASK_HELLO, now_ns);
    return 0;
}

static void connected(struct agent_channel *channel, uint64_t now_ns)
{
    struct pollfd out = {.fd = channel->fd, .events = POLLOUT};
    int failed = 0;
    socklen_t size = sizeof(failed);

    if (poll(&out, 1, 0) <= 0)
        return;
    getsockopt(channel->fd, SOL_SOCKET, SO_ERROR, &failed, &size);
    if (failed)
        channel_fail(channel, AGENT_FAULT_CONNECT, -failed, "%s%s", strerror(failed),
                     failed == ECONNRESET || failed == ECONNREFUSED
                         ? ": no program listens in the guest (is vmwss-guest running?)"
                         : "");
    else
        channel_ask(channel, ASK_HELLO, now_ns);
}

/* --- event loop ------------------------------------------------------------------------------- */

const struct error *agent_channel_failure(const struct agent_channel *channel)
{
    return &channel->failed.error;
}

int agent_channel_fd(const struct agent_channel *channel)
{
    return channel->fd;
}

short agent_channel_events(const struct agent_channel *channel)
{
    return channel->asked == ASK_CONNECTION ? POLLOUT : POLLIN;
}

uint64_t agent_channel_deadline(const struct agent_channel *channel)
{
    if (channel->failed.set)
        return 0;
    return channel->asked == ASK_NOTHING ? UINT64_MAX : channel->deadline_ns;
}

enum agent_event_kind agent_channel_next(struct agent_channel *channel, uint64_t now_ns,
                                         struct agent_event *event)
{
    event->kind = AGENT_NOTHING;
    if (!channel->failed.set && channel->asked == ASK_CONNECTION)
        connected(channel, now_ns);
    else if (!channel->failed.set && channel->fd >= 0)
        channel_receive(channel, now_ns, event);
    if (event->kind != AGENT_NOTHING)
        return event->kind;
    if (!channel->failed.set && channel->asked != ASK_NOTHING && now_ns >= channel->deadline_ns)
        fail_unanswered(channel);
    if (channel->failed.set)
        tell_failure(channel, now_ns, event);
    return event->kind;
}
