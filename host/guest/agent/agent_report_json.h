// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file agent_report_json.h  Converts an agent's report to the JSON of the wire; unknown figures
 * are left out. */
#pragma once

#include "guest/agent/agent_report.h"

#include <jansson.h>

/** The caller owns them; NULL if out of memory. */
json_t *agent_hello_json(const struct agent_hello *hello);
json_t *agent_report_json(const struct agent_report *report, const struct agent_top *top);
