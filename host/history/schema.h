// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file schema.h  The tables, and their version. */
#pragma once

#include "base/error.h"

struct store;

/** In the header of the file (PRAGMA application_id): "vmws". */
#define SCHEMA_APPLICATION_ID 0x766d7773

/** Makes the tables that are not there yet, in one transaction. -EINVAL: the file is of another
 * version; the message says so, and what to do. */
int schema_make(struct store *store, struct error *error);

/** 1: the file has the table; 0: not; or a negative errno. */
int schema_has(struct store *store, const char *table, struct error *error);

/** Are the tables that we read the very ones that we make? Nothing else that a file may bring along
 * is run: no views, triggers, generated columns or virtual tables. -EINVAL: another version;
 * -EBUSY: none yet; -EUCLEAN: other tables. */
int schema_verify(struct store *store, struct error *error);
