// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file agent_channel.h  Talks with the agent of one guest, and never waits: one loop serves many
 * guests.
 *
 * Theory of operation. A channel is a state machine over a stream socket: closed, connecting,
 * asking hello, asking a report, connected. agent_channel_ask() begins; then the caller polls
 * agent_channel_fd() for agent_channel_events() until agent_channel_deadline() at the latest, and
 * calls agent_channel_next() until that says AGENT_NOTHING:
 *
 *     agent_channel_ask(channel, clock_ns());
 *     ... poll(2) ...
 *     while (agent_channel_next(channel, clock_ns(), &event) != AGENT_NOTHING)
 *         ...
 *
 * That loop ends whatever the guest sends: one call reads at most WIRE_LINE_MAX bytes, and what
 * was not asked for is drawn from two buckets, of bytes and of lines; a guest that empties one is
 * cut off. They begin with AGENT_UNASKED_*, and fill with time, whether vmwss reads or not:
 * stalls that were reported in two minutes without a reader all come at once, and are no flood.
 * They hold no more than sockets can keep (AGENT_UNREAD_*), so that a guest that was quiet for a
 * day cannot have more read at once than that: 40 ms of a CPU. A question has WIRE_DEADLINE_MS.
 * What is no message is skipped up to its newline, and answers to other questions than the last one
 * are ignored (sequence numbers begin at random, so that an answer to a client before us cannot
 * pass for ours). A question that failed closes the socket, and after the n-th failure in a row
 * nothing is asked for 2^n seconds, at most AGENT_BACKOFF_MAX_S. A guest whose uptime went back was
 * restarted: it is asked for its hello again. Memory of a channel is that of its struct, about 2
 * KiB, and a line's WIRE_LINE_MAX bytes only from its first byte to its last.
 *
 * QEMU serves one client of the port's socket at a time: while a channel is open, others wait
 * (AGENT_FAULT_BUSY).
 */
#pragma once

#include "guest/agent/agent_endpoint.h"
#include "guest/agent/agent_message.h"

#define AGENT_UNASKED_BYTES (4 * WIRE_LINE_MAX)
#define AGENT_UNASKED_LINES 64
/* More every second. An honest agent reports a stall for each of 8 triggers every 0.9 s: 9 lines
 * of some 120 bytes. */
#define AGENT_UNASKED_BYTES_A_SECOND 8192
#define AGENT_UNASKED_LINES_A_SECOND 16
/* A Unix socket keeps 278 such lines (net.core.wmem_default 208 KiB, as the kernel counts them) and
 * QEMU's port 128 more; a vsock keeps 256 KiB, some 2400 of the shortest. */
#define AGENT_UNREAD_BYTES (32 * WIRE_LINE_MAX)
#define AGENT_UNREAD_LINES 4096
#define AGENT_BACKOFF_MAX_S 256

struct agent_channel; /* opaque */

/** What can be wrong with an agent; agent_fault_name() says it in a word. */
enum agent_fault {
    AGENT_FAULT_CONNECT, /* the socket is not there, or refuses */
    AGENT_FAULT_BUSY,   /* the question was not taken: another client has the port, or no program in
                           the   guest */
    AGENT_FAULT_SILENT, /* no answer in time */
    AGENT_FAULT_CLOSED, /* the other end hung up */
    AGENT_FAULT_MESSAGE,  /* a line that agent_message_parse() refuses */
    AGENT_FAULT_LONG,     /* a line of more than WIRE_LINE_MAX bytes */
    AGENT_FAULT_SEQUENCE, /* an answer to a question that was not the last */
    AGENT_FAULT_FLOOD,    /* more unasked bytes or lines than the buckets have */
    AGENT_FAULT_REFUSED,  /* it answered with an error, or speaks a protocol that is newer */
    AGENT_FAULTS,
};

enum agent_event_kind {
    AGENT_NOTHING, /* more to come, or nothing asked */
    AGENT_REPORT,  /* the answer: event.message.report */
    AGENT_STALL,   /* event.message.stall, unasked */
    AGENT_FAULT,   /* event.fault for the first time; the question, if any, still stands */
    AGENT_FAILED,  /* event.fault: the question is not answered, the channel closed; backs off */
};

struct agent_event {
    enum agent_event_kind kind;
    enum agent_fault fault; /* of FAULT and FAILED */
    struct error error;     /* of FAULT and FAILED: one printable line, without the guest's name */
    struct agent_message message; /* of REPORT and STALL */
};

/** "silent", "flood", ... */
const char *agent_fault_name(enum agent_fault fault);

/** A closed channel; asks nothing by itself. @p ram_bytes as for agent_message_parse(). NULL: out
 * of memory. */
struct agent_channel *agent_channel_new(const struct agent_endpoint *endpoint, uint64_t ram_bytes);
void agent_channel_free(struct agent_channel *channel);

/** From here on @p connect makes its connections, in place of agent_endpoint_connect(), with whose
 * meaning: for a process that may not reach the socket. */
void agent_channel_connect_by(struct agent_channel *channel,
                              int (*connect)(const struct agent_endpoint *endpoint, void *context,
                                             struct error *error),
                              void *context);

/** Where it leads; stays while the channel does. */
const struct agent_endpoint *agent_channel_endpoint(const struct agent_channel *channel);

/** Memory was plugged or unplugged. */
void agent_channel_set_ram(struct agent_channel *channel, uint64_t ram_bytes);

/** The domain was found anew (restarted, migrated here): another socket, and no grudge. Closes. */
void agent_channel_set_endpoint(struct agent_channel *channel,
                                const struct agent_endpoint *endpoint);

/** The guest is to be tried another way from now on; how soon depends on how often it failed, all
 * the same. */
void agent_channel_redirect(struct agent_channel *channel, const struct agent_endpoint *endpoint);

/**
 * Asks for a report, connecting and asking for a hello first where needed.
 * @return 0: a REPORT or FAILED will come; -EALREADY one is asked for already; -EAGAIN it backs off
 *         until agent_channel_backoff_ns()
 */
int agent_channel_ask(struct agent_channel *channel, uint64_t now_ns);

/** Until when it does not ask (CLOCK_MONOTONIC); 0: it may. */
uint64_t agent_channel_backoff_ns(const struct agent_channel *channel);

/** Why a question failed last; while it backs off, why it does. Its code is 0 if none has
 * failed. */
const struct error *agent_channel_failure(const struct agent_channel *channel);

/**
 * The guest is suspended, paused or being migrated, and cannot answer: forgets the question that
 * was asked, without a fault, and closes; the next agent_channel_ask() begins anew.
 */
void agent_channel_suspend(struct agent_channel *channel);

/** -1: closed. Another one after any call: do not keep it. */
int agent_channel_fd(const struct agent_channel *channel);

/** For poll(2). */
short agent_channel_events(const struct agent_channel *channel);

/** When agent_channel_next() must be called though nothing came, as CLOCK_MONOTONIC ns; UINT64_MAX:
 * never. */
uint64_t agent_channel_deadline(const struct agent_channel *channel);

/** Does what can be done now. Returns event->kind; of the event only what belongs to its kind is
 * set. */
enum agent_event_kind agent_channel_next(struct agent_channel *channel, uint64_t now_ns,
                                         struct agent_event *event);

/** The last hello; NULL before the first. Stays while the channel does; may change with every call
 * of next(). */
const struct agent_hello *agent_channel_hello(const struct agent_channel *channel);

/** How often it happened since the channel was made. */
uint64_t agent_channel_faults(const struct agent_channel *channel, enum agent_fault fault);
