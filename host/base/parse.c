// SPDX-License-Identifier: LGPL-2.1-or-later
#include "base/parse.h"

#include "base/array.h"
#include "base/compare.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

int parse_u64(const char *text, uint64_t min, uint64_t max, uint64_t *value)
{
    char *end;

    if (*text < '0' || *text > '9')
        return -EINVAL;
    errno = 0;

    uint64_t number = strtoull(text, &end, 10);

    if (errno || *end || number < min || number > max)
        return -EINVAL;
    *value = number;
    return 0;
}

int parse_percent(const char *text, double max, double *percent)
{
    char *end;
    double value = strtod(text, &end);

    if (end == text || (*end && strcmp(end, "%") != 0) || !(value > 0 && value <= max))
        return -EINVAL;
    *percent = value;
    return 0;
}

struct unit {
    const char *name;
    double factor;
};

/* Parses a number above 0 with an optional unit; without one, the first unit applies. */
static int parse_with_unit(const char *text, const struct unit *units, size_t n, double *value)
{
    char *end;
    double number;

    if (!isdigit((unsigned char)*text) && *text != '.')
        return -EINVAL; /* refuses a sign, a space, and "inf" */
    number = strtod(text, &end);
    for (size_t i = 0; i < n; i++)
        if (!strcasecmp(end, units[i].name)) {
            *value = number * units[i].factor;
            return isfinite(*value) && *value > 0 ? 0 : -EINVAL;
        }
    return -EINVAL;
}

/* A time within min_s .. max_s. */
static int parse_time(const char *text, double min_s, double max_s, double *seconds)
{
    static const struct unit units[] = {{"", 1},     {"ms", 0.001}, {"s", 1},        {"m", 60},
                                        {"h", 3600}, {"d", 86400},  {"w", 7 * 86400}};
    double value;

    if (parse_with_unit(text, units, COUNT(units), &value) < 0 || value < min_s || value > max_s)
        return -EINVAL;
    *seconds = value;
    return 0;
}

int parse_seconds(const char *text, double *seconds)
{
    return parse_time(text, 0.001, 1e6, seconds);
}

int parse_span(const char *text, double *seconds)
{
    return parse_time(text, 1e-9, 3.2e9, seconds);
}

int parse_size(const char *text, uint64_t *bytes)
{
    static const struct unit units[] = {
        {"", 1},          {"B", 1},      {"K", 1024},     {"KiB", 1024}, {"M", 1048576},
        {"MiB", 1048576}, {"G", 0x1p30}, {"GiB", 0x1p30}, {"T", 0x1p40}, {"TiB", 0x1p40}};
    double value;

    if (parse_with_unit(text, units, COUNT(units), &value) < 0 || value < 1 || value > 0x1p60)
        return -EINVAL;
    *bytes = (uint64_t)value;
    return 0;
}

int parse_speed(const char *text, double *bytes_s)
{
    static const struct unit units[] = {{"KiB", 1024}, {"MiB", 1048576}, {"GiB", 0x1p30},
                                        {"kB", 1e3},   {"MB", 1e6},      {"GB", 1e9},
                                        {"kbit", 125}, {"Mbit", 125e3},  {"Gbit", 125e6}};
    char number[64];
    size_t length = strlen(text);
    double value;

    if (length >= sizeof(number))
        return -EINVAL;
    memcpy(number, text, length + 1);
    if (length > 2 && strcasecmp(number + length - 2, "/s") == 0)
        number[length - 2] = '\0';
    if (parse_with_unit(number, units, COUNT(units), &value) < 0 || value < 1 || value > 0x1p50)
        return -EINVAL;
    *bytes_s = value;
    return 0;
}

static int split_list(const char *list, double *value, size_t max, size_t *n)
{
    char copy[1024];
    char *rest = NULL;

    *n = 0;
    if (strlen(list) >= sizeof(copy))
        return -EINVAL;
    snprintf(copy, sizeof(copy), "%s", list);
    for (char *one = strtok_r(copy, ",", &rest); one; one = strtok_r(NULL, ",", &rest)) {
        if (*n == max || parse_seconds(one, &value[*n]) < 0)
            return -EINVAL;
        ++*n;
    }
    return *n > 0 ? 0 : -EINVAL;
}

int parse_seconds_list(const char *list, double *seconds, size_t max, size_t *n)
{
    if (split_list(list, seconds, max, n) < 0)
        return -EINVAL;
    qsort(seconds, *n, sizeof(double), compare_doubles);

    size_t kept = 1;

    for (size_t i = 1; i < *n; i++)
        if (seconds[i] > seconds[kept - 1])
            seconds[kept++] = seconds[i];
    *n = kept;
    return 0;
}

int parse_text(const char *text, char *out, size_t size)
{
    if (!*text || strlen(text) >= size)
        return -EINVAL;
    memcpy(out, text, strlen(text) + 1);
    return 0;
}
