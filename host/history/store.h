// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file store.h  The history: what every guest's working set was, in an SQLite database.
 *
 * One process writes (vmwssd, from one thread at a time), any number read meanwhile; see history.h.
 * The database is in WAL mode (https://www.sqlite.org/wal.html) with synchronous=NORMAL: a record
 * that store_add() has accepted is in the operating system's hands, and no kill -9 of the writer
 * loses it. A power failure, or a crash of the host's kernel, may lose what was added since the
 * last store_maintain(), which has it written to the disk, and leaves the database whole: an fsync
 * for every record would cost more than the record is worth after a host went down with all of its
 * guests.
 *
 * Errors: a negative errno, and a message that names the file and, where there is one, the remedy.
 */
#pragma once

#include "base/error.h"
#include "measure/record/ages_record.h"

#include <stdbool.h>

struct store; /* opaque */

/** Where the history is kept by default. */
#define STORE_DEFAULT_PATH "/var/lib/vmwss/history.db"

/** A year. */
#define STORE_PERIOD_MAX_S 31557600.0

/** One record to keep, and what the record itself does not know. */
struct store_entry {
    const struct ages_record *record; /* of a guest with a UUID; sample.fine is not kept */
    /* The time that it stands for: since the guest's last record, as far as its longest window or
     * the planned period reaches (sample_period_s()); of a first one, that period. Above 0, up to
     * STORE_PERIOD_MAX_S: statistics over time weigh by it. */
    double period_s;
    double precision; /* the half-width of the 95 % interval that was affordable, as a fraction of
                         what is resident; 0: a census, or not known */
    const char *last_report; /* the last report of the guest's agent, as of
                                agent_last_report_text(): kept is the last; NULL: nothing new */
};

/**
 * Opens the database for writing; makes it, with mode 0640 less the umask, if it is not there. The
 * directory must exist. Every page is checked (PRAGMA quick_check: as long as reading the file
 * takes). A damaged database is renamed to
 * PATH.damaged-TIME, with its WAL, and a new one begun: store_notice() says so. A file that is
 * something else is refused, not renamed: unless its name ends in ".db" and it is no SQLite
 * database at all, as ours is after its first page was lost.
 * @return 0; -EINVAL a database that is not ours, or of another version; -EBUSY; -EROFS; -ENOSPC;
 * -ENOENT; -EACCES; -EIO
 */
int store_open(const char *path, struct store **store, struct error *error);

/** store_open() without the check, which store_check() is to make up for. */
int store_open_unchecked(const char *path, struct store **store, struct error *error);

/** Was the database in use when its last writer ended: killed, or the host went down? Then it is to
 * be checked at once. As of when it was opened. */
bool store_was_left_open(const struct store *store);

/**
 * Checks every page (PRAGMA quick_check), also of a history that is open for reading; as long as
 * reading the file takes.
 * @param ends  NULL, or called every few milliseconds: not 0 to give it up
 * @return 0; -EUCLEAN it is damaged: close it, and store_open() will set it aside; -ECANCELED
 */
int store_check(struct store *store, int (*ends)(void *context), void *context,
                struct error *error);

/** From another thread: ends what the store is doing now, as a check, whose verdict is then
 * void. */
void store_interrupt(struct store *store);

/** What store_open() did that the log should say: "" or one line. Valid until store_close(). */
const char *store_notice(const struct store *store);

/** How long the WAL is, if a reader that does not finish keeps it from being cut; 0: none does. As
 * of the last transaction of some size, or of store_maintain(). */
uint64_t store_wal_held_bytes(const struct store *store);

/** NULL is allowed. What was added is all there; nothing more can be lost by not calling it. */
void store_close(struct store *store);

/**
 * Adds records, all of them or none, in one transaction. For many guests a few transactions of many
 * records are cheaper than one for each.
 * @return 0: they are kept. Otherwise none of them is, nothing is half-written, and the next call
 *         may succeed without further ado:
 *         -ENOSPC  the disk is full
 *         -EBUSY   another process held the database for two seconds, or a reader its WAL until
 * that had 256 MiB -EIO, -EROFS ... -EUCLEAN it is damaged: close it, and store_open() will set it
 * aside -EINVAL  an entry that cannot be kept, and never will be: no UUID, no windows, a period or
 * a number that is none, a working set that is not within its bounds, or larger than RAM can be
 */
int store_add(struct store *store, const struct store_entry *entries, size_t n,
              struct error *error);

/** How long what is kept, in seconds. */
struct store_retention {
    double raw_s;       /* records */
    double minute_s;    /* what is left of them, for each minute */
    double hour_s;      /* and for each hour */
    uint64_t max_bytes; /* of the file; 0: as many as that takes */
};

#define STORE_MAX_BYTES_MIN (16ULL << 20)

/** A day, 31 days, 731 days; 10 GiB. */
extern const struct store_retention store_retention_default;

/** -EINVAL where a report or a history would find less than it counts on: at least 100 minutes of
 * records, 100 hours of minutes, and no level shorter than the finer one; or of less than 16
 * MiB. */
int store_retention_check(const struct store_retention *retention, struct error *error);

/** The time of day, and a clock that is never set (CLOCK_BOOTTIME). */
struct store_clock {
    double wall_s, steady_s;
};
struct store_clock store_clock_now(void);

/**
 * Deletes what is older than its retention, a bounded number of rows at a time, and has what was
 * added written to the disk (a checkpoint); of a file that is larger than it may be, the oldest as
 * well. To be called every minute or so, by the thread that writes. Nothing is deleted in the first
 * hour, nor for an hour after the clock was set by more than a minute: a wrong clock must not take
 * the history with it.
 * @return 0, or as store_add(); what was not done is done by the next call.
 */
int store_maintain(struct store *store, const struct store_retention *retention,
                   const struct store_clock *clock, struct error *error);
