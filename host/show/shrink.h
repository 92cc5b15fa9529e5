// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file shrink.h  Prints the result of the memory shrinking experiment, as a table for people or
 * as JSON.
 */
#pragma once

#include "decide/advice/shrink.h"
#include "measure/record/sample_record.h"
#include "show/sheet.h"

/** Reason for the end. */
enum shrink_end {
    SHRINK_GOES_ON,
    SHRINK_COMPLAINT,   /* the guest's statistics showed a shortage at the last size */
    SHRINK_FLOOR,       /* the guest showed no shortage down to the floor */
    SHRINK_NO_MORE,     /* the balloon driver gave no more memory */
    SHRINK_SILENT,      /* the guest stopped reporting */
    SHRINK_INTERRUPTED, /* ended by a signal */
    SHRINK_FAILED,      /* libvirt or the guest is gone or busy */
};

struct shrink_step {
    /* sizes of the balloon; the first step has the full size */
    uint64_t target_bytes, actual_bytes;
    struct shrink_reading reading;
    unsigned complaints; /* enum shrink_complaint */
};

#define SHRINK_STEPS_MAX 400

struct shrink_report {
    const char *domain, *uuid;
    double unix_s; /* start of the experiment */
    double settle_s;
    const char *source; /* source of the guest's statistics: "agent", "balloon" */
    enum shrink_end end;
    size_t n;
    struct shrink_step steps[SHRINK_STEPS_MAX];
    uint64_t full_bytes;
    /* size restored at the end; DECIDE_UNKNOWN: the balloon could not be set */
    uint64_t restored_bytes;
    /* vmwssd's last record before the start; NULL: there is none */
    const struct sample_record *record;
};

/** Return the bounds of the knee: low is the size at which the guest complained, high the smallest
 * size without a complaint; 0: not found. If the guest complains before it reaches the size of its
 * step, its present size is known a second late, so low is the size of the step. */
uint64_t shrink_knee_low(const struct shrink_report *report);
uint64_t shrink_knee_high(const struct shrink_report *report);

/** Prints a table and the result in sentences, or one object with schema vmwss.shrink.v1. Returns 0
 * or -ENOMEM. */
int shrink_print(const struct shrink_report *report, enum show_format format);
