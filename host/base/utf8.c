// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file utf8.c  See utf8.h. */
#include "base/utf8.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

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

/* U+0080 to U+009F are two bytes, of which the first is 0xc2. */
static bool is_control(const uint8_t *c)
{
    return c[0] < 0x20 || c[0] == 0x7f || (c[0] == 0xc2 && c[1] < 0xa0);
}

static void replace(char *text, bool controls)
{
    for (char *c = text; *c;) {
        size_t n = sequence((const uint8_t *)c);
        bool bad = n == 0 || (controls && is_control((const uint8_t *)c));

        for (n = n ? n : 1; n > 0; n--, c++)
            *c = bad ? '?' : *c;
    }
}

void utf8_clean(char *text)
{
    replace(text, false);
}

void utf8_printable(char *text)
{
    replace(text, true);
}

void utf8_end(char *text)
{
    size_t n = strlen(text);
    size_t begin = n;

    while (begin > 0 && n - begin < 4) {
        uint8_t c = (uint8_t)text[--begin];

        if ((c & 0xc0) == 0x80)
            continue;
        if (c >= 0xc0 && sequence((const uint8_t *)text + begin) == 0)
            text[begin] = '\0';
        return;
    }
}
