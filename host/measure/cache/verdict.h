// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file verdict.h  Is what a guest touches larger than the cache? Pure functions over what was
 * counted.
 *
 * Theory of operation. An answer is given only where it follows from what was counted.
 *
 * "fits": whatever the vCPUs touched within the window was in the cache when the window began, or
 * was loaded from memory meanwhile. Loads are counted per resctrl group by the CPU (MBM,
 * Documentation/filesystems/resctrl.rst), prefetches included. If a twentieth of the cache or less
 * was loaded, all but that was in the cache at one moment: it fits. Occupancy cannot say so: lines
 * keep the mark of the group that loaded them, so of a guest that fits, little is seen in a new
 * group. Nor can a PMU's count of misses, for it leaves out some prefetches (Intel SDM,
 * LONGEST_LAT_CACHE.MISS). What devices write straight into the cache (DDIO) counts as no load.
 *
 * "larger": at each reading over some time the guest held nine tenths or more of what it may use of
 * the cache, and in that time it loaded twice that and more (twice, for MBM may count lines that
 * are written back). So nine tenths and more is what it touches, and it still misses. That holds of
 * a group that began with the window: in an older one, lines that are no longer touched count, too.
 *
 * All else is "unknown", with the first reason that applies.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** L3 caches of one host. */
#define CACHES_MAX 128

/** A number that is not known. */
#define CACHE_UNKNOWN UINT64_MAX

/** What makes the numbers less certain. */
enum cache_flag {
    CACHE_VCPUS_CHANGED = 1 << 0, /* vCPUs were plugged or unplugged within the window */
    CACHE_IDLE_VCPUS = 1 << 1,    /* some vCPU did not run within the window */
    CACHE_MULTIPLEXED = 1 << 2,   /* the counters counted for a part of the time only */
    CACHE_COUNTS_L2 = 1 << 3,     /* references and misses are those of L2, or of an unknown one */
    CACHE_OTHER_CODE = 1 << 4,    /* the monitoring group has threads that are no vCPUs */
    CACHE_FOREIGN_GROUP = 1 << 5, /* the monitoring group was made by another program */
    CACHE_GROUP_CHANGED = 1 << 6, /* its threads, or its share of the cache, changed meanwhile */
    CACHE_LEFTOVER = 1 << 7,      /* lines of a former owner of the RMID were there at the start */
    CACHE_LIMITED = 1 << 8,       /* by CAT: a part of the cache only */
    CACHE_CDP = 1 << 9,           /* code and data have shares of their own */
    CACHE_CPU_GROUPS = 1 << 10,   /* the share may depend on the CPU */
    CACHE_MBA = 1 << 11,          /* the bandwidth may be throttled */
    CACHE_MBM_FILTERED = 1 << 12, /* the host's administrator chose what MBM counts */
    CACHE_MBM_GAP = 1 << 13,      /* a reading of MBM was missing, or it ran backwards */
    CACHE_VFIO = 1 << 14,         /* devices write to guest RAM by DMA */
    CACHE_NESTED = 1 << 15,       /* the host is a virtual machine itself */
    CACHE_SPREAD = 1 << 16,       /* the guest used several caches */
    CACHE_HOST_MODE = 1 << 17,    /* the vCPU threads ran much of QEMU's and KVM's code */
};
#define CACHE_FLAGS 18

/** "vcpus-changed", ...; @p number: of the bit. */
const char *cache_flag_name(unsigned number);

/** One last-level cache; bytes. */
struct cache_use {
    unsigned id;                      /* as sysfs and resctrl have it */
    uint64_t bytes;                   /* of the whole cache */
    uint64_t usable_bytes;            /* what the guest's control group may fill */
    uint64_t leftover_bytes;          /* occupied when the group was new */
    uint64_t occupied_bytes;          /* at the last reading, with leftover_bytes */
    uint64_t loaded_bytes;            /* to and from memory within the window (MBM, total) */
    uint64_t local_bytes;             /* of that, by the memory of the same NUMA node */
    uint64_t loaded_while_full_bytes; /* of that, since when it held nine tenths at each reading */
};

enum counted_level {
    COUNTED_UNKNOWN,
    COUNTED_L2,  /* AMD's generic events (arch/x86/events/amd/core.c) */
    COUNTED_LLC, /* Intel's */
};

/** Sums over the vCPUs, in guest mode only. */
struct cache_counts {
    bool known;
    enum counted_level level;
    uint64_t references, misses, instructions, cycles; /* as counted: not scaled */
    double counted_share; /* the least of any vCPU: for how much of its time it was counted */
};

/** What was counted within a window. */
struct cache_seen {
    double window_s, est_window_s;
    size_t n_vcpus, n_ran; /* n_ran: of those, which ran within the window */
    double ran_s;          /* CPU time of the vCPU threads */
    double guest_share;    /* of that, in guest mode; NAN: unknown */
    uint64_t migrations;   /* of vCPU threads between CPUs */
    struct cache_counts counts;
    bool monitored; /* by resctrl */
    size_t n_caches;
    struct cache_use caches[CACHES_MAX];
    unsigned flags; /* enum cache_flag */
};

enum cache_answer {
    CACHE_ANSWER_UNKNOWN,
    CACHE_ANSWER_FITS,
    CACHE_ANSWER_LARGER,
};

/** "unknown", "fits", "larger". */
const char *cache_answer_name(enum cache_answer answer);

struct cache_verdict {
    enum cache_answer answer;
    const char *reason; /* static; of an answer that is known: what it follows from */
};

/** Does the guest hold nine tenths or more of what it may use? Unknown: no. */
bool cache_is_full(const struct cache_use *use);

/** Has the guest used it within the window? */
bool cache_is_used(const struct cache_use *use);

/** Sets the flags that follow from the other members. */
void cache_add_flags(struct cache_seen *seen);

/** @p seen: after cache_add_flags(). */
struct cache_verdict cache_decide(const struct cache_seen *seen);
