// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file numbers.h  Arrays of numbers in JSON, read in place. Pure functions.
 *
 * A plan of many hosts reads millions of rows, each with some fifty numbers. A JSON parser that
 * allocates objects took half of the plan's time; this one allocates nothing. It accepts only what
 * JSON does (RFC 8259): blanks between numbers, no leading zeros, no plus sign.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct numbers {
    const char *at, *end; /* the text need not end with a NUL */
};

/** Skips blanks, and takes the character @p c ("[", "]", ",") if it comes next. */
bool numbers_take(struct numbers *numbers, char c);

/** Returns true if only blanks are left. */
bool numbers_done(struct numbers *numbers);

/** Takes a whole number from 0 to INT64_MAX; returns false if the next text is not one. */
bool numbers_whole(struct numbers *numbers, uint64_t *value);

/** Takes any finite number; the last bit of *value may be wrong. */
bool numbers_real(struct numbers *numbers, double *value);
