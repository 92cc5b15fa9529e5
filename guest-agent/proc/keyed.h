// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file keyed.h  Files of lines with a name and a number: meminfo, vmstat, smaps_rollup, cgroup's
 * memory.stat.
 */
#pragma once

#include "base/fsroot.h"

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

/** Not among the file's lines: this kernel does not say. */
#define KEYED_UNKNOWN UINT64_MAX

/** A name, and where in the caller's struct its uint64_t is. */
struct keyed_field {
    const char *key;
    size_t offset;
    const char *name; /* in JSON; NULL: it is not there, or another field of the offset has it */
};

/**
 * Finds the fields' lines in @p text: "KEY: N", "KEY N", or "KEY: N kB", which counts as N * 1024
 * bytes. A field that stands there more than once counts as the sum (smaps), and so do fields of
 * one offset. It becomes KEYED_UNKNOWN if it does not stand there, or if any line of the sum is no
 * amount: kernel_u64().
 * @return how many fields are known.
 */
size_t keyed_parse(const char *text, const struct keyed_field *fields, size_t n, void *out);

/** keyed_parse() of a file of at most 1 MiB. 0, -ENODATA when it has none of the fields, or another
 * negative errno; all fields are KEYED_UNKNOWN then. */
int keyed_read(const struct fsroot *root, const struct keyed_field *fields, size_t n, void *out,
               const char *path);

/** An object of the known fields that have names, from the struct at @p base. NULL if out of
 * memory. */
json_t *keyed_json(const struct keyed_field *fields, size_t n, const void *base);
