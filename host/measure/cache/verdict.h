// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file verdict.h  Decides whether a guest touches more than the cache holds. Pure functions over
 * counts.
 *
 * Theory of operation. An answer is given only if it follows from the counts.
 *
 * "fits": everything that the vCPUs touched within the window was in the cache when the window
 * began, or was loaded from memory meanwhile. Loads are counted per resctrl group by the CPU (MBM,
 * Documentation/filesystems/resctrl.rst), prefetches included. If at most a twentieth of the cache
 * was loaded, everything else was in the cache at one moment, so it fits. Occupancy cannot show
 * this: a line belongs to the group that loaded it, so a new group occupies little if its guest
 * fits. A PMU's count of misses cannot show it either, because it excludes some prefetches (Intel
 * SDM, LONGEST_LAT_CACHE.MISS). Data that devices write straight into the cache (DDIO) does not
 * count as loaded.
 *
 * "larger": over some time each reading showed at least nine tenths of the usable cache occupied by
 * the guest, and in that time it loaded at least twice as much (twice, because MBM may count lines
 * that are written back). So it touches at least nine tenths and still misses. This holds only for
 * a group created with the window: an older group also occupies lines that are no longer touched.
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
    CACHE_MULTIPLEXED = 1 << 2,   /* the counters ran only for a part of the time */
    /* references and misses are those of L2, or of an unknown level */
    CACHE_COUNTS_L2 = 1 << 3,
    CACHE_OTHER_CODE = 1 << 4,    /* the monitoring group has threads other than vCPUs */
    CACHE_FOREIGN_GROUP = 1 << 5, /* the monitoring group was made by another program */
    /* the group's threads, or its share of the cache, changed during the window */
    CACHE_GROUP_CHANGED = 1 << 6,
    /* lines of the RMID's previous owner were present at the start */
    CACHE_LEFTOVER = 1 << 7,
    CACHE_LIMITED = 1 << 8,       /* limited by CAT to a part of the cache */
    CACHE_CDP = 1 << 9,           /* code and data have separate shares */
    CACHE_CPU_GROUPS = 1 << 10,   /* the share may depend on the CPU */
    CACHE_MBA = 1 << 11,          /* the bandwidth may be throttled */
    CACHE_MBM_FILTERED = 1 << 12, /* the host's administrator chose which events MBM counts */
    CACHE_MBM_GAP = 1 << 13,      /* a reading of MBM was missing or below the one before */
    CACHE_VFIO = 1 << 14,         /* devices write to guest RAM by DMA */
    CACHE_NESTED = 1 << 15,       /* the host itself is a virtual machine */
    CACHE_SPREAD = 1 << 16,       /* the guest used several caches */
    CACHE_HOST_MODE = 1 << 17,    /* the vCPU threads ran much code of QEMU and KVM */
};
#define CACHE_FLAGS 18

/** "vcpus-changed", ... for the bit @p number. */
const char *cache_flag_name(unsigned number);

/** One last-level cache; bytes. */
struct cache_use {
    unsigned id;             /* as in sysfs and resctrl */
    uint64_t bytes;          /* size of the whole cache */
    uint64_t usable_bytes;   /* the part that the guest's control group may fill */
    uint64_t leftover_bytes; /* occupied when the group was created */
    uint64_t occupied_bytes; /* at the last reading, including leftover_bytes */
    uint64_t loaded_bytes;   /* to and from memory within the window (MBM, total) */
    /* the part of loaded_bytes from memory of the same NUMA node */
    uint64_t local_bytes;
    /* the part of loaded_bytes since the guest began to hold nine tenths at each reading */
    uint64_t loaded_while_full_bytes;
};

enum counted_level {
    COUNTED_UNKNOWN,
    COUNTED_L2,  /* AMD's generic events count L2 (arch/x86/events/amd/core.c) */
    COUNTED_LLC, /* Intel's */
};

/** Sums over the vCPUs, in guest mode only. */
struct cache_counts {
    bool known;
    enum counted_level level;
    uint64_t references, misses, instructions, cycles; /* as counted, not scaled */
    /* smallest share of any vCPU's time in which its events were counted */
    double counted_share;
};

/** The counts within a window. */
struct cache_seen {
    double window_s, est_window_s;
    size_t n_vcpus, n_ran; /* n_ran: how many vCPUs ran within the window */
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
    const char *reason; /* the grounds of the answer, a static string */
};

/** Returns true if the guest is known to hold nine tenths or more of its usable part. */
bool cache_is_full(const struct cache_use *use);

/** Sets the flags that follow from the other members. */
void cache_add_flags(struct cache_seen *seen);

/** Decides; call cache_add_flags(@p seen) first. */
struct cache_verdict cache_decide(const struct cache_seen *seen);
