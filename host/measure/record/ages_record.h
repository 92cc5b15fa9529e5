// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file ages_record.h  The result of one followed panel at one moment: every window, and the age
 * of each byte. */
#pragma once

#include "measure/panel.h"
#include "measure/record/sample_record.h"

struct age_bin {
    double from_s,
        /* seconds since the last touch. The last bin's to_s is HUGE_VAL: older, or never touched */
        to_s;
    uint64_t bytes, low_bytes, high_bytes; /* 95 % interval */
};

struct ages_record {
    /* the windows for which the panel was watched long enough; .writes of a panel with
     * panel_writes() */
    struct sample_record sample;
    size_t n_bins; /* one more than the number of windows */
    struct age_bin bins[RUN_MAX_WINDOWS + 1];
};

/** A panel that has just been read. */
struct panel_reading {
    const struct panel *panel;
    const struct resident_now *now; /* resident memory while its pages were read */
    double cpu_s;                   /* the cost of watching since the last record */
};

/**
 * @param plan   method, and the requested windows, ascending; windows that cannot be answered yet
 *               are omitted
 * @return 0; -EAGAIN if no window can be answered yet; -ENODATA as sample_record_fill(); -ENOMEM
 */
int ages_record_fill(struct ages_record *record, const struct subject *subject,
                     const struct sample_plan *plan, const struct panel_reading *reading,
                     struct error *error);
