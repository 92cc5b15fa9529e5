// SPDX-License-Identifier: LGPL-2.1-or-later
#include "base/text/json.h"

#include "base/cleanup.h"
#include "base/utf8.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* JSON is UTF-8; each byte that is not part of UTF-8 becomes '?'. */
static json_t *clean_text(const char *text)
{
    cleanup_free char *clean = strdup(text);

    if (!clean)
        return NULL;
    utf8_clean(clean);
    return json_string(clean);
}

json_t *json_text(const char *text)
{
    json_t *string = text && *text ? json_string(text) : NULL;

    if (!string && text && *text)
        string = clean_text(text);
    return string ? string : json_null();
}

int json_print_line(json_t *object)
{
    /* 12 digits suffice for the hundredths of a second of an uptime of 30 years. */
    char *line = json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(12));

    json_decref(object);
    if (!line)
        return -ENOMEM;
    puts(line);
    fflush(stdout); /* a reader at the other end of a pipe needs the line at once */
    free(line);
    return 0;
}
