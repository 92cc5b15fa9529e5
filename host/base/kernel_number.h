// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file kernel_number.h  Numbers in text of the kernel. strtoull(3) and scanf(3) take "-1" for
 * 2^64 - 1 and call it a success; and a counter that is a sum over CPUs may fall below 0, which the
 * kernel prints with its sign, or as unsigned, about 2^64. Neither is a size.
 *
 * Each function skips blanks, and returns what follows the number; or NULL, with the value left as
 * it was, where there is no such number. After NULL there is none, so that calls follow each other.
 */
#pragma once

#include <stdint.h>

/** An address, a mask, an inode: digits of @p base (10 or 16), all that fits in 64 bits. */
const char *kernel_bits(const char *text, int base, uint64_t *value);

/** An amount, below 2^63. Not one: a sign, a word such as "max", a counter below 0. */
const char *kernel_u64(const char *text, uint64_t *value);

/** A counter that may be below 0, whether it was printed as signed or as unsigned. */
const char *kernel_s64(const char *text, int64_t *value);

/** An amount in KiB, in bytes. */
const char *kernel_kib(const char *text, uint64_t *bytes);

/** An amount that is all of @p text: 0, or -EINVAL. */
int kernel_whole_u64(const char *text, uint64_t *value);
