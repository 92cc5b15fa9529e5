// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file guest_stats.h  A guest's statistics of its memory, beside what the host has measured.
 *
 * Theory of operation. The host sees which bytes are touched; the guest knows whose they are, and
 * whether it hurts. A working set that is larger than the memory cannot be sampled (every page is
 * touched, and no page is there that was not given), but the guest pages then: it swaps in, reads
 * again what it has just dropped (refaults; mm/workingset.c of the kernel), and waits (PSI;
 * Documentation/accounting/psi.rst). So the verdict is by what the guest reports, by the classical
 * rule (paging: above; scanning without paging: near; neither: below), and the host's number says
 * whether the memory is really touched meanwhile. The host's own numbers are never changed by any
 * of it.
 *
 * Pure functions over plain structs. What is not known is AGENT_UNKNOWN, for doubles NAN.
 */
#pragma once

#include "guest/agent/agent_report.h"

/** Where the statistics come from. */
enum guest_stats_source {
    GUEST_STATS_NONE,    /* there are none: unavailable says why */
    GUEST_STATS_BALLOON, /* the balloon driver's, by libvirt: no PSI, no scans, no cache */
    GUEST_STATS_AGENT,
};

/** How much memory the guest needs, against what it has. */
enum guest_stats_verdict {
    VERDICT_UNKNOWN,
    VERDICT_BELOW,
    VERDICT_NEAR,
    VERDICT_ABOVE,
};

/** What a verdict stands on; a set of bits. */
enum guest_stats_reason {
    REASON_SWAP_IN = 1 << 0,        /* it swaps in, over and over */
    REASON_REFAULTS = 1 << 1,       /* it reads again what it dropped, and waits for it */
    REASON_PSI_FULL = 1 << 2,       /* nothing ran for a while, for want of memory */
    REASON_PSI_SOME = 1 << 3,       /* something waited for memory */
    REASON_OOM_KILL = 1 << 4,       /* it killed a process to get memory */
    REASON_DIRECT_RECLAIM = 1 << 5, /* who wanted memory had to free some first */
    REASON_SCANNING = 1 << 6,       /* it looks for pages to drop */
    REASON_AVAILABLE = 1 << 7,      /* little is left that could be had without swapping */
    REASON_TOUCHED = 1 << 8,        /* and the host sees nearly all of it touched */
    REASON_UNTOUCHED =
        1 << 9, /* but the host sees most of it untouched: a limit inside the guest? */
};

/** Where the guest's statistics and the host's measurement contradict each other; a set of bits. */
enum guest_stats_inconsistency {
    INCONSISTENT_TOTAL = 1 << 0,   /* it says it has more memory than it was given, or far less */
    INCONSISTENT_USED = 1 << 1,    /* it says it uses more than has ever been touched */
    INCONSISTENT_TOUCHED = 1 << 2, /* more is touched than it says is in use */
    INCONSISTENT_WORKING_SET = 1 << 3, /* its own working set is larger than the host's */
    INCONSISTENT_TIME = 1 << 4, /* its clock runs ahead, or it stalled longer than time went by */
};

/** Room for the reason why there are no statistics. */
/* With the remedy: the XML of a channel, and how to add it, take 210 bytes. */
#define GUEST_STATS_REASON_TEXT 256

struct guest_stats {
    enum guest_stats_source source;
    char unavailable[GUEST_STATS_REASON_TEXT]; /* GUEST_STATS_NONE: why; "" when they were not
                                                  requested */
    double copy_age_s; /* seconds since the record of vmwssd they are copied from; 0: they are of
                          this measurement */

    /* Now; used is total less available: what cannot be had without swapping. */
    uint64_t total_bytes, used_bytes, available_bytes;
    /* Page cache that the guest keeps on its active and its inactive list; cold less what must be
     * written first can be dropped at next to no cost. */
    uint64_t cache_warm_bytes, cache_cold_bytes;

    /* Over the time between two reports: NAN of a first one. */
    double interval_s;
    double psi_some, psi_full; /* share of the interval, 0 .. 1 */
    double swap_in_bytes_s, swap_out_bytes_s, refault_bytes_s, scan_bytes_s; /* bytes per second */
    double major_faults_s;

    /* The host's WSS, split: page cache that could be dropped without writing, and memory of
     * processes. Bounds, for the host cannot see whose a page is, and the guest not which of them
     * are touched. */
    double window_s; /* of the host's number; 0: there was none */
    uint64_t wss_cache_low_bytes, wss_cache_high_bytes;
    uint64_t wss_anon_low_bytes, wss_anon_high_bytes;

    /* What it found touched itself, by clearing its processes' referenced bits: memory of
     * processes, and of page cache what they have mapped. In own_window_s, which ended own_age_s
     * before its report; NAN: the guest's owner does not permit it. */
    double own_window_s, own_age_s;
    uint64_t own_anon_bytes, own_file_bytes;

    enum guest_stats_verdict verdict;
    unsigned reasons;         /* enum guest_stats_reason */
    bool at_least_allocation; /* the working set is at least what it has: the host's WSS is a lower
                                 bound */

    double consistency;       /* 0 .. 1, lately; see consistency.h */
    unsigned inconsistencies; /* enum guest_stats_inconsistency, of this report */
};

/** "agent", "balloon", "none". */
const char *guest_stats_source_name(enum guest_stats_source source);
/** "above", "near", "below", "unknown". */
const char *guest_stats_verdict_name(enum guest_stats_verdict verdict);
/** "swap-in,touched"; as far as it fits; "" for none. */
void guest_stats_reasons_text(char *text, size_t size, unsigned reasons);
void guest_stats_inconsistencies_text(char *text, size_t size, unsigned inconsistencies);
/** The way back; what is not known is left out, or GUEST_STATS_NONE, VERDICT_UNKNOWN. */
enum guest_stats_source guest_stats_source_parse(const char *name);
enum guest_stats_verdict guest_stats_verdict_parse(const char *name);
unsigned guest_stats_reasons_parse(const char *text);
unsigned guest_stats_inconsistencies_parse(const char *text);

/** A report, and what goes with it. */
struct guest_report {
    enum guest_stats_source source;
    struct agent_report report;
    char boot_id[AGENT_TEXT]; /* "" if there is none */
    uint64_t page_bytes;      /* in which it counts */
    double host_s;            /* when it came, by a clock of the host that is never set */
};

/** All of it unknown: to be filled in. */
void guest_report_clear(struct guest_report *report, enum guest_stats_source source);

/** An agent's report, received at @p host_s, as in struct guest_report. */
void guest_report_of_agent(struct guest_report *out, const struct agent_hello *hello,
                           const struct agent_report *report, double host_s);

/** One window of the host's. */
struct host_window {
    double window_s; /* 0: none */
    uint64_t wss_bytes, wss_low_bytes, wss_high_bytes;
};

/** The host's numbers of the same time. */
struct host_sample {
    /* What the guest was given: what its balloon leaves it, as the guest says, but at most what it
     * has. */
    uint64_t ram_bytes;
    uint64_t resident_bytes; /* of it */
    bool resident_whole;     /* whatever was touched is resident: nothing swapped, nothing merged */
    struct host_window window;       /* the shortest */
    struct host_window guest_window; /* the shortest that has all of the guest's own in it:
                                        agent_working_set_s() */
};

/** Returns true if @p now is a later report of the same boot than @p before, so that differences of
 * totals mean something. */
bool guest_report_follows(const struct guest_report *before, const struct guest_report *now);

/**
 * Fills in everything but the consistency score, which is NAN.
 * @param before  an earlier report; NULL, or one that does not go with it: no rates, and no verdict
 * @param host    window.window_s is 0 when nothing was measured: no split, and no verdict on
 *                touched memory
 */
void guest_stats_make(struct guest_stats *stats, const struct guest_report *before,
                      const struct guest_report *now, const struct host_sample *host);

/** Marks the statistics as unavailable, with the reason: printf-like. */
void guest_stats_unavailable(struct guest_stats *stats, const char *why, ...)
    __attribute__((format(printf, 2, 3)));
