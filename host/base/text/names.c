// SPDX-License-Identifier: LGPL-2.1-or-later
#include "base/text/names.h"

#include <stdio.h>
#include <string.h>

/* Returns names->n if @p name is not found. */
static size_t find_name(const struct names *names, const char *name, size_t length)
{
    size_t i = 0;

    while (i < names->n &&
           (strlen(names->at[i]) != length || strncmp(names->at[i], name, length) != 0))
        i++;
    return i;
}

unsigned names_parse(const struct names *names, const char *name, unsigned otherwise)
{
    const size_t i = find_name(names, name, strlen(name));

    return i < names->n ? (unsigned)i : otherwise;
}

void names_bits_text(const struct names *names, char *text, size_t size, unsigned bits)
{
    size_t used = 0;

    text[0] = '\0';
    for (size_t i = 0; i < names->n && used < size; i++)
        if (bits & (1U << i))
            used += (size_t)snprintf(text + used, size - used, "%s%s", used ? "," : "",
                                     names->at[i]);
}

unsigned names_bits_parse(const struct names *names, const char *text)
{
    unsigned bits = 0;

    while (*text) {
        const size_t length = strcspn(text, ",");
        const size_t i = find_name(names, text, length);

        if (i < names->n)
            bits |= 1U << i;
        text += length + (text[length] == ',');
    }
    return bits;
}
