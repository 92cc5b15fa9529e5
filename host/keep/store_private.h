// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file store_private.h  What the files of this room know of an open database. */
#pragma once

#include "keep/store.h"

#include <sqlite3.h>

struct store {
    sqlite3 *db;
    char *path;
    char notice[640];
};
