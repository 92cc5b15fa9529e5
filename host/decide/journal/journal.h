// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file journal.h  The decisions of vmwss-balloond, with their inputs and results; and which
 * balloons are to be restored.
 *
 * An SQLite file with one writer. A balloon that is not in the journal is not changed: its original
 * size is written before its first target is set, so that after kill -9 the next start adopts and
 * restores it, and while the disk is full no further guest is touched. The size from before the
 * last controller ended stays in the journal too, as being restored: the balloon may still be
 * moving. programs/balloond/recording.h chooses which decisions are added.
 */
#pragma once

#include "base/error.h"
#include "decide/control/control.h"
#include "measure/record/field.h"

#define JOURNAL_DEFAULT_PATH "/var/lib/vmwss-balloond/journal.db"
#define JOURNAL_KEEP_S (31 * 86400.0)

struct journal; /* opaque */

/** Opens it as database_connect() does, and makes it if it does not exist. Returns 0, or negative
 * with the message. */
int journal_open(const char *path, struct journal **out, struct error *error);
/** Opens it for reading only. Returns -ENOENT if it does not exist. */
int journal_open_read(const char *path, struct journal **out, struct error *error);
void journal_close(struct journal *journal);

#define JOURNAL_BOOT_ID 40

/** A balloon that we have set, or about which something was learned. */
struct journal_balloon {
    char uuid[37];
    char name[256];
    char boot_id[JOURNAL_BOOT_ID]; /* boot ID of the host; "": not known */
    uint64_t domain_id;            /* libvirt's ID: a new ID is a new run */
    uint64_t before_bytes;         /* 0: there is nothing to restore */
    uint64_t set_bytes;
    uint64_t
        part_bytes[N_ACTUATORS]; /* parts of before_bytes that other actuators had; 0: nothing */
    uint64_t assigned_bytes;     /* M at that time; 0: not known */
    uint64_t panic_bytes;        /* size at the last panic; 0: none */
    double panic_s;              /* Unix time */
    /* the same by a clock that is never set, of this boot; 0: not known */
    double panic_clock_s;
    uint64_t trouble; /* enum balloon_trouble */
    /* Unix time at which set_bytes was set as the final size; 0: we still control it */
    double restored_s;
    /* seconds between the statistics for which its driver is asked by us, and by no program before;
     * 0: we do not ask */
    uint64_t asked_s;
};

/** A balloon that has not reached its size this long after it was restored now belongs to another
 * program. */
#define JOURNAL_RESTORE_S 3600

/** Reads the ID of this boot of the host; "" if /proc does not have it. */
void journal_boot_id(char boot_id[JOURNAL_BOOT_ID]);

/** A running guest. */
struct journal_run {
    const char *boot_id; /* boot ID of the host */
    int domain_id;
    bool saved; /* it has been saved and restored: the run goes on under another ID */
    uint64_t current_bytes;
};

/** Returns true if the row was written in the boot of that ID, which is known. */
bool journal_balloon_is_of_boot(const struct journal_balloon *balloon, const char *boot_id);

/** Returns true if the row's asked_s is of the run @p run of its guest, which goes on in a saved
 * guest. */
bool journal_asks(const struct journal_balloon *balloon, const struct journal_run *run);

/** Returns true if the balloon is to be restored in the run @p run of its guest, at @p now_s, Unix
 * time: boot and ID are the same, or the balloon has the size that was set, or the guest was saved
 * while its balloon moved to its restored size. Returns false if it was restored more than
 * JOURNAL_RESTORE_S ago. */
bool journal_balloon_is_of(const struct journal_balloon *balloon, const struct journal_run *run,
                           double now_s);

/** Notes that it was set to its final size at @p now_s: the next controller may find it on its way
 * to that size. */
void journal_balloon_restored(struct journal_balloon *balloon, uint64_t bytes, double now_s);

/** Stores that we control the balloon. When this returns 0, the row survives kill -9. */
int journal_own(struct journal *journal, const struct journal_balloon *balloon,
                struct error *error);
/** Removes it: we control it no longer. */
int journal_disown(struct journal *journal, const char *uuid, struct error *error);
/** Calls @p see for each; a nonzero return value of @p see ends the walk and is returned. */
int journal_balloons(struct journal *journal,
                     int (*see)(const struct journal_balloon *balloon, void *context),
                     void *context, struct error *error);

/** Requests that so much memory be free on the host until @p until_s, by CLOCK_BOOTTIME, or until
 * the host is restarted, replacing the last request. 0 bytes: no more than the host's levels want.
 * A process other than the writer may call this. */
int journal_ask_room(struct journal *journal, uint64_t bytes, double until_s, struct error *error);
/** Reads the request in force at @p now_s, by CLOCK_BOOTTIME; 0: nothing is requested. */
int journal_room(struct journal *journal, double now_s, uint64_t *bytes, struct error *error);

/** The host as of the last decision. */
struct journal_host {
    double time_s; /* Unix time; 0: no decision was made */
    char level[8];
    uint64_t free_bytes;
};

/** The host is written when the level changes, and at least this often while decisions are made,
 * with or without guests. */
#define JOURNAL_HOST_S 60

int journal_note_host(struct journal *journal, const struct journal_host *host,
                      struct error *error);
/** Returns 0, even if there is none; or negative with the message. */
int journal_host(struct journal *journal, struct journal_host *host, struct error *error);

/** One decision of one guest. */
struct journal_entry {
    int64_t id;
    double time_s; /* Unix time */
    char uuid[37];
    char name[256];
    char mode[16];
    bool acted; /* false: dry run, nothing to do, or it failed */
    /* the guest has just become short of memory, whatever it was given; not read back */
    bool panic;
    char level[8], action[12], hold[12];
    /* goal_bytes: the size that it should reach; target_bytes is the next step towards it */
    uint64_t target_bytes, goal_bytes, wish_bytes, assigned_bytes, actual_bytes, resident_bytes;
    uint64_t wss_high_bytes, floor_bytes, free_bytes;
    /* what could be taken at most if its balloon driver were asked for statistics; DECIDE_UNKNOWN:
     * it is asked, or reports in another way */
    uint64_t asking_bytes;
    /* Orders to each actuator that has a column for them, and their results, which journal_add()
     * does not set; DECIDE_UNKNOWN: no order, or not known yet */
    uint64_t ordered_bytes[N_ACTUATORS], done_bytes[N_ACTUATORS];
    char why[1600];
    /* After 5, 30 and 60 s; DECIDE_UNKNOWN: not known. */
    uint64_t after_actual_bytes[3], after_resident_bytes[3];
};

#define JOURNAL_FIELDS 48

/** Fills the table of the columns of decisions: those with a metric are also on Prometheus's page.
 * It has neither id nor why. */
void journal_decision_fields(struct field fields[JOURNAL_FIELDS]);

/** Sets entry->id. */
int journal_add(struct journal *journal, struct journal_entry *entry, struct error *error);
/** Notes the result of a decision, for @p step 0, 1, 2: after 5, 30, 60 s. */
int journal_after(struct journal *journal, int64_t id, unsigned step, uint64_t actual_bytes,
                  uint64_t resident_bytes, struct error *error);
/** Notes that the balloon of a decision has been set to a new target for the same reason. */
int journal_amend(struct journal *journal, int64_t id, uint64_t target_bytes, struct error *error);
/** Notes what came of an order to an actuator that has a column for it. */
int journal_done(struct journal *journal, int64_t id, enum actuator_number actuator, uint64_t bytes,
                 struct error *error);
/** Notes that a decision was not carried out. */
int journal_withdrawn(struct journal *journal, int64_t id, struct error *error);
/** Removes decisions older than JOURNAL_KEEP_S, and balloons restored more than JOURNAL_RESTORE_S
 * ago. */
int journal_trim(struct journal *journal, double now_s, struct error *error);

/** Calls @p see with the last @p n entries, oldest first, of the guest with that name or UUID;
 * NULL: of all guests. */
int journal_entries(struct journal *journal, const char *guest, unsigned n,
                    int (*see)(const struct journal_entry *entry, void *context), void *context,
                    struct error *error);
/** Number of entries of a guest with that action and hold. */
struct journal_count {
    char uuid[37];
    char action[12], hold[12];
    uint64_t n;
    uint64_t panics; /* those of these entries that left the guest short of memory */
};

/** Calls @p see for each count since @p since_s, Unix time. */
int journal_counts(struct journal *journal, double since_s,
                   int (*see)(const struct journal_count *count, void *context), void *context,
                   struct error *error);
/** The sums of a guest's decisions within a span. Sizes are integrals over time. */
struct journal_sum {
    char uuid[37];
    uint64_t decisions, acted, shrinks, grows;
    uint64_t shortages;  /* times that it became short of memory */
    double taken_byte_s; /* of the largest size that it had, if a balloon was set */
    double would_byte_s; /* what would have been taken in a dry run, at its goals */
    double host_short_s; /* the host was at the level soft or below */
    /* The last row, which holds for an unknown time and is not in the integrals. */
    double last_s;
    double last_taken_bytes, last_would_bytes, last_host_short;
};

/** Calls @p see for each guest with a decision at any time, with the sums since @p since_s, Unix
 * time. */
int journal_sums(struct journal *journal, double since_s,
                 int (*see)(const struct journal_sum *sum, void *context), void *context,
                 struct error *error);

/** Calls @p see for the last entry of each guest, by name. */
int journal_latest(struct journal *journal,
                   int (*see)(const struct journal_entry *entry, void *context), void *context,
                   struct error *error);
