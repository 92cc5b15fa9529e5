// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file status.h  A host at one moment: vmwssd, the host's memory, and each running guest, with its
 * last record, or the reason why it has no record. Printed for people, or as JSON.
 */
#pragma once

#include "base/meminfo.h"
#include "history/history.h"
#include "show/sheet.h"

#include <sys/types.h>

#define STATUS_UNKNOWN UINT64_MAX

/** The vmwssd that writes the history. */
struct status_daemon {
    pid_t pid;         /* 0: this process can see no running vmwssd */
    bool writes;       /* it has this history open */
    pid_t scanner_pid; /* its privileged half; 0: not seen */
    double age_s;      /* time since it was started */
    double cpu_s;      /* CPU time of both halves so far; < 0: not known */
    double budget;     /* configured share of one core; 0: not known */
    /* file that sets the budget; "": it is set by the command line or by default */
    char config[256];
};

struct status_guest {
    char name[256];
    char uuid[37]; /* "": not known */
    pid_t pid;     /* QEMU's process; 0: not seen */
    bool has_record;
    bool measured;           /* it has a recent record with windows */
    bool suspended;          /* its vCPUs are stopped, so there are no records */
    char reason[256];        /* why it is not measured */
    uint64_t assigned_bytes; /* RAM; STATUS_UNKNOWN */
    uint64_t resident_bytes; /* without a record: of its process, or STATUS_UNKNOWN */
    uint64_t balloon_bytes;  /* RAM minus the balloon; or STATUS_UNKNOWN */
    double age_s;            /* age of the record */
    struct kept_sample kept; /* valid if has_record */
};

struct status {
    double now_s; /* Unix time */
    char host[256];
    struct host_memory memory;
    struct status_daemon daemon;
    char database[512];
    char no_history[640]; /* why the history could not be read; "": no error */
    double newest_s;      /* Unix time of the newest record of any guest; 0: there is no record */
    bool sees_processes;  /* guests without a record, found as QEMU processes, are included */
    size_t n;             /* ordered by name */
    struct status_guest *guests;
};

void status_free(struct status *status);

/** Returns true if vmwssd runs and writes this history, and every guest is measured, except
 * suspended ones. */
bool status_is_well(const struct status *status);

/** Writes the names of the columns for -o, separated by commas. */
char *status_column_names(char *text, size_t size);

/** Checks @p list: names of columns, separated by commas. Returns 0, or -EINVAL: the list is empty,
 * or has an unknown name. */
int status_columns_check(const char *list);

/**
 * Prints lines about the host, the table of guests, and a line for each guest that is not measured;
 * with colours only on a terminal without NO_COLOR. Or prints one JSON object with schema
 * vmwss.status.v1.
 * @param list  a checked list of columns; NULL: the columns that fit into the terminal or $COLUMNS,
 *              or if neither is known, all columns that are not empty
 * @return 0 or -ENOMEM
 */
int status_print(const struct status *status, const char *list, enum show_format format);
