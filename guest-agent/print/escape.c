// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file escape.c  See escape.h. */
#include "print/escape.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of the character at @p at that may be printed; 0 for none. RFC 3629: the shortest form, no surrogates. */
static size_t printable(const unsigned char *at)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t length = *at < 0x80             ? 1
                    : (*at & 0xe0) == 0xc0 ? 2
                    : (*at & 0xf0) == 0xe0 ? 3
                    : (*at & 0xf8) == 0xf0 ? 4
                                           : 0;

    if (length < 2)
        return length == 1 && *at >= 0x20 && *at != 0x7f;

    uint32_t code = *at & (0x7fU >> length);

    for (size_t i = 1; i < length; i++) {
        if ((at[i] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (at[i] & 0x3f);
    }
    if (code < least[length] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
        return 0;
    return code < 0xa0 ? 0 : length;
}

static bool is_printable(const char *name)
{
    size_t length;

    for (; *name; name += length) {
        length = printable((const unsigned char *)name);
        if (length == 0)
            return false;
    }
    return true;
}

char *escape_name(const char *name, bool *escaped)
{
    *escaped = !is_printable(name);
    if (!*escaped)
        return strdup(name);

    char *copy = malloc(4 * strlen(name) + 1);
    char *to = copy;

    while (copy && *name) {
        size_t length = printable((const unsigned char *)name);

        if (length == 0)
            to += sprintf(to, "\\x%02x", (unsigned char)*name);
        else if (*name == '\\')
            to = stpcpy(to, "\\\\");
        else
            to = mempcpy(to, name, length);
        name += length ? length : 1;
    }
    if (copy)
        *to = '\0';
    return copy;
}
