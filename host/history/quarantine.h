// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file quarantine.h  Identifies a file, and quarantines a damaged one: renames it so that a new
 * one can be created. */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

enum file_kind {
    FILE_NEW,        /* missing or empty */
    FILE_OURS,       /* an SQLite database marked as a history of vmwss */
    FILE_OTHER,      /* an SQLite database of another program */
    FILE_NO_DATABASE /* any other readable file */
};

/**
 * Returns true if the file's name may be a symbolic link. For root it may not: the history's
 * directory belongs to another user, whose link could make root open any file of the host and
 * create SQLite's files beside it.
 */
bool file_follows_links(void);

/** Sets the error for a symbolic link; returns -ELOOP. */
int file_refuse_link(const char *path, struct error *error);

/** Reads the file's header (https://www.sqlite.org/fileformat.html, 1.3). Returns -EISDIR, -EINVAL
 * if it is not a regular file; -ELOOP for a symbolic link that is not followed; or the reason why
 * it cannot be read. */
int file_identify(const char *path, enum file_kind *kind, struct error *error);

/**
 * Renames the database and SQLite's files beside it to PATH.damaged-TIME.
 * @param name  buffer of @p size bytes, which receives the new name
 */
int file_quarantine(const char *path, char *name, size_t size, struct error *error);
