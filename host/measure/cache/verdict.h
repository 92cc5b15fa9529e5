// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file verdict.h  Decides whether a guest touches more than the cache holds. Pure functions over
 * counts.
 *
 * Theory of operation. An answer is given only if it follows from the counts.
 *
 * "fits": everything that the vCPUs touched within the window was in the cache when the window
 * began, or was loaded from memory meanwhile. Loads are counted per resctrl group by the CPU (MBM,
 * Documentation/filesystems/resctrl.rst), prefetches included. If a twentieth of the cache or less
 * was loaded, all the rest was in the cache at one moment: it fits. Occupancy cannot show this:
 * lines keep the mark of the group that loaded them, so a new group shows little of a guest that
 * fits. A PMU's count of misses cannot show it either, because it leaves out some prefetches (Intel
 * SDM, LONGEST_LAT_CACHE.MISS). Data that devices write straight into the cache (DDIO) does not
 * count as loaded.
 *
 * "larger": at each reading over some time the guest held nine tenths or more of its usable part of
 * the cache, and in that time it loaded at least twice that (twice, because MBM may count lines
 * that are written back). So it touches nine tenths or more, and still misses. This is valid for a
 * group that began with the window: in an older group, lines that are no longer touched count, too.
 *
 * Every other case is "unknown", with the first reason that applies.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** The largest number of L3 caches in one host. */
#define CACHES_MAX 128

/** A number that is not known. */
#define CACHE_UNKNOWN UINT64_MAX

/** Facts that make the numbers less certain. */
enum cache_flag {
    CACHE_VCPUS_CHANGED = 1 << 0, /* vCPUs were plugged or unplugged within the window */
    CACHE_IDLE_VCPUS = 1 << 1,    /* some vCPU did not run within the window */
    CACHE_MULTIPLEXED = 1 << 2,   /* the counters counted for a part of the time only */
    /* references and misses are those of L2, or of an unknown level */
    CACHE_COUNTS_L2 = 1 << 3,
    CACHE_OTHER_CODE = 1 << 4,    /* the monitoring group has threads other than vCPUs */
    CACHE_FOREIGN_GROUP = 1 << 5, /* the monitoring group was made by another program */
    CACHE_GROUP_CHANGED = 1 << 6, /* its threads, or its share of the cache, changed meanwhile */
    /* lines of a former owner of the RMID were present at the start */
    CACHE_LEFTOVER = 1 << 7,
    CACHE_LIMITED = 1 << 8,       /* limited by CAT to a part of the cache */
    CACHE_CDP = 1 << 9,           /* code and data have separate shares */
    CACHE_CPU_GROUPS = 1 << 10,   /* the share may depend on the CPU */
    CACHE_MBA = 1 << 11,          /* the bandwidth may be throttled */
    CACHE_MBM_FILTERED = 1 << 12, /* the host's administrator chose what MBM counts */
    CACHE_MBM_GAP = 1 << 13,      /* a reading of MBM was missing, or it ran backwards */
    CACHE_VFIO = 1 << 14,         /* devices write to guest RAM by DMA */
    CACHE_NESTED = 1 << 15,       /* the host itself is a virtual machine */
    CACHE_SPREAD = 1 << 16,       /* the guest used several caches */
    CACHE_HOST_MODE = 1 << 17,    /* the vCPU threads ran much code of QEMU and KVM */
};
#define CACHE_FLAGS 18

/** "vcpus-changed", ...; @p number: the bit's number. */
const char *cache_flag_name(unsigned number);

/** One last-level cache; bytes. */
struct cache_use {
    unsigned id;             /* as in sysfs and resctrl */
    uint64_t bytes;          /* size of the whole cache */
    uint64_t usable_bytes;   /* the part that the guest's control group may fill */
    uint64_t leftover_bytes; /* occupied when the group was new */
    uint64_t occupied_bytes; /* at the last reading, including leftover_bytes */
    uint64_t loaded_bytes;   /* to and from memory within the window (MBM, total) */
    /* the part of loaded_bytes from memory of the same NUMA node */
    uint64_t local_bytes;
    /* the part of loaded_bytes since it held nine tenths at each reading */
    uint64_t loaded_while_full_bytes;
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
    uint64_t references, misses, instructions, cycles; /* as counted, not scaled */
    /* the smallest of all vCPUs: the share of its time in which it was counted */
    double counted_share;
};

/** The counts within a window. */
struct cache_seen {
    double window_s, est_window_s;
    size_t n_vcpus, n_ran; /* n_ran: the vCPUs that ran within the window */
    double ran_s;          /* CPU time of the vCPU threads */
    double guest_share;    /* the part of ran_s in guest mode; NAN: unknown */
    uint64_t migrations;   /* moves of vCPU threads between CPUs */
    struct cache_counts counts;
    bool monitored; /* monitored by resctrl */
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
    const char *reason; /* static; the grounds of a known answer */
};

/** Returns true if the guest holds nine tenths or more of its usable part. False if unknown. */
bool cache_is_full(const struct cache_use *use);

/** Returns true if the guest has used it within the window. */
bool cache_is_used(const struct cache_use *use);

/** Sets the flags that follow from the other members. */
void cache_add_flags(struct cache_seen *seen);

/** @p seen: after cache_add_flags(). */
struct cache_verdict cache_decide(const struct cache_seen *seen);
