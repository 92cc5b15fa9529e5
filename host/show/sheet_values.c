// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file sheet_values.c  Converts values of a sheet for JSON and for tables; see sheet.h. */
#include "show/sheet.h"

#include "base/clock.h"
#include "base/text/json.h"
#include "base/text/units.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>

static json_t *whole_json(uint64_t n)
{
    return n > INT64_MAX ? json_null() : json_u64(n);
}

void sheet_count(struct sheet *sheet, const char *key, uint64_t n)
{
    char text[32];

    snprintf(text, sizeof(text), "%" PRIu64, n);
    sheet_put(sheet, key, whole_json(n), text);
}

void sheet_bytes(struct sheet *sheet, const char *key, uint64_t bytes)
{
    char text[32] = "";

    if (sheet->format == SHOW_TABLE)
        show_bytes(text, sizeof(text), bytes);
    sheet_put(sheet, key, whole_json(bytes), text);
}

/* Writes "-1.2 GiB", or "-" if not known. */
static const char *real_bytes_text(char *text, size_t size, double bytes)
{
    if (!(fabs(bytes) < 0x1p63))
        return "-";
    snprintf(text, size, "%s%s", bytes < 0 ? "-" : "", BYTES_TEXT((uint64_t)fabs(bytes)));
    return text;
}

void sheet_bytes_real(struct sheet *sheet, const char *key, double bytes)
{
    char text[40];
    const bool known = fabs(bytes) < 0x1p63;

    sheet_put(sheet, key, known ? json_integer((json_int_t)bytes) : json_null(),
              real_bytes_text(text, sizeof(text), bytes));
}

static json_t *real_json(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

void sheet_real(struct sheet *sheet, const char *key, double value)
{
    char text[32];

    snprintf(text, sizeof(text), "%.9g", value);
    sheet_put(sheet, key, real_json(value), text);
}

void sheet_seconds(struct sheet *sheet, const char *key, double seconds)
{
    sheet_put(sheet, key, real_json(seconds), SECONDS_TEXT(seconds));
}

double sheet_rounded(double value, double unit)
{
    return round(value / unit) * unit;
}

void sheet_share(struct sheet *sheet, const char *key, double share)
{
    char text[32];

    snprintf(text, sizeof(text), "%.1f%%", 100 * share);
    sheet_put(sheet, key, real_json(share), text);
}

void sheet_time(struct sheet *sheet, const char *key, double unix_s, int digits)
{
    char text[40];

    show_time(text, sizeof(text), unix_s, sheet->format == SHOW_TABLE ? 0 : digits);
    sheet_put(sheet, key, unix_s > 0 ? json_string(text) : json_null(), text);
}

void sheet_bool(struct sheet *sheet, const char *key, bool value)
{
    sheet_put(sheet, key, json_boolean(value), value ? "yes" : "no");
}

void sheet_text(struct sheet *sheet, const char *key, const char *text)
{
    sheet_put(sheet, key,
              sheet->format == SHOW_JSON || !text ? json_text(text) : json_string_nocheck(text),
              text);
}

void sheet_guest(struct sheet *sheet, const char *host, const char *domain, const char *uuid)
{
    sheet_text(sheet, "host", host);
    sheet_text(sheet, "domain", domain);
    sheet_text(sheet, "uuid", uuid);
}

void sheet_here_and_now(struct sheet *sheet)
{
    char host[HOST_NAME_MAX + 1] = "";

    gethostname(host, sizeof(host) - 1);
    sheet_time(sheet, "time", clock_s(CLOCK_REALTIME), 3);
    sheet_text(sheet, "host", host);
}

void sheet_bits(struct sheet *sheet, const char *key, unsigned bits,
                const char *(*name)(unsigned number))
{
    json_t *array = json_array();

    for (unsigned b = 0; name(b); b++)
        if (bits & 1U << b)
            json_array_append_new(array, json_string(name(b)));
    sheet_put(sheet, key, array, NULL);
}

void sheet_json(struct sheet *sheet, const char *key, json_t *json)
{
    sheet_put(sheet, key, json, NULL);
}

void sheet_cell_bytes(struct sheet *sheet, const char *key, double bytes)
{
    char text[40];

    sheet_cell(sheet, key, "%s", real_bytes_text(text, sizeof(text), bytes));
}
