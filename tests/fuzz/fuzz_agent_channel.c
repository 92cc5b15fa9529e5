// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file fuzz_agent_channel.c  A guest's stream, in pieces and over time: each begins with a byte
 * that says how long it is (low six bits, times eight) and how much time goes by before it (high
 * two bits, times 0.7 s).
 */
#include "base/utf8.h"
#include "fuzz.h"
#include "guest/agent/agent_channel_private.h"
#include "stream.h"

#include <sys/socket.h>

#define ROOM 4096 /* questions are 30 bytes: a guest that reads none of them meets it */

ssize_t __wrap_send(int fd, const void *data, size_t size, int flags);
int __wrap_close(int fd);
int __real_close(int fd);

/* All of it, a part, or nothing, as a socket whose other end does not read. */
ssize_t __wrap_send(int fd, const void *data, size_t size, int flags)
{
    CLAIM(fd == STREAM_FD && data && flags == (MSG_NOSIGNAL | MSG_DONTWAIT));
    errno = stream.ended ? EPIPE : EAGAIN;
    if (stream.ended || stream.room == 0)
        return -1;
    size = size < stream.room ? size : stream.room;
    stream.room -= size;
    return (ssize_t)size;
}

int __wrap_close(int fd)
{
    if (fd != STREAM_FD)
        return __real_close(fd);
    stream_begin(ROOM);
    return 0;
}

/* As if connected: the first question has sequence number 1. */
static void connect_to(struct agent_channel *channel, uint64_t now)
{
    stream_begin(ROOM);
    channel->fd = STREAM_FD;
    channel->seq = 0;
    channel_ask(channel, ASK_HELLO, now);
}

static void drain(struct agent_channel *channel, uint64_t now)
{
    struct agent_event event;
    size_t events = 0;

    while (agent_channel_next(channel, now, &event) != AGENT_NOTHING) {
        CLAIM(++events <= AGENT_UNREAD_LINES + 2 * AGENT_FAULTS);
        CLAIM((event.kind == AGENT_FAILED) <= (channel->fd < 0));
        if (event.kind == AGENT_FAULT || event.kind == AGENT_FAILED)
            CLAIM(event.error.code < 0 && utf8_is_printable(event.error.text));
        if (event.kind == AGENT_REPORT)
            agent_channel_ask(channel, now);
    }
    if (channel->inbox)
        CLAIM(channel->inbox->length <= sizeof(channel->inbox->text));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct agent_endpoint endpoint = {.path = "/nonexistent"};
    struct agent_channel *channel = agent_channel_new(&endpoint, 1ULL << 30);
    uint64_t now = 1;

    while (size > 0) {
        size_t length = (*data & 0x3fU) * 8;

        now += (*data >> 6) * 700000000ULL;
        data++;
        size--;
        if (length > size)
            length = size;
        if (channel->fd < 0)
            connect_to(channel, now);
        stream_put(data, length);
        drain(channel, now);
        data += length;
        size -= length;
    }
    stream.ended = true;
    drain(channel, now);
    agent_channel_free(channel);
    return 0;
}
