// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file agent_message.h  The only parser of a guest's bytes: it accepts a line of
 * host/base/wire/wire.h as a whole, or refuses it.
 *
 * For any bytes it takes bounded time and memory: a line has at most WIRE_LINE_MAX bytes, and
 * jansson gets at most AGENT_MESSAGE_DEPTH levels and AGENT_MESSAGE_VALUES values. A message with
 * any fault is refused as a whole. Errors, which go to logs and terminals, contain no bytes from
 * the guest. tests/unit/guest/test_agent_message.c and tests/fuzz check jansson's strictness (it
 * refuses duplicate keys, 1e999, NUL escapes, invalid UTF-8).
 */
#pragma once

#include "base/error.h"
#include "guest/agent/agent_report.h"

#define AGENT_MESSAGE_DEPTH 16   /* levels of objects and arrays; the protocol has 5 */
#define AGENT_MESSAGE_VALUES 512 /* members and elements; a full report has about 130 */

enum agent_message_kind {
    AGENT_MESSAGE_HELLO,
    AGENT_MESSAGE_REPORT,
    AGENT_MESSAGE_STALL, /* unsolicited; its seq is AGENT_UNKNOWN */
    AGENT_MESSAGE_ERROR, /* the agent's error message about one of our questions */
};

struct agent_message {
    enum agent_message_kind kind;
    /* seq of the question; AGENT_UNKNOWN if the message has none, which is allowed only for a stall
     * and an error */
    uint64_t seq;
    union {
        struct agent_hello hello;
        struct {
            struct agent_report report;
            struct agent_top top;
        };
        struct agent_stall stall;
        char error[AGENT_TEXT]; /* printable */
    };
};

/**
 * Parses one line.
 *
 * Unknown members are ignored; missing members become AGENT_UNKNOWN (doubles NAN, text empty). The
 * parser refuses text that is not JSON, and: a member of another type; a negative number, a byte
 * count above @p ram_bytes or above the guest's own total, a total that is less than its part, a
 * percentage outside 0 .. 100; text longer than WIRE_TEXT_MAX or with control characters; more than
 * WIRE_PROCESSES_MAX processes; not exactly one of the four messages. Only RSS, referenced and
 * swapped bytes of a process may be above the RAM: memory that is mapped twice is counted twice
 * there.
 *
 * @param line       @p length bytes, without the newline; need not end in a NUL
 * @param ram_bytes  the domain's configured RAM, memory devices included; AGENT_UNKNOWN if it is
 *                   not known
 * @return 0; -EINVAL not such a message; -E2BIG too long, deep or many; -ERANGE an impossible
 *         number. @p error names the member, as in "report.memory.total_bytes: ...". @p out is set
 *         only on success.
 */
int agent_message_parse(const char *line, size_t length, uint64_t ram_bytes,
                        struct agent_message *out, struct error *error);
