// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file json.c  See json.h. */
#include "show/json.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

json_t *json_text(const char *text)
{
    json_t *string = text && *text ? json_string(text) : NULL;

    return string ? string : json_null();
}

int json_print_line(json_t *object)
{
    char *line = json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(9));

    json_decref(object);
    if (!line)
        return -ENOMEM;
    puts(line);
    fflush(stdout); /* a reader at the other end of a pipe wants the line now */
    free(line);
    return 0;
}
