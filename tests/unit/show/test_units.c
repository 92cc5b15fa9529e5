// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_units.c  Bytes, times and errors as people read them. */
#include "base/text/units.h"

#include "fixture.h"

static char text[64];

TEST(plain, bytes)
{
    static const struct {
        uint64_t bytes;
        const char *text;
    } all[] = {{0, "0 B"},
               {1023, "1023 B"},
               {1024, "1.0 KiB"},
               {101720064, "97.0 MiB"},
               {UINT64_MAX, "16384.0 PiB"}};

    for (size_t i = 0; i < COUNT(all); i++)
        ck_assert_str_eq(show_bytes(text, sizeof(text), all[i].bytes), all[i].text);
}

TEST(plain, seconds)
{
    static const struct {
        double seconds;
        const char *text;
    } all[] = {{0.0004, "0s"}, {0.0123, "0.0123s"}, {4.00154, "4s"}, {60, "60s"},   {600, "10m"},
               {330, "5m30s"}, {3600, "1h"},        {5400, "1h30m"}, {9.999, "10s"}};

    for (size_t i = 0; i < COUNT(all); i++)
        ck_assert_str_eq(show_seconds(text, sizeof(text), all[i].seconds), all[i].text);
    ck_assert_str_eq(show_seconds_short(text, sizeof(text), 3600), "1h");
    ck_assert_str_eq(show_seconds_short(text, sizeof(text), 90), "90s");
}

TEST(plain, errors)
{
    ck_assert_str_eq(show_error(text, sizeof(text), 1000, 900, 1050), "100 B");
    ck_assert_str_eq(show_error(text, sizeof(text), 1000, 100, 1050), "+50 B -900 B");
    ck_assert_str_eq(show_error(text, sizeof(text), 1000, 1000, 1000), "0 B");
}

/* No second has sixty of them. */
TEST(plain, times)
{
    ck_assert_str_eq(show_time(text, sizeof(text), 1773145230.9996, 3), "2026-03-10T12:20:31.000Z");
    ck_assert_str_eq(show_time(text, sizeof(text), 1773145230.1236, 3), "2026-03-10T12:20:30.124Z");
    ck_assert_str_eq(show_time(text, sizeof(text), 1773145230, 0), "2026-03-10T12:20:30Z");
}
