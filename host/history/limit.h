// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file limit.h  A bound for reading a database that another program may have made: pages of a
 * file of 250 kB may lead to each other so that it has more rows than can be read in a year. */
#pragma once

#include "base/error.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

struct read_limit {
    uint64_t steps_left;
    bool spent; /* a statement had to be interrupted */
};

/** From now on all statements together take as many steps as the size of the file @p path allows.
 * The limit stays with @p db. */
void read_limit_begin(struct read_limit *limit, sqlite3 *db, const char *path);

/** Sets the error for a file whose limit is spent; returns -EUCLEAN. */
int read_limit_refuse(const char *path, struct error *error);
