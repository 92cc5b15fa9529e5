// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_bucket.c  The windows of a bucket, from their text: all, or one of them. */
#include "history/bucket.h"
#include "history/numbers.h"

#include "unit.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define TEN "[10.0,10.5,1,100,90,110,100,100,[7,60000]]"
#define TEN_AND_HALF "[10.5,11,1,150,140,160,150,150,[7,60000]]"
#define MINUTE "[60,61.25,2,200,190,210,180,220,[9,30000,11,30000]]"

static int parse(struct bucket *bucket, const char *text, double only)
{
    bucket_clear(bucket);
    return bucket_windows_parse(bucket, text, strlen(text), only);
}

TEST(plain, all_are_read_or_the_one_that_is_asked_for)
{
    static struct bucket bucket;

    ck_assert_int_eq(parse(&bucket, "[" TEN "," TEN_AND_HALF "," MINUTE "]", 0), 0);
    ck_assert_uint_eq(bucket.n_windows, 3);
    ck_assert_int_eq(parse(&bucket, "[" TEN "," TEN_AND_HALF "," MINUTE "]", 60), 0);
    ck_assert_uint_eq(bucket.n_windows, 1);
    ck_assert_double_eq(bucket.windows[0].est_window_s, 61.25);
    ck_assert_uint_eq(bucket.windows[0].records, 2);
    ck_assert_double_eq(bucket.windows[0].wss_high, 210);
    ck_assert_uint_eq(bucket.windows[0].sketch.max, 220);
    ck_assert_uint_eq(bucket.windows[0].sketch.total, 60000);
    ck_assert_int_eq(parse(&bucket, "[" TEN "," TEN_AND_HALF "]", 10.5), 0);
    ck_assert_double_eq(bucket.windows[0].wss, 150);
}

TEST(plain, one_that_is_not_there_is_none)
{
    static struct bucket bucket;

    ck_assert_int_eq(parse(&bucket, "[" TEN "," MINUTE "]", 600), 0);
    ck_assert_uint_eq(bucket.n_windows, 0);
    ck_assert_int_eq(parse(&bucket, "[]", 60), 0);
    ck_assert_uint_eq(bucket.n_windows, 0);
}

/* With one window asked for as with all. */
static const char *const hostile[] = {
    "",
    "null",
    "{}",
    "[",
    "]",
    "[[60",
    "[" MINUTE,
    "[" MINUTE "]]",
    "[" MINUTE "],[]",
    "[" MINUTE "," MINUTE "]",
    "[\"[\"," MINUTE "]",
    "[{\"a\":1}," MINUTE "]",
    "[[60,60,1,1,1,1,9,1,[1,1]]]",
    "[[60,60,1,1,1,1,1,1,[-1,1]]]",
    "[[60,60,1,1,1,1,1,1,[1]]]",
    "[[60,60,1,1,1,1,1,1]]",
    "[[60]]",
    "[[[60,60,1,1,1,1,1,1,[1,1]]]]",
    "[" MINUTE ",]",
    "[," MINUTE "]",
    "[" MINUTE "]x",
    "[" MINUTE " " TEN "]",
    "[[0,60,1,1,1,1,1,1,[1,1]]]",
    "[[60,60,0,1,1,1,1,1,[1,1]]]",
    "[[60,60,1.5,1,1,1,1,1,[1,1]]]",
    "[[60,60,1e3,1,1,1,1,1,[1,1]]]",
    "[[060,60,1,1,1,1,1,1,[1,1]]]",
    "[[60,1e999,1,1,1,1,1,1,[1,1]]]",
    "[[60,60,1,1,1,1,1,9223372036854775808,[1,1]]]",
    "[[60,60,1,1,1,1,1,1,[]]]",
    "[[60,60,1,1,1,1,1,1,[1,0]]]",
    "[[60,60,1,1,1,1,1,1,[99999,1]]]",
    "[[60,60,1,1,1,1,1,1,[7,1,7,1]]]",
    "[[60,60,1,1,1,1,1,1,[8,1,7,1]]]",
    "[[60,60,1,1,1,1,1,1,[1,1],1]]",
};

TEST_EACH(plain, a_hostile_text_is_an_error, 0, COUNT(hostile))
{
    static struct bucket bucket;

    ck_assert_int_eq(parse(&bucket, hostile[_i], 0), -EUCLEAN);
    ck_assert_int_eq(parse(&bucket, hostile[_i], 60), -EUCLEAN);
}

static const struct {
    const char *text;
    double value;
} reals[] = {
    {"0", 0},
    {"-0.5", -0.5},
    {" 10.0", 10},
    {"61.25", 61.25},
    {"0.10000000000000001", 0.1},
    {"10.500000000000002", 10.500000000000002},
    {"123456789012345678901234567890", 1.2345678901234568e29},
    {"12345678901234567890123.75", 1.2345678901234568e22},
    {"0.00000000000000000000000000012345", 1.2345e-28},
    {"5.0000000000000002e-05", 5e-5},
    {"1E3", 1000},
    {"1e+2", 100},
    {"1e-999", 0},
    {"0e9999", 0},
};

TEST_EACH(plain, numbers_are_what_they_say, 0, COUNT(reals))
{
    struct numbers numbers = {reals[_i].text, reals[_i].text + strlen(reals[_i].text)};
    double value;

    ck_assert(numbers_real(&numbers, &value));
    ck_assert(numbers_done(&numbers));
    ck_assert_double_le(fabs(value - reals[_i].value), 2.3e-16 * fabs(reals[_i].value));
}

static const char *const no_reals[] = {"",   "-",  "+1", ".5", "1.",    "1e",  "1e+",
                                       "01", "-.", "x",  "-x", "1e400", "nan", "inf"};

TEST_EACH(plain, what_is_no_number_is_none, 0, COUNT(no_reals))
{
    struct numbers numbers = {no_reals[_i], no_reals[_i] + strlen(no_reals[_i])};
    double value;

    ck_assert(!numbers_real(&numbers, &value) || !numbers_done(&numbers));
}
