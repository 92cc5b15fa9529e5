// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file csv.c  See csv.h. */
#include "base/text/csv.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void separate(struct csv *csv)
{
    if (csv->n++ > 0)
        putchar(',');
}

/* A spreadsheet runs such a text as a formula, which can start programs; a number it does not. */
static bool is_formula(const char *text)
{
    char *end;

    if (!text[0] || !text[1] || !strchr("=+-@\t\r", *text))
        return false;
    strtod(text, &end);
    return end == text || *end != '\0';
}

/* Prints an apostrophe before a formula: a spreadsheet takes it as text. */
static void print_quoted(const char *text)
{
    fputs(is_formula(text) ? "\"'" : "\"", stdout);
    for (const char *c = text; *c; c++)
        fputs(*c == '"' ? "\"\"" : (const char[]){*c, '\0'}, stdout);
    putchar('"');
}

void csv_text(struct csv *csv, const char *text)
{
    separate(csv);
    if (strpbrk(text, ",\"\r\n") || is_formula(text))
        print_quoted(text);
    else
        fputs(text, stdout);
}

void csv_whole(struct csv *csv, uint64_t value)
{
    separate(csv);
    printf("%llu", (unsigned long long)value);
}

void csv_number(struct csv *csv, double value)
{
    separate(csv);
    printf("%.9g", value);
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
