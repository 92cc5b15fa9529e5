// SPDX-License-Identifier: LGPL-2.1-or-later
#include "guest/domain/qemu_config_text.h"

#include "base/cleanup.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_LINE 1024 /* QEMU reads into a buffer of this size */

struct walk {
    char group[64]; /* of the section that is open; empty: none */
    char *argument;
    size_t length;
    qemu_section_visitor visit;
    void *context;
};

/* The buffer has room for the whole file with every byte doubled. */
static void append(struct walk *walk, const char *key, const char *value)
{
    char *at = walk->argument + walk->length;

    at += sprintf(at, "%s%s=", walk->length ? "," : "", key);
    for (; *value; value++) {
        *at++ = *value;
        if (*value == ',')
            *at++ = ',';
    }
    *at = '\0';
    walk->length = (size_t)(at - walk->argument);
}

static int close_section(struct walk *walk, struct error *error)
{
    return *walk->group ? walk->visit(walk->group, walk->argument, walk->context, error) : 0;
}

static int open_section(struct walk *walk, const char *line, struct error *error)
{
    char group[64];
    char id[64];
    const int fields = sscanf(line, "[%63s \"%63[^\"]\"]", group, id);
    int rc = close_section(walk, error);

    walk->length = 0;
    *walk->argument = '\0';
    if (rc != 0)
        return rc;
    if (fields != 2 && sscanf(line, "[%63[^]]]", group) != 1)
        return -EINVAL;
    memcpy(walk->group, group, sizeof(group));
    if (fields == 2)
        append(walk, "id", id);
    return 0;
}

static int read_key(struct walk *walk, const char *line)
{
    char key[64];
    char value[MAX_LINE] = "";

    if (sscanf(line, " %63s = \"%1023[^\"]\"", key, value) != 2 &&
        sscanf(line, " %63s = \"\"", key) != 1)
        return -EINVAL;
    if (!*walk->group || strpbrk(key, ",="))
        return -EINVAL;
    append(walk, key, value);
    return 0;
}

static int read_line(struct walk *walk, const char *line, struct error *error)
{
    if (*line == '\0' || *line == '#')
        return 0;
    return *line == '[' ? open_section(walk, line, error) : read_key(walk, line);
}

/* Copies the line at @p at; returns where the next one begins, NULL if it is too long or has a
 * NUL. */
static const char *take_line(const char *at, const char *end, char line[MAX_LINE])
{
    const char *newline = memchr(at, '\n', (size_t)(end - at));
    const size_t length = (size_t)((newline ? newline : end) - at);

    if (length >= MAX_LINE - 1 || memchr(at, '\0', length))
        return NULL;
    memcpy(line, at, length);
    line[length] = '\0';
    return newline ? newline + 1 : end;
}

static int walk_lines(struct walk *walk, const char *text, size_t length, struct error *error)
{
    const char *end = text + length;
    char line[MAX_LINE];
    unsigned number = 1;

    for (const char *at = text; at < end; number++) {
        at = take_line(at, end, line);

        int rc = at ? read_line(walk, line, error) : -EINVAL;

        if (rc == -EINVAL && !*error->text)
            return error_set(error, rc, "line %u is not understood", number);
        if (rc != 0)
            return rc;
    }
    return close_section(walk, error);
}

int qemu_config_text_walk(const char *text, size_t length, qemu_section_visitor visit,
                          void *context, struct error *error)
{
    struct error failed = {0};

    if (length > QEMU_CONFIG_MAX_BYTES)
        return error_set(error, -EFBIG, "larger than %lu KiB", QEMU_CONFIG_MAX_BYTES >> 10);

    /* "[g "id"]" is as long as ",id=id" and its NUL; each other byte at most doubles */
    cleanup_free char *argument = calloc(2, length + 64);
    struct walk walk = {.argument = argument, .visit = visit, .context = context};

    if (!argument)
        return error_set(error, -ENOMEM, "out of memory");

    int rc = walk_lines(&walk, text, length, &failed);

    return rc < 0 ? error_set(error, rc, "%s", failed.text) : rc;
}
