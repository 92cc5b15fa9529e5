// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file agent_channel.h  Communicates with the agent of one guest without waiting: one loop serves
 * many guests.
 *
 * Theory of operation. A channel is a state machine over a stream socket: closed, connecting,
 * asking hello, asking a report, connected. agent_channel_ask() begins; then the caller polls
 * agent_channel_fd() for agent_channel_events() until agent_channel_deadline() at the latest, and
 * calls agent_channel_next() until that returns AGENT_NOTHING:
 *
 *     agent_channel_ask(channel, clock_ns());
 *     ... poll(2) ...
 *     while (agent_channel_next(channel, clock_ns(), &event) != AGENT_NOTHING)
 *         ...
 *
 * The loop ends, whatever the guest sends: one call reads at most WIRE_LINE_MAX bytes. Unsolicited
 * data is charged to two buckets, of bytes and of lines; a guest that empties one is disconnected.
 * The buckets begin with AGENT_UNASKED_*, and fill with time, even while vmwss does not read,
 * because stalls reported in two minutes without a reader arrive all at once, and are not a flood.
 * A bucket holds at most what sockets can keep (AGENT_UNREAD_*), which takes 40 ms of a CPU to
 * read, even if the guest was quiet for a day. A question has WIRE_DEADLINE_MS. A line that is not
 * a message is skipped up to its newline, and answers to questions other than the last one are
 * ignored (sequence numbers begin at random, so that an answer to an earlier client cannot pass for
 * ours). A failed question closes the socket, and after the n-th failure in a row no question is
 * sent for 2^n seconds, at most AGENT_BACKOFF_MAX_S. If a guest's uptime decreased, it was
 * restarted, and its hello is requested again. A channel takes the memory of its struct, about 2
 * KiB, and a line's WIRE_LINE_MAX bytes only from the line's first byte to its last.
 *
 * QEMU serves one client of the port's socket at a time: while a channel is open, others wait
 * (AGENT_FAULT_BUSY).
 */
#pragma once

#include "guest/agent/agent_endpoint.h"
#include "guest/agent/agent_message.h"

#define AGENT_UNASKED_BYTES (4 * WIRE_LINE_MAX)
#define AGENT_UNASKED_LINES 64
/* Tokens added every second. An honest agent reports a stall for each of 8 triggers every 0.9 s: 9
 * lines of some 120 bytes. */
#define AGENT_UNASKED_BYTES_A_SECOND 8192
#define AGENT_UNASKED_LINES_A_SECOND 16
/* A Unix socket keeps 278 such lines (net.core.wmem_default 208 KiB, as the kernel counts them) and
 * QEMU's port 128 more; a vsock keeps 256 KiB, some 2400 of the shortest. */
#define AGENT_UNREAD_BYTES (32 * WIRE_LINE_MAX)
#define AGENT_UNREAD_LINES 4096
#define AGENT_BACKOFF_MAX_S 256

struct agent_channel; /* opaque */

/** The faults of an agent; agent_fault_name() gives each a word. */
enum agent_fault {
    AGENT_FAULT_CONNECT, /* the socket is not there, or refuses */
    /* the question was not taken: another client uses the port, or no program in the guest has it
     * open */
    AGENT_FAULT_BUSY,
    AGENT_FAULT_SILENT,   /* no answer in time */
    AGENT_FAULT_CLOSED,   /* the other end closed the connection */
    AGENT_FAULT_MESSAGE,  /* a line refused by agent_message_parse() */
    AGENT_FAULT_LONG,     /* a line of more than WIRE_LINE_MAX bytes */
    AGENT_FAULT_SEQUENCE, /* an answer to an earlier question */
    AGENT_FAULT_FLOOD,    /* more unsolicited bytes or lines than the buckets hold */
    AGENT_FAULT_REFUSED,  /* it answered with an error, or uses a newer protocol */
    AGENT_FAULTS,
};

enum agent_event_kind {
    AGENT_NOTHING, /* no event: more to come, or no question sent */
    AGENT_REPORT,  /* the answer: event.message.report */
    AGENT_STALL,   /* event.message.stall, unsolicited */
    AGENT_FAULT,   /* event.fault, reported once; a pending question stays pending */
    AGENT_FAILED,  /* event.fault: the question failed and the channel is closed; it backs off */
};

struct agent_event {
    enum agent_event_kind kind;
    enum agent_fault fault; /* for FAULT and FAILED */
    struct error error;     /* for FAULT and FAILED: one printable line, without the guest's name */
    struct agent_message message; /* for REPORT and STALL */
};

/** "silent", "flood", ... */
const char *agent_fault_name(enum agent_fault fault);

/** Makes a closed channel, which sends nothing by itself. @p ram_bytes as for
 * agent_message_parse(). NULL: out of memory. */
struct agent_channel *agent_channel_new(const struct agent_endpoint *endpoint, uint64_t ram_bytes);
void agent_channel_free(struct agent_channel *channel);

/** Opens connections by @p connect from now on, instead of agent_endpoint_connect(), for a process
 * that may not reach the socket. It must behave in the same way. */
void agent_channel_connect_by(struct agent_channel *channel,
                              int (*connect)(const struct agent_endpoint *endpoint, void *context,
                                             struct error *error),
                              void *context);

/** The channel's endpoint; valid while the channel is. */
const struct agent_endpoint *agent_channel_endpoint(const struct agent_channel *channel);

/** Call it when memory was plugged or unplugged. */
void agent_channel_set_ram(struct agent_channel *channel, uint64_t ram_bytes);

/** Closes the channel, sets a new endpoint, and resets past failures. Call it when the domain was
 * found anew (restarted, migrated here). */
void agent_channel_set_endpoint(struct agent_channel *channel,
                                const struct agent_endpoint *endpoint);

/** Sets another endpoint of the same guest; past failures still delay the next question. */
void agent_channel_redirect(struct agent_channel *channel, const struct agent_endpoint *endpoint);

/**
 * Requests a report; connects, and requests a hello first, if necessary.
 * @return 0: a REPORT or FAILED will come; -EALREADY a report is already requested; -EAGAIN it
 *         backs off
 */
int agent_channel_ask(struct agent_channel *channel, uint64_t now_ns);

/** The reason of the last failed question, which is also why it backs off. Its code is 0 if no
 * question has failed. */
const struct error *agent_channel_failure(const struct agent_channel *channel);

/**
 * Call it when the guest is suspended, paused or being migrated, and cannot answer: drops the
 * pending question, without a fault, and closes; the next agent_channel_ask() begins anew.
 */
void agent_channel_suspend(struct agent_channel *channel);

/** -1: closed. The descriptor may change with any call: do not keep it. */
int agent_channel_fd(const struct agent_channel *channel);

/** For poll(2). */
short agent_channel_events(const struct agent_channel *channel);

/** The time at which agent_channel_next() must be called even without data, as CLOCK_MONOTONIC ns;
 * UINT64_MAX: never. */
uint64_t agent_channel_deadline(const struct agent_channel *channel);

/** Does the work that is possible now. Returns event->kind, and sets only the members for that
 * kind. */
enum agent_event_kind agent_channel_next(struct agent_channel *channel, uint64_t now_ns,
                                         struct agent_event *event);

/** The last hello; NULL before the first. Valid as long as the channel; agent_channel_next() may
 * change it. */
const struct agent_hello *agent_channel_hello(const struct agent_channel *channel);
