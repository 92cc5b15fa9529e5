// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file maps.h  Parses lines of /proc/PID/maps: Documentation/filesystems/proc.rst. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct maps_line {
    uint64_t start;
    uint64_t end;
    dev_t device; /* device of the file system; stat(2) may show another device. 0: no file */
    ino_t inode;  /* may be 0: the first segment of System V shared memory */
    char *path;   /* points into the line; a newline in a name is written as \012 */
};

/** Parses a line without its newline, in place. Returns false if it is malformed. */
bool maps_parse(char *line, struct maps_line *out);
