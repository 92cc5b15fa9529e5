// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file parse_moment.c  See parse.h. It is a separate file so that the statically linked agent
 * does not get 16 KiB of time zone code. */
#include "base/parse.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAX_UNITLESS_S 1e6

/* Parses the day of *tm, if there is one, and sets *text to the rest. strptime() accepts any two
 * digits for a day: mktime() turns the 31st of February into another day, which is refused. */
static int parse_day(const char **text, struct tm *tm, bool utc)
{
    struct tm day = {.tm_isdst = -1};
    const char *rest = strptime(*text, "%Y-%m-%d", &day);

    if (!rest)
        return 0; /* today */
    if (*rest && !(strchr("T ", *rest) && rest[1]))
        return -EINVAL;

    struct tm real = day;

    real.tm_hour = 12; /* mktime() is unambiguous at noon: clocks are never set then */
    if ((utc ? timegm(&real) : mktime(&real)) == (time_t)-1 || real.tm_mday != day.tm_mday)
        return -EINVAL;
    *tm = day;
    *text = rest + (*rest != '\0');
    return 0;
}

static int parse_hour(const char *text, struct tm *tm)
{
    const char *rest = strptime(text, "%H:%M", tm);

    if (rest && *rest == ':')
        rest = strptime(rest, ":%S", tm);
    return rest && !*rest ? 0 : -EINVAL;
}

static int parse_date(const char *text, double now_s, double *unix_s)
{
    const time_t now = (time_t)now_s;
    const size_t length = strlen(text);
    const bool utc = length > 0 && text[length - 1] == 'Z';
    struct tm tm;
    char copy[32];
    const char *rest = copy;
    time_t time;

    if (length >= sizeof(copy) || !(utc ? gmtime_r(&now, &tm) : localtime_r(&now, &tm)))
        return -EINVAL;
    snprintf(copy, sizeof(copy), "%.*s", (int)(length - utc), text);
    tm.tm_hour = tm.tm_min = tm.tm_sec = 0;
    tm.tm_isdst = -1;
    if (!*copy || parse_day(&rest, &tm, utc) < 0 || (*rest && parse_hour(rest, &tm) < 0))
        return -EINVAL;
    time = utc ? timegm(&tm) : mktime(&tm);
    if (time == (time_t)-1)
        return -EINVAL;
    *unix_s = (double)time;
    return 0;
}

/* Without a unit, 20260131 may be a day without hyphens, and 1769860800 a Unix time, rather than a
 * number of seconds ago. */
static bool is_long_number(const char *text)
{
    return strspn(text, "0123456789.") == strlen(text) &&
           (strtod(text, NULL) > MAX_UNITLESS_S || strspn(text, "0123456789") == 8);
}

int parse_moment(const char *text, double now_s, double *unix_s)
{
    double ago_s;

    if (is_long_number(text))
        return -EINVAL;
    if (parse_span(text, &ago_s) < 0)
        return parse_date(text, now_s, unix_s);
    *unix_s = now_s - ago_s;
    return 0;
}
