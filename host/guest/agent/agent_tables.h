// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file agent_tables.h  The members of each object of the wire, and their places in
 * agent_report.h's structs. */
#pragma once

#include "guest/agent/agent_fields.h"

extern const struct agent_fields agent_hello_fields;  /* all except its protocol */
extern const struct agent_fields agent_memory_fields; /* the total first */
extern const struct agent_fields agent_stalled_fields;
extern const struct agent_fields agent_paging_fields;
extern const struct agent_fields agent_process_fields;
extern const struct agent_fields agent_working_set_fields;
extern const struct agent_fields agent_report_fields; /* all except its objects */
extern const struct agent_fields agent_stall_fields;
