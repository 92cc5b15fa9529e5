// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file roster.h  Which hosts and guests there are in several histories, and which of them are to
 * be planned with: the first half of from_history.h. */
#pragma once

#include "keep/history.h"
#include "plan/from_history.h"

/** One guest in one file. */
struct roster_row {
    int64_t id;    /* in the file */
    size_t source; /* the file */
    size_t guest;  /* in the roster */
};

/** A guest, wherever it was. */
struct roster_guest {
    struct plan_guest guest; /* host: the one with its last record */
    double last_s;           /* Unix time: the last hour that it has a record of; 0: none */
    bool ended;
    size_t number; /* in the fleet; PLAN_NOT_THERE */
};

#define PLAN_NOT_THERE ((size_t)-1)

struct roster {
    struct plan_host *hosts;
    struct roster_guest *guests;
    struct roster_row *rows; /* by source and id */
    size_t n_hosts, n_guests, n_rows;
    double first_s; /* Unix time: the first hour of all */
};

/** Reads one file's hours into it. Errors as plan_read(). */
int roster_read(struct roster *roster, const struct plan_reading *reading, size_t source,
                struct store *store, struct error *error);

/** Decides who is there, and numbers those; their number. */
size_t roster_number(struct roster *roster, double to_s);

/** The guest of a row, or NULL. */
struct roster_guest *roster_find(const struct roster *roster, size_t source, int64_t id);

void roster_free(struct roster *roster);
