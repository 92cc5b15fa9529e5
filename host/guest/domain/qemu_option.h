// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file qemu_option.h  One argument of a QEMU option, in either syntax, and QEMU's sizes.
 *
 * Source: QEMU 7.2 util/qemu-option.c ("implied,key=value,flag", a comma in a value is doubled),
 * util/keyval.c, qapi/qobject-input-visitor.c (an argument that begins with '{' is JSON),
 * util/cutils.c qemu_strtosz().
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json_t;

struct qemu_option {
    const char *text;    /* the argument as given; not owned */
    struct json_t *json; /* the parsed object when the argument is JSON, else NULL */
};

/** Takes @p text, which must outlive @p option. -EINVAL for JSON that is malformed, not an object,
 * or has a key twice. Release with qemu_option_close(). */
int qemu_option_open(struct qemu_option *option, const char *text);
void qemu_option_close(struct qemu_option *option);

/**
 * Copies the value of @p key, unescaped; the last one wins, as in QEMU. A flag without '=' has the
 * value "on". @p implied is the key of a first item without '=' ("size" in "-m 512"), or NULL.
 * @return 1; 0 when the key is absent; -EOVERFLOW when the value does not fit (then it is cut).
 */
int qemu_option_get(const struct qemu_option *option, const char *implied, const char *key,
                    char *value, size_t size);

/** True when @p key is present and on ("on", "yes", "true", "y", JSON true). */
bool qemu_option_is_on(const struct qemu_option *option, const char *key);

/**
 * Parses QEMU's size: a number (decimal with or without a fraction, or 0x hexadecimal) and one of
 * b k M G T P E in either case; without a letter it counts @p unit bytes. Spaces and a "+" before
 * it are skipped, as by strtoull().
 * @return 0; -EINVAL not a size; -ERANGE does not fit in 63 bits.
 */
int qemu_size_parse(const char *text, uint64_t unit, uint64_t *bytes);
