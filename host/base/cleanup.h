// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file cleanup.h  Scope-bound release of a function's resources, instead of goto ladders. */
#pragma once

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline void cleanup_free_at(void *at)
{
    free(*(void **)at);
}

static inline void cleanup_close_at(const int *fd)
{
    if (*fd >= 0)
        close(*fd);
}

static inline void cleanup_file_at(FILE **file)
{
    if (*file)
        fclose(*file);
}

static inline void cleanup_dir_at(DIR **dir)
{
    if (*dir)
        closedir(*dir);
}

#define cleanup_free __attribute__((cleanup(cleanup_free_at)))
#define cleanup_close __attribute__((cleanup(cleanup_close_at)))
#define cleanup_file __attribute__((cleanup(cleanup_file_at)))
#define cleanup_dir __attribute__((cleanup(cleanup_dir_at)))
