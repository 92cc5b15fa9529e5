// SPDX-License-Identifier: LGPL-2.1-or-later
#include "proc/keyed.h"

#include "base/cleanup.h"
#include "base/kernel_number.h"
#include "base/text/json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FILE_MAX ((size_t)1 << 20)

static uint64_t *field_at(void *out, const struct keyed_field *field)
{
    return (uint64_t *)(void *)((char *)out + field->offset);
}

static void forget_fields(const struct keyed_field *fields, size_t n, void *out)
{
    for (size_t i = 0; i < n; i++)
        *field_at(out, &fields[i]) = KEYED_UNKNOWN;
}

/* The number in a line after its key; KEYED_UNKNOWN if there is none. */
static uint64_t number_of(const char *text)
{
    uint64_t value;
    const char *end = kernel_u64(text, &value);

    if (end && !strncmp(end, " kB", 3))
        end = kernel_kib(text, &value);
    return end ? value : KEYED_UNKNOWN;
}

/* Marks a sum, while it is computed, if one of its lines has a malformed number. */
#define REFUSED (KEYED_UNKNOWN - 1)

static void add_line(uint64_t *sum, uint64_t value)
{
    if (*sum == REFUSED || value == KEYED_UNKNOWN)
        *sum = REFUSED;
    else
        *sum = *sum == KEYED_UNKNOWN ? value : *sum + value;
    if (*sum > INT64_MAX)
        *sum = REFUSED;
}

static const struct keyed_field *field_of(const struct keyed_field *fields, size_t n,
                                          const char *key, size_t length)
{
    for (size_t i = 0; i < n; i++)
        if (strlen(fields[i].key) == length && memcmp(fields[i].key, key, length) == 0)
            return &fields[i];
    return NULL;
}

size_t keyed_parse(const char *text, const struct keyed_field *fields, size_t n, void *out)
{
    size_t found = 0;

    forget_fields(fields, n, out);
    for (; *text; text += *text == '\n') {
        size_t key = strcspn(text, ": \t\n");
        const struct keyed_field *field = field_of(fields, n, text, key);

        if (field)
            add_line(field_at(out, field), number_of(text + key + (text[key] == ':')));
        text += strcspn(text, "\n");
    }
    for (size_t i = 0; i < n; i++) {
        uint64_t *at = field_at(out, &fields[i]);

        if (*at == REFUSED)
            *at = KEYED_UNKNOWN;
        found += *at != KEYED_UNKNOWN;
    }
    return found;
}

int keyed_read(const struct fsroot *root, const struct keyed_field *fields, size_t n, void *out,
               const char *path)
{
    cleanup_free char *text = NULL;
    ssize_t rc = fsroot_read_all(root, &text, FILE_MAX, "%s", path);

    if (rc < 0) {
        forget_fields(fields, n, out);
        return (int)rc;
    }
    return keyed_parse(text, fields, n, out) > 0 ? 0 : -ENODATA;
}

json_t *keyed_json(const struct keyed_field *fields, size_t n, const void *base)
{
    json_t *object = json_object();

    for (size_t i = 0; i < n; i++)
        if (fields[i].name)
            json_set_known(
                object, fields[i].name,
                *(const uint64_t *)(const void *)((const char *)base + fields[i].offset));
    return object;
}
