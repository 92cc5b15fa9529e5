// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file kept.c  See kept.h. */
#include "cli/kept.h"

#include "base/parse.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

struct unit {
    const char *name;
    double factor;
};

/* A number above 0 with one of the units behind it; the first is for none. */
static int parse_with_unit(const char *text, const struct unit *units, size_t n, double *value)
{
    char *end;
    double number;

    if (!isdigit((unsigned char)*text) && *text != '.')
        return -EINVAL; /* no sign, no space, no "inf" */
    number = strtod(text, &end);
    for (size_t i = 0; i < n; i++)
        if (!strcasecmp(end, units[i].name)) {
            *value = number * units[i].factor;
            return isfinite(*value) && *value > 0 ? 0 : -EINVAL;
        }
    return -EINVAL;
}

static int parse_span(const char *text, double *seconds)
{
    static const struct unit units[] = {{"", 1},     {"s", 1},     {"m", 60},
                                        {"h", 3600}, {"d", 86400}, {"w", 7 * 86400}};

    if (parse_with_unit(text, units, sizeof(units) / sizeof(units[0]), seconds) < 0)
        return -EINVAL;
    return *seconds <= 3.2e9 ? 0 : -EINVAL; /* a century */
}

int kept_parse_size(const char *text, uint64_t *bytes)
{
    static const struct unit units[] = {
        {"", 1},          {"B", 1},      {"K", 1024},     {"KiB", 1024}, {"M", 1048576},
        {"MiB", 1048576}, {"G", 0x1p30}, {"GiB", 0x1p30}, {"T", 0x1p40}, {"TiB", 0x1p40}};
    double value;

    if (parse_with_unit(text, units, sizeof(units) / sizeof(units[0]), &value) < 0 || value < 1 ||
        value > 0x1p60)
        return -EINVAL;
    *bytes = (uint64_t)value;
    return 0;
}

static int set_format(struct kept_choice *choice, enum show_format format)
{
    if (choice->format != SHOW_TABLE && choice->format != format) {
        cli_error("--json or --csv, not both");
        return -EINVAL;
    }
    choice->format = format;
    return 0;
}

int kept_option(struct kept_choice *choice, int option, const char *value)
{
    switch (option) {
    case 'D':
        choice->database = value;
        return 0;
    case 's':
        return parse_span(value, &choice->since_s) == 0
                   ? 0
                   : cli_bad_value("--since", value, "a time, as in 90m, 12h, 7d or 2w");
    case 'w':
        return parse_seconds(value, &choice->window_s) == 0
                   ? 0
                   : cli_bad_value("--window", value, "a number of seconds");
    case 'j':
        return set_format(choice, SHOW_JSON);
    case 'v':
        return set_format(choice, SHOW_CSV);
    default:
        return -EINVAL; /* getopt has said why */
    }
}

void kept_span(const struct kept_choice *choice, double *from_s, double *to_s)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    *to_s = (double)now.tv_sec + (double)now.tv_nsec / 1e9;
    *from_s = *to_s - choice->since_s;
}

int kept_open(const struct kept_choice *choice, struct store **store, struct error *error)
{
    *store = NULL;
    return history_open(choice->database, store, error);
}

int kept_end(struct store *store, int rc, struct error *error)
{
    store_close(store);
    if (rc == 0)
        rc = cli_flush(error);
    if (rc == 0)
        return EXIT_MEASURED;
    if (rc == -EPIPE)
        return EXIT_INTERRUPTED;
    cli_error("%s", error->code ? error->text : strerror(-rc));
    return EXIT_CANNOT;
}
