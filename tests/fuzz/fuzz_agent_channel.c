// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file fuzz_agent_channel.c  A guest's stream, in pieces and over time: each begins with a byte
 * that says how long it is (low six bits, times eight) and how much time goes by before it (high
 * two bits, times 0.7 s).
 */
#include "base/utf8.h"
#include "fuzz.h"
#include "guest/agent/agent_channel_private.h"

#include <sys/socket.h>
#include <unistd.h>

/* As if connected: the first question has sequence number 1. */
static int connect_to(struct agent_channel *channel, uint64_t now)
{
    int ends[2];

    CLAIM(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) == 0);
    channel->fd = ends[0];
    channel->seq = 0;
    channel_ask(channel, ASK_HELLO, now);
    return ends[1];
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
    int guest = -1;

    while (size > 0) {
        size_t length = (*data & 0x3fU) * 8;

        now += (*data >> 6) * 700000000ULL;
        data++;
        size--;
        if (length > size)
            length = size;
        if (channel->fd < 0) {
            close(guest);
            guest = connect_to(channel, now);
        }
        CLAIM(send(guest, data, length, MSG_NOSIGNAL) >= -1);
        drain(channel, now);
        data += length;
        size -= length;
    }
    close(guest);
    drain(channel, now);
    agent_channel_free(channel);
    return 0;
}
