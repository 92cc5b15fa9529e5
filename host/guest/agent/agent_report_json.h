// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file agent_report_json.h  Converts an agent's report to JSON as in wire.h, without unknown
 * figures. */
#pragma once

#include "guest/agent/agent_report.h"

#include <jansson.h>

/** The caller owns the result; NULL if out of memory. */
json_t *agent_hello_json(const struct agent_hello *hello);
json_t *agent_report_json(const struct agent_report *report, const struct agent_top *top);
