// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file capture.h  Copies chosen files of /proc and /sys into a directory, in the same layout.
 *
 * The result is a root for fsroot_open(), as test fixtures are. Files with guest data, such as
 * memory and core, are never copied.
 */
#pragma once

#include "base/error.h"
#include "base/fsroot.h"

struct capture {
    const struct fsroot *root;
    int dirfd; /* descriptor of the directory that is written */
    unsigned n_files;
    int rc; /* the first error in writing; missing input files are not errors */
    struct error error;
};

/** Makes the directory @p path, which must not exist yet. Returns 0 or a negative errno. */
int capture_begin(struct capture *capture, const struct fsroot *root, const char *path,
                  struct error *error);

/** Copies one file, up to 16 MiB; a file that cannot be read is left out. */
void capture_file(struct capture *capture, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/** Copies a symbolic link as such. */
void capture_link(struct capture *capture, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/** Calls @p each with the name of every entry of a directory. */
void capture_each(struct capture *capture, const char *directory,
                  void (*each)(struct capture *capture, const char *directory, const char *name));

/** Writes @p text as file @p name. */
void capture_text(struct capture *capture, const char *name, const char *text, size_t length);

/** Runs a program, found as execvp(3) does, and writes its output as file @p name, and its errors
 * as file @p errors; NULL: both into @p name. Limits: CAPTURE_WAIT_S and 16 MiB. A program that is
 * missing, or prints nothing, leaves no file. The file programs/ended lists how each ended. */
void capture_output(struct capture *capture, const char *name, const char *errors,
                    const char *const *argv);
#define CAPTURE_WAIT_S 10

/** Closes the directory; returns 0 or the first error. */
int capture_end(struct capture *capture, struct error *error);
