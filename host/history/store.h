// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file store.h  The history: the past working sets of all guests, in an SQLite database.
 *
 * One process writes (vmwssd, from one thread at a time), any number read meanwhile; see history.h.
 * The database is in WAL mode (https://www.sqlite.org/wal.html) with synchronous=NORMAL: a record
 * that store_add() has accepted is in the operating system's hands, and no kill -9 of the writer
 * loses it. A power failure, or a crash of the host's kernel, may lose the records added since the
 * last store_maintain(), which writes them to the disk, but leaves the database intact: an fsync
 * for every record would cost more than the record is worth after a host went down with all of its
 * guests.
 *
 * Errors: a negative errno, and a message that names the file and, if there is one, the remedy.
 */
#pragma once

#include "base/error.h"
#include "measure/record/ages_record.h"

#include <stdbool.h>

struct store; /* opaque */

/** The default path of the history. */
#define STORE_DEFAULT_PATH "/var/lib/vmwss/history.db"

/** A year. */
#define STORE_PERIOD_MAX_S 31557600.0

/** One record to store, and the facts that are not part of the record. */
struct store_entry {
    const struct ages_record *record; /* from a guest with a UUID; sample.fine is not stored */
    /* The time that it stands for: since the guest's last record, as far as its longest window or
     * the planned period reaches (sample_period_s()); for a first record, the planned period. Above
     * 0, up to STORE_PERIOD_MAX_S: statistics over time are weighted by it. */
    double period_s;
    /* affordable half-width of the 95 % interval, as a fraction of resident memory; 0: a census, or
     * not known */
    double precision;
    /* last report of the guest's agent, as agent_last_report_text() makes it; only the last one is
     * stored; NULL: no new report */
    const char *last_report;
};

/**
 * Opens the database for writing; makes it, with mode 0640 less the umask, if it is not there. The
 * directory must exist. Every page is checked (PRAGMA quick_check: as long as reading the file
 * takes). A damaged database is renamed to PATH.damaged-TIME, with its WAL, and a new one is begun:
 * store_notice() tells. Any other file is refused, not renamed, unless its name ends in ".db" and
 * it is not an SQLite database, which is how ours looks after the loss of its first page.
 * @return
 * 0; -EINVAL a database that is not ours, or of another version; -EBUSY; -EROFS; -ENOSPC; -ENOENT;
 * -EACCES; -EIO
 */
int store_open(const char *path, struct store **store, struct error *error);

/** Opens the database without the check; the caller makes up for it with store_check(). */
int store_open_unchecked(const char *path, struct store **store, struct error *error);

/** Returns true if the database was in use when its last writer ended, because the writer was
 * killed or the host went down: then check it at once. Describes the time at which it was opened.
 */
bool store_was_left_open(const struct store *store);

/**
 * Checks every page (PRAGMA quick_check), also in a history that is open for reading; takes as long
 * as reading the file.
 * @param ends NULL, or called every few milliseconds: a nonzero result aborts
 * the check
 * @return 0; -EUCLEAN it is damaged: close it, and store_open() will set it aside;
 * -ECANCELED
 */
int store_check(struct store *store, int (*ends)(void *context), void *context,
                struct error *error);

/** Call from another thread: aborts the store's current operation, such as a check, whose result is
 * then void. */
void store_interrupt(struct store *store);

/** Returns what the log should say about store_open(): "" or one line. Valid until store_close().
 */
const char *store_notice(const struct store *store);

/** Returns the length of the WAL if an unfinished reader keeps it from being truncated; 0: there is
 * no such reader. As of the last transaction of some size, or of store_maintain(). */
uint64_t store_wal_held_bytes(const struct store *store);

/** Accepts NULL. All records that were added are stored; nothing is lost if this is not called. */
void store_close(struct store *store);

/**
 * Adds records, all of them or none, in one transaction. For many guests a few transactions of many
 * records are cheaper than one for each.
 *
 * @return 0: they are stored. Otherwise none of them is, nothing is half-written, and the next call
 *         may succeed as it is:
 *         -ENOSPC  the disk is full
 *         -EBUSY   another process held the database for two seconds, or a reader held the WAL
 *                  until it had 256 MiB
 *         -EIO, -EROFS ...
 *         -EUCLEAN the database is damaged: close it, and store_open() will set it aside
 *         -EINVAL  an entry can never be stored: it has no UUID or no windows, a period or another
 *                  number is not finite, or a working set is outside of its bounds or larger than
 *                  RAM can be
 */
int store_add(struct store *store, const struct store_entry *entries, size_t n,
              struct error *error);

/** Retention times, in seconds. */
struct store_retention {
    double raw_s;       /* for records */
    double minute_s;    /* for their minutes */
    double hour_s;      /* and for their hours */
    uint64_t max_bytes; /* limit of the file's size; 0: no limit */
};

#define STORE_MAX_BYTES_MIN (16ULL << 20)

/** A day, 31 days, 731 days; 10 GiB. */
extern const struct store_retention store_retention_default;

/** Returns -EINVAL if a report or a history would find less than it relies on: at least 100 minutes
 * of records, 100 hours of minutes, and no level shorter than the finer one; or if the size limit
 * is below 16 MiB. */
int store_retention_check(const struct store_retention *retention, struct error *error);

/** The time of day, and a clock that is never set (CLOCK_BOOTTIME). */
struct store_clock {
    double wall_s, steady_s;
};
struct store_clock store_clock_now(void);

/**
 * Deletes what is older than its retention, a bounded number of rows at a time, and writes added
 * records to the disk (a checkpoint); if the file exceeds its limit, it also deletes the oldest
 * rows. Call it every minute or so from the writing thread. Nothing is deleted in the first hour,
 * nor for an hour after the clock was set by more than a minute: a wrong clock must not take the
 * history with it.
 * @return 0, or as store_add(); the next call continues unfinished work.
 */
int store_maintain(struct store *store, const struct store_retention *retention,
                   const struct store_clock *clock, struct error *error);
