// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file agent_told.h  What an agent told, to be kept: two lines as on the wire
 * (guest-agent/wire.h), its hello and a report.
 *
 * They are made of what was understood of the guest's bytes, and read by the same parser: a file is
 * no more to be trusted.
 */
#pragma once

#include "agent/agent_report.h"
#include "base/error.h"

/** Room for both, and a NUL. */
#define AGENT_TOLD_MAX (2 * WIRE_LINE_MAX + 1)

struct agent_told {
    struct agent_hello hello;
    struct agent_report report;
    struct agent_top top;
};

/** The caller frees it; NULL when out of memory. */
char *agent_told_text(const struct agent_hello *hello, const struct agent_report *report,
                      const struct agent_top *top);

/** @param ram_bytes  as of agent_message_parse(), whose errors it has, too */
int agent_told_parse(const char *text, uint64_t ram_bytes, struct agent_told *out,
                     struct error *error);
