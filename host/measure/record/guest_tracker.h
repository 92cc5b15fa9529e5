// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file guest_tracker.h  Tracks one guest's reports over time, and annotates each of the host's
 * records with those of the last seconds.
 *
 * The tracker requests nothing: the caller hands over each report when it is received, and each
 * record when it is made. No clock, no descriptors.
 */
#pragma once

#include "guest/agent/agent_report.h"
#include "guest/domain/domain_memory.h"
#include "measure/record/sample_record.h"

struct guest_tracker {
    bool has_before, has_now;
    struct guest_report before, next, now; /* next will become before */
    bool updated;                          /* now was updated since the last record */
    double consistency;                    /* NAN: none yet */
    uint64_t current_bytes;                /* the balloon's size; DOMAIN_MEMORY_UNKNOWN */
    /* the reason why there is no report now; "": there is one */
    char unavailable[GUEST_STATS_REASON_TEXT];
};

void guest_tracker_init(struct guest_tracker *tracker, const char *unavailable);

/** Adds an agent's report, received at @p host_s (CLOCK_BOOTTIME). */
void guest_tracker_update(struct guest_tracker *tracker, const struct agent_hello *hello,
                          const struct agent_report *report, double host_s);

/** Converts a balloon driver's report, as libvirt had it at @p host_s. False: there is no
 * report. */
bool guest_report_of_balloon(struct guest_report *out, const struct domain_memory *memory,
                             double host_s);

/** Adds libvirt's figures, for a guest without an agent. Returns false if the balloon driver has
 * reported nothing newer. */
bool guest_tracker_update_balloon(struct guest_tracker *tracker, const struct domain_memory *memory,
                                  double host_s);

/** Notes that there are no reports from now on, with the reason; the last ones stay, for the rates
 * of later ones. */
void guest_tracker_unavailable(struct guest_tracker *tracker, const char *why);

/**
 * Annotates a new record with the guest's statistics; nothing else in it changes.
 * @param now_s    on the clock of host_s
 * @param stale_s  an older report is ignored
 */
void guest_tracker_annotate(struct guest_tracker *tracker, struct sample_record *record,
                            double now_s, double stale_s);
