// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file guest_tracker.h  Tracker of one guest's reports over time: those of the last seconds, put
 * beside each record of the host's.
 *
 * The tracker requests nothing: a report is handed over when it was received, and a record when it
 * was made. No clock, no descriptors.
 */
#pragma once

#include "guest/agent/agent_report.h"
#include "guest/domain/domain_memory.h"
#include "measure/record/sample_record.h"

struct guest_tracker {
    bool has_before, has_now;
    struct guest_report before, next, now; /* next: will be before */
    bool updated;                          /* now was updated since the last record */
    double consistency;                    /* NAN: none yet */
    uint64_t current_bytes;                /* what its balloon leaves it; DOMAIN_MEMORY_UNKNOWN */
    char unavailable[GUEST_STATS_REASON_TEXT]; /* why there is no report now; "": there is */
};

void guest_tracker_init(struct guest_tracker *tracker, const char *unavailable);

/** Takes in an agent's report, received at @p host_s (CLOCK_BOOTTIME). */
void guest_tracker_update(struct guest_tracker *tracker, const struct agent_hello *hello,
                          const struct agent_report *report, double host_s);

/** A balloon driver's report, as libvirt had it at @p host_s. False: there is none. */
bool guest_report_of_balloon(struct guest_report *out, const struct domain_memory *memory,
                             double host_s);

/** Takes in what libvirt knows, for a guest without an agent. Returns false when the balloon driver
 * has reported nothing newer. */
bool guest_tracker_update_balloon(struct guest_tracker *tracker, const struct domain_memory *memory,
                                  double host_s);

/** From now on there are no reports, for this reason; the last ones stay, for the rates of what
 * comes after. */
void guest_tracker_unavailable(struct guest_tracker *tracker, const char *why);

/**
 * Annotates a record that has just been made with the guest's statistics; nothing else in it
 * changes.
 * @param now_s    as host_s
 * @param stale_s  a report older than that is none
 */
void guest_tracker_annotate(struct guest_tracker *tracker, struct sample_record *record,
                            double now_s, double stale_s);
