// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file status.h  A host at one moment: vmwssd, the host's memory, and each guest that runs, with
 * its last record or the reason why there is none. For people (status.c) and as JSON
 * (status_json.c).
 */
#pragma once

#include "base/meminfo.h"
#include "history/history.h"

#include <sys/types.h>

#define STATUS_UNKNOWN UINT64_MAX

/** The vmwssd that writes the history. */
struct status_daemon {
    pid_t pid;         /* 0: no vmwssd runs that this process could see */
    bool writes;       /* it has this history open; false: that of another file, or none */
    pid_t scanner_pid; /* its privileged half; 0: not seen */
    double age_s;      /* since it was started */
    double cpu_s;      /* CPU time of both halves so far; < 0: not known */
    double budget;     /* of one core, as it is configured now; 0: not known */
    char config[256];  /* where that was read; "": the defaults and its command line */
};

struct status_guest {
    char name[256];
    char uuid[37]; /* "": not known */
    pid_t pid;     /* of its QEMU process, if that was seen; 0: it was not */
    bool has_record;
    bool measured;           /* its record is of late, and has windows */
    bool suspended;          /* its vCPUs stand still, so there are no records */
    char reason[256];        /* why it is not measured */
    uint64_t assigned_bytes; /* RAM; STATUS_UNKNOWN */
    uint64_t balloon_bytes;  /* what its balloon leaves it; STATUS_UNKNOWN */
    double age_s;            /* of the record */
    struct kept_sample kept; /* with has_record */
};

struct status {
    double now_s; /* Unix time */
    char host[256];
    struct host_memory memory;
    struct status_daemon daemon;
    char database[512];
    char no_history[640]; /* why it could not be read; "": it was */
    double newest_s;      /* of the newest record of all, Unix time; 0: there is none */
    bool sees_processes;  /* QEMU processes that have no record are among the guests */
    size_t n;             /* by name */
    struct status_guest *guests;
};

void status_free(struct status *status);

/** vmwssd runs and writes this history, and every guest that is not suspended is measured. */
bool status_is_well(const struct status *status);

/** What the columns that -o can choose are called, with commas. */
char *status_column_names(char *text, size_t size);

/** @p list: names of columns with commas. 0, or -EINVAL: it has a name that no column has, or
 * none. */
int status_columns_check(const char *list);

/**
 * Prints it for people: some lines of the host, the table of guests, a line for each that is not
 * measured. Colours on a terminal only, and not with NO_COLOR.
 * @param list  columns, as checked; NULL: those that fit into the width of the terminal, or of
 *              $COLUMNS, and all that have something where there is neither
 * @return 0 or -ENOMEM
 */
int status_print(const struct status *status, const char *list);

/** One object, schema vmwss.status.v1. 0 or -ENOMEM. */
int status_json_print(const struct status *status);
