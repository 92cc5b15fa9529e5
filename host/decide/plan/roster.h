// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file roster.h  The hosts and guests in several histories, and which of them are planned: the
 * first half of from_history.h.
 *
 * A guest is identified by its UUID, and may have been on several hosts: it belongs to the host
 * with its last hour; if two hosts have the same last hour (it migrated), to the one where it has
 * not ended. The order of the files only changes the order of the roster's rows.
 */
#pragma once

#include "decide/plan/fleet.h"
#include "decide/plan/reading.h"
#include "guest/domain/qemu_cmdline.h"
#include "history/event.h"

/** Number of hours, back from the end, for which the presence of a guest's records is kept. */
#define ROSTER_HOURS 704

/** The sizes that something had. */
struct roster_range {
    uint64_t least_bytes, most_bytes; /* 0: not known */
};

/** One guest in one file, with at least one hour in the span. */
struct roster_row {
    int64_t id;    /* ID in the file */
    size_t source; /* index of the file */
    size_t guest, host;
    size_t next; /* the guest's next row; or PLAN_NOT_THERE */
    char name[256];
    double first_s, last_s; /* Unix time: first and last hour with records */
    double lasts_s;         /* how long a record of the last hour holds */
    /* one bit for each hour with records, back from the end of the span */
    uint64_t hours[ROSTER_HOURS / 64];
    uint64_t ram_bytes, used_bytes; /* as in plan_guest */
    uint64_t resident_bytes;        /* 0: not known */
    enum accel accel;
    struct roster_range ram; /* in the span */
    double size_window_s, size_bytes;
    bool unmeasured;
    bool noted;     /* from a URL: some of its needs are in the fleet */
    bool has_event; /* the last event: */
    enum event_kind event;
    double event_s; /* Unix time */
};

/** A guest on any host. */
struct roster_guest {
    char uuid[37];
    size_t first;  /* its first row; or PLAN_NOT_THERE */
    size_t latest; /* the row with its current host and size */
    double size_window_s, size_bytes;
    double cpus; /* NAN: not known */
    /* its index in the fleet, behind the guests there if it has ended; or PLAN_NOT_THERE */
    size_t number;
};

struct roster_host {
    struct plan_host host;
    size_t source;    /* the first file with this host */
    double due_s;     /* Unix time up to which some record holds, by the hour */
    double scraped_s; /* of a URL: Unix time of the last scrape; else 0 */
    size_t n_rows;    /* of its guests */
    bool among;       /* a file has this host and others, for instance after it was renamed */
    bool silent;      /* no record is due: all its guests have ended or are suspended */
};

#define PLAN_NOT_THERE ((size_t)-1)

struct roster {
    struct roster_host *hosts;
    struct roster_guest *guests;
    struct roster_row *rows; /* ordered by source and id */
    size_t n_hosts, n_guests, n_rows;
    size_t n_there, n_ended; /* from roster_number(): numbered guests */
    double first_s;          /* Unix time of the first hour of all; 0: none */
};

/** Notes that a row has records in the hour that begins at @p start_s. @p to_s: end of the span */
void roster_mark_hour(struct roster_row *row, double start_s, double to_s);

/** Returns how many of the row's ROSTER_HOURS hours have records. */
unsigned roster_count_hours(const struct roster_row *row);

/** Reads the hours of one file into the roster. Errors as plan_read(). */
int roster_read(struct roster *roster, const struct plan_reading *reading, size_t source,
                struct store *store, struct error *error);

/** Returns the index of the host with that name; @p source is its history. Returns -ENOTUNIQ if
 * another file is a history of that host, too, unless the user gave both files its name; -ENOMEM.
 */
ssize_t roster_host(struct roster *roster, const struct plan_reading *reading, size_t source,
                    const char *name, struct error *error);

/** Room for a range as text. */
#define ROSTER_RANGE_MAX 80

/** Returns true if a size has changed within the time, by more than rounding; then writes the range
 * to @p text. */
bool roster_has_changed(const struct roster_range *range, char text[ROSTER_RANGE_MAX]);

/** Returns the range with one more size. */
struct roster_range roster_range_with(struct roster_range range, uint64_t bytes);

/** Adds a row, whose source is the last one, for the guest with that UUID. Returns -ENOTUNIQ:
 * guests of two hosts have it at the same time; -ENOMEM */
int roster_add(struct roster *roster, const struct plan_reading *reading,
               const struct roster_row *row, const char *uuid, struct error *error);

/** Decides which guests are in the plan, numbers them, then those that have ended, and returns the
 * number of the former. */
size_t roster_number(struct roster *roster, const struct plan_reading *reading);

/** Makes the plan's view of a guest that has a number. */
struct plan_guest roster_plan_guest(const struct roster *roster, const struct roster_guest *guest);

/** Returns where the needs from before the time of a guest that has a number are noted. */
struct plan_before *roster_before(const struct roster *roster, const struct roster_guest *guest,
                                  struct plan_fleet *fleet);

/** Returns the guest with that UUID, or NULL. */
struct roster_guest *roster_guest_of(const struct roster *roster, const char *uuid);

/** Returns the guest of a row, or NULL. */
struct roster_guest *roster_find(const struct roster *roster, size_t source, int64_t id);

void roster_free(struct roster *roster);
