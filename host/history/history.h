// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file history.h  Reading the history, also while it is written, by any user who may read its
 * file.
 *
 * Nothing that stands in the file is trusted: a row that is not what it must be is an error
 * (-EUCLEAN) that names it.
 */
#pragma once

#include "guest/agent/agent_last_report.h"
#include "history/bucket.h"
#include "history/store.h"
#include "measure/record/field.h"

/**
 * Opens the database for reading; store_close() closes it. Sees one state of it, that of its first
 * query, until history_refresh(): what is written meanwhile does not come in between. The WAL
 * cannot be cut while a process reads, so close it, or refresh, before waiting for anything.
 * @return 0; -ENOENT there is no history; -EBUSY it is only being made; -EACCES; -EINVAL it is
 * something else, or of another version; -EUCLEAN damaged
 */
int history_open(const char *path, struct store **store, struct error *error);

/** The same for a process that has the database open already: the file is not looked into
 * beforehand, for close(2) of any descriptor of it drops all locks of the process
 * (fcntl_locking(2)), and other programs then take the WAL for left over. */
int history_open_beside(const char *path, struct store **store, struct error *error);

/** The next query sees what is there by then. */
int history_refresh(struct store *store, struct error *error);

struct history_guest {
    int64_t id;
    char host[256];
    char name[256]; /* the last one */
    char uuid[37];
};

/** All guests, by host and name; the caller frees *guests. Their number, or a negative errno. */
ssize_t history_guests(struct store *store, struct history_guest **guests, struct error *error);

/** The guest of that UUID or name. -ENOENT; -ENOTUNIQ: several have had the name, say the UUID. */
int history_find(struct store *store, const char *name_or_uuid, struct history_guest *guest,
                 struct error *error);

/** Calls @p see with the last record that was added for each guest, by host and name. What it
 * returns, if not 0, ends the walk and is returned; likewise below. Guests of which only buckets
 * are left are not among them; records from the future, of a clock that was set back since, are
 * passed over. */
int history_latest(struct store *store, int (*see)(const struct kept_sample *sample, void *context),
                   void *context, struct error *error);

/** The record that history_latest() would have of one guest, into *kept. 1; 0: there is none. */
int history_latest_of(struct store *store, int64_t guest_id, struct kept_sample *kept,
                      struct error *error);

/** The last report of the guest's agent, for agent_last_report_parse(), and when it was kept, Unix
 * time. 1; 0: nothing. */
int history_last_report(struct store *store, int64_t guest_id, char lines[AGENT_LAST_REPORT_MAX],
                        double *time_s, struct error *error);

/** One window at one time: a record, or what is left of a minute or an hour. */
struct history_point {
    double time_s;   /* of a record, or when the bucket begins; Unix time */
    double period_s; /* what it stands for, in sum */
    uint64_t records;
    double est_window_s;
    uint64_t wss_bytes, wss_low_bytes, wss_high_bytes; /* means */
    uint64_t wss_min_bytes, wss_max_bytes, wss_p95_bytes;
    struct record_summary summary;
    struct guest_stats guest; /* of a bucket: the highest use, the least available, means of shares
                                 and rates, the worst verdict, the lowest consistency score;
                                 GUEST_STATS_NONE: it reported nothing */
};

struct history_query {
    int level_s; /* 0: records; BUCKET_MINUTE; BUCKET_HOUR */
    double from_s, to_s;
    double window_s;
};

/** The level that shows a span in some hundred rows: records up to 100 minutes, minutes up to 100
 * hours, then hours. */
int history_level(double span_s);

/** Calls @p see for one guest in the order of time. Records that have no such window are left
 * out. */
int history_points(struct store *store, const struct history_guest *guest,
                   const struct history_query *query,
                   int (*see)(const struct history_point *point, void *context), void *context,
                   struct error *error);

/** The windows that the guest had (0: that any had) from hour to hour of the span, ascending; their
 * number, which is 0 if nothing is kept of that time. -EUCLEAN: a row that vmwss has not written;
 * -ENOMEM. */
ssize_t history_windows_within(struct store *store, int64_t guest_id, double from_s, double to_s,
                               double window_s[RUN_MAX_WINDOWS], struct error *error);

/** Likewise, of late: of the last day that anything is kept of. */
ssize_t history_windows(struct store *store, int64_t guest_id, double window_s[RUN_MAX_WINDOWS],
                        struct error *error);

/** Calls @p see with the buckets of all guests from the one that @p from_s is in, time by time. The
 * bucket has the one window only, or none, and is the caller's until the next. */
int history_buckets(struct store *store, const struct history_query *query,
                    int (*see)(int64_t guest_id, int64_t start_s, const struct bucket *bucket,
                               void *context),
                    void *context, struct error *error);
