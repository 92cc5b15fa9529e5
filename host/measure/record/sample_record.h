// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file sample_record.h  One complete measurement of one guest, for all outputs and for the
 * history.
 */
#pragma once

#include "base/fsroot.h"
#include "guest/domain/domain.h"
#include "guest/ram/resident.h"
#include "measure/estimate/guest_stats.h"
#include "measure/estimate/write_curve.h"
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
    FLAG_NESTED = 1 << 2, /* the guest runs guests of its own */
    /* NUMA balancing removes mappings to find the node that uses a page */
    FLAG_NUMA_BALANCING = 1 << 3,
    FLAG_DAMON_ACTIVE = 1 << 4, /* DAMON reads and clears the same accessed bits */
    FLAG_IDLE_GUEST = 1 << 5,   /* the vCPUs hardly ran in some window */
    FLAG_MIGRATING = 1 << 6,    /* a migration, save or dump reads all of RAM */
    FLAG_SWAP = 1 << 7,         /* part of guest RAM is swapped out */
    FLAG_KSM = 1 << 8,          /* KSM runs and may merge guest pages */
    FLAG_PARTIAL = 1 << 9, /* part of the resident RAM was unmeasurable, or of the RAM unproved */
    FLAG_DIRTY_RATE =
        1 << 10, /* QEMU calculates the guest's dirty rate, for which it reads or protects RAM */
    FLAG_DUMP = 1 << 11,                /* QEMU writes all of RAM into a dump */
    FLAG_FREE_PAGE_REPORTING = 1 << 12, /* the guest returns freed memory to the host at once */
    FLAG_PAUSE_CUT =
        1 << 13, /* the guest was suspended for marking and reading, but resumed too early */
    FLAG_NEW_PANEL = 1 << 14, /* a new panel was drawn since the last record */
    /* guest RAM came or went during the measurement; the bounds include both sizes */
    FLAG_UNSETTLED = 1 << 15,
    FLAG_AGEING = 1 << 16,      /* the host's reclaim took accessed bits: touches may be missing */
    FLAG_STALE_TLB = 1 << 17,   /* the TLB could not be flushed: pages in it may read idle */
    FLAG_NEW_VCPU = 1 << 18,    /* a vCPU was plugged, and its first touches were not seen */
    FLAG_YOUNG_PANEL = 1 << 19, /* the panel is not yet as old as the longest window */
    FLAG_RESIDENT_UNSURE =
        1 << 20, /* the error of the resident size exceeds 1 %; the bounds include it */
    FLAG_NOT_MEASURED = 1 << 21, /* the guest runs, but no method can measure it: no windows */
    /* the vCPUs did not run at all, so the record does not show the guest's need */
    FLAG_PAUSED = 1 << 22,
    FLAG_VFIO = 1 << 23,      /* devices access guest RAM by DMA, which is not seen */
    FLAG_DISPUTED = 1 << 24,  /* accessed bits and KVM's faults differ; the bounds include both */
    FLAG_STRETCHED = 1 << 25, /* a measured window differs much from the requested one */
    /* QEMU's faults mapped neighbouring file pages too: the lower bound counts one page of each 64
     * KiB */
    FLAG_FIRST_MAPPING = 1 << 26,
    FLAG_BITS_TAKEN = 1 << 27,     /* another process took accessed bits, or unmapped pages */
    FLAG_READ_BY_OTHERS = 1 << 28, /* another process read guest RAM */
    FLAGS_ALL = (1 << 29) - 1      /* all flags */
};

/** The method's name in a record of a guest that could not be measured. */
#define SAMPLE_NO_METHOD "none"

/** The flags for a set of enum qemu_job. */
unsigned sample_job_flags(unsigned jobs);

/** "thp", "hugetlb", ...; NULL if no flag has that number (0, 1, ...). */
const char *sample_flag_name(unsigned number);

/** Size of a text with all flags. */
#define SAMPLE_FLAGS_TEXT 384

/** "thp,partial", as far as it fits; "" for no flags. */
char *sample_flags_text(char *text, size_t size, unsigned flags);
/** The same without a named buffer: the text lives until the end of the enclosing block. */
#define SAMPLE_FLAGS(flags) \
    sample_flags_text((char[SAMPLE_FLAGS_TEXT]){""}, SAMPLE_FLAGS_TEXT, flags)

/** All names, indexed by the number of the bit. */
extern const struct names sample_flag_names;

/** gone_bytes of a record from the history, which does not store it. */
#define GONE_NOT_KEPT UINT64_MAX

struct window_record {
    double window_s;
    double est_window_s;
    /* as in struct sample_window; NAN in a record stored before this member existed */
    double vcpu_s;
    uint64_t wss_bytes, wss_low_bytes, wss_high_bytes;
    /* as in wss_estimate; wss_low_bytes in a record stored before this member existed */
    uint64_t unit_low_bytes;
    uint64_t unmeasurable_bytes; /* in this window; part of wss_high_bytes. Not stored, not shown */
    /* upper bound of the resident memory when the window was read; 0: as in the record. Not stored,
     * not shown */
    uint64_t resident_high_bytes;
    double touched_fraction;
    /* touched, but no longer resident, so not in wss_bytes; or GONE_NOT_KEPT */
    uint64_t gone_bytes;
    bool unsettled; /* see wss_estimate(); FLAG_UNSETTLED is set if any window is unsettled */
    /* the pages whose bits DAMON took are known, and included in the bounds. Not stored, not
     * shown */
    bool damon_told;
    struct dispute dispute; /* zeroed if there was no witness. Not stored, not shown */
};

/** The result of --fine: the last window in base pages. */
struct fine_record {
    bool present;
    /* the window of the second measurement; est 0: no huge page was touched, or none could be
     * split */
    double window_s, est_window_s;
    uint64_t wss_bytes, wss_low_bytes, wss_high_bytes;
    uint64_t granularity_bytes;
    uint64_t huge_pages_sampled;      /* split and measured */
    uint64_t huge_pages_not_measured; /* drawn, but not splittable, or merged again too early */
    uint64_t huge_pages_not_joined;   /* split by this program, and not merged again */
    double cpu_s;
    double split_s, join_s; /* wall time */
};

struct sample_record {
    struct timespec time; /* CLOCK_REALTIME, at the end of the last window */
    char host[256];
    char domain[256]; /* empty if unknown */
    char uuid[37];    /* empty if unknown */
    bool census;
    struct guest_owner owner;
    pid_t pid;
    enum accel accel;
    unsigned flags;
    const char *method;
    uint64_t samples; /* panel: pages with a known state; census: pages of guest RAM */
    uint64_t granularity_bytes;
    uint64_t ram_bytes, resident_bytes, unmeasurable_bytes; /* as of the last window */
    double vcpu_s;
    double cpu_s;
    /* time to mark all pages, and to read them in the last window. Not stored */
    double marking_s, reading_s;
    double paused_s; /* how long the guest was suspended for the measurement */
    size_t n_windows;
    struct window_record windows[RUN_MAX_WINDOWS];
    struct write_curve writes; /* the write working set, if it was measured */
    struct fine_record fine;
    struct guest_stats
        guest; /* the guest's own statistics, if requested; no other member depends on them */
};

/** Resident bytes that the longest window did not touch, assuming its upper bound, which includes
 * unmeasurable memory. Returns false if the longest requested window is not answered, because a
 * shorter one would give too much. */
bool sample_reclaimable(const struct sample_record *record, uint64_t *bytes);

/** The window of that length, or NULL. */
const struct window_record *sample_window(const struct sample_record *record, double window_s);

/** Upper bound of the memory that was resident when window @p w was read, and so of any usage. */
uint64_t window_resident_high_bytes(const struct sample_record *record, size_t w);

/** The time that a record covers: reports weigh the record by it, and readers derive its age from
 * it. It is @p since_s, the time since the guest's last record, limited to the record's longest
 * window and to the planned time between two scans: if another process measured the guest for
 * hours, its usage in that time is not known. */
double sample_period_s(const struct sample_record *record, double since_s, double planned_s);

/** The memory from which the present pages are a sample: mapped memory, or resident memory for a
 * method that also sees unmapped pages. */
uint64_t population_bytes(const struct method *method, const struct resident_now *now);

/** population_bytes() and all other inputs of an estimate. */
struct wss_memory memory_now(const struct method *method, const struct guest_ram *ram,
                             const struct resident_now *now);

/**
 * Fills a record from a result. Each window's numbers are shares of the memory that was resident
 * when it was read (sample_window.now). If memory left afterwards, they may exceed the finally
 * resident memory.
 * @return 0; -ENODATA if nothing could be measured: the message has the states of the pages, and
 *         record->n_windows is set
 */
int sample_record_fill(struct sample_record *record, const struct subject *subject,
                       const struct sample_plan *plan, const struct sample_result *result,
                       struct error *error);

/** Makes the record of a running guest that cannot be measured: it has sizes but no windows. */
void sample_record_not_measured(struct sample_record *record, const struct guest *guest,
                                uint64_t ram_bytes, uint64_t resident_bytes);

/** Adds the result of fine_run(); call it after sample_record_fill(), with the same @p result. 0;
 * -ENODATA */
int sample_record_add_fine(struct sample_record *record, const struct guest_ram *ram,
                           const struct sample_plan *plan, const struct sample_result *result,
                           const struct fine_result *fine);
