// SPDX-License-Identifier: LGPL-2.1-or-later
#include "guest/agent/agent_report_json.h"

#include "guest/agent/agent_tables.h"

json_t *agent_hello_json(const struct agent_hello *hello)
{
    json_t *object = agent_fields_json(&agent_hello_fields, hello);

    json_object_set_new(object, "protocol", json_integer(hello->protocol));
    return object;
}

json_t *agent_report_json(const struct agent_report *report, const struct agent_top *top)
{
    json_t *object = agent_fields_json(&agent_report_fields, report);
    json_t *processes = json_array();

    for (size_t i = 0; i < top->n; i++)
        json_array_append_new(processes,
                              agent_fields_json(&agent_process_fields, &top->process[i]));
    json_object_set_new(object, "processes", processes);
    return object;
}
