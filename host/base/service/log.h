// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file log.h  Messages on standard error, one line each, with the priority in front as journald
 * reads it (sd-daemon(3)).
 *
 * Each class of messages has a rate of its own: a fault that repeats for every guest leaves room
 * for the others.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <syslog.h>

enum log_class {
    LOG_CLASS_DAEMON,
    LOG_CLASS_CONNECTION,
    LOG_CLASS_GUEST,
    LOG_CLASS_AGENT, /* what comes of what guests say: up to them */
    LOG_CLASS_HISTORY,
    LOG_CLASSES,
};

/** So many messages at once, and then one every second. */
#define LOG_BURST 100

/** How much of its rate a class has used. Zeroed: nothing. */
struct log_rate {
    uint64_t last_ns;
    double used;
    uint64_t left_out; /* since the last that was let through */
};

/** May another message be written? Counts it in either case. */
bool log_rate_admit(struct log_rate *rate, uint64_t now_ns);

/** Less urgent messages than @p priority (LOG_ERR .. LOG_DEBUG) are not written. */
void log_set_level(int priority);

/** Writes one line, whatever is in the text: names of strangers can neither end it nor command a
 * terminal (utf8_printable()).
 *  From any thread. */
void log_line(enum log_class class, int priority, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
