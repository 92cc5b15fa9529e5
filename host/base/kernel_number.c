// SPDX-License-Identifier: LGPL-2.1-or-later
#include "base/kernel_number.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

const char *kernel_bits(const char *text, int base, uint64_t *value)
{
    char *end;

    if (!text)
        return NULL;
    text += strspn(text, " \t");
    if (base == 16 ? !isxdigit((unsigned char)*text) : !isdigit((unsigned char)*text))
        return NULL;
    errno = 0;

    uint64_t number = strtoull(text, &end, base);

    if (errno)
        return NULL;
    *value = number;
    return end;
}

const char *kernel_u64(const char *text, uint64_t *value)
{
    uint64_t number;
    const char *end = kernel_bits(text, 10, &number);

    if (!end || number > INT64_MAX)
        return NULL;
    *value = number;
    return end;
}

const char *kernel_s64(const char *text, int64_t *value)
{
    uint64_t number;

    if (!text)
        return NULL;
    text += strspn(text, " \t");

    const bool minus = *text == '-' && isdigit((unsigned char)text[1]);
    const char *end = kernel_bits(text + minus, 10, &number);

    if (!end || (minus && number > (uint64_t)INT64_MAX + 1))
        return NULL;
    *value = (int64_t)(minus ? -number : number);
    return end;
}

const char *kernel_kib(const char *text, uint64_t *bytes)
{
    uint64_t kib;
    const char *end = kernel_u64(text, &kib);

    if (!end || kib > INT64_MAX / 1024)
        return NULL;
    *bytes = kib * 1024;
    return end;
}

const char *kernel_next_line(const char *line)
{
    line += strcspn(line, "\n");
    return *line ? line + 1 : line;
}

const char *kernel_line(const char *text, const char *name)
{
    const size_t length = strlen(name);

    for (const char *line = text; *line; line = kernel_next_line(line))
        if (!strncmp(line, name, length) && (line[length] == ' ' || line[length] == '\t'))
            return line + length;
    return NULL;
}

uint64_t kernel_line_u64(const char *text, const char *name)
{
    uint64_t value = 0;

    kernel_u64(kernel_line(text, name), &value);
    return value;
}

int kernel_whole_u64(const char *text, uint64_t *value)
{
    uint64_t number;
    const char *end = isdigit((unsigned char)*text) ? kernel_u64(text, &number) : NULL;

    if (!end || *end)
        return -EINVAL;
    *value = number;
    return 0;
}
