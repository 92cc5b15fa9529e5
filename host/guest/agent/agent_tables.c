// SPDX-License-Identifier: LGPL-2.1-or-later
#include "guest/agent/agent_tables.h"

#include "base/array.h"
#include "guest/agent/agent_report.h"

#define FIELD(type, member, value)                          \
    {                                                       \
#member, value, offsetof(struct type, member), NULL \
    }
#define OBJECT(key, offset, fields)          \
    {                                        \
        key, VALUE_OBJECT, offset, &(fields) \
    }

static const struct agent_field hello_field[] = {
    FIELD(agent_hello, agent, VALUE_TEXT),
    FIELD(agent_hello, kernel, VALUE_TEXT),
    FIELD(agent_hello, boot_id, VALUE_TEXT),
    FIELD(agent_hello, page_bytes, VALUE_RAM_BYTES),
};

/* The total comes first: check_memory() compares the others with it. */
static const struct agent_field memory_field[] = {
    FIELD(agent_memory, total_bytes, VALUE_RAM_BYTES),
    FIELD(agent_memory, free_bytes, VALUE_RAM_BYTES),
    FIELD(agent_memory, available_bytes, VALUE_RAM_BYTES),
    FIELD(agent_memory, anon_bytes, VALUE_RAM_BYTES),
    FIELD(agent_memory, cache_bytes, VALUE_RAM_BYTES),
    FIELD(agent_memory, shmem_bytes, VALUE_RAM_BYTES),
    FIELD(agent_memory, active_anon_bytes, VALUE_RAM_BYTES),
    FIELD(agent_memory, inactive_anon_bytes, VALUE_RAM_BYTES),
    FIELD(agent_memory, active_file_bytes, VALUE_RAM_BYTES),
    FIELD(agent_memory, inactive_file_bytes, VALUE_RAM_BYTES),
    FIELD(agent_memory, unevictable_bytes, VALUE_RAM_BYTES),
    FIELD(agent_memory, dirty_bytes, VALUE_RAM_BYTES),
    FIELD(agent_memory, writeback_bytes, VALUE_RAM_BYTES),
    FIELD(agent_memory, slab_reclaimable_bytes, VALUE_RAM_BYTES),
    FIELD(agent_memory, slab_unreclaimable_bytes, VALUE_RAM_BYTES),
    FIELD(agent_memory, page_tables_bytes, VALUE_RAM_BYTES),
    FIELD(agent_memory, kernel_stack_bytes, VALUE_RAM_BYTES),
    FIELD(agent_memory, swap_total_bytes, VALUE_BYTES),
    FIELD(agent_memory, swap_free_bytes, VALUE_BYTES),
};

static const struct agent_field stalled_field[] = {
    FIELD(agent_stalled, avg10, VALUE_PERCENT),
    FIELD(agent_stalled, avg60, VALUE_PERCENT),
    FIELD(agent_stalled, avg300, VALUE_PERCENT),
    FIELD(agent_stalled, total_us, VALUE_COUNT),
};

static const struct agent_field paging_field[] = {
    FIELD(agent_paging, swap_in_pages, VALUE_COUNT),
    FIELD(agent_paging, swap_out_pages, VALUE_COUNT),
    FIELD(agent_paging, major_faults, VALUE_COUNT),
    FIELD(agent_paging, scanned_kswapd_pages, VALUE_COUNT),
    FIELD(agent_paging, scanned_direct_pages, VALUE_COUNT),
    FIELD(agent_paging, kswapd_runs, VALUE_COUNT),
    FIELD(agent_paging, direct_stalls, VALUE_COUNT),
    FIELD(agent_paging, refault_anon_pages, VALUE_COUNT),
    FIELD(agent_paging, refault_file_pages, VALUE_COUNT),
    FIELD(agent_paging, activate_anon_pages, VALUE_COUNT),
    FIELD(agent_paging, activate_file_pages, VALUE_COUNT),
    FIELD(agent_paging, oom_kills, VALUE_COUNT),
};

static const struct agent_field process_field[] = {
    FIELD(agent_process, pid, VALUE_PID),
    FIELD(agent_process, name, VALUE_TEXT),
    FIELD(agent_process, rss_bytes, VALUE_BYTES),
    FIELD(agent_process, pss_bytes, VALUE_RAM_BYTES),
    FIELD(agent_process, swap_bytes, VALUE_BYTES),
    FIELD(agent_process, referenced_bytes, VALUE_BYTES),
};

static const struct agent_field working_set_field[] = {
    FIELD(agent_working_set, anon_bytes, VALUE_RAM_BYTES),
    FIELD(agent_working_set, file_bytes, VALUE_RAM_BYTES),
    FIELD(agent_working_set, window_s, VALUE_SECONDS),
    FIELD(agent_working_set, age_s, VALUE_SECONDS),
    FIELD(agent_working_set, how, VALUE_TEXT),
    FIELD(agent_working_set, unread, VALUE_COUNT),
};

static const struct agent_field stall_field[] = {
    FIELD(agent_stall, resource, VALUE_TEXT),      FIELD(agent_stall, kind, VALUE_TEXT),
    FIELD(agent_stall, threshold_us, VALUE_COUNT), FIELD(agent_stall, window_us, VALUE_COUNT),
    FIELD(agent_stall, total_us, VALUE_COUNT),     FIELD(agent_stall, uptime_s, VALUE_SECONDS),
};

const struct agent_fields agent_hello_fields = {hello_field, COUNT(hello_field)};
const struct agent_fields agent_memory_fields = {memory_field, COUNT(memory_field)};
const struct agent_fields agent_stalled_fields = {stalled_field, COUNT(stalled_field)};
const struct agent_fields agent_paging_fields = {paging_field, COUNT(paging_field)};
const struct agent_fields agent_process_fields = {process_field, COUNT(process_field)};
const struct agent_fields agent_working_set_fields = {working_set_field, COUNT(working_set_field)};
const struct agent_fields agent_stall_fields = {stall_field, COUNT(stall_field)};

/* --- objects of objects ----------------------------------------------------------------------- */

static const struct agent_field resource_field[] = {
    OBJECT("some", offsetof(struct agent_pressure, some), agent_stalled_fields),
    OBJECT("full", offsetof(struct agent_pressure, full), agent_stalled_fields),
};
static const struct agent_fields resource_fields = {resource_field, COUNT(resource_field)};

static const struct agent_field pressure_field[] = {
    OBJECT("memory", offsetof(struct agent_report, memory_pressure), resource_fields),
    OBJECT("io", offsetof(struct agent_report, io_pressure), resource_fields),
    OBJECT("cpu", offsetof(struct agent_report, cpu_pressure), resource_fields),
};
static const struct agent_fields pressure_fields = {pressure_field, COUNT(pressure_field)};

static const struct agent_field report_field[] = {
    FIELD(agent_report, uptime_s, VALUE_SECONDS),
    FIELD(agent_report, pressure_off, VALUE_TEXT),
    FIELD(agent_report, processes_hidden, VALUE_FLAG),
    OBJECT("memory", offsetof(struct agent_report, memory), agent_memory_fields),
    OBJECT("pressure", 0, pressure_fields),
    OBJECT("paging", offsetof(struct agent_report, paging), agent_paging_fields),
    OBJECT("working_set", offsetof(struct agent_report, working_set), agent_working_set_fields),
};
const struct agent_fields agent_report_fields = {report_field, COUNT(report_field)};
