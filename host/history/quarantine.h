// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file quarantine.h  Quarantine: identifies a file, and sets a damaged one aside for a new
 * one. */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

enum file_kind {
    FILE_NEW,        /* not there, or empty */
    FILE_OURS,       /* an SQLite database that says it is a history of vmwss */
    FILE_OTHER,      /* an SQLite database of something else */
    FILE_NO_DATABASE /* anything else that can be read */
};

/**
 * May the file's name be a symbolic link? Not for root: the history's directory belongs to another
 * user, who could have root open any file of the host, and make SQLite's files beside it.
 */
bool file_follows_links(void);

/** Sets the error for such a link; returns its -ELOOP. */
int file_refuse_link(const char *path, struct error *error);

/** Reads the file's header (https://www.sqlite.org/fileformat.html, 1.3). -EISDIR, -EINVAL for
 * what is no regular file; -ELOOP for a symbolic link that is not followed; or why it cannot be
 * read. */
int file_identify(const char *path, enum file_kind *kind, struct error *error);

/**
 * Renames the database and what SQLite keeps beside it to PATH.damaged-TIME.
 * @param name  of @p size bytes: what it is called now
 */
int file_quarantine(const char *path, char *name, size_t size, struct error *error);
