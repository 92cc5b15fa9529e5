// SPDX-License-Identifier: LGPL-2.1-or-later
#include "guest/agent/agent_ask.h"

#include "base/clock.h"

#include <errno.h>
#include <poll.h>

/* Waits until the channel may have work to do; -EINTR. */
static int wait_for(const struct agent_channel *channel)
{
    struct pollfd one = {.fd = agent_channel_fd(channel), .events = agent_channel_events(channel)};
    uint64_t now = clock_ns();
    uint64_t deadline = agent_channel_deadline(channel);
    int timeout_ms = deadline > now ? (int)((deadline - now + 999999) / 1000000) : 0;

    return poll(&one, 1, timeout_ms) < 0 ? -errno : 0;
}

int agent_ask(struct agent_channel *channel, struct agent_event *event,
              void (*seen)(const struct agent_event *event, void *context), void *context)
{
    int rc = agent_channel_ask(channel, clock_ns());

    if (rc == -EAGAIN) {
        event->error = *agent_channel_failure(channel); /* the earlier failure still applies */
        return event->error.code;
    }
    for (;;) { /* also handles events of the time before a signal came */
        switch (agent_channel_next(channel, clock_ns(), event)) {
        case AGENT_REPORT:
            return 0;
        case AGENT_FAILED:
            return event->error.code;
        case AGENT_FAULT:
        case AGENT_STALL:
            if (seen)
                seen(event, context);
            continue;
        case AGENT_NOTHING:
            break;
        }
        rc = wait_for(channel);
        if (rc < 0)
            return error_set(&event->error, rc, "interrupted");
    }
}
