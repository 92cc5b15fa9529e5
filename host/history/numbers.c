// SPDX-License-Identifier: LGPL-2.1-or-later
#include "history/numbers.h"

#include "base/array.h"

#include <math.h>

static void skip_blanks(struct numbers *numbers)
{
    while (numbers->at < numbers->end && (*numbers->at == ' ' || *numbers->at == '\t' ||
                                          *numbers->at == '\n' || *numbers->at == '\r'))
        numbers->at++;
}

static bool next_is(const struct numbers *numbers, char c)
{
    return numbers->at < numbers->end && *numbers->at == c;
}

static bool next_is_digit(const struct numbers *numbers)
{
    return numbers->at < numbers->end && *numbers->at >= '0' && *numbers->at <= '9';
}

bool numbers_take(struct numbers *numbers, char c)
{
    skip_blanks(numbers);
    if (!next_is(numbers, c))
        return false;
    numbers->at++;
    return true;
}

bool numbers_done(struct numbers *numbers)
{
    skip_blanks(numbers);
    return numbers->at == numbers->end;
}

/* At or above this value, one more digit may not fit into 64 bits. */
#define FULL 1000000000000000000ULL

/* Appends digits to *value; returns their number. Digits that do not fit are counted in
 * *dropped. */
static size_t take_digits(struct numbers *numbers, uint64_t *value, int *dropped)
{
    const char *begin = numbers->at;

    for (; next_is_digit(numbers); numbers->at++) {
        const unsigned digit = (unsigned)(*numbers->at - '0');

        if (*dropped > 0 || *value >= FULL)
            ++*dropped;
        else
            *value = *value * 10 + digit;
    }
    return (size_t)(numbers->at - begin);
}

/* Takes the digits before a point: "0", or digits that do not begin with 0. */
static bool take_integer(struct numbers *numbers, uint64_t *value, int *dropped)
{
    const char *begin = numbers->at;
    const size_t n = take_digits(numbers, value, dropped);

    return n == 1 || (n > 1 && *begin != '0');
}

bool numbers_whole(struct numbers *numbers, uint64_t *value)
{
    int dropped = 0;

    skip_blanks(numbers);
    *value = 0;
    if (!take_integer(numbers, value, &dropped) || dropped > 0 || *value > INT64_MAX)
        return false;
    return !next_is(numbers, '.') && !next_is(numbers, 'e') && !next_is(numbers, 'E');
}

/* Takes the exponent after "e". */
static bool take_exponent(struct numbers *numbers, int *exponent)
{
    uint64_t value = 0;
    int dropped = 0;
    const bool minus = next_is(numbers, '-');

    numbers->at += minus || next_is(numbers, '+');
    if (take_digits(numbers, &value, &dropped) == 0)
        return false;
    if (dropped > 0 || value > 9999)
        value = 9999;
    *exponent += minus ? -(int)value : (int)value;
    return true;
}

static long double ten_to(int exponent)
{
    static const long double tens[] = {1,     1e1L,  1e2L,  1e3L,  1e4L,  1e5L,  1e6L,
                                       1e7L,  1e8L,  1e9L,  1e10L, 1e11L, 1e12L, 1e13L,
                                       1e14L, 1e15L, 1e16L, 1e17L, 1e18L};

    return exponent < (int)COUNT(tens) ? tens[exponent] : powl(10, exponent);
}

bool numbers_real(struct numbers *numbers, double *value)
{
    const bool minus = numbers_take(numbers, '-'); /* skips blanks */
    uint64_t digits = 0;
    int exponent = 0; /* exponent to base ten */

    if (!take_integer(numbers, &digits, &exponent))
        return false;
    if (next_is(numbers, '.')) {
        int dropped = exponent > 0 ? 1 : 0;
        const int before = dropped;

        numbers->at++;

        const size_t n = take_digits(numbers, &digits, &dropped);

        if (n == 0)
            return false;
        exponent -= (int)n - (dropped - before);
    }
    if (next_is(numbers, 'e') || next_is(numbers, 'E')) {
        numbers->at++;
        if (!take_exponent(numbers, &exponent))
            return false;
    }
    if (digits == 0)
        exponent = 0; /* 0 times any power of ten is 0 */
    /* For the numbers in a history, both factors are exact in a 64-bit mantissa. */
    *value = (double)(exponent < 0 ? (long double)digits / ten_to(-exponent)
                                   : (long double)digits * ten_to(exponent));
    *value = minus ? -*value : *value;
    return isfinite(*value);
}
