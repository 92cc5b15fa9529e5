// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file check.c  store_check(): verifies all pages of the database. */
#include "history/open_store.h"
#include "history/sql.h"
#include "history/store.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* SQLite executes this many steps in some milliseconds. */
#define STEPS 100000

static int read_verdict(struct store *store, struct error *error)
{
    cleanup_statement sqlite3_stmt *statement = NULL;
    char verdict[256];
    int rc = sql_prepare(store, "PRAGMA quick_check(1)", &statement, error);

    if (rc == 0)
        rc = sql_step(store, statement, error);
    if (rc < 0)
        return rc;
    if (rc == 0 || sql_text(statement, 0, verdict, sizeof(verdict)) < 0)
        snprintf(verdict, sizeof(verdict), "it cannot be checked");
    return strcmp(verdict, "ok") == 0 ? 0
                                      : error_set(error, -EUCLEAN, "%s: %s", store->path, verdict);
}

void store_interrupt(struct store *store)
{
    sqlite3_interrupt(store->db);
}

int store_check(struct store *store, int (*ends)(void *context), void *context, struct error *error)
{
    int rc;

    sqlite3_progress_handler(store->db, STEPS, ends, context);
    rc = read_verdict(store, error);
    sqlite3_progress_handler(store->db, 0, NULL, NULL);
    return rc;
}
