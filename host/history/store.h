// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file store.h  The history: the past working sets of all guests, in an SQLite database.
 *
 * One process writes (vmwssd, from one thread at a time), and any number of processes read at the
 * same time; see history.h. The database is in WAL mode (https://www.sqlite.org/wal.html) with
 * synchronous=NORMAL: a record that store_add() has accepted is in the page cache, so kill -9 of
 * the writer does not lose it. A power failure, or a crash of the host's kernel, leaves the
 * database intact but may lose the records added since the last store_maintain(), which writes them
 * to the disk. An fsync for every record would cost more than the record is worth after the host
 * went down with all of its guests.
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
    const struct ages_record *record; /* of a guest with a UUID; sample.fine is not stored */
    /* The time that the record covers: since the guest's previous record, limited by its longest
     * window and by the planned period (sample_period_s()); for a first record, the planned period.
     * Above 0, up to STORE_PERIOD_MAX_S: statistics over time are weighted by it. */
    double period_s;
    /* half-width of the 95 % interval that the budget allows, as a fraction of resident memory; 0:
     * a census, or not known */
    double precision;
    /* last report of the guest's agent from agent_last_report_text(); NULL: no new report. Only the
     * last one is stored */
    const char *last_report;
};

/**
 * Opens the database for writing; creates it, with mode 0640 minus the umask, if it does not exist.
 * The directory must exist. Every page is checked (PRAGMA quick_check: as long as reading the file
 * takes). A damaged database is renamed to PATH.damaged-TIME, with its WAL, and a new one is
 * created; store_notice() then says so. Any other file is refused, not renamed; but a file named
 * *.db that is not an SQLite database counts as damaged, because ours looks like that after the
 * loss of its first page.
 * @return
 * 0; -EINVAL a database that is not ours, or of another version; -EBUSY; -EROFS; -ENOSPC; -ENOENT;
 * -EACCES; -EIO
 */
int store_open(const char *path, struct store **store, struct error *error);

/** Opens the database without that check; the caller must call store_check() later. */
int store_open_unchecked(const char *path, struct store **store, struct error *error);

/** Returns true if the database was in use when its last writer ended, because the writer was
 * killed or the host went down: then check it at once. The result is as of the opening.
 */
bool store_was_left_open(const struct store *store);

/**
 * Checks every page (PRAGMA quick_check), also of a history open for reading; takes as long as
 * reading the file.
 * @param ends NULL, or a function called every few milliseconds; if it returns nonzero, the check
 * is aborted
 * @return 0; -EUCLEAN it is damaged: close it, and store_open() will quarantine it; -ECANCELED
 */
int store_check(struct store *store, int (*ends)(void *context), void *context,
                struct error *error);

/** Aborts the store's current operation, such as a check, whose result is then void. Call it from
 * another thread. */
void store_interrupt(struct store *store);

/** Returns the log message for store_open(): "" or one line. Valid until store_close(). */
const char *store_notice(const struct store *store);

/** Returns the length of the WAL while a reader prevents its truncation; 0: no reader does. As of
 * the last large transaction or store_maintain(). */
uint64_t store_wal_held_bytes(const struct store *store);

/** Closes the store; accepts NULL. All added records are stored already, so nothing is lost without
 * this call. */
void store_close(struct store *store);

/**
 * Adds all or none of the records, in one transaction. A few transactions with many records are
 * cheaper than one transaction for each record.
 *
 * @return 0: they are stored. Otherwise none is stored, and the next call may succeed:
 *         -ENOSPC  the disk is full
 *         -EBUSY   another process locked the database for two seconds, or a reader let the WAL
 *                  grow to 256 MiB
 *         -EIO, -EROFS ...
 *         -EUCLEAN the database is damaged: close it, and store_open() will quarantine it
 *         -EINVAL  an entry can never be stored: it has no UUID or no windows, a period or another
 *                  number is not finite, or a working set is outside of its bounds or larger than
 *                  RAM can be
 */
int store_add(struct store *store, const struct store_entry *entries, size_t n,
              struct error *error);

/** Retention times, in seconds. */
struct store_retention {
    double raw_s;       /* for records */
    double minute_s;    /* for minutes */
    double hour_s;      /* for hours */
    uint64_t max_bytes; /* limit of the file's size; 0: no limit */
};

#define STORE_MAX_BYTES_MIN (16ULL << 20)

/** A day, 31 days, 731 days; 10 GiB. */
extern const struct store_retention store_retention_default;

/** Returns -EINVAL if reports would lack data that they need: at least 100 minutes of records and
 * 100 hours of minutes are required, and no level may be kept for a shorter time than a finer one;
 * or if the size limit is below 16 MiB. */
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
 * nor for an hour after the clock was set by more than a minute, so that a wrong clock does not
 * delete the history.
 * @return 0, or as store_add(); the next call continues unfinished work.
 */
int store_maintain(struct store *store, const struct store_retention *retention,
                   const struct store_clock *clock, struct error *error);
