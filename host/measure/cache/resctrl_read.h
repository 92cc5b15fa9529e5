// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file resctrl_read.h  The counters of one monitoring group, and the limits of its control
 * group. */
#pragma once

#include "base/fsroot.h"
#include "measure/cache/cpu_caches.h"
#include "measure/cache/resctrl_text.h"

/** CACHE_UNKNOWN: the counter could not be read, or reads "Unavailable" or "Error". */
struct resctrl_cache {
    unsigned id;
    uint64_t occupied; /* llc_occupancy */
    /* mbm_total_bytes, mbm_local_bytes: since boot, or since another moment */
    uint64_t total, local;
};

struct resctrl_reading {
    size_t n;
    struct resctrl_cache caches[CACHES_MAX]; /* by id, ascending */
};

/** Reads mon_data of the group at @p path below the root. 0 or a negative errno; -E2BIG. */
int resctrl_read(const struct fsroot *root, const char *path, struct resctrl_reading *reading);

/** The configuration of a control group. */
struct resctrl_config {
    unsigned flags; /* any of CACHE_CDP, CACHE_CPU_GROUPS, CACHE_MBA, CACHE_MBM_FILTERED */
    bool has_shares;
    struct resctrl_shares shares; /* each domain's share of L3, in bytes */
    char *size, *schemata;        /* as read; NULL: no such file */
};

/** Reads the configuration; free it with resctrl_config_free(). */
void resctrl_config_read(const struct fsroot *root, const char *control,
                         const struct cpu_facts *facts, struct resctrl_config *config);
void resctrl_config_free(struct resctrl_config *config);

/** The part of cache @p id, of @p bytes, that the control group may fill; or CACHE_UNKNOWN. */
uint64_t resctrl_config_share(const struct resctrl_config *config, unsigned id, uint64_t bytes);

/** Returns true if the present configuration differs from @p config. */
bool resctrl_config_changed(const struct fsroot *root, const char *control,
                            const struct resctrl_config *config);
