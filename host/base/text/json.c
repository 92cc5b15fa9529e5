// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file json.c  See json.h. */
#include "base/text/json.h"

#include "base/cleanup.h"
#include "base/text/units.h"
#include "base/utf8.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

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

void json_set_here_and_now(json_t *object)
{
    struct timespec now;
    char time[40];
    char host[256] = "";

    clock_gettime(CLOCK_REALTIME, &now);
    gethostname(host, sizeof(host) - 1);
    show_time(time, sizeof(time), (double)now.tv_sec + (double)now.tv_nsec / 1e9, 3);
    json_object_set_new(object, "time", json_string(time));
    json_object_set_new(object, "host", json_text(host));
}

int json_print_line(json_t *object)
{
    /* Enough for the hundredths of a second of an uptime of 30 years. */
    char *line = json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(12));

    json_decref(object);
    if (!line)
        return -ENOMEM;
    puts(line);
    fflush(stdout); /* a reader at the other end of a pipe wants the line now */
    free(line);
    return 0;
}
