// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file names.h  Converts an enum's values, or the bits of a set, to names and back. */
#pragma once

#include "base/array.h"

#include <stddef.h>

struct names {
    const char *const *at; /* indexed by the enum's value, or by the number of the bit */
    size_t n;
};

/** Initialises a struct names from an array. */
#define NAMES(array)          \
    {                         \
        (array), COUNT(array) \
    }

/** Returns the number of @p name, or @p otherwise if there is no such name. */
unsigned names_parse(const struct names *names, const char *name, unsigned otherwise);

/** Writes the names of the bits, "thp,partial", as far as they fit; "" for no bits. */
void names_bits_text(const struct names *names, char *text, size_t size, unsigned bits);

/** Parses such a list; ignores unknown names. */
unsigned names_bits_parse(const struct names *names, const char *text);
