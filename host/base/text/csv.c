// SPDX-License-Identifier: LGPL-2.1-or-later
#include "base/text/csv.h"

#include "base/array.h"
#include "base/utf8.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void separate(struct csv *csv)
{
    if (csv->n++ > 0)
        putchar(',');
}

/* Returns @p text after the characters that make it a formula, which may be of full width (U+FF0B,
 * FF0D, FF1D, FF20) or follow blanks; or @p text. */
static const char *after_sign(const char *text)
{
    static const char *const signs[] = {
        "=", "+", "-", "@", "\xef\xbc\x9d", "\xef\xbc\x8b", "\xef\xbc\x8d", "\xef\xbc\xa0"};
    const char *at = text + strspn(text, " \t\r\n");

    for (size_t i = 0; i < COUNT(signs); i++)
        if (!strncmp(at, signs[i], strlen(signs[i])))
            return at + strlen(signs[i]);
    return text;
}

/* A spreadsheet runs such a text as a formula, which can start programs; a number it does not. */
static bool is_formula(const char *text)
{
    const char *after = after_sign(text);
    char *end;

    if (after == text || !*after)
        return false;
    strtod(text, &end);
    return end == text || *end != '\0';
}

/* Prints each byte of a character that is not printable as '?': a terminal may obey such a
 * character, and a reader of UTF-8 stops at an invalid byte. */
static void print_printable(const char *text)
{
    while (*text) {
        size_t n = utf8_printable_bytes(text);

        if (n == 0 || *text == '"')
            putchar(n == 0 ? '?' : '"');
        fwrite(text, 1, n, stdout);
        text += n > 0 ? n : 1;
    }
}

void csv_text(struct csv *csv, const char *text)
{
    bool formula = is_formula(text);
    bool quoted = formula || strpbrk(text, ",\"\r\n");

    separate(csv);
    fputs(quoted ? "\"" : "", stdout);
    fputs(formula ? "'" : "", stdout); /* a spreadsheet takes it as text */
    print_printable(text);
    fputs(quoted ? "\"" : "", stdout);
}

void csv_nothing(struct csv *csv)
{
    separate(csv);
}

void csv_end(struct csv *csv)
{
    fputs("\r\n", stdout);
    csv->n = 0;
}

void csv_heading(const char *const *names)
{
    struct csv csv = {0};

    for (; *names; names++)
        csv_text(&csv, *names);
    csv_end(&csv);
}
