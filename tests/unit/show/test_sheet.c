// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_sheet.c  A sheet is filled once: each format has the same values, and none for what
 * is not known. */
#include "show/sheet.h"

#include "caught.h"
#include "fixture.h"

#include <math.h>
#include <string.h>

/* Fills a sheet by @p fill, and returns what it prints. */
static const char *printed(enum show_format format, void (*fill)(struct sheet *sheet),
                           const char *const *csv)
{
    struct sheet sheet;

    catch_output();
    sheet_begin(&sheet, format, "test.v1", csv);
    fill(&sheet);
    ck_assert_int_eq(sheet_end(&sheet), 0);
    return caught_output();
}

static const char *bit_name(unsigned number)
{
    static const char *const names[] = {"one", "two", "three"};

    return number < 3 ? names[number] : NULL;
}

/* --- one row of each type --------------------------------------------------------------------- */

static const struct sheet_column columns[] = {
    {"name", {.name = "NAME"}},
    {"n", {.name = "N", .right = true}},
    {"ram_bytes", {.name = "RAM", .right = true}},
    {"change_bytes", {.name = "CHANGE", .right = true}},
    {"age_s", {.name = "AGE", .right = true}},
    {"share", {.name = "SHARE", .right = true}},
    {"time", {.name = "TIME"}},
    {"up", {.name = "UP"}},
    {"flags", {.name = "FLAGS"}},
    {"people", {.name = "PEOPLE"}},
};
static const char *const names[] = {"name",  "n",    "ram_bytes", "change_bytes", "age_s",
                                    "share", "time", "up",        "flags",        NULL};

static void fill_known(struct sheet *sheet)
{
    sheet_text(sheet, "head", "of all");
    sheet_list(sheet, "rows", columns, COUNT(columns));
    sheet_row(sheet);
    sheet_text(sheet, "name", "a,b");
    sheet_count(sheet, "n", 7);
    sheet_bytes(sheet, "ram_bytes", 1 << 20);
    sheet_bytes_real(sheet, "change_bytes", -2048.9);
    sheet_seconds(sheet, "age_s", 2.5);
    sheet_share(sheet, "share", 0.125);
    sheet_time(sheet, "time", 1.5, 3);
    sheet_bool(sheet, "up", true);
    sheet_bits(sheet, "flags", 5, bit_name);
    sheet_cell(sheet, "people", "%d of %d", 1, 2);
    sheet_close(sheet);
    sheet_note(sheet, "%s.", "A note");
}

TEST(plain, each_format_has_what_is_known)
{
    ck_assert_str_eq(printed(SHOW_JSON, fill_known, NULL),
                     "{\"schema\":\"test.v1\",\"head\":\"of all\",\"rows\":[{\"name\":\"a,b\","
                     "\"n\":7,\"ram_bytes\":1048576,\"change_bytes\":-2048,\"age_s\":2.5,"
                     "\"share\":0.125,\"time\":\"1970-01-01T00:00:01.500Z\",\"up\":true,"
                     "\"flags\":[\"one\",\"three\"]}]}\n");
    ck_assert_str_eq(printed(SHOW_CSV, fill_known, names),
                     "name,n,ram_bytes,change_bytes,age_s,share,time,up,flags\r\n"
                     "\"a,b\",7,1048576,-2048,2.5,0.125,1970-01-01T00:00:01.500Z,1,"
                     "\"one,three\"\r\n");
    ck_assert_str_eq(printed(SHOW_TABLE, fill_known, NULL),
                     "NAME N     RAM   CHANGE  AGE SHARE TIME                 UP  FLAGS     "
                     "PEOPLE\n"
                     "a,b  7 1.0 MiB -2.0 KiB 2.5s 12.5% 1970-01-01T00:00:02Z yes one,three "
                     "1 of 2\nA note.\n");
}

static void fill_unknown(struct sheet *sheet)
{
    sheet_list(sheet, "rows", columns, COUNT(columns));
    sheet_row(sheet);
    sheet_text(sheet, "name", NULL);
    sheet_count(sheet, "n", UINT64_MAX);
    sheet_bytes(sheet, "ram_bytes", UINT64_MAX);
    sheet_bytes_real(sheet, "change_bytes", NAN);
    sheet_seconds(sheet, "age_s", NAN);
    sheet_share(sheet, "share", INFINITY);
    sheet_time(sheet, "time", 0, 3);
    sheet_unknown(sheet, "up");
    sheet_bits(sheet, "flags", 0, bit_name);
    sheet_cell_bytes(sheet, "people", NAN);
    sheet_close(sheet);
}

TEST(plain, what_is_not_known_is_null_empty_or_a_dash)
{
    ck_assert_str_eq(printed(SHOW_JSON, fill_unknown, NULL),
                     "{\"schema\":\"test.v1\",\"rows\":[{\"name\":null,\"n\":null,"
                     "\"ram_bytes\":null,\"change_bytes\":null,\"age_s\":null,\"share\":null,"
                     "\"time\":null,\"up\":null,\"flags\":[]}]}\n");
    ck_assert_ptr_nonnull(strstr(printed(SHOW_CSV, fill_unknown, names), "\r\n,,,,,,,,\r\n"));
    ck_assert_ptr_nonnull(strstr(printed(SHOW_TABLE, fill_unknown, NULL),
                                 "\n-    -   -      -   -     - -    -        -\n"));
}

static void fill_largest(struct sheet *sheet)
{
    sheet_list(sheet, "rows", NULL, 0);
    sheet_row(sheet);
    sheet_count(sheet, "n", INT64_MAX);
    sheet_count(sheet, "more", 1ULL << 63);
    sheet_bytes_real(sheet, "real", 0x1p62);
    sheet_bytes_real(sheet, "more_real", 0x1p63);
    sheet_bytes_real(sheet, "less_real", -0x1p70);
    sheet_close(sheet);
}

static void fill_some(struct sheet *sheet)
{
    sheet->omits_unknown = true;
    sheet_count(sheet, "n", UINT64_MAX);
    sheet_real(sheet, "x", NAN);
    sheet_text(sheet, "text", "");
    sheet_text(sheet, "name", NULL);
    sheet_unknown(sheet, "group");
}

TEST(plain, a_sheet_may_omit_unknown_numbers)
{
    ck_assert_str_eq(printed(SHOW_JSON, fill_some, NULL),
                     "{\"schema\":\"test.v1\",\"name\":null,\"group\":null}\n");
}

TEST(plain, no_number_is_printed_as_another)
{
    ck_assert_ptr_nonnull(strstr(printed(SHOW_JSON, fill_largest, NULL),
                                 "{\"n\":9223372036854775807,\"more\":null,"
                                 "\"real\":4611686018427387904,\"more_real\":null,"
                                 "\"less_real\":null}"));
}

/* --- groups, lists, a total ------------------------------------------------------------------- */

static const struct sheet_column nested_columns[] = {
    {"host", {.name = "HOST"}},
    {"runway_days", {.name = "DAYS", .right = true}},
    {"ram_bytes", {.name = "RAM", .right = true}},
};
static const char *const nested_names[] = {"scope",           "host",      "runway_days",
                                           "runway_far_days", "ram_bytes", NULL};

static void fill_nested_row(struct sheet *sheet, const char *host, double days)
{
    sheet_row(sheet);
    sheet_scope(sheet, "host");
    sheet_text(sheet, "host", host);
    if (isnan(days)) {
        sheet_unknown(sheet, "runway");
    } else {
        sheet_group(sheet, "runway");
        sheet_real(sheet, "days", days);
        sheet_group(sheet, "far");
        sheet_real(sheet, "days", 2 * days);
        sheet_close(sheet);
        sheet_close(sheet);
    }
    sheet_list(sheet, "inner", NULL, 0);
    sheet_row(sheet);
    sheet_text(sheet, "host", "of the inner list");
    sheet_close(sheet);
    sheet_bytes(sheet, "ram_bytes", 1024);
}

static void fill_nested(struct sheet *sheet)
{
    sheet_list(sheet, "hosts", nested_columns, 3);
    fill_nested_row(sheet, "a", 40);
    fill_nested_row(sheet, "b", NAN);
    sheet_total(sheet, "total");
    sheet_scope(sheet, "all");
    sheet_cell(sheet, "host", "all together");
    sheet_bytes(sheet, "ram_bytes", 2048);
    sheet_close(sheet);
    sheet_list(sheet, "place", NULL, 0);
    sheet_row(sheet);
    sheet_text(sheet, "host", "only in JSON");
    sheet_close(sheet);
    sheet_move_last(sheet, "hosts");
}

TEST(plain, groups_lists_and_a_total)
{
    ck_assert_str_eq(printed(SHOW_JSON, fill_nested, NULL),
                     "{\"schema\":\"test.v1\",\"total\":{\"ram_bytes\":2048},"
                     "\"place\":[{\"host\":\"only in JSON\"}],\"hosts\":["
                     "{\"host\":\"a\",\"runway\":{\"days\":40.0,\"far\":{\"days\":80.0}},"
                     "\"inner\":[{\"host\":\"of the inner list\"}],\"ram_bytes\":1024},"
                     "{\"host\":\"b\",\"runway\":null,"
                     "\"inner\":[{\"host\":\"of the inner list\"}],\"ram_bytes\":1024}]}\n");
    ck_assert_str_eq(printed(SHOW_CSV, fill_nested, nested_names),
                     "scope,host,runway_days,runway_far_days,ram_bytes\r\nhost,a,40,80,1024\r\n"
                     "host,b,,,1024\r\nall,,,,2048\r\n");
    ck_assert_str_eq(printed(SHOW_TABLE, fill_nested, NULL),
                     "HOST         DAYS     RAM\na              40 1.0 KiB\n"
                     "b               - 1.0 KiB\nall together      2.0 KiB\n");
}

/* --- lines, bytes ----------------------------------------------------------------------------- */

static void fill_lines(struct sheet *sheet)
{
    sheet_list(sheet, NULL, columns, COUNT(columns));
    for (unsigned i = 1; i <= 2; i++) {
        sheet_row(sheet);
        sheet_count(sheet, "n", i);
    }
    sheet_hide(sheet, "flags");
    sheet_close(sheet);
}

TEST(plain, each_row_may_be_a_line_of_json)
{
    ck_assert_str_eq(printed(SHOW_JSON, fill_lines, NULL),
                     "{\"schema\":\"test.v1\",\"n\":1}\n{\"schema\":\"test.v1\",\"n\":2}\n");
    ck_assert_ptr_null(strstr(printed(SHOW_TABLE, fill_lines, NULL), "FLAGS"));
}

static void fill_bytes(struct sheet *sheet)
{
    sheet_list(sheet, NULL, columns, COUNT(columns));
    sheet_row(sheet);
    sheet_text(sheet, "name", "\"x\xff\033[1m");
    sheet_close(sheet);
}

TEST(plain, text_may_be_any_bytes)
{
    ck_assert_ptr_nonnull(
        strstr(printed(SHOW_JSON, fill_bytes, NULL), "\"name\":\"\\\"x?\\u001B[1m\""));
    ck_assert_ptr_nonnull(strstr(printed(SHOW_CSV, fill_bytes, names), "\"\"\"x??[1m\",,"));
    ck_assert_ptr_nonnull(strstr(printed(SHOW_TABLE, fill_bytes, NULL), "\"x??[1m"));
}

TEST(plain, a_sheet_may_be_given_up_at_any_point)
{
    static const enum show_format formats[] = {SHOW_TABLE, SHOW_JSON, SHOW_CSV};
    struct sheet sheet;

    for (size_t i = 0; i < 3; i++) {
        sheet_begin(&sheet, formats[i], "test.v1", names);
        sheet_list(&sheet, i == 0 ? "rows" : NULL, columns, COUNT(columns));
        sheet_row(&sheet);
        sheet_text(&sheet, "name", "a");
        sheet_free(&sheet);
        sheet_free(&sheet);
    }
}
