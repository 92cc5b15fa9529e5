// SPDX-License-Identifier: LGPL-2.1-or-later
#include "base/text/units.h"
#include "base/array.h"

#include <langinfo.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

char *show_bytes(char *text, size_t size, uint64_t bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    double value = (double)bytes;
    size_t unit = 0;

    while (value >= 1024 && unit + 1 < COUNT(units)) {
        value /= 1024;
        unit++;
    }
    snprintf(text, size, unit == 0 ? "%.0f %s" : "%.1f %s", value, units[unit]);
    return text;
}

char *show_error(char *text, size_t size, uint64_t bytes, uint64_t low, uint64_t high)
{
    uint64_t up = high > bytes ? high - bytes : 0;
    uint64_t down = bytes > low ? bytes - low : 0;
    char higher[32];
    char lower[32];

    show_bytes(higher, sizeof(higher), up);
    show_bytes(lower, sizeof(lower), down);
    if (down > 2 * up)
        snprintf(text, size, "+%s -%s", higher, lower);
    else
        snprintf(text, size, "%s", up > down ? higher : lower);
    return text;
}

/* Writes "5m30s", or "5m" if no seconds are left. */
static void show_two(char *text, size_t size, unsigned long large, char unit, unsigned long small,
                     char small_unit)
{
    if (small)
        snprintf(text, size, "%lu%c%lu%c", large, unit, small, small_unit);
    else
        snprintf(text, size, "%lu%c", large, unit);
}

char *show_seconds(char *text, size_t size, double seconds)
{
    unsigned long whole = (unsigned long)seconds;

    if (seconds < 0.001)
        snprintf(text, size, "0s");
    else if (seconds < 10)
        snprintf(text, size, "%.3gs", seconds);
    else if (whole < 120)
        snprintf(text, size, "%lus", whole);
    else if (whole < 3600)
        show_two(text, size, whole / 60, 'm', whole % 60, 's');
    else
        show_two(text, size, whole / 3600, 'h', whole / 60 % 60, 'm');
    return text;
}

char *show_seconds_short(char *text, size_t size, double seconds)
{
    if (seconds >= 3600 && (long)seconds % 3600 == 0)
        snprintf(text, size, "%ldh", (long)seconds / 3600);
    else if (seconds >= 60 && (long)seconds % 60 == 0)
        snprintf(text, size, "%ldm", (long)seconds / 60);
    else
        snprintf(text, size, "%.3gs", seconds);
    return text;
}

const char *show_plus_minus(void)
{
    return strcmp(nl_langinfo(CODESET), "UTF-8") == 0 ? "±" : "+-";
}

char *show_bar(char *text, size_t size, double share)
{
    size_t n = (size_t)(30 * (share < 0 ? 0 : share > 1 ? 1 : share) + 0.5);

    if (n >= size)
        n = size - 1;
    memset(text, '#', n);
    text[n] = '\0';
    return text;
}

char *show_time(char *text, size_t size, double unix_s, int digits)
{
    double unit = pow(10, -digits);
    /* round first, so that no minute has sixty seconds */
    double rounded = round(unix_s / unit) * unit;
    time_t whole = (time_t)floor(rounded + unit / 2);
    struct tm utc;
    char fraction[16] = "";
    size_t n;

    if (digits > 0)
        snprintf(fraction, sizeof(fraction), ".%0*.0f", digits,
                 fmax(0, (rounded - (double)whole) / unit));
    if (!gmtime_r(&whole, &utc)) {
        snprintf(text, size, "?");
        return text;
    }
    n = strftime(text, size, "%Y-%m-%dT%H:%M:%S", &utc);
    snprintf(text + n, size - n, "%sZ", fraction);
    return text;
}
