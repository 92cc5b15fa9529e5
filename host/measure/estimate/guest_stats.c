// SPDX-License-Identifier: LGPL-2.1-or-later
#include "measure/estimate/guest_stats.h"

#include "base/bytes.h"
#include "base/utf8.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* An idle guest also pages a little: a cron job that was swapped out long ago comes back, kswapd
 * scans a few pages. Bytes per second; 40 KiB/s are 300 pages in 30 s. */
#define PAGING_BYTES_S (40.0 * 1024)
#define REFAULT_BYTES_S (400.0 * 1024)
#define SCAN_BYTES_S (40.0 * 1024)
/* Shares of time. The defaults of userland killers begin at some 10 %; a guest that pages heavily
 * is far above. */
#define PSI_SOME_NEAR 0.01
#define PSI_SOME_PAGING 0.05
#define PSI_FULL_PAGING 0.05
#define LITTLE_AVAILABLE 0.05 /* share of its memory */
/* touched share of the guest's memory; its kernel and its free reserve are not touched */
#define NEARLY_ALL 0.8
#define MOSTLY_NOT 0.5

/* Minimum interval for rates: a guest may report a clock that nearly stands still, and no rate may
 * become infinite. */
#define SHORTEST_INTERVAL_S 0.01

/* --- two reports ------------------------------------------------------------------------------ */

void guest_report_clear(struct guest_report *report, enum guest_stats_source source)
{
    memset(report, 0, sizeof(*report));
    report->source = source;
    report->page_bytes = 4096;
    /* All members are uint64_t, and every byte of AGENT_UNKNOWN is 0xff. */
    memset(&report->report.memory, 0xff, sizeof(report->report.memory));
    memset(&report->report.paging, 0xff, sizeof(report->report.paging));
    report->report.working_set = (struct agent_working_set){
        .anon_bytes = AGENT_UNKNOWN, .file_bytes = AGENT_UNKNOWN, .window_s = NAN, .age_s = NAN};
}

uint64_t guest_report_page_bytes(const struct agent_hello *hello)
{
    const uint64_t bytes = hello->page_bytes;

    return bytes >= 4096 && bytes <= 65536 && (bytes & (bytes - 1)) == 0 ? bytes : 4096;
}

double guest_report_own_s(const struct agent_working_set *own)
{
    return own->window_s + (own->age_s > 0 ? own->age_s : 0);
}

void guest_report_of_agent(struct guest_report *out, const struct agent_hello *hello,
                           const struct agent_report *report, double host_s)
{
    *out = (struct guest_report){
        .source = GUEST_STATS_AGENT,
        .report = *report,
        .page_bytes = guest_report_page_bytes(hello),
        .host_s = host_s,
    };
    snprintf(out->boot_id, sizeof(out->boot_id), "%s", hello->boot_id);
}

bool guest_report_follows(const struct guest_report *before, const struct guest_report *now)
{
    return before && before->source == now->source && !strcmp(before->boot_id, now->boot_id) &&
           before->page_bytes == now->page_bytes &&
           now->report.uptime_s - before->report.uptime_s >= SHORTEST_INTERVAL_S &&
           now->host_s > before->host_s;
}

/* NAN if a total is not reported, or has decreased. */
static double rate(uint64_t before, uint64_t now, double interval_s)
{
    if (before == AGENT_UNKNOWN || now == AGENT_UNKNOWN || now < before)
        return NAN;
    return (double)(now - before) / interval_s;
}

static double stalled_share(const struct agent_stalled *before, const struct agent_stalled *now,
                            double interval_s)
{
    double part = rate(before->total_us, now->total_us, interval_s) / 1e6;

    return part > 1 ? 1 : part;
}

static double known_or_0(double rate)
{
    return isnan(rate) ? 0 : rate;
}

/* Kernels before Linux 5.9 do not count anonymous refaults. */
static double refaults(const struct agent_paging *before, const struct agent_paging *now, double s)
{
    return rate(before->refault_file_pages, now->refault_file_pages, s) +
           known_or_0(rate(before->refault_anon_pages, now->refault_anon_pages, s));
}

/* @p at_least: an unknown part counts as 0. */
static double scans(const struct agent_paging *before, const struct agent_paging *now, double s,
                    bool at_least)
{
    double kswapd = rate(before->scanned_kswapd_pages, now->scanned_kswapd_pages, s);
    double direct = rate(before->scanned_direct_pages, now->scanned_direct_pages, s);

    return at_least ? known_or_0(kswapd) + known_or_0(direct) : kswapd + direct;
}

static void set_rates(struct guest_stats *stats, const struct guest_report *before,
                      const struct guest_report *now)
{
    const struct agent_paging *a = &before->report.paging;
    const struct agent_paging *b = &now->report.paging;
    const double page = (double)now->page_bytes;
    double s = now->report.uptime_s - before->report.uptime_s;

    stats->interval_s = s;
    stats->swap_in_bytes_s = page * rate(a->swap_in_pages, b->swap_in_pages, s);
    stats->swap_out_bytes_s = page * rate(a->swap_out_pages, b->swap_out_pages, s);
    stats->refault_bytes_s = page * refaults(a, b, s);
    stats->scan_bytes_s = page * scans(a, b, s, false);
    stats->major_faults_s = rate(a->major_faults, b->major_faults, s);
    if (!before->report.has_pressure || !now->report.has_pressure)
        return;
    stats->psi_some = stalled_share(&before->report.memory_pressure.some,
                                    &now->report.memory_pressure.some, s);
    stats->psi_full = stalled_share(&before->report.memory_pressure.full,
                                    &now->report.memory_pressure.full, s);
}

/* --- available memory ------------------------------------------------------------------------- */

/* Sets the sum of @p n figures; returns false if any of them was not reported. */
static bool sum_bytes(const uint64_t *bytes, size_t n, uint64_t *sum)
{
    *sum = 0;
    for (size_t i = 0; i < n; i++) {
        if (bytes[i] == AGENT_UNKNOWN)
            return false;
        *sum += bytes[i];
    }
    return true;
}

static void set_memory(struct guest_stats *stats, const struct agent_memory *memory)
{
    stats->total_bytes = memory->total_bytes;
    stats->available_bytes = memory->available_bytes;
    if (memory->total_bytes != AGENT_UNKNOWN && memory->available_bytes != AGENT_UNKNOWN)
        stats->used_bytes = less(memory->total_bytes, memory->available_bytes);
    stats->cache_warm_bytes = memory->active_file_bytes;
    stats->cache_cold_bytes = memory->inactive_file_bytes;
}

/* If only some processes could be read, their touches are not the guest's working set. */
static void set_own(struct guest_stats *stats, const struct agent_report *report)
{
    const struct agent_working_set *own = &report->working_set;

    if (isnan(own->window_s) || report->processes_hidden ||
        (own->unread != AGENT_UNKNOWN && own->unread > 0))
        return;
    stats->own_window_s = own->window_s;
    stats->own_age_s = own->age_s;
    stats->own_anon_bytes = own->anon_bytes;
    stats->own_file_bytes = own->file_bytes;
}

/* --- the host's WSS, split -------------------------------------------------------------------- */

/* Bounds how much of @p window can lie in @p part bytes of @p ram bytes: at most the whole part,
 * and at least the bytes that do not fit into the rest. */
static void bound(const struct host_window *window, uint64_t ram, uint64_t part, uint64_t *low,
                  uint64_t *high)
{
    *low = less(window->wss_low_bytes, less(ram, part));
    *high = window->wss_high_bytes < part ? window->wss_high_bytes : part;
    if (*low > *high) /* if the reported part exceeds the RAM, the guest is wrong, not the host */
        *low = *high;
}

static void split_memory(struct guest_stats *stats, const struct agent_memory *memory,
                         const struct host_sample *host)
{
    const struct host_window *window = &host->window;
    const uint64_t file[] = {memory->active_file_bytes, memory->inactive_file_bytes};
    const uint64_t unwritten[] = {memory->dirty_bytes, memory->writeback_bytes};
    const uint64_t processes[] = {memory->active_anon_bytes, memory->inactive_anon_bytes,
                                  memory->unevictable_bytes};
    uint64_t all, dirty;

    stats->window_s = window->window_s;
    if (!(window->window_s > 0))
        return;
    if (sum_bytes(file, 2, &all) && sum_bytes(unwritten, 2, &dirty))
        bound(window, host->ram_bytes, less(all, dirty), &stats->wss_cache_low_bytes,
              &stats->wss_cache_high_bytes);
    if (sum_bytes(processes, 3, &all))
        bound(window, host->ram_bytes, all, &stats->wss_anon_low_bytes,
              &stats->wss_anon_high_bytes);
}

/* --- the verdict ------------------------------------------------------------------------------ */

/* Comparisons with NAN are false: an unknown figure is no reason. */
static unsigned paging_reasons(const struct guest_stats *stats)
{
    bool waits = isnan(stats->psi_some) || stats->psi_some >= PSI_SOME_NEAR;
    unsigned reasons = 0;

    if (stats->swap_in_bytes_s >= PAGING_BYTES_S && waits)
        reasons |= REASON_SWAP_IN;
    if (stats->refault_bytes_s >= REFAULT_BYTES_S && stats->psi_some >= PSI_SOME_PAGING)
        reasons |= REASON_REFAULTS;
    if (stats->psi_full >= PSI_FULL_PAGING)
        reasons |= REASON_PSI_FULL;
    return reasons;
}

static unsigned scanning_reasons(const struct guest_stats *stats)
{
    unsigned reasons = 0;

    if (stats->psi_some >= PSI_SOME_NEAR)
        reasons |= REASON_PSI_SOME;
    if (stats->total_bytes != AGENT_UNKNOWN && stats->available_bytes != AGENT_UNKNOWN &&
        (double)stats->available_bytes < LITTLE_AVAILABLE * (double)stats->total_bytes)
        reasons |= REASON_AVAILABLE;
    return reasons;
}

static unsigned counted_reasons(const struct guest_report *earlier,
                                const struct guest_report *later, double interval_s)
{
    const struct agent_paging *before = &earlier->report.paging, *now = &later->report.paging;
    unsigned reasons = 0;

    if ((double)later->page_bytes * scans(before, now, interval_s, true) >= SCAN_BYTES_S)
        reasons |= REASON_SCANNING;
    if (rate(before->direct_stalls, now->direct_stalls, 1) > 0)
        reasons |= REASON_DIRECT_RECLAIM;
    if (rate(before->oom_kills, now->oom_kills, 1) > 0)
        reasons |= rate(before->direct_stalls, now->direct_stalls, 1) <= 0 ? REASON_OOM_LIMIT
                                                                           : REASON_OOM_KILL;
    return reasons;
}

/* Compares what the host saw touched with the memory that the guest has: what its balloon leaves,
 * which the guest reports itself, but at least what is resident. */
static unsigned touched_reason(const struct host_sample *host)
{
    double touched = (double)host->window.wss_high_bytes;
    double has = fmax((double)host->ram_bytes, (double)host->resident_bytes);

    if (!(host->window.window_s > 0) || host->ram_bytes == 0)
        return 0;
    if (touched >= NEARLY_ALL * has)
        return REASON_TOUCHED;
    return touched < MOSTLY_NOT * has ? REASON_UNTOUCHED : 0;
}

static void judge(struct guest_stats *stats, const struct guest_report *before,
                  const struct guest_report *now, const struct host_sample *host)
{
    unsigned paging = paging_reasons(stats);
    unsigned counted = counted_reasons(before, now, stats->interval_s);
    unsigned scanning = scanning_reasons(stats);

    paging |= counted & REASON_OOM_KILL;
    scanning |= counted & ~(unsigned)(REASON_OOM_KILL | REASON_OOM_LIMIT);
    stats->reasons = paging | scanning | (counted & REASON_OOM_LIMIT);
    if (paging) {
        stats->verdict = VERDICT_ABOVE;
        stats->reasons |= touched_reason(host);
        stats->at_least_allocation = stats->reasons & REASON_TOUCHED;
    } else if (scanning) {
        stats->verdict = VERDICT_NEAR;
        stats->reasons |= touched_reason(host) & REASON_TOUCHED;
    } else if (!isnan(stats->scan_bytes_s)) { /* else it may be near, without a sign */
        stats->verdict = VERDICT_BELOW;
    }
}

/* --- all of it -------------------------------------------------------------------------------- */

static void clear_stats(struct guest_stats *stats)
{
    *stats = (struct guest_stats){
        .total_bytes = AGENT_UNKNOWN,
        .used_bytes = AGENT_UNKNOWN,
        .available_bytes = AGENT_UNKNOWN,
        .cache_warm_bytes = AGENT_UNKNOWN,
        .cache_cold_bytes = AGENT_UNKNOWN,
        .interval_s = NAN,
        .psi_some = NAN,
        .psi_full = NAN,
        .swap_in_bytes_s = NAN,
        .swap_out_bytes_s = NAN,
        .refault_bytes_s = NAN,
        .scan_bytes_s = NAN,
        .major_faults_s = NAN,
        .wss_cache_low_bytes = AGENT_UNKNOWN,
        .wss_cache_high_bytes = AGENT_UNKNOWN,
        .wss_anon_low_bytes = AGENT_UNKNOWN,
        .wss_anon_high_bytes = AGENT_UNKNOWN,
        .own_window_s = NAN,
        .own_age_s = NAN,
        .own_anon_bytes = AGENT_UNKNOWN,
        .own_file_bytes = AGENT_UNKNOWN,
        .consistency = NAN,
    };
}

void guest_stats_make(struct guest_stats *stats, const struct guest_report *before,
                      const struct guest_report *now, const struct host_sample *host)
{
    clear_stats(stats);
    stats->source = now->source;
    set_memory(stats, &now->report.memory);
    set_own(stats, &now->report);
    split_memory(stats, &now->report.memory, host);
    if (!guest_report_follows(before, now))
        return;
    set_rates(stats, before, now);
    judge(stats, before, now, host);
}

void guest_stats_unavailable(struct guest_stats *stats, const char *why, ...)
{
    va_list arguments;

    clear_stats(stats);
    va_start(arguments, why);
    vsnprintf(stats->unavailable, sizeof(stats->unavailable), why, arguments);
    utf8_end(stats->unavailable); /* the text may quote an agent */
    va_end(arguments);
}
