// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file numbers.h  Arrays of numbers in JSON, read in place. Pure functions.
 *
 * A plan of many hosts reads millions of rows, each with some fifty numbers. A parser that makes
 * objects of them took half of its time; here nothing is allocated. What is read is exactly JSON
 * (RFC 8259): blanks between, no leading zeros, no plus.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct numbers {
    const char *at, *end; /* the text need not end with a NUL */
};

/** Skips blanks, and takes that character ("[", "]", ",") if it comes next. */
bool numbers_take(struct numbers *numbers, char c);

/** Has all been read but blanks? */
bool numbers_done(struct numbers *numbers);

/** A whole number from 0 to INT64_MAX; false: something else comes next. */
bool numbers_whole(struct numbers *numbers, uint64_t *value);

/** Any number that is finite; it may be wrong in its last bit. */
bool numbers_real(struct numbers *numbers, double *value);
