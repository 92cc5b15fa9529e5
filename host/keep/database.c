// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file database.c  See database.h. */
#include "keep/database.h"

#include "keep/sql.h"
#include "keep/store_private.h"

#define BUSY_MS 2000
#define VALUE_MAX_BYTES (1 << 20)

static void distrust(sqlite3 *db)
{
    sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_DQS_DML, 0, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_DQS_DDL, 0, NULL);
    sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 0);
    sqlite3_limit(db, SQLITE_LIMIT_LENGTH, VALUE_MAX_BYTES);
}

int database_open(struct store *store, int flags, struct error *error)
{
    int result = sqlite3_open_v2(store->path, &store->db, flags | SQLITE_OPEN_EXRESCODE, NULL);

    if (result != SQLITE_OK)
        return sql_error(store, result, error);
    distrust(store->db);
    sqlite3_busy_timeout(store->db, BUSY_MS);
    /* Damaged cells are found before they are used. Never mapped: what somebody cuts off a mapped
     * file ends in SIGBUS. */
    return sql_run(store, "PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0", error);
}

void database_close(struct store *store)
{
    sqlite3_close(store->db);
    store->db = NULL;
}
