// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_guest_proc.c  What vmwss-guest reads of /proc, and its tables. */
#include "print/columns.h"
#include "proc/keyed.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct numbers {
    uint64_t a_bytes, b, c;
};

static const struct keyed_field fields[] = {
    {"A(x)", offsetof(struct numbers, a_bytes)},
    {"B", offsetof(struct numbers, b)},
    {"C", offsetof(struct numbers, c)},
};

static size_t parse(const char *text, struct numbers *numbers)
{
    return keyed_parse(text, fields, 3, numbers);
}

START_TEST(numbers_are_found_by_name)
{
    struct numbers numbers;

    ck_assert_uint_eq(parse("A:   1 kB\nA(x):   7 kB\nBB 5\nB 12\n", &numbers), 2);
    ck_assert_uint_eq(numbers.a_bytes, 7168);
    ck_assert_uint_eq(numbers.b, 12);
    ck_assert_uint_eq(numbers.c, KEYED_UNKNOWN);
}
END_TEST

START_TEST(lines_of_one_name_add_up)
{
    struct numbers numbers;

    ck_assert_uint_eq(parse("B: 1 kB\nC: 1\nB: 2 kB", &numbers), 2);
    ck_assert_uint_eq(numbers.b, 3072);
}
END_TEST

START_TEST(what_is_no_number_is_unknown)
{
    struct numbers numbers;

    ck_assert_uint_eq(
        parse("A(x): -1 kB\nB 99999999999999999999\nC: 18446744073709551615 kB\n\n:\n", &numbers),
        0);
    ck_assert_uint_eq(numbers.a_bytes, KEYED_UNKNOWN);
    ck_assert_uint_eq(numbers.b, KEYED_UNKNOWN);
    ck_assert_uint_eq(numbers.c, KEYED_UNKNOWN);
}
END_TEST

START_TEST(columns_are_as_wide_as_their_cells)
{
    static const struct column column[] = {{.name = "NAME"}, {.name = "N", .right = true}};
    struct columns *columns = columns_new(column, 2);
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    columns_row(columns, (const char *[]){"evil\n\033[2J", "1"});
    columns_row(columns, (const char *[]){"x", "1234"});
    columns_print(columns, true, out);
    fclose(out);
    ck_assert_str_eq(text, "NAME         N\nevil??[2J    1\nx         1234\n");
    free(text);
    columns_free(columns);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("guest_proc");
    TCase *tcase = tcase_create("all");

    tcase_add_test(tcase, numbers_are_found_by_name);
    tcase_add_test(tcase, lines_of_one_name_add_up);
    tcase_add_test(tcase, what_is_no_number_is_unknown);
    tcase_add_test(tcase, columns_are_as_wide_as_their_cells);
    suite_add_tcase(suite, tcase);

    SRunner *runner = srunner_create(suite);

    srunner_run_all(runner, CK_NORMAL);

    int failed = srunner_ntests_failed(runner);

    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
