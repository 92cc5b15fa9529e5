// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file maps.h  Lines of /proc/PID/maps: Documentation/filesystems/proc.rst. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct maps_line {
    uint64_t start;
    uint64_t end;
    dev_t device; /* 0: no file; of the whole file system, where stat(2) may have another */
    ino_t inode;  /* may be 0: of the first segment of System V shared memory */
    char *path;   /* within the line; a newline in a name stands there as \012 */
};

/** Parses a line without its newline, in place. False when it is not one. */
bool maps_parse(char *line, struct maps_line *out);
