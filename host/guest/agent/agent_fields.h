// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file agent_fields.h  Converts members of a JSON object to members of a struct and back, by a
 * table; only for this folder. */
#pragma once

#include "base/error.h"

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

enum agent_value {
    VALUE_RAM_BYTES, /* uint64_t, at most the domain's RAM */
    VALUE_BYTES,     /* uint64_t, at most RAM_CONFIG_MAX_BYTES */
    VALUE_COUNT,     /* uint64_t, at most INT64_MAX, jansson's maximum */
    VALUE_PID,     /* uint64_t, 1 .. 2^22, PID_MAX_LIMIT of the kernel's include/linux/threads.h */
    VALUE_PERCENT, /* double, 0 .. 100 */
    VALUE_SECONDS, /* double, 0 .. somewhat more than a century */
    VALUE_TEXT,    /* char[AGENT_TEXT] */
    VALUE_FLAG,    /* bool */
    VALUE_OBJECT,  /* a struct with its own fields */
};

struct agent_field {
    const char *key;
    enum agent_value value;
    size_t offset;
    const struct agent_fields *fields; /* VALUE_OBJECT: their offsets start at this one */
};

struct agent_fields {
    const struct agent_field *field;
    size_t n;
};

/**
 * Reads every field of @p object, and of the objects in it, into @p base; a missing field, or every
 * field if @p object is NULL, becomes AGENT_UNKNOWN, NAN, empty or false. @p where is the object's
 * name for the message. 0, -EINVAL, -ERANGE.
 */
int agent_fields_read(const json_t *object, const char *where, const struct agent_fields *fields,
                      uint64_t ram_bytes, void *base, struct error *error);

/** Makes a JSON object of the known members of @p base, which the caller owns; an object in it
 * without a known member is left out. NULL if out of memory. */
json_t *agent_fields_json(const struct agent_fields *fields, const void *base);
