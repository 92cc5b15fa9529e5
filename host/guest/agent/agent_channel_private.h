// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file agent_channel_private.h  Shared by the files of a channel; other files use
 * agent_channel.h. */
#pragma once

#include "base/wire/inbox.h"
#include "guest/agent/agent_channel.h"

#include <stdbool.h>

enum question {
    ASK_NOTHING,
    ASK_CONNECTION, /* asking the kernel whether it is connected */
    ASK_HELLO,
    ASK_REPORT,
};

/* A fault and its details. */
struct wrong {
    bool set;
    enum agent_fault fault;
    struct error error;
};

/* A token bucket: it begins with some tokens, gets more every second, and has a maximum. */
struct agent_bucket {
    double left, holds, a_second;
};

struct agent_channel {
    struct agent_endpoint endpoint;
    int (*connect)(const struct agent_endpoint *endpoint, void *context,
                   struct error *error); /* NULL: the channel connects itself */
    void *connect_context;
    uint64_t ram_bytes;
    int fd; /* -1: closed */
    enum question asked;
    uint64_t seq, deadline_ns; /* of the last question */
    bool greeted;              /* hello received on this connection */
    bool greeted_again;        /* hello requested again for this report */
    bool skipping;             /* the overlong line has been reported */
    struct agent_hello hello;
    bool has_hello;
    double uptime_s; /* uptime in the last report; NAN: no report yet */

    uint64_t faults[AGENT_FAULTS];
    struct wrong first;  /* the first fault since a report was requested */
    struct wrong failed; /* to be reported as AGENT_FAILED */
    unsigned failures;   /* number of failures in a row */
    uint64_t backoff_ns;

    uint64_t refilled_ns;
    struct agent_bucket bytes, lines;
    struct inbox *inbox; /* buffer for a partial line; NULL: there is none */
};

/** Converts a fault to an event. */
static inline void channel_tell(const struct wrong *wrong, enum agent_event_kind kind,
                                struct agent_event *event)
{
    event->kind = kind;
    event->fault = wrong->fault;
    event->error = wrong->error;
}

/** Drops the question; the next call of agent_channel_next() reports the failure. */
void channel_fail(struct agent_channel *channel, enum agent_fault fault, int code,
                  const char *format, ...) __attribute__((format(printf, 4, 5)));

/** Handles a connection that the other end closed (0), or that failed: a negative errno. */
void channel_lost(struct agent_channel *channel, int code);

/** Sends a question on an open connection; an error makes the question fail. */
void channel_ask(struct agent_channel *channel, enum question question, uint64_t now_ns);

/** Reads once, and takes lines until one is an event, or none is left. */
void channel_receive(struct agent_channel *channel, uint64_t now_ns, struct agent_event *event);
