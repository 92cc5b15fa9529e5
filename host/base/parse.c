// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file parse.c  See parse.h. */
#include "base/parse.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int parse_seconds(const char *text, double *seconds)
{
    char *end;
    double value = strtod(text, &end);

    if (end == text || *end || !isfinite(value) || value < 0.001 || value > 1e6)
        return -EINVAL;
    *seconds = value;
    return 0;
}

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

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return (x > y) - (x < y);
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
