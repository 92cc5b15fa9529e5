// SPDX-License-Identifier: LGPL-2.1-or-later
#include "history/limit.h"

#include <errno.h>
#include <sys/stat.h>

#define READ_STEPS 100000
#define READ_STEPS_A_BYTE 10
#define READ_LEAST 200 /* times READ_STEPS: a second or two */

/* Called once in READ_STEPS steps of SQLite; 1 interrupts the statement. */
static int spend(void *context)
{
    struct read_limit *limit = context;

    limit->spent = limit->steps_left == 0;
    limit->steps_left -= !limit->spent;
    return limit->spent;
}

/* Reading what vmwssd wrote takes a tenth of a step a byte (3,000 guests, 300,000 records). */
void read_limit_begin(struct read_limit *limit, sqlite3 *db, const char *path)
{
    struct stat st = {0};
    const uint64_t held = stat(path, &st) == 0 ? (uint64_t)st.st_blocks * 512 : 0;

    limit->spent = false;
    limit->steps_left = READ_LEAST + held * READ_STEPS_A_BYTE / READ_STEPS;
    sqlite3_progress_handler(db, READ_STEPS, spend, limit);
}

int read_limit_refuse(const char *path, struct error *error)
{
    return error_set(error, -EUCLEAN,
                     "%s: its pages lead to more rows than it has room for: it is damaged, or "
                     "vmwss has not written it",
                     path);
}
