// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file model.h  A host with guests whose memory use is generated: what a rule for balloons can see
 * of them, and what it does to them.
 *
 * Theory of operation. Time goes in seconds. A guest uses anonymous memory that it cannot drop
 * (used), needs a part of its page cache (hot file pages), and fills what is left to it with page
 * cache that it reads once. It has no swap:
 *   - used > B: its OOM killer runs;
 *   - used + hot file pages > B: it is short, and its PSI says how much;
 *   - its balloon inflates at 200 MiB/s into what is not used, and deflates at 1,000 MiB/s.
 *   - a DIMM changes what is assigned and what it has; the balloon stays as it is.
 * ZFS' cache, if the host has one, takes what is free but 1 GiB, and gives it back at 1 GiB/s.
 * Resident memory is what was touched and the balloon has not taken. The host measures the set
 * touched in the last minute, ten minutes and hour, with the interval of a panel of 2,000 pages.
 *
 * What is not in the model: how long work takes when memory is short, swap, huge pages, how much of
 * the page cache that looks cold is needed tomorrow. Its figures compare rules; they are not what a
 * real host would show.
 */
#pragma once

#include "decide/control/control.h"

#define MIB DECIDE_MIB
#define SIM_BUCKET_S 10
#define SIM_HOUR_BUCKETS 360
#define SIM_MAX_GUESTS 16

enum sim_trace { TRACE_SQUARE, TRACE_RANDOM, TRACE_DAY, TRACE_STEP, TRACE_NIGHT, TRACE_EXPLODING };
/** Where a guest's statistics are from: a record of vmwssd, which has an agent's last report, of a
 * guest that changes little once a minute; libvirt, every 10 s; or there are none. They stay as
 * they were until the next ones. */
enum sim_statistics { STATISTICS_AGENT, STATISTICS_BALLOON, STATISTICS_NONE };

struct sim_guest {
    /* Fixed properties. */
    enum sim_trace trace;
    enum sim_statistics statistics;
    bool keeps_heap; /* what it has allocated once stays, cold */
    uint64_t assigned_bytes;
    uint64_t kernel_bytes, low_bytes, high_bytes; /* used: kernel, and anonymous memory */
    uint64_t file_bytes;                          /* hot page cache at the high level */
    double period_s, phase_s;
    double ramp_bytes_s; /* how fast it allocates */
    double read_bytes_s; /* how fast it reads what it does not need again */
    double limit_psi;    /* of containers at their own limits, for ten minutes each hour */
    uint64_t dimm_bytes; /* plugged from 8 to 18 h each day, if it can be unplugged */
    uint64_t random;
    double next_s, level; /* of TRACE_RANDOM and TRACE_EXPLODING */
    /* The present state. */
    uint64_t anon_bytes, hot_bytes, hot_file_bytes, cache_bytes;
    uint64_t actual_bytes, target_bytes, resident_bytes;
    uint64_t plugged_bytes; /* of the DIMM; assigned_bytes has it, too */
    double dead_until_s;    /* its OOM killer has ended what it ran */
    bool oom_kill;          /* since its statistics were made last */
    struct decide_guest report;
    double report_s; /* when it was made */
    /* Bytes touched in the last hour, in buckets of ten seconds. */
    uint64_t touched[SIM_HOUR_BUCKETS];
    uint64_t bucket_bytes;
    /* Largest of ten minutes over a day, by the hour: exact enough. */
    uint64_t day[24 * 60];
    uint64_t day_max_bytes;
    unsigned n_day;
    /* The outcome. */
    uint64_t oom_kills, short_s, reversals;
    double saved_byte_s;
    int direction;
    uint64_t extreme_bytes;
    /* by ten seconds, all of the time, and the part of the DIMM that is not there: for the oracle
     */
    uint64_t *need;
};

struct sim {
    uint64_t total_bytes, base_bytes;   /* the host, and what it uses itself */
    uint64_t arc_bytes, arc_most_bytes; /* ZFS' cache, which takes what is free */
    struct sim_guest guests[SIM_MAX_GUESTS];
    size_t n;
    double now_s, end_s;
    uint64_t below_hard_s, below_zero_s;
    uint64_t hard_bytes;
};

/* MemAvailable, which does not count the ARC; 0: nothing, or less. */
uint64_t sim_free(const struct sim *sim);
/* With what the ARC gives back. */
uint64_t sim_available(const struct sim *sim);
uint64_t sim_used(const struct sim_guest *guest);
uint64_t sim_need(const struct sim_guest *guest);

/** One second. */
void sim_step(struct sim *sim);

/** Fills in vmwssd's history of the guest, and the guest's report. */
void sim_input(const struct sim_guest *guest, double now_s, struct decide_input *input);

/** Applies the size that a rule sets. */
void sim_set(struct sim_guest *guest, uint64_t target_bytes);

/** Integral of what could have been taken from the guest without making it short, by one who knows
 * its need of the next @p n_ahead buckets, and gives it the largest of that. */
double sim_oracle(const struct sim_guest *guest, size_t n_buckets, size_t n_ahead);
