// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file fill.h  Prints texts for people within the 80 columns of a terminal. */
#pragma once

#include <stdio.h>

#define FILL_COLUMNS 80

/** Prints within @p columns what fill_words() prints within FILL_COLUMNS. */
void fill_words_within(FILE *out, int columns, const char *text, const char *end, int column,
                       int indent);

/** Returns the columns of a text in UTF-8 up to @p end: its bytes, without those that continue a
 * character, and without what sets a colour. */
int fill_width(const char *text, const char *end);

/**
 * Prints the words of @p text, up to @p end or its NUL byte, and '\n'. The first word is printed at
 * column @p column; a line that would be longer than FILL_COLUMNS goes on in the next one, after
 * @p indent spaces. Line breaks in the text are spaces.
 */
void fill_words(FILE *out, const char *text, const char *end, int column, int indent);

/**
 * Prints paragraphs. Lines are joined, except that an empty line and a line that begins with a
 * space stay lines; the latter keeps its indentation.
 */
void fill_paragraphs(FILE *out, const char *text);
