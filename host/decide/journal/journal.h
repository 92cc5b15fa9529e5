// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file journal.h  The decisions of vmwss-balloond, with what they stood on and what came of them;
 * and which balloons are to be restored.
 *
 * An SQLite file of one writer. A balloon of which the journal does not know is not changed: what
 * it had is written before its first target is set, so that after kill -9 the next start adopts
 * and restores it; and with a full disk no further guest is touched. What it had when the last
 * controller ended stays as well, as what is being restored: its balloon may still be on its way.
 * Which decisions are added: programs/balloond/recording.h.
 */
#pragma once

#include "base/error.h"
#include "decide/control/control.h"

#define JOURNAL_DEFAULT_PATH "/var/lib/vmwss-balloond/journal.db"
#define JOURNAL_KEEP_S (31 * 86400.0)

struct journal; /* opaque */

/** Opens it as database_connect() does, makes it if it is not there. 0; or negative with the
 * message. */
int journal_open(const char *path, struct journal **out, struct error *error);
/** For reading only. -ENOENT: there is none. */
int journal_open_read(const char *path, struct journal **out, struct error *error);
void journal_close(struct journal *journal);

#define JOURNAL_BOOT_ID 40

/** A balloon that is ours, or of which something was learned. */
struct journal_balloon {
    char uuid[37];
    char name[256];
    char boot_id[JOURNAL_BOOT_ID]; /* of the host; "": not known */
    int domain_id;                 /* of libvirt: another one is another run */
    uint64_t before_bytes;         /* 0: there is nothing to restore */
    uint64_t set_bytes;
    uint64_t plug_bytes;  /* of before_bytes what was requested of its virtio-mem; 0: nothing */
    uint64_t panic_bytes; /* 0: none */
    double panic_s;       /* Unix time */
    enum balloon_trouble trouble;
    double restored_s; /* when set_bytes was set as what it is to be left with, Unix time; 0: it is
                          still ours */
};

/** A balloon that has not reached its size this long after it was restored belongs to another
 * program by now. */
#define JOURNAL_RESTORE_S 3600

/** Of this boot of the host; "" where /proc does not say. */
void journal_boot_id(char boot_id[JOURNAL_BOOT_ID]);

/** A guest that runs. */
struct journal_run {
    const char *boot_id; /* of the host */
    int domain_id;
    bool saved; /* it has been saved, and restored: a run goes on under another id */
    uint64_t current_bytes;
};

/** Is it to be restored, and of that run, at @p now_s, Unix time? Either it is the same boot and
 * id, or the balloon is as it was set, or the guest was saved when its balloon was on its way
 * there; and it was not restored more than JOURNAL_RESTORE_S ago. */
bool journal_balloon_is_of(const struct journal_balloon *balloon, const struct journal_run *run,
                           double now_s);

/** It has been set to what it is to be left with, at @p now_s: that is what a next controller finds
 * it on its way to. */
void journal_balloon_restored(struct journal_balloon *balloon, uint64_t bytes, double now_s);

/** Written, and safe from kill -9, when it returns 0. */
int journal_own(struct journal *journal, const struct journal_balloon *balloon,
                struct error *error);
/** It is ours no longer. */
int journal_disown(struct journal *journal, const char *uuid, struct error *error);
/** Calls @p see with each; what it returns, if not 0, ends the walk and is returned. */
int journal_balloons(struct journal *journal,
                     int (*see)(const struct journal_balloon *balloon, void *context),
                     void *context, struct error *error);

/** Asks for so much memory to be free on the host, until then, Unix time, in place of what was
 * asked for before. 0 bytes: no more than the host's levels want. By another process than the
 * writer. */
int journal_ask_room(struct journal *journal, uint64_t bytes, double until_s, struct error *error);
/** What is asked for at @p now_s; 0: nothing. */
int journal_room(struct journal *journal, double now_s, uint64_t *bytes, struct error *error);

/** The host as of the last decision. */
struct journal_host {
    double time_s; /* Unix time; 0: none was made */
    char level[8];
    uint64_t free_bytes;
};

/** Written when the level changes, and at least so often while decisions are made, with guests or
 * without. */
#define JOURNAL_HOST_S 60

int journal_note_host(struct journal *journal, const struct journal_host *host,
                      struct error *error);
/** 0, also where there is none; or negative with the message. */
int journal_host(struct journal *journal, struct journal_host *host, struct error *error);

/** One decision of one guest. */
struct journal_entry {
    int64_t id;
    double time_s; /* Unix time */
    char uuid[37];
    char name[256];
    char mode[16];
    bool acted; /* false: dry run, nothing to do, or it failed */
    bool panic; /* the guest began to be short of memory, whatever it was given; not read back */
    char level[8], action[12], hold[12];
    uint64_t target_bytes, wish_bytes, assigned_bytes, actual_bytes, resident_bytes;
    uint64_t wss_high_bytes, floor_bytes, free_bytes;
    uint64_t reclaim_bytes;   /* of the action reclaim; else DECIDE_UNKNOWN */
    uint64_t reclaimed_bytes; /* of them; DECIDE_UNKNOWN: not known, or not yet; not of
                                 journal_add() */
    uint64_t plug_bytes;      /* of target_bytes what is requested of its virtio-mem;
                                 DECIDE_UNKNOWN: it has none that is used */
    char why[1600];
    /* After 5, 30 and 60 s; DECIDE_UNKNOWN: not known. */
    uint64_t after_actual_bytes[3], after_resident_bytes[3];
};

/** Sets entry->id. */
int journal_add(struct journal *journal, struct journal_entry *entry, struct error *error);
/** What became of a decision, @p step 0, 1, 2: after 5, 30, 60 s. */
int journal_after(struct journal *journal, int64_t id, unsigned step, uint64_t actual_bytes,
                  uint64_t resident_bytes, struct error *error);
/** The balloon of a decision has been set anew, to that, for the same reason. */
int journal_amend(struct journal *journal, int64_t id, uint64_t target_bytes, struct error *error);
/** So much was reclaimed by a decision. */
int journal_reclaimed(struct journal *journal, int64_t id, uint64_t bytes, struct error *error);
/** What was decided has not been done. */
int journal_withdrawn(struct journal *journal, int64_t id, struct error *error);
/** Removes decisions older than JOURNAL_KEEP_S, and what was restored JOURNAL_RESTORE_S ago. */
int journal_trim(struct journal *journal, double now_s, struct error *error);

/** Calls @p see with the last @p n entries, oldest first, of the guest of that name or UUID; NULL:
 * of all. */
int journal_entries(struct journal *journal, const char *guest, unsigned n,
                    int (*see)(const struct journal_entry *entry, void *context), void *context,
                    struct error *error);
/** How many entries of a guest have that action and hold. */
struct journal_count {
    char uuid[37];
    char action[12], hold[12];
    uint64_t n;
    uint64_t panics; /* of them: that the guest began to be short of memory with */
};

/** Calls @p see with each that there is since @p since_s, Unix time. */
int journal_counts(struct journal *journal, double since_s,
                   int (*see)(const struct journal_count *count, void *context), void *context,
                   struct error *error);
/** Likewise the last entry of each guest, by name. */
int journal_latest(struct journal *journal,
                   int (*see)(const struct journal_entry *entry, void *context), void *context,
                   struct error *error);
