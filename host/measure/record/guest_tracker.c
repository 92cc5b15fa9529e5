// SPDX-License-Identifier: LGPL-2.1-or-later
#include "measure/record/guest_tracker.h"

#include "base/utf8.h"
#include "measure/estimate/consistency.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Minimum time for rates: shorter ones are too noisy. A guest that stalls is queried again at
 * once. */
#define SHORTEST_S 4
#define BALLOON_PAGE 4096 /* its statistics are in bytes, so the page size does not matter */

void guest_tracker_init(struct guest_tracker *tracker, const char *unavailable)
{
    memset(tracker, 0, sizeof(*tracker));
    tracker->consistency = NAN;
    tracker->current_bytes = DOMAIN_MEMORY_UNKNOWN;
    guest_tracker_unavailable(tracker, unavailable);
}

void guest_tracker_unavailable(struct guest_tracker *tracker, const char *why)
{
    snprintf(tracker->unavailable, sizeof(tracker->unavailable), "%s", why);
    utf8_end(tracker->unavailable);
}

static bool goes_on(const struct guest_tracker *tracker, const struct guest_report *report)
{
    return tracker->has_now && tracker->now.source == report->source &&
           strcmp(tracker->now.boot_id, report->boot_id) == 0;
}

/* The consistency score belongs to one source, so a new source or another boot resets it. Rates are
 * computed from the youngest report that is at least SHORTEST_S old. Reports may come every second,
 * so the report that will be the next such one is kept too. */
static void update(struct guest_tracker *tracker, const struct guest_report *report)
{
    if (!goes_on(tracker, report)) {
        tracker->consistency = NAN;
        tracker->has_before = false;
        tracker->next = *report;
    } else if (!tracker->has_before || report->host_s - tracker->next.host_s >= SHORTEST_S) {
        tracker->before = tracker->next;
        tracker->has_before = true;
        tracker->next = *report;
    }
    tracker->now = *report;
    tracker->has_now = true;
    tracker->updated = true;
    tracker->unavailable[0] = '\0';
}

void guest_tracker_update(struct guest_tracker *tracker, const struct agent_hello *hello,
                          const struct agent_report *report, double host_s)
{
    struct guest_report one;

    guest_report_of_agent(&one, hello, report, host_s);
    update(tracker, &one);
}

static uint64_t pages(uint64_t bytes)
{
    return bytes == DOMAIN_MEMORY_UNKNOWN ? AGENT_UNKNOWN : bytes / BALLOON_PAGE;
}

bool guest_report_of_balloon(struct guest_report *out, const struct domain_memory *memory,
                             double host_s)
{
    if (memory->updated_s == 0 || memory->total_bytes == DOMAIN_MEMORY_UNKNOWN)
        return false;
    guest_report_clear(out, GUEST_STATS_BALLOON);
    out->host_s = host_s;
    out->report.uptime_s = (double)memory->updated_s; /* only its differences are used */
    out->report.memory.total_bytes = memory->total_bytes;
    out->report.memory.free_bytes = memory->free_bytes;
    out->report.memory.available_bytes = memory->available_bytes;
    out->report.memory.cache_bytes = memory->cache_bytes;
    out->report.paging.swap_in_pages = pages(memory->swap_in_bytes);
    out->report.paging.swap_out_pages = pages(memory->swap_out_bytes);
    out->report.paging.major_faults = memory->major_faults;
    out->report.paging.oom_kills = memory->oom_kills;
    out->report.paging.direct_stalls = memory->alloc_stalls;
    out->report.paging.scanned_kswapd_pages = pages(memory->async_scan_bytes);
    out->report.paging.scanned_direct_pages = pages(memory->direct_scan_bytes);
    return true;
}

bool guest_tracker_update_balloon(struct guest_tracker *tracker, const struct domain_memory *memory,
                                  double host_s)
{
    struct guest_report one;

    if (!guest_report_of_balloon(&one, memory, host_s))
        return false;
    if (tracker->has_now && tracker->now.source == GUEST_STATS_BALLOON &&
        one.report.uptime_s <= tracker->now.report.uptime_s)
        return false;
    update(tracker, &one);
    return true;
}

/* --- annotating a record ---------------------------------------------------------------------- */

static struct host_window window_of(const struct window_record *window)
{
    return (struct host_window){window->window_s, window->wss_bytes, window->wss_low_bytes,
                                window->wss_high_bytes};
}

static struct host_sample host_of(const struct guest_tracker *tracker,
                                  const struct sample_record *record)
{
    double own_s = guest_report_own_s(&tracker->now.report.working_set);
    struct host_sample host = {
        .ram_bytes = tracker->current_bytes < record->ram_bytes ? tracker->current_bytes
                                                                : record->ram_bytes,
        .resident_bytes = record->resident_bytes,
        .resident_whole = !(record->flags & (FLAG_SWAP | FLAG_KSM)),
    };

    if (record->n_windows > 0)
        host.window = window_of(&record->windows[0]);
    /* ascending: finds the shortest window that is long enough */
    for (size_t w = record->n_windows; w-- > 0;)
        if (record->windows[w].window_s >= own_s)
            host.guest_window = window_of(&record->windows[w]);
    return host;
}

void guest_tracker_annotate(struct guest_tracker *tracker, struct sample_record *record,
                            double now_s, double stale_s)
{
    const struct guest_report *before = tracker->has_before ? &tracker->before : NULL;
    struct host_sample host = host_of(tracker, record);
    unsigned inconsistencies;
    double consistency;

    if (*tracker->unavailable || !tracker->has_now) {
        guest_stats_unavailable(&record->guest, "%s", tracker->unavailable);
        return;
    }
    if (now_s - tracker->now.host_s > stale_s) {
        guest_stats_unavailable(&record->guest, "its last report is %.0f s old",
                                now_s - tracker->now.host_s);
        return;
    }
    guest_stats_make(&record->guest, before, &tracker->now, &host);
    consistency = consistency_now(before, &tracker->now, &host, &inconsistencies);
    if (tracker->updated)
        tracker->consistency = consistency_fold(tracker->consistency, consistency);
    tracker->updated = false;
    record->guest.consistency = tracker->consistency;
    record->guest.inconsistencies = inconsistencies;
}
