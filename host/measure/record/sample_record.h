// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file sample_record.h  One measurement of one guest, complete: what is shown, kept and exported.
 */
#pragma once

#include "base/fsroot.h"
#include "guest/domain/domain.h"
#include "guest/ram/resident.h"
#include "measure/estimate/guest_stats.h"
#include "measure/estimate/wss.h"
#include "measure/fine.h"
#include "measure/run.h"

#include <time.h>

/** What makes a number less certain, or a reader should know beside it. */
enum sample_flag {
    FLAG_THP = 1 << 0,     /* part of guest RAM is mapped by huge pages: coarser than base pages */
    FLAG_HUGETLB = 1 << 1, /* likewise, by hugetlb pages */
    FLAG_NESTED = 1 << 2,  /* the guest runs guests of its own */
    FLAG_NUMA_BALANCING = 1 << 3, /* the host unmaps pages to see who uses them */
    FLAG_DAMON_ACTIVE = 1 << 4,   /* DAMON reads and clears the same accessed bits */
    FLAG_IDLE_GUEST = 1 << 5,     /* the vCPUs hardly ran in a window */
    FLAG_MIGRATING = 1 << 6,      /* a migration, save or dump reads all of RAM */
    FLAG_SWAP = 1 << 7,           /* part of guest RAM is swapped out */
    FLAG_KSM = 1 << 8,            /* KSM runs and may merge its pages */
    FLAG_PARTIAL = 1 << 9,        /* part of the resident RAM was unmeasurable */
    FLAG_DIRTY_RATE =
        1 << 10, /* QEMU measures how fast the guest dirties its RAM: reads or protects it */
    FLAG_DUMP = 1 << 11,                /* QEMU writes all of RAM into a dump */
    FLAG_FREE_PAGE_REPORTING = 1 << 12, /* what the guest frees leaves its RAM at once */
    FLAG_PAUSE_CUT =
        1 << 13, /* it was to be suspended while marked and read, and ran on too early */
    FLAG_NEW_PANEL = 1 << 14, /* the panel that is followed was begun anew since the last record */
    FLAG_UNSETTLED = 1 << 15, /* guest RAM came or went meanwhile; the bounds hold both sizes */
    FLAG_AGEING = 1 << 16,    /* the host's reclaim took accessed bits: touches may be missing */
    FLAG_STALE_TLB = 1 << 17, /* the TLB could not be flushed: what it holds may read idle */
    FLAG_NEW_VCPU = 1 << 18,  /* a vCPU was plugged, and its first touches were not seen */
    FLAG_YOUNG_PANEL = 1 << 19, /* it has not been watched for the longest window yet */
    FLAG_RESIDENT_UNSURE =
        1 << 20, /* how much is resident is known to no better than a percent, in the bounds */
    FLAG_NOT_MEASURED = 1 << 21, /* it runs, and no method can follow it: no windows */
    FLAG_PAUSED = 1 << 22,    /* the vCPUs did not run at all: it says nothing of what it needs */
    FLAG_VFIO = 1 << 23,      /* devices access its RAM by DMA, which is not seen */
    FLAG_DISPUTED = 1 << 24,  /* accessed bits and KVM's faults differ; the bounds hold both */
    FLAG_STRETCHED = 1 << 25, /* an est window is far from the window that was asked for */
    FLAG_FIRST_MAPPING = 1 << 26,  /* QEMU mapped pages of a file with their neighbours: the lower
                                      bound counts one of each 64 KiB */
    FLAG_BITS_TAKEN = 1 << 27,     /* another process took accessed bits, or unmapped pages */
    FLAG_READ_BY_OTHERS = 1 << 28, /* another process read guest RAM */
    FLAGS_ALL = (1 << 29) - 1      /* these, and no others */
};

/** The name of the method of a record that is not measured. */
#define SAMPLE_NO_METHOD "none"

/** The flags of enum qemu_job, or-ed. */
unsigned sample_job_flags(unsigned jobs);

/** "thp", "hugetlb", ...; NULL for no flag of that number (0, 1, ...). */
const char *sample_flag_name(unsigned number);

/** Room for all of them. */
#define SAMPLE_FLAGS_TEXT 384

/** "thp,partial", as far as it fits; "" for no flags. */
void sample_flags_text(char *text, size_t size, unsigned flags);

/** The way back; names that are not known are left out. */
unsigned sample_flags_parse(const char *text);

/** Of a record that was kept: the history does not hold it. */
#define GONE_NOT_KEPT UINT64_MAX

struct window_record {
    double window_s;
    double est_window_s;
    double vcpu_s; /* as of struct sample_window; NAN of a record that was kept before there was
                      one */
    uint64_t wss_bytes, wss_low_bytes, wss_high_bytes;
    uint64_t unit_low_bytes; /* as in wss_estimate; of a record that was kept before there was one,
                                wss_low_bytes */
    uint64_t unmeasurable_bytes;  /* in this window; part of wss_high_bytes. Not kept, nor shown */
    uint64_t resident_high_bytes; /* so much may have been resident when it was read; 0: as the
                                     record has it. Not kept, nor shown */
    double touched_fraction;
    uint64_t gone_bytes;    /* touched, but no longer resident: not in wss_bytes; GONE_NOT_KEPT */
    bool unsettled;         /* see wss_estimate(); FLAG_UNSETTLED if any window is */
    bool damon_told;        /* which pages DAMON took bits of is known, and in the bounds. Not kept,
                               nor shown */
    struct dispute dispute; /* with a witness; all zeros without. Not kept, nor shown */
};

/** What --fine adds: the last window in base pages. */
struct fine_record {
    bool present;
    double window_s, est_window_s; /* of the second measurement; est 0: no huge page was touched, or
                                      none could be split */
    uint64_t wss_bytes, wss_low_bytes, wss_high_bytes;
    uint64_t granularity_bytes;
    uint64_t huge_pages_sampled;      /* split and measured */
    uint64_t huge_pages_not_measured; /* drawn, but not to be split, or joined again too early */
    uint64_t huge_pages_not_joined;   /* small pages still, because of us */
    double cpu_s;
    double split_s, join_s; /* wall time */
};

struct sample_record {
    struct timespec time; /* CLOCK_REALTIME, at the end of the last window */
    char host[256];
    char domain[256]; /* empty if unknown */
    char uuid[37];    /* empty if unknown */
    pid_t pid;
    enum accel accel;
    const char *method;
    bool census;
    uint64_t samples; /* panel: pages whose state was known; census: pages of guest RAM */
    uint64_t granularity_bytes;
    uint64_t ram_bytes, resident_bytes, unmeasurable_bytes; /* as of the last window */
    double vcpu_s;
    double cpu_s;
    double marking_s, reading_s; /* how long all pages took; of reading, in the last window. Not
                                    kept */
    double paused_s;             /* how long the guest was suspended for it */
    unsigned flags;
    size_t n_windows;
    struct window_record windows[RUN_MAX_WINDOWS];
    struct fine_record fine;
    struct guest_stats
        guest; /* its own statistics, if they were requested; no number above depends on it */
};

/** Resident bytes that the longest window did not touch even if its upper bound is right, which has
 * in it what was unmeasurable. False: the longest window that was asked for is not answered, and a
 * shorter one says too much. */
bool sample_reclaimable(const struct sample_record *record, uint64_t *bytes);

/** Of its windows the one of that length; NULL: it has none. */
const struct window_record *sample_window(const struct sample_record *record, double window_s);

/** What may have been resident when window @p w was read: the most that can be in use. */
uint64_t window_resident_high_bytes(const struct sample_record *record, size_t w);

/** The time that a record stands for, by which reports weigh it and readers tell its age: @p
 * since_s, since the guest's last record, but no longer than its longest window looked back, or
 * than was planned from one look to the next. Where another process measured the guest for hours
 * what it used is not known. */
double sample_period_s(const struct sample_record *record, double since_s, double planned_s);

/** The memory of which the pages that the method finds present are a sample: what is mapped, or
 * what is resident for a method that also sees unmapped pages. */
uint64_t population_bytes(const struct method *method, const struct resident_now *now);

/** The same, with all that an estimate is about. */
struct wss_memory memory_now(const struct method *method, const struct guest_ram *ram,
                             const struct resident_now *now);
/** By how much that may be wrong. */
uint64_t population_error_bytes(const struct method *method, const struct resident_now *now);

/**
 * Puts a result into a record. Each window's numbers are shares of what was resident when it was
 * read, sample_window.now, so one that was read before memory left may be larger than what is
 * resident in the end.
 * @return 0; -ENODATA when nothing could be measured: the message says what the pages were, and
 *         @p record has its n_windows.
 */
int sample_record_fill(struct sample_record *record, const struct fsroot *root,
                       const struct guest *guest, const struct guest_ram *ram,
                       const struct sample_plan *plan, const struct sample_result *result,
                       struct error *error);

/** The record when a running guest cannot be measured: its sizes, and no windows. */
void sample_record_not_measured(struct sample_record *record, const struct guest *guest,
                                uint64_t ram_bytes, uint64_t resident_bytes);

/** Adds what fine_run() found. @p result as for sample_record_fill(), which comes first. 0;
 * -ENODATA
 */
int sample_record_add_fine(struct sample_record *record, const struct guest_ram *ram,
                           const struct sample_plan *plan, const struct sample_result *result,
                           const struct fine_result *fine);
