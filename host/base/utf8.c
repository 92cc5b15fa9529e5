// SPDX-License-Identifier: LGPL-2.1-or-later
#include "base/utf8.h"
#include "base/array.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Returns the length of the sequence at @p c; 0 if it is not well-formed by table 3-7 of Unicode:
 * no overlong forms, no surrogates, nothing above U+10FFFF. */
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

/* The code point of the well-formed sequence of @p n bytes at @p c. */
static uint32_t decode(const uint8_t *c, size_t n)
{
    uint32_t code = n < 2 ? c[0] : c[0] & (0x7fU >> n);

    for (size_t i = 1; i < n; i++)
        code = code << 6 | (c[i] & 0x3f);
    return code;
}

/* General categories Cc, Cf, Zl and Zp of Unicode 16, and the unassigned code points reserved for
 * such characters (Default_Ignorable_Code_Point), ascending. */
static const struct {
    uint32_t first, last;
} controls[] = {
    {0x00, 0x1f},       {0x7f, 0x9f},       {0xad, 0xad},       {0x600, 0x605},
    {0x61c, 0x61c},     {0x6dd, 0x6dd},     {0x70f, 0x70f},     {0x890, 0x891},
    {0x8e2, 0x8e2},     {0x180e, 0x180e},   {0x200b, 0x200f},   {0x2028, 0x202e},
    {0x2060, 0x206f},   {0xfeff, 0xfeff},   {0xfff0, 0xfffb},   {0x110bd, 0x110bd},
    {0x110cd, 0x110cd}, {0x13430, 0x1343f}, {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a},
    {0xe0000, 0xe0fff},
};

static bool is_control(uint32_t code)
{
    for (size_t i = 0; i < COUNT(controls) && code >= controls[i].first; i++)
        if (code <= controls[i].last)
            return true;
    return false;
}

size_t utf8_printable_bytes(const char *text)
{
    const uint8_t *c = (const uint8_t *)text;
    size_t n = *c ? sequence(c) : 0;

    /* nearly all names are ASCII */
    if (n == 1)
        return *c >= 0x20 && *c != 0x7f;
    return n > 0 && is_control(decode(c, n)) ? 0 : n;
}

bool utf8_is_printable(const char *text)
{
    size_t n;

    while ((n = utf8_printable_bytes(text)) > 0)
        text += n;
    return *text == '\0';
}

static void replace(char *text, bool with_controls)
{
    for (char *c = text; *c;) {
        size_t n = sequence((const uint8_t *)c);
        bool bad = n == 0 || (with_controls && utf8_printable_bytes(c) == 0);

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

char *utf8_printable_copy(char *text, size_t size, const char *from)
{
    if ((size_t)snprintf(text, size, "%s", from) >= size)
        utf8_end(text);
    utf8_printable(text);
    return text;
}

void utf8_printable_format(char *text, size_t size, const char *format, va_list args)
{
    if ((size_t)vsnprintf(text, size, format, args) >= size)
        utf8_end(text);
    utf8_printable(text);
}
