// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file agent_last_report.h  An agent's last report in the form stored in the history: a hello and
 * a report, as two lines of the protocol (host/base/wire/wire.h).
 *
 * They are made from the parsed data, not from the guest's bytes, and read by the same parser,
 * because a file is no more trustworthy than a guest.
 */
#pragma once

#include "base/error.h"
#include "guest/agent/agent_report.h"

/** Size of both lines and a NUL. */
#define AGENT_LAST_REPORT_MAX (2 * WIRE_LINE_MAX + 1)

struct agent_last_report {
    struct agent_hello hello;
    struct agent_report report;
    struct agent_top top;
};

/** Makes the text, which the caller frees; NULL if out of memory. */
char *agent_last_report_text(const struct agent_hello *hello, const struct agent_report *report,
                             const struct agent_top *top);

/** @param ram_bytes  as for agent_message_parse(); returns its errors, too */
int agent_last_report_parse(const char *text, uint64_t ram_bytes, struct agent_last_report *out,
                            struct error *error);
