// SPDX-License-Identifier: LGPL-2.1-or-later
#include "show/guest_stats.h"

#include "base/text/json.h"
#include "base/text/units.h"
#include "base/utf8.h"
#include "show/field_json.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

bool guest_stats_requested(const struct guest_stats *stats)
{
    return stats->source != GUEST_STATS_NONE || *stats->unavailable;
}

/* --- JSON ------------------------------------------------------------------------------------- */

json_t *guest_stats_json(const struct guest_stats *stats)
{
    json_t *object = json_object();

    for (const struct field *field = guest_stats_fields(); field->type; field++) {
        bool reported = stats->source != GUEST_STATS_NONE || field->group == GROUP_SOURCE;
        bool there = field->group != GROUP_SPLIT || stats->window_s > 0;

        if (field->json && reported && there)
            field_json_set(object, field, stats);
    }
    if (stats->copy_age_s > 0)
        json_object_set_new(object, "age_s", json_real(round(stats->copy_age_s * 1000) / 1000));
    if (stats->source == GUEST_STATS_NONE)
        json_object_set_new(object, "missing", json_text(stats->unavailable));
    return object;
}

/* --- text ------------------------------------------------------------------------------------- */

char *guest_stats_bytes_text(char *text, size_t size, uint64_t bytes)
{
    if (bytes == AGENT_UNKNOWN)
        snprintf(text, size, "-");
    else
        show_bytes(text, size, bytes);
    return text;
}

char *guest_stats_share_text(char *text, size_t size, double share)
{
    if (isfinite(share))
        snprintf(text, size, "%.1f%%", 100 * share);
    else
        snprintf(text, size, "-");
    return text;
}

char *guest_stats_verdict_text(char *text, size_t size, const struct guest_stats *stats)
{
    const char *verdict = stats->verdict == VERDICT_UNKNOWN
                              ? "-"
                              : guest_stats_verdict_name(stats->verdict);

    snprintf(text, size, "%s", stats->at_least_allocation ? ">= RAM" : verdict);
    return text;
}

/* "12.0 KiB/s"; "-" */
static char *rate_text(char *text, size_t size, double bytes_s)
{
    if (isfinite(bytes_s))
        snprintf(text, size, "%s/s",
                 BYTES_TEXT(bytes_s < 0x1p63 ? (uint64_t)bytes_s : (uint64_t)1 << 63));
    else
        snprintf(text, size, "-");
    return text;
}
#define RATE_TEXT(bytes_s) rate_text(UNITS_BUFFER, UNITS_TEXT, bytes_s)

static void memory_lines(char lines[2][GUEST_STATS_LINE], const struct guest_stats *stats)
{
    snprintf(lines[0], GUEST_STATS_LINE, "the guest says (%s): %s used, %s available of %s",
             guest_stats_source_name(stats->source), GUEST_STATS_BYTES(stats->used_bytes),
             GUEST_STATS_BYTES(stats->available_bytes), GUEST_STATS_BYTES(stats->total_bytes));
    snprintf(lines[1], GUEST_STATS_LINE, "  page cache %s warm, %s cold",
             GUEST_STATS_BYTES(stats->cache_warm_bytes),
             GUEST_STATS_BYTES(stats->cache_cold_bytes));
}

static void rate_lines(char *line, const struct guest_stats *stats)
{
    snprintf(line, GUEST_STATS_LINE, "  waits for memory: some %s, all %s; swap in %s, refaults %s",
             GUEST_STATS_SHARE(stats->psi_some), GUEST_STATS_SHARE(stats->psi_full),
             RATE_TEXT(stats->swap_in_bytes_s), RATE_TEXT(stats->refault_bytes_s));
}

static void split_line(char *line, const struct guest_stats *stats)
{
    snprintf(line, GUEST_STATS_LINE,
             "  of the WSS over %gs: page cache %s to %s, processes %s to %s", stats->window_s,
             GUEST_STATS_BYTES(stats->wss_cache_low_bytes),
             GUEST_STATS_BYTES(stats->wss_cache_high_bytes),
             GUEST_STATS_BYTES(stats->wss_anon_low_bytes),
             GUEST_STATS_BYTES(stats->wss_anon_high_bytes));
}

/* The guest's own working set has another window than the host's WSS, and excludes the kernel and
 * the page cache that is only accessed by read(2) and write(2). */
static void own_line(char *line, const struct guest_stats *stats)
{
    snprintf(line, GUEST_STATS_LINE,
             "  touched by its processes in %.3gs: anonymous %s, mapped files %s",
             stats->own_window_s, GUEST_STATS_BYTES(stats->own_anon_bytes),
             GUEST_STATS_BYTES(stats->own_file_bytes));
}

static void judgement_lines(char lines[2][GUEST_STATS_LINE], const struct guest_stats *stats)
{
    char reasons[128];
    char inconsistencies[64];

    guest_stats_reasons_text(reasons, sizeof(reasons), stats->reasons);
    guest_stats_inconsistencies_text(inconsistencies, sizeof(inconsistencies),
                                     stats->inconsistencies);
    snprintf(lines[0], GUEST_STATS_LINE, "  its working set is %s its memory%s%s%s%s",
             stats->at_least_allocation ? "at least" : guest_stats_verdict_name(stats->verdict),
             *reasons ? " (" : "", reasons, *reasons ? ")" : "",
             stats->verdict == VERDICT_UNKNOWN ? ": it has not reported enough" : "");
    snprintf(lines[1], GUEST_STATS_LINE, "  agrees with what the host sees: %s%s%s%s",
             GUEST_STATS_SHARE(stats->consistency), *inconsistencies ? " (not with: " : "",
             inconsistencies, *inconsistencies ? ")" : "");
}

size_t guest_stats_lines(char lines[GUEST_STATS_LINES][GUEST_STATS_LINE],
                         const struct guest_stats *stats)
{
    size_t n = 3;

    if (stats->source == GUEST_STATS_NONE) {
        snprintf(lines[0], GUEST_STATS_LINE, "the guest says nothing: %s", stats->unavailable);
        utf8_printable(lines[0]);
        return guest_stats_requested(stats);
    }
    memory_lines(lines, stats);
    rate_lines(lines[2], stats);
    if (stats->window_s > 0)
        split_line(lines[n++], stats);
    if (stats->own_window_s > 0)
        own_line(lines[n++], stats);
    judgement_lines(&lines[n], stats);
    return n + 2;
}
