// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file roster.h  Which hosts and guests there are in several histories, and which of them are to
 * be planned with: the first half of from_history.h.
 *
 * A guest is known by its UUID, and may have been on several hosts: it is where it was last, by the
 * hour; of two hosts of the same hour (it migrated) where it has not ended. Whatever the order of
 * the files, the roster is the same but for the order of what is in it.
 */
#pragma once

#include "decide/plan/fleet.h"
#include "decide/plan/reading.h"
#include "history/event.h"

/** So many hours back from the end it is kept which a guest has records of. */
#define ROSTER_HOURS 704

/** One guest in one file, with at least one hour in the span. */
struct roster_row {
    int64_t id;    /* in the file */
    size_t source; /* the file */
    size_t guest, host;
    size_t next; /* the guest's next row; PLAN_NOT_THERE */
    char name[256];
    double first_s, last_s;            /* Unix time: the hours that it has records of */
    double lasts_s;                    /* how long a record of the last one stands */
    uint64_t hours[ROSTER_HOURS / 64]; /* a bit for each, back from the end of the span */
    uint64_t ram_bytes, used_bytes;    /* as plan_guest */
    double size_window_s, size_p99_bytes;
    bool unmeasured;
    bool has_event; /* the last one: */
    enum event_kind event;
    double event_s; /* Unix time */
};

/** A guest, wherever it was. */
struct roster_guest {
    char uuid[37];
    size_t first;  /* of its rows; none: PLAN_NOT_THERE */
    size_t latest; /* the row that says where and what it is */
    double size_window_s, size_p99_bytes;
    size_t number; /* in the fleet; PLAN_NOT_THERE */
};

struct roster_host {
    struct plan_host host;
    size_t source; /* the first file that has it */
    double due_s;  /* Unix time: up to when some record stands, by the hour */
    bool among;    /* a file has it and others, as after it was renamed */
    bool silent;   /* no record is due: all of its guests have ended or are suspended */
};

#define PLAN_NOT_THERE ((size_t)-1)

struct roster {
    struct roster_host *hosts;
    struct roster_guest *guests;
    struct roster_row *rows; /* by source and id */
    size_t n_hosts, n_guests, n_rows;
    double first_s; /* Unix time: the first hour of all; 0: none */
};

/** Reads one file's hours into it. Errors as plan_read(). */
int roster_read(struct roster *roster, const struct plan_reading *reading, size_t source,
                struct store *store, struct error *error);

/** The host of that name, which @p source is a history of: its index. -ENOTUNIQ: another file is
 * so, too, and not both were given the name; -ENOMEM */
ssize_t roster_host(struct roster *roster, const struct plan_reading *reading, size_t source,
                    const char *name, struct error *error);

/** Adds a row, whose source is the last one, and whose guest has that UUID. -ENOTUNIQ: guests of
 * two hosts have it at once; -ENOMEM */
int roster_add(struct roster *roster, const struct plan_reading *reading,
               const struct roster_row *row, const char *uuid, struct error *error);

/** Decides who is there, and numbers those; their number. */
size_t roster_number(struct roster *roster, const struct plan_reading *reading);

/** What the plan is to know of a guest with a number. */
struct plan_guest roster_plan_guest(const struct roster *roster, const struct roster_guest *guest);

/** The guest of a row, or NULL. */
struct roster_guest *roster_find(const struct roster *roster, size_t source, int64_t id);

void roster_free(struct roster *roster);
