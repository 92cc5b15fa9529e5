// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file wire.h  The protocol between the host and the agent in a guest.
 *
 * The host asks and the guest answers; only a stall is reported unasked. One JSON object per line,
 * UTF-8, no key twice, at most WIRE_LINE_MAX bytes with its newline. A reader ignores keys that it
 * does not know, so that either side may be newer; figures that a guest's kernel lacks are omitted.
 * Bytes are bytes, counters are totals since the guest's boot (the reader takes differences, by the
 * guest's own uptime), microseconds end in _us.
 *
 *   host   {"ask":"hello","seq":1}
 *   guest  {"seq":1,"hello":{"protocol":1,"agent":"0.1.0","kernel":"6.1.0-18-amd64",
 *           "boot_id":"UUID","page_bytes":4096}}
 *   host   {"ask":"report","seq":2}
 *   guest  {"seq":2,"report":{
 *            "uptime_s":812.34,
 *            "memory":{"total_bytes":..,"free_bytes":..,"available_bytes":..,"anon_bytes":..,"cache_bytes":..,
 *              "shmem_bytes":..,"active_anon_bytes":..,"inactive_anon_bytes":..,"active_file_bytes":..,
 *              "inactive_file_bytes":..,"unevictable_bytes":..,"dirty_bytes":..,"writeback_bytes":..,
 *              "slab_reclaimable_bytes":..,"slab_unreclaimable_bytes":..,"page_tables_bytes":..,
 *              "kernel_stack_bytes":..,"swap_total_bytes":..,"swap_free_bytes":..},
 *            "pressure":{"memory":{"some":{"avg10":0.12,"avg60":..,"avg300":..,"total_us":..},"full":{..}},
 *              "io":{..},"cpu":{..}},
 *            "pressure_off":"why there is no pressure, instead of it",
 *            "paging":{"swap_in_pages":..,"swap_out_pages":..,"major_faults":..,"scanned_kswapd_pages":..,
 *              "scanned_direct_pages":..,"kswapd_runs":..,"direct_stalls":..,"refault_anon_pages":..,
 *              "refault_file_pages":..,"activate_anon_pages":..,"activate_file_pages":..,"oom_kills":..},
 *            "processes":[{"pid":1,"name":"redis-server","rss_bytes":..,"pss_bytes":..,"swap_bytes":..,
 *              "referenced_bytes":..}, at most WIRE_PROCESSES_MAX],
 *            "processes_hidden":true, if /proc hides processes from the agent (hidepid),
 *            "working_set":{"anon_bytes":..,"file_bytes":..,"window_s":..,"age_s":..,"how":"clear_refs",
 *              "unread":..}}}
 *          "working_set" (what processes touched in a window that ended age_s before the report) is
 *          sent only if the guest's owner lets the agent clear referenced bits, which disturbs the
 *          guest's own reclaim. Then "processes" lists those that touched most, as of that window's
 *          end, with "referenced_bytes". "unread" counts processes that the agent cannot read;
 *          their touched memory is missing. Processes that share an address space (vfork) count as
 *          one.
 *   guest  {"seq":3,"error":"what is wrong with the question"}
 *   guest  {"stall":{"resource":"memory","kind":"some","threshold_us":150000,"window_us":1000000,
 *           "uptime_s":813.01,"total_us":..}}
 */
#pragma once

/** Name of the virtio-serial port; /dev/virtio-ports/ has a link of this name. */
#define WIRE_PORT "org.vmwss.guest.0"
/** AF_VSOCK port on which the agent listens if configured. */
#define WIRE_VSOCK_PORT 19178
/** Incremented only when an older reader would misunderstand the messages: the host does not query
 * an agent with a larger number than its own. */
#define WIRE_PROTOCOL 1
/** A longer line is discarded, up to its newline. */
#define WIRE_LINE_MAX 16384
/** Maximum number of processes in a report: those with the largest PSS or, with a working set,
 * those that touched most. */
#define WIRE_PROCESSES_MAX 8
/** Maximum size of a name or a reason, without a NUL; the sender truncates longer ones, and the
 * host refuses them. */
#define WIRE_TEXT_MAX 128
/** The host's time limit for an answer. */
#define WIRE_DEADLINE_MS 2000
