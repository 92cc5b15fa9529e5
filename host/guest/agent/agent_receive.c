// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file agent_receive.c  Handles a channel's incoming data: answers, stalls, and everything
 * unexpected; see agent_channel.h. */
#include "guest/agent/agent_channel_private.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- token buckets ---------------------------------------------------------------------------- */

static void put(struct agent_bucket *bucket, double tokens)
{
    bucket->left = fmin(bucket->left + tokens, bucket->holds);
}

static void refill_bucket(struct agent_bucket *bucket, uint64_t elapsed_ns)
{
    put(bucket, bucket->a_second * (double)elapsed_ns / 1e9);
}

/* Takes the tokens in any case; returns false if there were not enough. */
static bool take(struct agent_bucket *bucket, double tokens)
{
    bucket->left -= tokens;
    return bucket->left >= 0;
}

/* --- answers ---------------------------------------------------------------------------------- */

/* Counts the fault; the first of its class becomes an event. */
static void channel_note(struct agent_channel *channel, enum agent_fault fault,
                         const struct error *error, struct agent_event *event)
{
    struct wrong wrong = {true, fault, *error};

    if (!channel->first.set)
        channel->first = wrong;
    if (channel->faults[fault]++ == 0)
        channel_tell(&wrong, AGENT_FAULT, event);
}

static bool take_hello(struct agent_channel *channel, const struct agent_message *message,
                       uint64_t now_ns)
{
    if (message->kind != AGENT_MESSAGE_HELLO || channel->asked != ASK_HELLO)
        return false;
    if (message->hello.protocol > WIRE_PROTOCOL) {
        channel_fail(channel, AGENT_FAULT_REFUSED, -EPROTONOSUPPORT,
                     "it speaks protocol %u, this host %d: a newer vmwss is needed here",
                     message->hello.protocol, WIRE_PROTOCOL);
        return true;
    }
    channel->hello = message->hello;
    channel->has_hello = true;
    channel->greeted = true;
    channel_ask(channel, ASK_REPORT, now_ns);
    return true;
}

/* The guest's clock went back: this boot is not that of the known hello. */
static bool was_restarted(const struct agent_channel *channel, const struct agent_report *report)
{
    return report->uptime_s < channel->uptime_s && !channel->greeted_again;
}

static bool take_report(struct agent_channel *channel, const struct agent_message *message,
                        uint64_t now_ns, struct agent_event *event)
{
    if (message->kind != AGENT_MESSAGE_REPORT || channel->asked != ASK_REPORT)
        return false;
    if (was_restarted(channel, &message->report)) {
        channel->greeted_again = true;
        channel_ask(channel, ASK_HELLO, now_ns);
        return true;
    }
    channel->uptime_s = message->report.uptime_s;
    channel->asked = ASK_NOTHING;
    channel->failures = 0;
    event->kind = AGENT_REPORT;
    event->message = *message;
    return true;
}

static bool take_refusal(struct agent_channel *channel, const struct agent_message *message)
{
    if (message->kind != AGENT_MESSAGE_ERROR)
        return false;
    channel_fail(channel, AGENT_FAULT_REFUSED, -EPROTO, "it refuses the question: %s",
                 message->error);
    return true;
}

/* Takes the message if it is the answer. */
static bool take_answer(struct agent_channel *channel, const struct agent_message *message,
                        uint64_t now_ns, struct agent_event *event)
{
    if (channel->asked < ASK_HELLO || message->seq != channel->seq)
        return false;
    return take_hello(channel, message, now_ns) || take_report(channel, message, now_ns, event) ||
           take_refusal(channel, message);
}

static void flooded(struct agent_channel *channel)
{
    channel_fail(channel, AGENT_FAULT_FLOOD, -EMSGSIZE,
                 "it floods: more than %d KiB or %d lines, and %d KiB or %d lines a second, "
                 "unasked%s%s",
                 AGENT_UNASKED_BYTES / 1024, AGENT_UNASKED_LINES,
                 AGENT_UNASKED_BYTES_A_SECOND / 1024, AGENT_UNASKED_LINES_A_SECOND,
                 channel->first.set ? "; first " : "",
                 channel->first.set ? channel->first.error.text : "");
}

static void take_line(struct agent_channel *channel, const char *line, size_t length,
                      uint64_t now_ns, struct agent_event *event)
{
    struct agent_message message;
    struct error error = {-EPROTO, "an answer to another question than the last"};
    int rc = agent_message_parse(line, length, channel->ram_bytes, &message, &error);

    if (rc == 0 && take_answer(channel, &message, now_ns, event)) {
        put(&channel->bytes, (double)length + 1);
        return;
    }
    if (rc == 0 && message.kind == AGENT_MESSAGE_STALL) {
        event->kind = AGENT_STALL;
        event->message = message;
    } else {
        channel_note(channel, rc < 0 ? AGENT_FAULT_MESSAGE : AGENT_FAULT_SEQUENCE, &error, event);
    }
    if (!take(&channel->lines, 1))
        flooded(channel);
}

/* Takes lines until one of them is an event, or no line is left. */
static void take_lines(struct agent_channel *channel, uint64_t now_ns, struct agent_event *event)
{
    const char *line;
    size_t length;

    while (event->kind == AGENT_NOTHING && !channel->failed.set &&
           inbox_line(channel->inbox, &line, &length))
        if (length > 0)
            take_line(channel, line, length, now_ns, event);
    if (!channel->inbox->skipping)
        channel->skipping = false;
}

/* Reports a line that does not fit into the inbox once, when its beginning is discarded. */
static void check_length(struct agent_channel *channel, struct agent_event *event)
{
    static const struct error too_long = {-EMSGSIZE, "a line of more than 16384 bytes"};

    _Static_assert(WIRE_LINE_MAX == 16384, "the text says so");
    if (channel->inbox->skipping && !channel->skipping)
        channel_note(channel, AGENT_FAULT_LONG, &too_long, event);
    channel->skipping = channel->inbox->skipping;
}

static void channel_read(struct agent_channel *channel, struct agent_event *event)
{
    ssize_t n = inbox_fill(channel->inbox, channel->fd);

    check_length(channel, event);
    if (n == 0 || (n < 0 && n != -EAGAIN))
        channel_lost(channel, (int)n);
    else if (n > 0 && !take(&channel->bytes, (double)n))
        flooded(channel);
}

static void refill(struct agent_channel *channel, uint64_t now_ns)
{
    if (channel->refilled_ns && now_ns > channel->refilled_ns) {
        refill_bucket(&channel->bytes, now_ns - channel->refilled_ns);
        refill_bucket(&channel->lines, now_ns - channel->refilled_ns);
    }
    channel->refilled_ns = now_ns;
}

/* If each of a thousand agents kept its 16 KiB, this would take a quarter of the daemon's memory
 * limit. */
static void release_if_empty(struct agent_channel *channel)
{
    const struct inbox *inbox = channel->inbox;

    if (inbox->taken < inbox->length || inbox->skipping)
        return;
    free(channel->inbox);
    channel->inbox = NULL;
}

void channel_receive(struct agent_channel *channel, uint64_t now_ns, struct agent_event *event)
{
    refill(channel, now_ns);
    if (!channel->inbox) {
        channel->inbox = calloc(1, sizeof(*channel->inbox));
        if (!channel->inbox) {
            channel_fail(channel, AGENT_FAULT_CLOSED, -ENOMEM, "out of memory");
            return;
        }
    }
    take_lines(channel, now_ns, event); /* lines that the previous call left */
    if (event->kind == AGENT_NOTHING && !channel->failed.set) {
        channel_read(channel, event);
        take_lines(channel, now_ns, event);
    }
    release_if_empty(channel);
}
