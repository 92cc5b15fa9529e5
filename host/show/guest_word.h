// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file guest_word.h  The guest's word for people and for scripts: always beside the host's
 * numbers, and named as its. */
#pragma once

#include "estimate/guest_word.h"

#include <jansson.h>

/** Did anybody ask? Only then there is something to show, if only why there is nothing. */
bool word_was_asked(const struct guest_word *word);

/**
 * The object "guest" of a record: "source" says whose word it is, and with "none" "missing" why
 * there is none. What the guest did not tell is left out. The caller owns it; NULL when out of
 * memory.
 */
json_t *word_json(const struct guest_word *word);

/** "103.2 MiB"; "-" when it was not told. Returns @p text, as those below. */
char *word_bytes_text(char *text, size_t size, uint64_t bytes);
/** "12.3%"; "-" */
char *word_share_text(char *text, size_t size, double share);
/** "below", "near", "above"; ">= RAM" when the working set is at least what the guest has; "-" when
 * it is not known. */
char *word_verdict_text(char *text, size_t size, const struct guest_word *word);

#define WORD_LINES 7
#define WORD_LINE 200
/** What there is to say, in up to WORD_LINES lines; their number. */
size_t word_lines(char lines[WORD_LINES][WORD_LINE], const struct guest_word *word);
