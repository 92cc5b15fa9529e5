// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file kernel_number.h  Parses numbers in the kernel's text. strtoull(3) and scanf(3) read "-1" as
 * 2^64 - 1 and report success. A counter that is a sum over CPUs may fall below 0, which the kernel
 * prints with its sign, or as unsigned, about 2^64. Neither is a size.
 *
 * Each function skips blanks, and returns the text after the number; or NULL, without changing the
 * value, if there is no such number. Given NULL it returns NULL, so that calls can be chained.
 */
#pragma once

#include <stdint.h>

/** An address, a mask, an inode: digits of @p base (10 or 16), any value of 64 bits. */
const char *kernel_bits(const char *text, int base, uint64_t *value);

/** An amount, below 2^63. It refuses a sign, a word such as "max", and a counter below 0. */
const char *kernel_u64(const char *text, uint64_t *value);

/** A counter that may be below 0; the kernel prints it as signed or as unsigned. */
const char *kernel_s64(const char *text, int64_t *value);

/** An amount in KiB, in bytes. */
const char *kernel_kib(const char *text, uint64_t *bytes);

/** Finds the first line of @p text that begins with @p name and a blank; returns the text after the
 * name, or NULL. */
const char *kernel_line(const char *text, const char *name);

/** The amount in that line; 0 if there is no such line, or no amount in it. */
uint64_t kernel_line_u64(const char *text, const char *name);

/** Returns the beginning of the next line, or the end of the text. */
const char *kernel_next_line(const char *line);

/** Parses @p text as a single amount: 0, or -EINVAL. */
int kernel_whole_u64(const char *text, uint64_t *value);
