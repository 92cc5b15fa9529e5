// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file schema.h  The tables, their version, and the way from each version to the next. */
#pragma once

#include "base/error.h"

#include <stdint.h>

struct store;

/** In the header of the file (PRAGMA application_id): "vmws". */
#define SCHEMA_APPLICATION_ID 0x766d7773

/** PRAGMA user_version of what this program writes. */
int schema_version(void);

/** Makes or updates the tables, up to @p version: for store_open() that is schema_version(). One
 * transaction. */
int schema_migrate(struct store *store, int version, struct error *error);

/** Are the tables that we read the very ones that we make? Nothing else that a file may bring along
 * is run: no views,
 *  triggers, generated columns or virtual tables. -EINVAL: another version; -EBUSY: none yet;
 *  -EUCLEAN: other tables. */
int schema_verify(struct store *store, struct error *error);
