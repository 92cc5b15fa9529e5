// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file shrink.h  The memory shrinking experiment: the smallest size at which a guest does not
 * complain.
 *
 * Theory of operation. The classical experiment takes memory away step by step until performance
 * falls; the size before that is the working set (P. Denning, Working Sets Past and Present, IEEE
 * TSE 6(1), 1980: the knee of the lifetime curve). The guest's complaints stand for performance
 * here: pressure (PSI), refaults, swap-in, and major faults where the guest reports neither. They
 * are compared with what the guest reported at its full size. There are two additional brakes: a
 * step takes at most half of what is available to the guest, and little available memory is a
 * complaint before a process is killed.
 *
 * Pure functions over plain structs. Values that the guest does not report are NAN, or
 * DECIDE_UNKNOWN.
 */
#pragma once

#include "decide/advice/decide.h"

/** Smaller steps are noise: a balloon driver works in pieces of 1 MiB. */
#define SHRINK_STEP_MIN_BYTES (4U << 20)

struct shrink_rules {
    uint64_t step_bytes;
    uint64_t floor_bytes;  /* the guest is never made smaller */
    double psi_some;       /* complaint: above the value at full size by this share of time */
    double paging_bytes_s; /* the same for refaults and swap-in */
    /* the same for major faults, where neither PSI nor refaults are reported */
    double major_faults_s;
    uint64_t available_bytes; /* complaint: less than this is available to the guest */
};

/** Rules for a guest of @p full_bytes, in steps of a twentieth of it: 1 % of the time, 1 MiB and 50
 * faults a second; available memory as in a panic, see decide_policy. */
struct shrink_rules shrink_rules_default(uint64_t full_bytes);

/** The guest's report at one size, over a step or a second. */
struct shrink_reading {
    uint64_t available_bytes;
    double psi_some, psi_full; /* share of time */
    double refault_bytes_s, swap_in_bytes_s, major_faults_s;
    bool oom_kill;
};

/** A set of bits. */
enum shrink_complaint {
    COMPLAINT_PSI = 1 << 0,
    COMPLAINT_REFAULTS = 1 << 1,
    COMPLAINT_SWAP_IN = 1 << 2,
    COMPLAINT_MAJOR_FAULTS = 1 << 3,
    COMPLAINT_AVAILABLE = 1 << 4,
    COMPLAINT_OOM_KILL = 1 << 5,
    COMPLAINT_N = 6,
};

/** Returns "psi-some", "refaults", ... for the bit @p number (0, 1, ...). */
const char *shrink_complaint_name(unsigned number);

/** Complaints over a step of several seconds: enum shrink_complaint. @p full is the guest's report
 * at its full size. */
unsigned shrink_complaints(const struct shrink_rules *rules, const struct shrink_reading *full,
                           const struct shrink_reading *now);

/** Complaints that end a step at once, judged over one second: enum shrink_complaint. */
unsigned shrink_alarms(const struct shrink_rules *rules, const struct shrink_reading *now);

/** The next size after @p actual_bytes; 0: none, because the floor is reached or nothing is
 * available. */
uint64_t shrink_next(const struct shrink_rules *rules, uint64_t actual_bytes,
                     uint64_t available_bytes);
