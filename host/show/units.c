// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file units.c  See units.h. */
#include "show/units.h"

#include <stdio.h>
#include <string.h>

char *show_bytes(char *text, size_t size, uint64_t bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    double value = (double)bytes;
    size_t unit = 0;

    while (value >= 1024 && unit + 1 < sizeof(units) / sizeof(units[0])) {
        value /= 1024;
        unit++;
    }
    snprintf(text, size, unit == 0 ? "%.0f %s" : "%.1f %s", value, units[unit]);
    return text;
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
        snprintf(text, size, "%lum%lus", whole / 60, whole % 60);
    else
        snprintf(text, size, "%luh%lum", whole / 3600, whole / 60 % 60);
    return text;
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
