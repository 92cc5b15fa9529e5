// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file agent_tables.h  Tables of the members of the protocol's objects, and of their offsets in
 * the structs of agent_report.h. */
#pragma once

#include "guest/agent/agent_fields.h"

extern const struct agent_fields agent_hello_fields;  /* all members except "protocol" */
extern const struct agent_fields agent_memory_fields; /* "total" comes first */
extern const struct agent_fields agent_stalled_fields;
extern const struct agent_fields agent_paging_fields;
extern const struct agent_fields agent_process_fields;
extern const struct agent_fields agent_working_set_fields;
extern const struct agent_fields agent_report_fields; /* all members except objects */
extern const struct agent_fields agent_stall_fields;
