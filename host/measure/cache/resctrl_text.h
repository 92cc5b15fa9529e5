// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file resctrl_text.h  The only parser of resctrl's text (Documentation/filesystems/resctrl.rst).
 * Group names in it are chosen by other programs.
 */
#pragma once

#include "measure/cache/verdict.h"

#include <sys/types.h>

#define RESCTRL_NAME_BYTES 256

/** Parses a counter. 0; -ENODATA for "Unavailable" or "Unassigned"; -EIO for "Error"; -EBADMSG
 * otherwise. */
int resctrl_parse_counter(const char *text, uint64_t *value);

/** The groups of a thread: /proc/PID/task/TID/cpu_resctrl_groups. */
struct resctrl_place {
    char control[RESCTRL_NAME_BYTES]; /* "": the root group */
    char monitor[RESCTRL_NAME_BYTES]; /* "": no monitoring group */
};

/** Parses it. 0; -ENODEV: resctrl is not mounted; -EBADMSG. Names that lead out of the tree are
 * refused.
 */
int resctrl_parse_place(const char *text, struct resctrl_place *place);

/** Parses a "tasks" file, one thread id a line, into at most @p max @p tids. Returns the count;
 * -E2BIG; -EBADMSG. */
ssize_t resctrl_parse_tasks(const char *text, pid_t *tids, size_t max);

/** The value of each domain in a line of "size" or "schemata". */
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

/** The value of domain @p id; CACHE_UNKNOWN if it has no value. */
uint64_t resctrl_share(const struct resctrl_shares *shares, unsigned id);

/** Returns true if mbm_total_bytes_config ("0=0x7f;1=0x7f") counts reads of all memory, in all
 * domains. */
bool resctrl_counts_all_reads(const char *config);

/** Returns true if @p filter, an event_filter ("local_reads,remote_reads,..."), counts reads of all
 * memory. */
bool resctrl_filter_has_reads(const char *filter);
