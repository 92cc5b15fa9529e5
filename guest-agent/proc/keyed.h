// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file keyed.h  Parses files whose lines have a name and a number: meminfo, vmstat, smaps_rollup,
 * cgroup's memory.stat.
 */
#pragma once

#include "base/array.h" /* COUNT() of fields */
#include "base/fsroot.h"

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

/** The file has no such line, because this kernel does not report it. */
#define KEYED_UNKNOWN UINT64_MAX

/** A name, and the offset of its uint64_t in the caller's struct. */
struct keyed_field {
    const char *key;
    size_t offset;
    /* name in JSON; NULL: not in JSON, or another field with this offset has the name */
    const char *name;
};

/**
 * Finds the fields' lines in @p text: "KEY: N", "KEY N", or "KEY: N kB", which counts as N * 1024
 * bytes. Lines with the same key are summed up (smaps), and so are fields with the same offset. A
 * field without a line, or with a malformed number in any of its lines (kernel_u64()), becomes
 * KEYED_UNKNOWN.
 * @return the number of known fields.
 */
size_t keyed_parse(const char *text, const struct keyed_field *fields, size_t n, void *out);

/** Calls keyed_parse() for a file of at most 1 MiB. 0, -ENODATA if it has none of the fields, or
 * another negative errno; after an error all fields are KEYED_UNKNOWN. */
int keyed_read(const struct fsroot *root, const struct keyed_field *fields, size_t n, void *out,
               const char *path);

/** Returns a JSON object of the known fields that have names, from the struct at @p base. NULL if
 * out of memory. */
json_t *keyed_json(const struct keyed_field *fields, size_t n, const void *base);
