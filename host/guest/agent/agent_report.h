// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file agent_report.h  The report of a guest's agent: the guest's statistics, checked for form and
 * range, never for truth.
 *
 * The wire format is in host/base/wire/wire.h. Figures that the guest's kernel or an older agent
 * does not report are AGENT_UNKNOWN, or NAN for doubles. Plain data: copied by assignment, nothing
 * to free.
 */
#pragma once

#include "base/wire/wire.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AGENT_UNKNOWN UINT64_MAX
#define AGENT_TEXT (WIRE_TEXT_MAX + 1)

struct agent_hello {
    unsigned protocol;
    char agent[AGENT_TEXT];   /* version of the agent */
    char kernel[AGENT_TEXT];  /* release of the guest's kernel */
    char boot_id[AGENT_TEXT]; /* another id means another boot, in which counters restart */
    uint64_t page_bytes;
};

/** Documentation/filesystems/proc.rst of the kernel, "meminfo". */
struct agent_memory {
    uint64_t total_bytes, free_bytes, available_bytes;
    uint64_t anon_bytes, cache_bytes, shmem_bytes;
    uint64_t active_anon_bytes, inactive_anon_bytes, active_file_bytes, inactive_file_bytes;
    uint64_t unevictable_bytes, dirty_bytes, writeback_bytes;
    uint64_t slab_reclaimable_bytes, slab_unreclaimable_bytes, page_tables_bytes,
        kernel_stack_bytes;
    uint64_t swap_total_bytes, swap_free_bytes;
};

/** Documentation/accounting/psi.rst: shares of time in percent, and the total of stalled time since
 * boot. */
struct agent_stalled {
    double avg10, avg60, avg300; /* 0 .. 100 */
    uint64_t total_us;
};

struct agent_pressure {
    struct agent_stalled some, full;
};

/** Totals since boot, in pages or times; Documentation/admin-guide/mm and mm/vmstat.c of the
 * kernel. */
struct agent_paging {
    uint64_t swap_in_pages, swap_out_pages, major_faults;
    uint64_t scanned_kswapd_pages, scanned_direct_pages, kswapd_runs, direct_stalls;
    uint64_t refault_anon_pages, refault_file_pages, activate_anon_pages, activate_file_pages;
    uint64_t oom_kills;
};

struct agent_process {
    uint64_t pid;
    char name[AGENT_TEXT]; /* printable UTF-8; control characters refused */
    uint64_t rss_bytes, pss_bytes, swap_bytes, referenced_bytes;
};

/** The guest's own measurement of touched memory, if its owner lets the agent clear referenced
 * bits. */
struct agent_working_set {
    uint64_t anon_bytes, file_bytes;
    double window_s;      /* NAN: not reported */
    double age_s;         /* seconds from the window's end to the report; NAN: not reported */
    char how[AGENT_TEXT]; /* "clear_refs", "page_idle" */
    uint64_t unread;      /* processes that the agent could not read: their memory is missing */
};

struct agent_report {
    double uptime_s; /* uptime of the guest; use its differences with differences of totals */
    struct agent_memory memory;
    bool has_pressure;
    char pressure_off[AGENT_TEXT]; /* the reason why there is no pressure; may be empty */
    bool processes_hidden;         /* the agent does not see all processes (hidepid) */
    struct agent_pressure memory_pressure, io_pressure, cpu_pressure;
    struct agent_paging paging;
    struct agent_working_set working_set;
};

/** The largest processes of a report. They are separate, because they are two thirds of its bytes,
 * and stored reports do not need them. */
struct agent_top {
    size_t n;
    struct agent_process process[WIRE_PROCESSES_MAX];
};

/** A stall, sent unasked because the guest's PSI trigger fired. */
struct agent_stall {
    char resource[AGENT_TEXT]; /* "memory", "io", "cpu" */
    char kind[AGENT_TEXT];     /* "some", "full" */
    uint64_t threshold_us, window_us, total_us;
    double uptime_s;
};
