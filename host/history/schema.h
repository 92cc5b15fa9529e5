// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file schema.h  The tables, and their version. */
#pragma once

#include "base/error.h"

struct store;

/** The number in the file's header (PRAGMA application_id): "vmws". */
#define SCHEMA_APPLICATION_ID 0x766d7773

/** Makes the missing tables, in one transaction. Returns -EINVAL: the file is of another version;
 * the message gives the remedy. */
int schema_make(struct store *store, struct error *error);

/** Returns 1 if the file has the table; 0 if not; or a negative errno. */
int schema_has(struct store *store, const char *table, struct error *error);

/** Verifies that the tables that we read, and their indexes, equal those that we create, so that no
 * other content of a file runs: no views, triggers, generated columns or virtual tables. Returns
 * -EINVAL: another version; -EBUSY: no tables yet; -EUCLEAN: other tables. */
int schema_verify(struct store *store, struct error *error);
