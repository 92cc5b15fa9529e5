// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file guest_stats.h  A guest's statistics of its memory, combined with the host's measurement.
 *
 * Theory of operation. The host sees which bytes are touched; the guest knows their owners, and
 * whether it is short of memory. The host cannot sample a working set larger than the guest's
 * memory (every page is touched, and the missing pages do not exist), but the guest then pages: it
 * swaps in, reads again pages that it has just dropped (refaults; mm/workingset.c of the kernel),
 * and waits (PSI; Documentation/accounting/psi.rst). So the verdict relies on the guest's report,
 * by the classical rule (paging: above; scanning without paging: near; neither: below), and the
 * host's number shows whether the memory is really touched. The report never changes the host's own
 * numbers.
 *
 * Pure functions over plain structs. An unknown figure is AGENT_UNKNOWN, or NAN for doubles.
 */
#pragma once

#include "base/text/names.h"
#include "guest/agent/agent_report.h"

/** The source of the statistics. */
enum guest_stats_source {
    GUEST_STATS_NONE,    /* no statistics: unavailable has the reason */
    GUEST_STATS_BALLOON, /* the balloon driver, through libvirt: no PSI, no scans, no cache */
    GUEST_STATS_AGENT,
};

/** The guest's need of memory, compared with its allocation. */
enum guest_stats_verdict {
    VERDICT_UNKNOWN,
    VERDICT_BELOW,
    VERDICT_NEAR,
    VERDICT_ABOVE,
};

/** The grounds of a verdict; a set of bits. */
enum guest_stats_reason {
    REASON_SWAP_IN = 1 << 0,        /* the guest keeps swapping in */
    REASON_REFAULTS = 1 << 1,       /* the guest reads dropped pages again, and waits for them */
    REASON_PSI_FULL = 1 << 2,       /* all tasks waited for memory at some time */
    REASON_PSI_SOME = 1 << 3,       /* some task waited for memory */
    REASON_OOM_KILL = 1 << 4,       /* the guest killed a process to get memory */
    REASON_DIRECT_RECLAIM = 1 << 5, /* allocations had to free memory first */
    REASON_SCANNING = 1 << 6,       /* the guest scans for pages to drop */
    REASON_AVAILABLE = 1 << 7,      /* little memory is available without swapping */
    /* and the host finds nearly all of the guest's memory touched */
    REASON_TOUCHED = 1 << 8,
    /* but the host finds most of the memory untouched: perhaps a limit inside the guest */
    REASON_UNTOUCHED = 1 << 9,
    /* the guest killed a process, and no allocation waited for memory: a limit inside the guest, as
     * a container's, was reached. Linux counts such kills alike, but not the reclaim of such groups
     * (mm/vmscan.c, do_try_to_free_pages(): ALLOCSTALL unless cgroup_reclaim()) */
    REASON_OOM_LIMIT = 1 << 10,
};

/** Contradictions between the guest's statistics and the host's measurement; a set of bits. */
enum guest_stats_inconsistency {
    /* the guest reports more memory than it was given, or far less */
    INCONSISTENT_TOTAL = 1 << 0,
    /* the guest reports more used memory than was ever touched */
    INCONSISTENT_USED = 1 << 1,
    INCONSISTENT_TOUCHED = 1 << 2,     /* more memory is touched than the guest reports as used */
    INCONSISTENT_WORKING_SET = 1 << 3, /* the guest's own working set is larger than the host's */
    /* the guest's clock runs ahead, or it reports longer stalls than time passed */
    INCONSISTENT_TIME = 1 << 4,
};

/** Size of the text with the reason why there are no statistics, and with a remedy: the XML of a
 * channel, and how to add it, take 210 bytes. */
#define GUEST_STATS_REASON_TEXT 256

struct guest_stats {
    enum guest_stats_source source;
    /* the reason for GUEST_STATS_NONE; "" if no statistics were requested */
    char unavailable[GUEST_STATS_REASON_TEXT];
    /* age in seconds of the vmwssd record from which the statistics are copied; 0: they belong to
     * this measurement */
    double copy_age_s;

    /* Present values. Used is total minus available: memory that cannot be freed without
     * swapping. */
    uint64_t total_bytes, used_bytes, available_bytes;
    /* Page cache on the guest's active and inactive lists. Cold cache can be dropped at almost no
     * cost, except for pages that must be written first. */
    uint64_t cache_warm_bytes, cache_cold_bytes;

    /* Rates between two reports; NAN for a first report. */
    double interval_s;
    double psi_some, psi_full; /* share of the interval, 0 .. 1 */
    double swap_in_bytes_s, swap_out_bytes_s, refault_bytes_s, scan_bytes_s; /* bytes per second */
    double major_faults_s;

    /* The host's WSS, split into page cache that could be dropped without writing, and memory of
     * processes. Both are bounds, because the host cannot see the owner of a page, and the guest
     * cannot see which pages are touched. */
    double window_s; /* window of the host's number; 0: no number */
    uint64_t wss_cache_low_bytes, wss_cache_high_bytes;
    uint64_t wss_anon_low_bytes, wss_anon_high_bytes;

    /* The guest's own result, from clearing its processes' referenced bits: memory of processes,
     * and page cache that they have mapped. It covers a window of own_window_s, which ended
     * own_age_s before the report. NAN: the guest's owner does not permit it. */
    double own_window_s, own_age_s;
    uint64_t own_anon_bytes, own_file_bytes;

    enum guest_stats_verdict verdict;
    unsigned reasons; /* enum guest_stats_reason */
    /* the working set is at least the allocation: the host's WSS is a lower bound */
    bool at_least_allocation;

    double consistency;       /* 0 .. 1, over recent reports; see consistency.h */
    unsigned inconsistencies; /* enum guest_stats_inconsistency, for this report */
};

/** "agent", "balloon", "none". */
const char *guest_stats_source_name(enum guest_stats_source source);
/** "above", "near", "below", "unknown". */
const char *guest_stats_verdict_name(enum guest_stats_verdict verdict);
/** Writes "swap-in,touched", as far as it fits; "" for no reasons. */
void guest_stats_reasons_text(char *text, size_t size, unsigned reasons);
void guest_stats_inconsistencies_text(char *text, size_t size, unsigned inconsistencies);
/** All names of each enum. */
extern const struct names guest_stats_source_names, guest_stats_verdict_names;
extern const struct names guest_stats_reason_names, guest_stats_inconsistency_names;

/** A report and its context. */
struct guest_report {
    enum guest_stats_source source;
    struct agent_report report;
    char boot_id[AGENT_TEXT]; /* "" if not known */
    uint64_t page_bytes;      /* the page size of its counters */
    double host_s;            /* time of receipt, by a host clock that is never set */
};

/** Sets everything to unknown; the caller fills it in. */
void guest_report_clear(struct guest_report *report, enum guest_stats_source source);

/** Returns the page size of the agent's page counts; 4 KiB if it reports none, or one that no
 * kernel has. */
uint64_t guest_report_page_bytes(const struct agent_hello *hello);

/** Returns the time from the beginning of the guest's own window to the report; NAN if there is no
 * window. */
double guest_report_own_s(const struct agent_working_set *own);

/** Converts an agent's report, received at @p host_s, into a struct guest_report. */
void guest_report_of_agent(struct guest_report *out, const struct agent_hello *hello,
                           const struct agent_report *report, double host_s);

/** One window of the host's measurement. */
struct host_window {
    double window_s; /* 0: no window */
    uint64_t wss_bytes, wss_low_bytes, wss_high_bytes;
};

/** The host's numbers for the time of the report. */
struct host_sample {
    /* The memory given to the guest: the balloon's size as the guest reports it, but at most the
     * guest's RAM. */
    uint64_t ram_bytes;
    uint64_t resident_bytes;   /* the resident part of ram_bytes */
    bool resident_whole;       /* all touched memory is resident: no page swapped or merged */
    struct host_window window; /* the shortest window */
    /* the shortest window that covers the guest's own window: guest_report_own_s() */
    struct host_window guest_window;
};

/** Returns true if @p now is a later report than @p before of the same boot, so that differences
 * between their totals are meaningful. */
bool guest_report_follows(const struct guest_report *before, const struct guest_report *now);

/**
 * Fills in everything but the consistency score, which is NAN.
 * @param before an earlier report; without one of the same boot there are no rates and no verdict
 * @param host    if its window.window_s is 0 (no measurement), there is no split, and no verdict on
 *                touched memory
 */
void guest_stats_make(struct guest_stats *stats, const struct guest_report *before,
                      const struct guest_report *now, const struct host_sample *host);

/** Marks the statistics as unavailable; @p why is the reason, formatted as by printf(3). */
void guest_stats_unavailable(struct guest_stats *stats, const char *why, ...)
    __attribute__((format(printf, 2, 3)));
