// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file shrink.h  What the memory shrinking experiment found: a table for people, JSON. */
#pragma once

#include "decide/advice/shrink.h"
#include "measure/record/sample_record.h"

/** Why it ended. */
enum shrink_end {
    SHRINK_GOES_ON,
    SHRINK_COMPLAINT,   /* the guest complained at the last size */
    SHRINK_FLOOR,       /* the guest did not complain down to the floor */
    SHRINK_NO_MORE,     /* the balloon driver gave no more */
    SHRINK_SILENT,      /* the guest stopped reporting */
    SHRINK_INTERRUPTED, /* by a signal */
    SHRINK_FAILED,      /* libvirt, or the guest, is gone or busy */
};

/** "complaint", "floor", ... */
const char *shrink_end_name(enum shrink_end end);

struct shrink_step {
    uint64_t target_bytes, actual_bytes; /* of the balloon; the first: its full size */
    struct shrink_reading reading;
    unsigned complaints; /* enum shrink_complaint */
};

#define SHRINK_STEPS_MAX 400

struct shrink_report {
    const char *domain, *uuid;
    double unix_s; /* when it began */
    double settle_s;
    const char *source; /* of the guest's statistics: "agent", "balloon" */
    enum shrink_end end;
    size_t n;
    struct shrink_step steps[SHRINK_STEPS_MAX];
    uint64_t full_bytes;
    uint64_t restored_bytes; /* what the guest has again at the end; DECIDE_UNKNOWN: its balloon
                                could not be set */
    const struct sample_record *record; /* vmwssd's last before it began; NULL: there is none */
};

/** The size with a complaint, and the smallest without: the knee is between. 0: not found. A guest
 * that complains before it has the size of its step is somewhere on the way, which libvirt tells a
 * second late: low is the size that it was to have. */
uint64_t shrink_knee_low(const struct shrink_report *report);
uint64_t shrink_knee_high(const struct shrink_report *report);

/** 0 or -ENOMEM. */
int shrink_print(const struct shrink_report *report);

/** One object, schema vmwss.shrink.v1. 0 or -ENOMEM. */
int shrink_json_print(const struct shrink_report *report);
