// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file history.h Reads the history, also while it is written; any user who can read the file may
 * do so.
 *
 * No content of the file is trusted: an invalid row is an error (-EUCLEAN) that names it.
 */
#pragma once

#include "guest/agent/agent_last_report.h"
#include "history/bucket.h"
#include "history/store.h"
#include "measure/record/field.h"

/**
 * Opens the database for reading; store_close() closes it. All queries see the state at the first
 * query, without later writes, until history_refresh(). The WAL cannot be truncated while a process
 * reads, so close the history, or refresh it, before waiting for anything.
 * @return 0; -ENOENT there is no history; -EBUSY it is being created; -EACCES; -EINVAL it is
 * another kind of file, or of another version; -EUCLEAN damaged
 */
int history_open(const char *path, struct store **store, struct error *error);

/** As history_open(), for a process that already has the database open. It does not examine the
 * file first, because close(2) of any descriptor of the file drops all locks of the process
 * (fcntl_locking(2)), and other programs would then delete the WAL as a leftover. */
int history_open_beside(const char *path, struct store **store, struct error *error);

/** Lets the next query see the present state. */
int history_refresh(struct store *store, struct error *error);

struct history_guest {
    int64_t id;
    char host[256];
    char name[256]; /* its latest name */
    char uuid[37];
};

/** Lists all guests, by host and name; the caller frees *guests. Returns their number, or a
 * negative errno. */
ssize_t history_guests(struct store *store, struct history_guest **guests, struct error *error);

/** Finds the guest with that UUID or name. Returns -ENOENT; -ENOTUNIQ: several guests have had the
 * name, and the UUID is needed. */
int history_find(struct store *store, const char *name_or_uuid, struct history_guest *guest,
                 struct error *error);

/** Calls @p see with the last record that was added for each guest, by host and name. In this and
 * the following functions, if @p see returns nonzero, the walk ends and returns that value. Guests
 * that only have buckets left are skipped, and so are records with a future time, written before
 * the clock was set back. */
int history_latest(struct store *store, int (*see)(const struct kept_sample *sample, void *context),
                   void *context, struct error *error);

/** Reads the record that history_latest() would show for one guest into *kept. Returns 1; 0: there
 * is no record. */
int history_latest_of(struct store *store, int64_t guest_id, struct kept_sample *kept,
                      struct error *error);

/** Reads the last report of the guest's agent, for agent_last_report_parse(), and the Unix time at
 * which it was stored. Returns 1; 0: there is no report. */
int history_last_report(struct store *store, int64_t guest_id, char lines[AGENT_LAST_REPORT_MAX],
                        double *time_s, struct error *error);

/** One window at one time: from a record, or from the bucket of a minute or an hour. */
struct history_point {
    double time_s;   /* time of the record, or start of the bucket; Unix time */
    double period_s; /* the time that it covers, in sum */
    uint64_t records;
    double est_window_s;
    uint64_t wss_bytes, wss_low_bytes, wss_high_bytes; /* means */
    uint64_t wss_min_bytes, wss_max_bytes, wss_p95_bytes;
    struct record_summary summary;
    /* for a bucket: the highest use, the least available memory, means of shares and rates, the
     * worst verdict, the lowest consistency score; GUEST_STATS_NONE: nothing was reported */
    struct guest_stats guest;
};

struct history_query {
    int level_s; /* 0: records; BUCKET_MINUTE; BUCKET_HOUR */
    double from_s, to_s;
    double window_s;
};

/** Returns the level that shows a span in some hundred rows: records up to 100 minutes, minutes up
 * to 100 hours, hours beyond. */
int history_level(double span_s);

/** Calls @p see for one guest in the order of time. Skips records without that window. */
int history_points(struct store *store, const struct history_guest *guest,
                   const struct history_query *query,
                   int (*see)(const struct history_point *point, void *context), void *context,
                   struct error *error);

/** Lists the windows that the guest had (0: that any guest had) in the hours of the span,
 * ascending. Returns their number; 0 if there are no records in the span; -EUCLEAN: a row that
 * vmwss has not written; -ENOMEM. */
ssize_t history_windows_within(struct store *store, int64_t guest_id, double from_s, double to_s,
                               double window_s[RUN_MAX_WINDOWS], struct error *error);

/** Lists the windows in the same way for the last day that has records. */
ssize_t history_windows(struct store *store, int64_t guest_id, double window_s[RUN_MAX_WINDOWS],
                        struct error *error);

#define HISTORY_WINDOWS_TEXT 512

/** Lists those of all guests for a message, as in "10, 60"; "" if there are none. Returns their
 * number, or as history_windows(). */
ssize_t history_windows_text(struct store *store, char text[HISTORY_WINDOWS_TEXT],
                             struct error *error);

/** Calls @p see with the buckets of all guests, beginning with the one that contains @p from_s,
 * ordered by time. The bucket contains at most that window, and is valid until the next call of @p
 * see. */
int history_buckets(struct store *store, const struct history_query *query,
                    int (*see)(int64_t guest_id, int64_t start_s, const struct bucket *bucket,
                               void *context),
                    void *context, struct error *error);
