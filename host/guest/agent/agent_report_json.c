// SPDX-License-Identifier: LGPL-2.1-or-later
#include "guest/agent/agent_report_json.h"

#include "guest/agent/agent_tables.h"

json_t *agent_hello_json(const struct agent_hello *hello)
{
    json_t *object = agent_fields_json(&agent_hello_fields, hello);

    json_object_set_new(object, "protocol", json_integer(hello->protocol));
    return object;
}

/* If nothing is known, no member is set. */
static void set_unless_empty(json_t *object, const char *key, json_t *member)
{
    if (json_object_size(member) > 0)
        json_object_set(object, key, member);
    json_decref(member);
}

static json_t *pressure_json(const struct agent_pressure *pressure)
{
    json_t *object = json_object();

    set_unless_empty(object, "some", agent_fields_json(&agent_stalled_fields, &pressure->some));
    set_unless_empty(object, "full", agent_fields_json(&agent_stalled_fields, &pressure->full));
    return object;
}

static json_t *pressures_json(const struct agent_report *report)
{
    json_t *object = json_object();

    set_unless_empty(object, "memory", pressure_json(&report->memory_pressure));
    set_unless_empty(object, "io", pressure_json(&report->io_pressure));
    set_unless_empty(object, "cpu", pressure_json(&report->cpu_pressure));
    return object;
}

json_t *agent_report_json(const struct agent_report *report, const struct agent_top *top)
{
    json_t *object = agent_fields_json(&agent_report_fields, report);
    json_t *processes = json_array();

    set_unless_empty(object, "memory", agent_fields_json(&agent_memory_fields, &report->memory));
    set_unless_empty(object, "pressure", pressures_json(report));
    set_unless_empty(object, "paging", agent_fields_json(&agent_paging_fields, &report->paging));
    set_unless_empty(object, "working_set",
                     agent_fields_json(&agent_working_set_fields, &report->working_set));
    for (size_t i = 0; i < top->n; i++)
        json_array_append_new(processes,
                              agent_fields_json(&agent_process_fields, &top->process[i]));
    json_object_set_new(object, "processes", processes);
    return object;
}
