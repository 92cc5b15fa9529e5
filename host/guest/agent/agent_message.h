// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file agent_message.h  The one parser of a guest's bytes: a line of host/base/wire/wire.h, or
 * nothing of it.
 *
 * Whatever the bytes are, it takes bounded time and memory (a line has WIRE_LINE_MAX bytes, and at
 * most AGENT_MESSAGE_DEPTH levels and AGENT_MESSAGE_VALUES values are let through to jansson), and
 * a message with anything wrong in it is refused as a whole. No byte of the guest's gets into an
 * error's text: that goes to logs and terminals. What is known of jansson's strictness (duplicate
 * keys, 1e999, NUL escapes, invalid UTF-8 refused) is held by
 * tests/unit/guest/test_agent_message.c and tests/fuzz.
 */
#pragma once

#include "base/error.h"
#include "guest/agent/agent_report.h"

#define AGENT_MESSAGE_DEPTH 16   /* levels of objects and arrays; the protocol has 5 */
#define AGENT_MESSAGE_VALUES 512 /* members and elements; a full report has about 130 */

enum agent_message_kind {
    AGENT_MESSAGE_HELLO,
    AGENT_MESSAGE_REPORT,
    AGENT_MESSAGE_STALL, /* unasked; its seq is AGENT_UNKNOWN */
    AGENT_MESSAGE_ERROR, /* the agent's words about a question of ours */
};

struct agent_message {
    enum agent_message_kind kind;
    uint64_t seq; /* of the question; AGENT_UNKNOWN when the message has none, as only a stall and
                     an error may */
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
 * Members that it does not know are ignored, those that are missing are AGENT_UNKNOWN (doubles NAN,
 * text empty). Refused is, besides what is not JSON: a member of another type; a negative number, a
 * byte count above @p ram_bytes or above the guest's own total, a total that is less than its part,
 * a percentage outside 0 .. 100; text longer than WIRE_TEXT_MAX or with control characters; more
 * than WIRE_PROCESSES_MAX processes; none or two of the four messages. Only RSS, referenced and
 * swapped bytes of a process may be above the RAM: what is mapped twice is counted twice there.
 *
 * @param line       @p length bytes, without the newline; need not end in a NUL
 * @param ram_bytes  of the domain's configuration, memory devices included; AGENT_UNKNOWN when it
 *                   is not known
 * @return 0; -EINVAL not such a message; -E2BIG too long, deep or many; -ERANGE a number that
 *         cannot be. @p error says which, as in "report.memory.total_bytes: ...". @p out is set
 *         only on success.
 */
int agent_message_parse(const char *line, size_t length, uint64_t ram_bytes,
                        struct agent_message *out, struct error *error);
