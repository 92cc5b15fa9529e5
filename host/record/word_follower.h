// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file word_follower.h  One guest's words over time: reports of the last seconds, put beside each
 * record of the host's.
 *
 * Nothing here asks: a report is handed over when it came, and a record when it was made. No clock,
 * no descriptors.
 */
#pragma once

#include "agent/agent_report.h"
#include "domain/domain_memory.h"
#include "record/sample_record.h"

struct word_follower {
    bool has_before, has_now;
    struct word_report before, next, now; /* next: will be before */
    bool heard;                           /* now is news since the last record */
    double agreement;                     /* NAN: none yet */
    uint64_t current_bytes;               /* what its balloon leaves it; DOMAIN_MEMORY_UNKNOWN */
    char missing[WORD_MISSING_TEXT];      /* why nothing is told now; "": it is */
};

void word_follower_init(struct word_follower *follower, const char *missing);

/** An agent's report, which came at @p host_s (CLOCK_BOOTTIME). */
void word_follower_hear(struct word_follower *follower, const struct agent_hello *hello,
                        const struct agent_report *report, double host_s);

/** What libvirt knows, for a guest without an agent. False when the balloon driver has told nothing
 * that is newer. */
bool word_follower_hear_balloon(struct word_follower *follower, const struct domain_memory *memory,
                                double host_s);

/** From now on nothing is told, for this reason; what was told stays, for the rates of what comes
 * after. */
void word_follower_miss(struct word_follower *follower, const char *why);

/**
 * Puts the guest's word into a record that has just been made; nothing else in it changes.
 * @param now_s    as host_s
 * @param stale_s  a report older than that is none
 */
void word_follower_tell(struct word_follower *follower, struct sample_record *record, double now_s,
                        double stale_s);
