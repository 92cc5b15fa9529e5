// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file scan.c  Real work for a guest: a table in SQLite's memory, of which queries scan a part for
 * ever.
 *
 * scan ROWS SHARE: so many rows of 1000 bytes, and queries that sum up the first SHARE percent of
 * them.
 */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

static int run(sqlite3 *db, const char *statement)
{
    char *message = NULL;
    int rc = sqlite3_exec(db, statement, NULL, NULL, &message);

    if (rc != SQLITE_OK)
        fprintf(stderr, "scan: %s: %s\n", statement, message ? message : sqlite3_errmsg(db));
    sqlite3_free(message);
    return rc;
}

static int fill(sqlite3 *db, long rows)
{
    char insert[256];

    snprintf(insert, sizeof(insert),
             "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %ld) "
             "INSERT INTO item SELECT i, i * 7 %% 1000, randomblob(1000) FROM n",
             rows);
    return run(db, "CREATE TABLE item(id INTEGER PRIMARY KEY, price INTEGER, data BLOB)") ||
           run(db, insert);
}

int main(int argc, char **argv)
{
    long rows = argc > 1 ? strtol(argv[1], NULL, 10) : 60000;
    long share = argc > 2 ? strtol(argv[2], NULL, 10) : 50;
    char query[128];
    sqlite3 *db;

    if (sqlite3_open(":memory:", &db) != SQLITE_OK || fill(db, rows))
        return 1;
    snprintf(query, sizeof(query), "SELECT sum(price), sum(length(data)) FROM item WHERE id <= %ld",
             rows * share / 100);
    puts("vmwss-scan ready");
    fflush(stdout);
    while (run(db, query) == SQLITE_OK)
        ;
    sqlite3_close(db);
    return 1;
}
