// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_parse.c  Moments as a person writes them: local time, summer time, UTC, how long
 * ago; and what is none. */
#include "base/parse.h"

#include "fixture.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

/* 2026-03-10T12:20:30Z, a Tuesday; in Central Europe 13:20:30. */
#define NOW 1773145230.0

static void setup(void)
{
    setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
    tzset();
}

static double moment(const char *text)
{
    double unix_s = -1;

    ck_assert_msg(parse_moment(text, NOW, &unix_s) == 0, "%s", text);
    return unix_s;
}

FIXTURE(cases, .setup = setup);

TEST(cases, a_stretch_before_now)
{
    ck_assert_double_eq(moment("90m"), NOW - 5400);
    ck_assert_double_eq(moment("2w"), NOW - 14 * 86400);
    ck_assert_double_eq(moment("30"), NOW - 30);
    ck_assert_double_eq(moment("1000000"), NOW - 1e6);
    ck_assert_double_eq(moment("20260131s"), NOW - 20260131);
}

TEST(cases, local_time)
{
    ck_assert_double_eq(moment("13:20"), NOW - 30);
    ck_assert_double_eq(moment("13:20:30"), NOW);
    ck_assert_double_eq(moment("2026-03-10"), NOW - 30 - 20 * 60 - 13 * 3600);
    ck_assert_double_eq(moment("2026-03-10T13:20:30"), NOW);
    ck_assert_double_eq(moment("2026-03-10 13:20"), NOW - 30);
    ck_assert_double_eq(moment("2026-07-01T14:00"), 1782907200); /* 12:00Z: summer time */
}

TEST(cases, universal_time)
{
    ck_assert_double_eq(moment("2026-03-10T12:20:30Z"), NOW);
    ck_assert_double_eq(moment("12:20Z"), NOW - 30);
    ck_assert_double_eq(moment("2026-07-01T12:00Z"), 1782907200);
    ck_assert_double_eq(moment("2026-03-10Z"), NOW - 30 - 20 * 60 - 12 * 3600);
}

TEST(cases, what_is_no_moment)
{
    static const char *const bad[] = {"",
                                      "Z",
                                      "soon",
                                      "-1h",
                                      "0",
                                      "20260131",
                                      "00000030",
                                      "1769860800",
                                      "1000001",
                                      "24:61",
                                      "12:20x",
                                      "2026-02-30",
                                      "2026-13-01",
                                      "2026-03-10T",
                                      "2026-03-10T12",
                                      "2026-03-1012:20",
                                      "2026-03-10T12:20:30.5",
                                      "2026-03-10T12:20+01:00",
                                      "2026-03-10T12:20:30 and a lot more of what nobody asked"};
    double unix_s = -1;

    for (size_t i = 0; i < COUNT(bad); i++)
        ck_assert_msg(parse_moment(bad[i], NOW, &unix_s) == -EINVAL, "%s: %f", bad[i], unix_s);
}
