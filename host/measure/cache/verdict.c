// SPDX-License-Identifier: LGPL-2.1-or-later
#include "measure/cache/verdict.h"

#include "base/array.h"

/* A guest fits into a cache if it loads at most a twentieth of the cache. */
#define FITS_PART 20
#define FULL_SHARE 0.9
#define LOADED_ANEW 2
#define LINE_BYTES 64
/* If a guest could have loaded the cache at this rate while it ran, it had enough time. The rate is
 * a tenth of that of one thread in which each miss waits for the one before (64 bytes in 100
 * ns). */
#define SLOW_BYTES_S 64e6
/* Below this share of guest mode, the vCPU threads ran too much of QEMU's and KVM's own code. */
#define GUEST_SHARE 0.9
/* The times are scheduler ticks: a slightly smaller value does not mean multiplexing. */
#define COUNTED_SHARE 0.99

const char *cache_flag_name(unsigned number)
{
    static const char *const names[CACHE_FLAGS] = {
        "vcpus-changed", "idle-vcpus", "multiplexed", "counts-l2", "other-code", "foreign-group",
        "group-changed", "leftover",   "limited",     "cdp",       "cpu-groups", "mba",
        "mbm-filtered",  "mbm-gap",    "vfio",        "nested",    "spread",     "host-mode",
    };

    return number < CACHE_FLAGS ? names[number] : NULL;
}

const char *cache_answer_name(enum cache_answer answer)
{
    static const char *const names[] = {"unknown", "fits", "larger"};

    return names[answer];
}

static uint64_t own_bytes(const struct cache_use *use)
{
    if (use->occupied_bytes == CACHE_UNKNOWN || use->leftover_bytes == CACHE_UNKNOWN ||
        use->occupied_bytes < use->leftover_bytes)
        return 0;
    return use->occupied_bytes - use->leftover_bytes;
}

static bool size_known(const struct cache_use *use)
{
    return use->usable_bytes != CACHE_UNKNOWN && use->usable_bytes > 0;
}

bool cache_is_full(const struct cache_use *use)
{
    return size_known(use) && (double)own_bytes(use) >= FULL_SHARE * (double)use->usable_bytes;
}

/* Returns true if the guest has used the cache within the window. */
static bool is_used(const struct cache_use *use)
{
    const uint64_t little = size_known(use) ? use->usable_bytes / FITS_PART : 0;

    return own_bytes(use) > little ||
           (use->loaded_bytes != CACHE_UNKNOWN && use->loaded_bytes > little);
}

static size_t used_caches(const struct cache_seen *seen)
{
    size_t used = 0;

    for (size_t i = 0; i < seen->n_caches; i++)
        used += is_used(&seen->caches[i]);
    return used;
}

static bool has_leftover(const struct cache_seen *seen)
{
    for (size_t i = 0; i < seen->n_caches; i++) {
        const struct cache_use *use = &seen->caches[i];

        if (use->leftover_bytes != CACHE_UNKNOWN && size_known(use) &&
            use->leftover_bytes > use->usable_bytes / FITS_PART)
            return true;
    }
    return false;
}

static bool is_limited(const struct cache_seen *seen)
{
    for (size_t i = 0; i < seen->n_caches; i++)
        if (size_known(&seen->caches[i]) && seen->caches[i].usable_bytes < seen->caches[i].bytes)
            return true;
    return false;
}

static unsigned flag_if(bool set, enum cache_flag flag)
{
    return set ? (unsigned)flag : 0;
}

void cache_add_flags(struct cache_seen *seen)
{
    const struct cache_counts *counts = &seen->counts;

    seen->flags |= flag_if(seen->n_ran < seen->n_vcpus, CACHE_IDLE_VCPUS) |
                   flag_if(counts->known && !(counts->counted_share >= COUNTED_SHARE),
                           CACHE_MULTIPLEXED) |
                   flag_if(counts->known && counts->level != COUNTED_LLC, CACHE_COUNTS_L2) |
                   flag_if(has_leftover(seen), CACHE_LEFTOVER) |
                   flag_if(is_limited(seen), CACHE_LIMITED) |
                   flag_if(used_caches(seen) > 1, CACHE_SPREAD) |
                   flag_if(!(seen->guest_share >= GUEST_SHARE), CACHE_HOST_MODE);
}

/* --- the answer ------------------------------------------------------------------------------- */

static struct cache_verdict unknown(const char *reason)
{
    return (struct cache_verdict){CACHE_ANSWER_UNKNOWN, reason};
}

struct objection {
    unsigned flags;
    const char *reason;
};

/* The first objection that applies, or NULL. */
static const char *object(const struct objection *objections, size_t n, unsigned flags)
{
    for (size_t i = 0; i < n; i++)
        if (flags & objections[i].flags)
            return objections[i].reason;
    return NULL;
}

/* Objections that rule out both answers. */
static const char *object_at_all(unsigned flags)
{
    static const struct objection objections[] = {
        {CACHE_VCPUS_CHANGED, "vCPUs were plugged or unplugged within the window"},
        {CACHE_NESTED,
         "this host is a virtual machine: the size of its cache, and who else uses it, are unknown"},
        {CACHE_GROUP_CHANGED,
         "threads of the monitoring group, or its share of the cache, changed within the window"},
        {CACHE_CDP, "code and data have shares of the cache of their own (CDP)"},
        {CACHE_CPU_GROUPS, "a control group has CPUs of its own, so the guest's share of the cache "
                           "depends on where it runs"},
        {CACHE_MBM_GAP, "the memory bandwidth was not counted all the time"},
    };

    return object(objections, COUNT(objections), flags);
}

static const char *object_to_fits(unsigned flags)
{
    static const struct objection objections[] = {
        {CACHE_MBA, "little was loaded, but its memory bandwidth is throttled (MBA)"},
        {CACHE_MBM_FILTERED, "little was loaded, but not all loads are counted (mbm_total_bytes is "
                             "configured to leave some out)"},
        {CACHE_VFIO,
         "little was loaded, but devices of the host write to guest RAM (VFIO), and may "
         "put the lines into the cache themselves"},
    };

    return object(objections, COUNT(objections), flags);
}

static const char *object_to_larger(unsigned flags)
{
    static const struct objection objections[] = {
        {CACHE_OTHER_CODE,
         "the cache is full, but the monitoring group has other threads than vCPUs, too"},
        {CACHE_FOREIGN_GROUP,
         "the cache is full, but the monitoring group is older than the window: "
         "lines that were loaded long ago are counted, too"},
        {CACHE_VFIO, "the cache is full, but devices of the host write to guest RAM (VFIO), which "
                     "has the guest load the same lines again"},
        {CACHE_HOST_MODE,
         "the cache is full, but the vCPU threads ran much of QEMU's and KVM's own code"},
        {CACHE_SPREAD, "a cache is full, but the guest uses several, between which lines move"},
        {CACHE_MBM_FILTERED, "the cache is full, but the host's administrator chose what "
                             "mbm_total_bytes counts"},
    };

    return object(objections, COUNT(objections), flags);
}

static bool all_known(const struct cache_seen *seen)
{
    for (size_t i = 0; i < seen->n_caches; i++)
        if (!size_known(&seen->caches[i]) || seen->caches[i].loaded_bytes == CACHE_UNKNOWN)
            return false;
    return seen->n_caches > 0;
}

static bool any_larger(const struct cache_seen *seen)
{
    for (size_t i = 0; i < seen->n_caches; i++) {
        const struct cache_use *use = &seen->caches[i];

        if (cache_is_full(use) && use->loaded_while_full_bytes != CACHE_UNKNOWN &&
            use->loaded_while_full_bytes / LOADED_ANEW >= use->usable_bytes)
            return true;
    }
    return false;
}

static bool little_loaded(const struct cache_seen *seen)
{
    for (size_t i = 0; i < seen->n_caches; i++)
        if (seen->caches[i].loaded_bytes > seen->caches[i].usable_bytes / FITS_PART)
            return false;
    return true;
}

static double sum_usable(const struct cache_seen *seen)
{
    double sum = 0;

    for (size_t i = 0; i < seen->n_caches; i++)
        sum += (double)seen->caches[i].usable_bytes;
    return sum;
}

/* Lines that the PMU counted as loaded in guest mode must have been counted by MBM, too. */
static bool is_contradicted(const struct cache_seen *seen)
{
    const struct cache_counts *counts = &seen->counts;

    return counts->known && counts->level == COUNTED_LLC &&
           (double)counts->misses * LINE_BYTES > sum_usable(seen) / FITS_PART;
}

static struct cache_verdict decide_fits(const struct cache_seen *seen)
{
    const char *why = object_to_fits(seen->flags);

    if (why)
        return unknown(why);
    if (is_contradicted(seen))
        return unknown("little was loaded by resctrl's count, but not by the PMU's");
    if (seen->ran_s * SLOW_BYTES_S < sum_usable(seen))
        return unknown(
            "the vCPUs ran for too short a time to load the cache: take a longer window");
    return (struct cache_verdict){
        CACHE_ANSWER_FITS,
        "it loaded a twentieth of the cache or less: all else that it touched was there already"};
}

struct cache_verdict cache_decide(const struct cache_seen *seen)
{
    const char *why = object_at_all(seen->flags);

    if (seen->n_ran == 0)
        return unknown("no vCPU ran within the window");
    if (why)
        return unknown(why);
    if (!seen->monitored)
        return unknown("misses alone do not tell: occupancy and memory bandwidth by resctrl are "
                       "missing");
    if (!all_known(seen))
        return unknown("the size of the cache, or the memory bandwidth, is not known");
    if (little_loaded(seen))
        return decide_fits(seen);
    if (!any_larger(seen))
        return unknown("it loaded more than a twentieth of the cache, but did not fill nine tenths "
                       "of it, or not load it twice since");
    why = object_to_larger(seen->flags);
    return why ? unknown(why)
               : (struct cache_verdict){CACHE_ANSWER_LARGER,
                                        "it held nine tenths of the cache or more, and loaded the "
                                        "whole of it twice or more since"};
}
