// SPDX-License-Identifier: LGPL-2.1-or-later
#include "show/metrics/exposition.h"

#include <stdbool.h>
#include <string.h>

void exposition_family(FILE *out, const char *name, const char *help)
{
    fprintf(out, "# HELP %s %s\n# TYPE %s gauge\n", name, help, name);
}

void exposition_sample(FILE *out, const char *name, const char *labels, double value)
{
    bool any = labels && *labels;

    /* 15 digits represent bytes up to a petabyte, and times to the microsecond, exactly. */
    fprintf(out, "%s%s%s%s %.15g\n", name, any ? "{" : "", any ? labels : "", any ? "}" : "",
            value);
}

/* The position and the remaining size of the text, including a NUL; NULL after something did not
 * fit. */
struct room {
    char *at;
    size_t size;
};

static void put_text(struct room *room, const char *text)
{
    size_t n = strlen(text);

    if (!room->at || n >= room->size) {
        room->at = NULL;
        return;
    }
    memcpy(room->at, text, n + 1);
    room->at += n;
    room->size -= n;
}

static void put_escaped(struct room *room, const char *value)
{
    for (const char *c = value; *c; c++) {
        const char escaped[] = {'\\', *c == '\n' ? 'n' : *c, '\0'};

        put_text(room, strchr("\\\"\n", *c) ? escaped : &escaped[1]);
    }
}

void exposition_label(char *labels, size_t size, const char *name, const char *value)
{
    size_t used = strlen(labels);
    struct room room = {labels + used, size - used};

    put_text(&room, used > 0 ? "," : "");
    put_text(&room, name);
    put_text(&room, "=\"");
    put_escaped(&room, value);
    put_text(&room, "\"");
    if (!room.at)
        labels[used] = '\0';
}
