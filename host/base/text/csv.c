// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file csv.c  See csv.h. */
#include "base/text/csv.h"

#include <stdio.h>
#include <string.h>

static void separate(struct csv *csv)
{
    if (csv->n++ > 0)
        putchar(',');
}

void csv_text(struct csv *csv, const char *text)
{
    separate(csv);
    if (!strpbrk(text, ",\"\r\n")) {
        fputs(text, stdout);
        return;
    }
    putchar('"');
    for (const char *c = text; *c; c++)
        fputs(*c == '"' ? "\"\"" : (const char[]){*c, '\0'}, stdout);
    putchar('"');
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
