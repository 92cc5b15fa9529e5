// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file exposition.c  See exposition.h. */
#include "export/exposition.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

void exposition_family(FILE *out, const char *name, const char *help)
{
    fprintf(out, "# HELP %s %s\n# TYPE %s gauge\n", name, help, name);
}

void exposition_sample(FILE *out, const char *name, const char *labels, double value)
{
    bool any = labels && *labels;

    /* 15 digits: bytes up to a petabyte and times to the microsecond are exact. */
    fprintf(out, "%s%s%s%s %.15g\n", name, any ? "{" : "", any ? labels : "", any ? "}" : "",
            value);
}

/* Where text goes, and what room there is with its NUL; NULL once something did not fit. */
struct room {
    char *at;
    size_t size;
};

static void put(struct room *room, const char *text)
{
    size_t n = strlen(text);

    if (!room->at || n >= room->size) {
        room->at = NULL;
        return;
    }
    memcpy(room->at, text, n + 1);
    room->at += n;
    room->size -= n;
}

static void put_escaped(struct room *room, const char *value)
{
    for (const char *c = value; *c; c++) {
        const char escaped[] = {'\\', *c == '\n' ? 'n' : *c, '\0'};

        put(room, strchr("\\\"\n", *c) ? escaped : &escaped[1]);
    }
}

void exposition_label(char *labels, size_t size, const char *name, const char *value)
{
    size_t used = strlen(labels);
    struct room room = {labels + used, size - used};

    put(&room, used > 0 ? "," : "");
    put(&room, name);
    put(&room, "=\"");
    put_escaped(&room, value);
    put(&room, "\"");
    if (!room.at)
        labels[used] = '\0';
}

/* How long the well-formed sequence at @p c is; 0: there is none. By table 3-7 of Unicode: no overlong forms, no
 * surrogates, nothing above U+10FFFF. */
static size_t sequence(const uint8_t *c)
{
    size_t n;
    uint8_t low = 0x80;
    uint8_t high = 0xbf;

    if (c[0] < 0x80)
        return 1;
    if (c[0] < 0xc2 || c[0] > 0xf4)
        return 0;
    n = c[0] < 0xe0 ? 2 : c[0] < 0xf0 ? 3 : 4;
    low = c[0] == 0xe0 ? 0xa0 : c[0] == 0xf0 ? 0x90 : low;
    high = c[0] == 0xed ? 0x9f : c[0] == 0xf4 ? 0x8f : high;
    if (c[1] < low || c[1] > high)
        return 0;
    for (size_t i = 2; i < n; i++)
        if ((c[i] & 0xc0) != 0x80)
            return 0;
    return n;
}

void exposition_clean(char *value)
{
    for (char *c = value; *c;) {
        size_t n = sequence((const uint8_t *)c);

        if (n == 0)
            *c = '?';
        c += n ? n : 1;
    }
}
