// SPDX-License-Identifier: LGPL-2.1-or-later
#include "print/escape.h"

#include "base/utf8.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_plain(const char *name)
{
    size_t length;

    for (; *name; name += length) {
        length = *name == '\\' ? 0 : utf8_printable_bytes(name);
        if (length == 0)
            return false;
    }
    return true;
}

char *escape_name(const char *name, bool *escaped)
{
    *escaped = !is_plain(name);
    if (!*escaped)
        return strdup(name);

    char *copy = malloc(4 * strlen(name) + 1);
    char *to = copy;

    while (copy && *name) {
        size_t length = utf8_printable_bytes(name);

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
