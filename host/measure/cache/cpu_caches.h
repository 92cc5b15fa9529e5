// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file cpu_caches.h  The last-level caches of this host, and which events its CPU can count.
 *
 * Sizes and cache ids are those of sysfs (Documentation/ABI/testing/sysfs-devices-system-cpu,
 * /sys/devices/system/cpu/cpuX/cache/indexY); resctrl uses the same ids.
 */
#pragma once

#include "base/error.h"
#include "base/fsroot.h"
#include "measure/cache/verdict.h"

struct cpu_cache {
    unsigned id;
    uint64_t bytes;
};

struct cpu_caches {
    unsigned level; /* usually 3, otherwise 2 */
    size_t n;
    struct cpu_cache caches[CACHES_MAX];
};

/** Reads the caches of the highest level. 0; -ENOENT with the reason: sysfs has no cache. */
int cpu_caches_read(const struct fsroot *root, struct cpu_caches *out, struct error *error);

/** Size of cache @p id; CACHE_UNKNOWN: no such cache. */
uint64_t cpu_caches_bytes(const struct cpu_caches *caches, unsigned id);

/** Facts from /proc/cpuinfo, for the first CPU. */
struct cpu_facts {
    enum counted_level level; /* cache level of perf's generic cache references and misses */
    bool intel, amd;
    bool nested;    /* "hypervisor": this host is a virtual machine */
    bool occupancy; /* "cqm_occup_llc" */
    bool bandwidth; /* "cqm_mbm_total" */
};

/** Reads the facts; all are false if the file cannot be read. */
void cpu_facts_read(const struct fsroot *root, struct cpu_facts *out);
