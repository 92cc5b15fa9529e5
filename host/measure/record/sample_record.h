// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file sample_record.h  One complete measurement of one guest, as it is shown, kept and exported.
 */
#pragma once

#include "base/fsroot.h"
#include "guest/domain/domain.h"
#include "guest/ram/resident.h"
#include "measure/estimate/guest_stats.h"
#include "measure/estimate/wss.h"
#include "measure/fine.h"
#include "measure/run.h"
#include "measure/subject.h"

#include <time.h>

/** Facts that make a number less certain, or that a reader should know. */
enum sample_flag {
    FLAG_THP = 1 << 0, /* part of guest RAM is mapped by huge pages: coarser than base pages */
    /* part of guest RAM is mapped by hugetlb pages: coarser than base pages */
    FLAG_HUGETLB = 1 << 1,
    FLAG_NESTED = 1 << 2,         /* the guest runs guests of its own */
    FLAG_NUMA_BALANCING = 1 << 3, /* the host removes mappings to see which node uses the pages */
    FLAG_DAMON_ACTIVE = 1 << 4,   /* DAMON reads and clears the same accessed bits */
    FLAG_IDLE_GUEST = 1 << 5,     /* the vCPUs hardly ran in a window */
    FLAG_MIGRATING = 1 << 6,      /* a migration, save or dump reads all of RAM */
    FLAG_SWAP = 1 << 7,           /* part of guest RAM is swapped out */
    FLAG_KSM = 1 << 8,            /* KSM runs and may merge its pages */
    FLAG_PARTIAL = 1 << 9,        /* part of the resident RAM was unmeasurable */
    FLAG_DIRTY_RATE =
        1 << 10, /* QEMU measures how fast the guest dirties its RAM: it reads or protects it */
    FLAG_DUMP = 1 << 11,                /* QEMU writes all of RAM into a dump */
    FLAG_FREE_PAGE_REPORTING = 1 << 12, /* memory that the guest frees leaves its RAM at once */
    FLAG_PAUSE_CUT =
        1 << 13, /* the guest was suspended for marking and reading, and resumed too early */
    FLAG_NEW_PANEL = 1 << 14, /* the followed panel was begun anew since the last record */
    FLAG_UNSETTLED = 1 << 15, /* guest RAM came or went meanwhile; the bounds include both sizes */
    FLAG_AGEING = 1 << 16,    /* the host's reclaim took accessed bits: touches may be missing */
    FLAG_STALE_TLB = 1 << 17, /* the TLB could not be flushed: pages in it may read idle */
    FLAG_NEW_VCPU = 1 << 18,  /* a vCPU was plugged, and its first touches were not seen */
    FLAG_YOUNG_PANEL = 1 << 19, /* the panel has not been watched for the longest window yet */
    FLAG_RESIDENT_UNSURE =
        1 << 20, /* the resident size is not known to a percent; the bounds include the error */
    FLAG_NOT_MEASURED = 1 << 21, /* the guest runs, and no method can follow it: no windows */
    /* the vCPUs did not run at all: the record says nothing about the guest's need */
    FLAG_PAUSED = 1 << 22,
    FLAG_VFIO = 1 << 23,      /* devices access its RAM by DMA, which is not seen */
    FLAG_DISPUTED = 1 << 24,  /* accessed bits and KVM's faults differ; the bounds include both */
    FLAG_STRETCHED = 1 << 25, /* an est window differs much from the requested window */
    /* QEMU mapped file pages with their neighbours: the lower bound counts one of each 64 KiB */
    FLAG_FIRST_MAPPING = 1 << 26,
    FLAG_BITS_TAKEN = 1 << 27,     /* another process took accessed bits, or unmapped pages */
    FLAG_READ_BY_OTHERS = 1 << 28, /* another process read guest RAM */
    FLAGS_ALL = (1 << 29) - 1      /* all flags */
};

/** The method's name in a record that is not measured. */
#define SAMPLE_NO_METHOD "none"

/** The flags for enum qemu_job, or-ed. */
unsigned sample_job_flags(unsigned jobs);

/** "thp", "hugetlb", ...; NULL if no flag has that number (0, 1, ...). */
const char *sample_flag_name(unsigned number);

/** Size for all of them. */
#define SAMPLE_FLAGS_TEXT 384

/** "thp,partial", as far as it fits; "" for no flags. */
void sample_flags_text(char *text, size_t size, unsigned flags);

/** All names, by the number of the bit. */
extern const struct names sample_flag_names;

/** The value in a record read from the history, which does not hold it. */
#define GONE_NOT_KEPT UINT64_MAX

struct window_record {
    double window_s;
    double est_window_s;
    /* as in struct sample_window; NAN in a record that was kept before this member existed */
    double vcpu_s;
    uint64_t wss_bytes, wss_low_bytes, wss_high_bytes;
    /* as in wss_estimate; wss_low_bytes in a record that was kept before this member existed */
    uint64_t unit_low_bytes;
    uint64_t unmeasurable_bytes; /* in this window; part of wss_high_bytes. Not kept, not shown */
    /* upper bound of the resident memory when the window was read; 0: as in the record. Not kept,
     * not shown */
    uint64_t resident_high_bytes;
    double touched_fraction;
    uint64_t gone_bytes; /* touched, but no longer resident: not in wss_bytes; GONE_NOT_KEPT */
    bool unsettled;      /* see wss_estimate(); FLAG_UNSETTLED if any window is */
    /* the pages whose bits DAMON took are known, and in the bounds. Not kept, not shown */
    bool damon_told;
    struct dispute dispute; /* with a witness; all zeros without one. Not kept, not shown */
};

/** The result of --fine: the last window in base pages. */
struct fine_record {
    bool present;
    /* windows of the second measurement; est 0: no huge page was touched, or no huge page could be
     * split */
    double window_s, est_window_s;
    uint64_t wss_bytes, wss_low_bytes, wss_high_bytes;
    uint64_t granularity_bytes;
    uint64_t huge_pages_sampled;      /* split and measured */
    uint64_t huge_pages_not_measured; /* drawn, but could not be split, or joined again too early */
    uint64_t huge_pages_not_joined;   /* split by this program, and still small pages */
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
    uint64_t samples; /* panel: pages with a known state; census: pages of guest RAM */
    uint64_t granularity_bytes;
    uint64_t ram_bytes, resident_bytes, unmeasurable_bytes; /* as of the last window */
    double vcpu_s;
    double cpu_s;
    /* duration of marking all pages, and of reading them in the last window. Not kept */
    double marking_s, reading_s;
    double paused_s; /* how long the guest was suspended for the measurement */
    unsigned flags;
    size_t n_windows;
    struct window_record windows[RUN_MAX_WINDOWS];
    struct fine_record fine;
    struct guest_stats
        guest; /* the guest's own statistics, if requested; no number above depends on them */
};

/** Resident bytes that the longest window did not touch even if its upper bound, which includes
 * unmeasurable memory, is right. False: the longest requested window is not answered, and a shorter
 * one would give too much. */
bool sample_reclaimable(const struct sample_record *record, uint64_t *bytes);

/** The window of that length; NULL: the record has no such window. */
const struct window_record *sample_window(const struct sample_record *record, double window_s);

/** Upper bound of the memory that was resident when window @p w was read: the most that can be in
 * use. */
uint64_t window_resident_high_bytes(const struct sample_record *record, size_t w);

/** The time for which a record stands: reports weigh it by this time, and readers derive its age
 * from it. It is @p since_s, the time since the guest's last record, but not longer than the
 * record's longest window, or than the planned time between two scans. If another process measured
 * the guest for hours, its usage in that time is not known. */
double sample_period_s(const struct sample_record *record, double since_s, double planned_s);

/** The memory of which the pages that the method finds present are a sample: mapped memory, or
 * resident memory for a method that also sees unmapped pages. */
uint64_t population_bytes(const struct method *method, const struct resident_now *now);

/** The same, with all other inputs of an estimate. */
struct wss_memory memory_now(const struct method *method, const struct guest_ram *ram,
                             const struct resident_now *now);
/** The possible error of population_bytes(). */
uint64_t population_error_bytes(const struct method *method, const struct resident_now *now);

/**
 * Puts a result into a record. Each window's numbers are shares of the memory that was resident
 * when it was read, sample_window.now, so a window that was read before memory left may exceed the
 * finally resident memory.
 * @return 0; -ENODATA if nothing could be measured: the message has the states of the pages, and
 *         @p record has its n_windows.
 */
int sample_record_fill(struct sample_record *record, const struct subject *subject,
                       const struct sample_plan *plan, const struct sample_result *result,
                       struct error *error);

/** Makes the record of a running guest that cannot be measured: its sizes, and no windows. */
void sample_record_not_measured(struct sample_record *record, const struct guest *guest,
                                uint64_t ram_bytes, uint64_t resident_bytes);

/** Adds the result of fine_run(). @p result as for sample_record_fill(), which must be called
 * before. 0; -ENODATA */
int sample_record_add_fine(struct sample_record *record, const struct guest_ram *ram,
                           const struct sample_plan *plan, const struct sample_result *result,
                           const struct fine_result *fine);
