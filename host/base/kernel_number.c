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

int kernel_whole_u64(const char *text, uint64_t *value)
{
    uint64_t number;
    const char *end = isdigit((unsigned char)*text) ? kernel_u64(text, &number) : NULL;

    if (!end || *end)
        return -EINVAL;
    *value = number;
    return 0;
}
