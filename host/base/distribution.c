// SPDX-License-Identifier: LGPL-2.1-or-later
#include "base/distribution.h"

#include "base/array.h"
#include "base/utf8.h"

#include <stdio.h>
#include <string.h>

#define VALUE 128

static const struct {
    const char *id, *remedy;
} remedies[] = {
    {"debian", "no kernel of Debian has page_idle; those from 6.12 do with `zap` and `damon`: apt "
               "install linux-image-6.12-amd64 (12, with its security updates), linux-image-amd64 "
               "(13)"},
    {"ubuntu", "its generic kernels have page_idle: apt install linux-generic, and boot that"},
    {"rhel", "its own kernels have page_idle: dnf install kernel, and boot that instead of another "
             "one"},
    {"fedora", "no kernel of Fedora has page_idle; current ones do with `zap`: dnf upgrade kernel"},
    {"suse", "no kernel of SUSE has page_idle; those from 6.7 do with `zap`"},
};

/* The value of a line NAME=value or NAME="value"; "" if there is no such line. Shell escapes in the
 * value are kept: no distribution known here has any. */
static void value_of(const char *text, const char *name, char value[VALUE])
{
    const size_t length = strlen(name);

    *value = '\0';
    for (const char *line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        if (strncmp(line, name, length) != 0 || line[length] != '=')
            continue;
        line += length + 1;
        line += *line == '"' || *line == '\'';
        snprintf(value, VALUE, "%.*s", (int)strcspn(line, "\"'\n"), line);
        utf8_end(value);
        utf8_printable(value);
    }
}

static const char *remedy_of(const char *id, size_t length)
{
    for (size_t i = 0; i < COUNT(remedies); i++)
        if (strlen(remedies[i].id) == length && strncmp(remedies[i].id, id, length) == 0)
            return remedies[i].remedy;
    return NULL;
}

/* The remedy for the first known word. */
static const char *first_remedy(const char *words)
{
    const char *remedy = NULL;

    while (*words && !remedy) {
        const size_t length = strcspn(words, " ");

        remedy = remedy_of(words, length);
        words += length + (words[length] == ' ');
    }
    return remedy;
}

char *distribution_remedy(const struct fsroot *root, char text[DISTRIBUTION_TEXT])
{
    char file[4000]; /* the file has a few hundred bytes */
    char id[VALUE];
    char like[VALUE];
    char name[VALUE];
    const char *remedy;

    *text = '\0';
    if (fsroot_read(root, file, sizeof(file), "etc/os-release") < 0 &&
        fsroot_read(root, file, sizeof(file), "usr/lib/os-release") < 0)
        return text;
    value_of(file, "ID", id);
    value_of(file, "ID_LIKE", like);
    value_of(file, "PRETTY_NAME", name);
    remedy = first_remedy(id);
    remedy = remedy ? remedy : first_remedy(like);
    if (remedy)
        snprintf(text, DISTRIBUTION_TEXT, "%s: %s", *name ? name : id, remedy);
    return text;
}
