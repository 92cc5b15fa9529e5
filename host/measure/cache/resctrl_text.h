// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file resctrl_text.h  The only parser of resctrl's text (Documentation/filesystems/resctrl.rst).
 * Other programs have chosen the group names in it.
 */
#pragma once

#include "measure/cache/verdict.h"

#include <sys/types.h>

#define RESCTRL_NAME_BYTES 256

/** A counter: 0; -ENODATA "Unavailable", "Unassigned"; -EIO "Error"; -EBADMSG anything else. */
int resctrl_parse_counter(const char *text, uint64_t *value);

/** The groups of a thread: /proc/PID/task/TID/cpu_resctrl_groups. */
struct resctrl_place {
    char control[RESCTRL_NAME_BYTES]; /* "": the root group */
    char monitor[RESCTRL_NAME_BYTES]; /* "": no monitoring group */
};

/** 0; -ENODEV: resctrl is not mounted; -EBADMSG. Names that would lead out of the tree are refused.
 */
int resctrl_parse_place(const char *text, struct resctrl_place *place);

/** The thread ids of a "tasks" file, one a line, into @p tids, as many as fit into @p max.
 * Returns the count; -E2BIG; -EBADMSG. */
ssize_t resctrl_parse_tasks(const char *text, pid_t *tids, size_t max);

/** The values that a line of "size" or "schemata" gives each domain. */
struct resctrl_shares {
    size_t n;
    struct {
        unsigned id;
        uint64_t value;
    } domains[CACHES_MAX];
};

/** Parses the line of @p resource ("L3", "MB"), with decimal numbers. 0; -ENOENT: no such line;
 * -EBADMSG. */
int resctrl_parse_shares(const char *text, const char *resource, struct resctrl_shares *shares);

/** The value of domain @p id; CACHE_UNKNOWN: it has no value. */
uint64_t resctrl_share(const struct resctrl_shares *shares, unsigned id);

/** Returns true if mbm_total_bytes_config ("0=0x7f;1=0x7f") counts reads of all memory, in all
 * domains. */
bool resctrl_counts_all_reads(const char *config);

/** Returns true if an event_filter ("local_reads,remote_reads,...") counts reads of all memory. */
bool resctrl_filter_has_reads(const char *filter);
