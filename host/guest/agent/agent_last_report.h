// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file agent_last_report.h  An agent's last report, as it is kept in the history: two lines as on
 * the wire (host/base/wire/wire.h), its hello and a report.
 *
 * They are made of what was understood of the guest's bytes, and read by the same parser: a file is
 * no more to be trusted.
 */
#pragma once

#include "base/error.h"
#include "guest/agent/agent_report.h"

/** Room for both, and a NUL. */
#define AGENT_LAST_REPORT_MAX (2 * WIRE_LINE_MAX + 1)

struct agent_last_report {
    struct agent_hello hello;
    struct agent_report report;
    struct agent_top top;
};

/** The caller frees it; NULL when out of memory. */
char *agent_last_report_text(const struct agent_hello *hello, const struct agent_report *report,
                             const struct agent_top *top);

/** @param ram_bytes  as of agent_message_parse(), whose errors it has, too */
int agent_last_report_parse(const char *text, uint64_t ram_bytes, struct agent_last_report *out,
                            struct error *error);
