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
    LOG_CLASS_AGENT, /* messages caused by guests' data, at a rate that guests control */
    LOG_CLASS_HISTORY,
    LOG_CLASSES,
};

/** A class may write this number of messages at once, and then one every second. */
#define LOG_BURST 100

/** The used part of a class's rate. Zeroed: nothing used. */
struct log_rate {
    uint64_t last_ns;
    double used;
    uint64_t left_out; /* messages left out since the last one that was written */
};

/** Returns true if another message may be written. Counts it in both cases. */
bool log_rate_admit(struct log_rate *rate, uint64_t now_ns);

/** Less urgent messages than @p priority (LOG_ERR .. LOG_DEBUG) are not written. */
void log_set_level(int priority);

/** Writes one line, whatever the text contains: names chosen by guests or files can neither end the
 * line nor control a terminal (utf8_printable()). Any thread may call it. */
void log_line(enum log_class class, int priority, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
