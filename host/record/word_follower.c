// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file word_follower.c  See word_follower.h. */
#include "record/word_follower.h"

#include "base/utf8.h"
#include "estimate/agreement.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Rates of less say little; a guest that stalls is asked again at once. */
#define SHORTEST_S 4
#define BALLOON_PAGE 4096 /* its statistics are in bytes; any page would do */

void word_follower_init(struct word_follower *follower, const char *missing)
{
    memset(follower, 0, sizeof(*follower));
    follower->agreement = NAN;
    follower->current_bytes = DOMAIN_MEMORY_UNKNOWN;
    word_follower_miss(follower, missing);
}

void word_follower_miss(struct word_follower *follower, const char *why)
{
    snprintf(follower->missing, sizeof(follower->missing), "%s", why);
    utf8_end(follower->missing);
}

static bool goes_on(const struct word_follower *follower, const struct word_report *report)
{
    return follower->has_now && follower->now.source == report->source &&
           strcmp(follower->now.boot_id, report->boot_id) == 0;
}

/* The agreement is that of one source: a new one, or another boot, begins anew. Rates reach back to
 * the youngest report that is old enough, for which the one that will be that next has to be kept:
 * reports may come every second. */
static void hear(struct word_follower *follower, const struct word_report *report)
{
    if (!goes_on(follower, report)) {
        follower->agreement = NAN;
        follower->has_before = false;
        follower->next = *report;
    } else if (!follower->has_before || report->host_s - follower->next.host_s >= SHORTEST_S) {
        follower->before = follower->next;
        follower->has_before = true;
        follower->next = *report;
    }
    follower->now = *report;
    follower->has_now = true;
    follower->heard = true;
    follower->missing[0] = '\0';
}

void word_follower_hear(struct word_follower *follower, const struct agent_hello *hello,
                        const struct agent_report *report, double host_s)
{
    struct word_report one;

    word_report_agent(&one, hello, report, host_s);
    hear(follower, &one);
}

static uint64_t pages(uint64_t bytes)
{
    return bytes == DOMAIN_MEMORY_UNKNOWN ? AGENT_UNKNOWN : bytes / BALLOON_PAGE;
}

bool word_follower_hear_balloon(struct word_follower *follower, const struct domain_memory *memory,
                                double host_s)
{
    struct word_report one;

    if (memory->updated_s == 0 || memory->total_bytes == DOMAIN_MEMORY_UNKNOWN)
        return false;
    if (follower->has_now && follower->now.source == WORD_BALLOON &&
        (double)memory->updated_s <= follower->now.report.uptime_s)
        return false;
    word_report_clear(&one, WORD_BALLOON);
    one.host_s = host_s;
    one.report.uptime_s = (double)memory->updated_s; /* differences of it are all that is used */
    one.report.memory.total_bytes = memory->total_bytes;
    one.report.memory.free_bytes = memory->free_bytes;
    one.report.memory.available_bytes = memory->available_bytes;
    one.report.memory.cache_bytes = memory->cache_bytes;
    one.report.paging.swap_in_pages = pages(memory->swap_in_bytes);
    one.report.paging.swap_out_pages = pages(memory->swap_out_bytes);
    one.report.paging.major_faults = memory->major_faults;
    hear(follower, &one);
    return true;
}

/* --- beside a record -------------------------------------------------------------------------- */

static struct word_window window_of(const struct window_record *window)
{
    return (struct word_window){window->window_s, window->wss_bytes, window->wss_low_bytes,
                                window->wss_high_bytes};
}

static struct word_host host_of(const struct word_follower *follower,
                                const struct sample_record *record)
{
    double own_s = agent_working_set_s(&follower->now.report.working_set);
    struct word_host host = {
        .ram_bytes = follower->current_bytes < record->ram_bytes ? follower->current_bytes
                                                                 : record->ram_bytes,
        .resident_bytes = record->resident_bytes,
        .resident_whole = !(record->flags & (FLAG_SWAP | FLAG_KSM)),
    };

    if (record->n_windows > 0)
        host.window = window_of(&record->windows[0]);
    for (size_t w = record->n_windows; w-- > 0;) /* ascending: the shortest that is long enough */
        if (record->windows[w].window_s >= own_s)
            host.guest_window = window_of(&record->windows[w]);
    return host;
}

void word_follower_tell(struct word_follower *follower, struct sample_record *record, double now_s,
                        double stale_s)
{
    const struct word_report *before = follower->has_before ? &follower->before : NULL;
    struct word_host host = host_of(follower, record);
    unsigned doubts;
    double agreement;

    if (*follower->missing || !follower->has_now) {
        guest_word_none(&record->guest, "%s", follower->missing);
        return;
    }
    if (now_s - follower->now.host_s > stale_s) {
        guest_word_none(&record->guest, "it last told something %.0f s ago",
                        now_s - follower->now.host_s);
        return;
    }
    guest_word_make(&record->guest, before, &follower->now, &host);
    agreement = agreement_now(before, &follower->now, &host, &doubts);
    if (follower->heard)
        follower->agreement = agreement_fold(follower->agreement, agreement);
    follower->heard = false;
    record->guest.agreement = follower->agreement;
    record->guest.doubts = doubts;
}
