// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file agent_channel_private.h  What the files of a channel share; others use agent_channel.h. */
#pragma once

#include "base/wire/inbox.h"
#include "guest/agent/agent_bucket.h"
#include "guest/agent/agent_channel.h"

#include <stdbool.h>

enum question {
    ASK_NOTHING,
    ASK_CONNECTION, /* of the kernel: is it there yet? */
    ASK_HELLO,
    ASK_REPORT,
};

/* Something wrong, and what. */
struct wrong {
    bool set;
    enum agent_fault fault;
    struct error error;
};

struct agent_channel {
    struct agent_endpoint endpoint;
    int (*connect)(const struct agent_endpoint *endpoint, void *context,
                   struct error *error); /* NULL: we do */
    void *connect_context;
    uint64_t ram_bytes;
    int fd; /* -1: closed */
    enum question asked;
    uint64_t seq, deadline_ns; /* of what was asked */
    bool greeted;              /* on this connection */
    bool greeted_again;        /* for this report */
    bool skipping;             /* the line that is too long has been reported */
    struct agent_hello hello;
    bool has_hello;
    double uptime_s; /* of the last report; NAN: there was none */

    uint64_t faults[AGENT_FAULTS];
    struct wrong first;  /* since a report was asked for */
    struct wrong failed; /* to be reported as AGENT_FAILED */
    unsigned failures;   /* in a row */
    uint64_t backoff_ns;

    uint64_t refilled_ns;
    struct agent_bucket bytes, lines;
    struct inbox *inbox; /* only while a line, or its end, is yet to come: NULL */
};

/** Makes an event of it. */
static inline void channel_tell(const struct wrong *wrong, enum agent_event_kind kind,
                                struct agent_event *event)
{
    event->kind = kind;
    event->fault = wrong->fault;
    event->error = wrong->error;
}

/** The question is lost, which the next call on the channel reports. */
void channel_fail(struct agent_channel *channel, enum agent_fault fault, int code,
                  const char *format, ...) __attribute__((format(printf, 4, 5)));

/** The other end hung up (0), or the connection failed: a negative errno. */
void channel_lost(struct agent_channel *channel, int code);

/** Sends a question on an open connection; at worst it fails. */
void channel_ask(struct agent_channel *channel, enum question question, uint64_t now_ns);

/** Reads once, and takes lines until one of them is an event, or none is left. */
void channel_receive(struct agent_channel *channel, uint64_t now_ns, struct agent_event *event);
