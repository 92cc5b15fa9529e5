// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file guest_tracker.h  Tracks one guest's reports over time, and annotates each of the host's
 * records with the latest reports.
 *
 * The tracker requests nothing: the caller passes each report when it is received, and each record
 * when it is made. No clock, no descriptors.
 */
#pragma once

#include "guest/agent/agent_report.h"
#include "guest/domain/domain_memory.h"
#include "measure/record/sample_record.h"

struct guest_tracker {
    bool has_before, has_now;
    struct guest_report before, next, now; /* next is the report that will become before */
    bool updated;                          /* now has changed since the last record */
    double consistency;                    /* NAN: none yet */
    uint64_t current_bytes;                /* the balloon's size, or DOMAIN_MEMORY_UNKNOWN */
    /* the reason why there is no report now; "" if there is one */
    char unavailable[GUEST_STATS_REASON_TEXT];
};

void guest_tracker_init(struct guest_tracker *tracker, const char *unavailable);

/** Adds an agent's report, received at @p host_s (CLOCK_BOOTTIME). */
void guest_tracker_update(struct guest_tracker *tracker, const struct agent_hello *hello,
                          const struct agent_report *report, double host_s);

/** Converts a balloon driver's report that libvirt had at @p host_s. Returns false if there is no
 * report. */
bool guest_report_of_balloon(struct guest_report *out, const struct domain_memory *memory,
                             double host_s);

/** Adds libvirt's balloon statistics, for a guest without an agent. Returns false if they are not
 * newer than the previous ones. */
bool guest_tracker_update_balloon(struct guest_tracker *tracker, const struct domain_memory *memory,
                                  double host_s);

/** Notes that from now on there are no reports, and why. The last reports are kept, because the
 * rates of later ones may need them. */
void guest_tracker_unavailable(struct guest_tracker *tracker, const char *why);

/**
 * Adds the guest's statistics to a new record, and changes nothing else in it.
 * @param now_s by the same clock as host_s
 * @param stale_s reports older than this are ignored
 */
void guest_tracker_annotate(struct guest_tracker *tracker, struct sample_record *record,
                            double now_s, double stale_s);
