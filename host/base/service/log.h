// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file log.h  Messages on standard error, one line each, with the priority in front as journald
 * reads it (sd-daemon(3)).
 *
 * Each class of messages has its own rate limit, so that a fault which repeats for every guest does
 * not suppress other messages.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <syslog.h>

enum log_class {
    LOG_CLASS_DAEMON,
    LOG_CLASS_CONNECTION,
    LOG_CLASS_GUEST,
    LOG_CLASS_AGENT, /* messages caused by guests' data, at a rate that guests control */
    LOG_CLASS_HISTORY,
    LOG_CLASSES,
};

/** Burst of messages that a class may write; afterwards one message a second. */
#define LOG_BURST 100

/** The state of a class's rate limit. Zeroed: nothing used. */
struct log_rate {
    uint64_t last_ns;
    double used;
    uint64_t left_out; /* messages suppressed since the last one that was written */
};

/** Counts the message, and returns true if it may be written. */
bool log_rate_admit(struct log_rate *rate, uint64_t now_ns);

/** Sets the least urgent priority (LOG_ERR .. LOG_DEBUG) that is written. */
void log_set_level(int priority);

/** Writes one line, whatever the text contains: names chosen by guests or files can neither end the
 * line nor control a terminal (utf8_printable()). Any thread may call it. */
void log_line(enum log_class class, int priority, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
