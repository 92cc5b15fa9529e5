// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_csv.c  A name that a guest chose is no formula of a spreadsheet's. */
#include "base/text/csv.h"

#include "base/array.h"

#include "caught.h"

static const struct {
    const char *text, *csv;
} texts[] = {
    {"=1+1", "\"'=1+1\""},
    {"=cmd|' /C calc'!A0", "\"'=cmd|' /C calc'!A0\""},
    {"+1+cmd", "\"'+1+cmd\""},
    {"-2+3", "\"'-2+3\""},
    {"@SUM(A1:A9)", "\"'@SUM(A1:A9)\""},
    {"\t=1", "\"'?=1\""},
    {"\r=1", "\"'?=1\""},
    {"\n=1", "\"'?=1\""},
    {"a\033]0;b\a\xff", "a?]0;b??"}, /* a terminal's command, no UTF-8 */
    {"exe.\u202egpj", "exe.???gpj"}, /* U+202E reverses what follows */
    {"\u00e4\u20ac", "\u00e4\u20ac"},
    {" =1+1", "\"' =1+1\""},
    {"\xef\xbc\x9d\x31+1", "\"'\xef\xbc\x9d\x31+1\""}, /* full width: = + - @ */
    {"\xef\xbc\x8b\x31+x", "\"'\xef\xbc\x8b\x31+x\""},
    {"\xef\xbc\x8d\x31+x", "\"'\xef\xbc\x8d\x31+x\""},
    {"\xef\xbc\xa0SUM(A1)", "\"'\xef\xbc\xa0SUM(A1)\""},
    {"\xef\xbc\xa1\x62", "\xef\xbc\xa1\x62"},
    {"=HYPERLINK(\"a\",\"b\")", "\"'=HYPERLINK(\"\"a\"\",\"\"b\"\")\""},
    {"-", "-"},
    {"-12.5", "-12.5"},
    {"-1e-9", "-1e-9"},
    {"+3", "+3"},
    {"web1", "web1"},
    {"web-1=x", "web-1=x"},
    {"", ""},
    {"a,b", "\"a,b\""},
};

TEST_EACH(plain, a_text_is_a_text, 0, COUNT(texts))
{
    struct csv csv = {0};

    catch_output();
    csv_text(&csv, texts[_i].text);
    ck_assert_str_eq(caught_output(), texts[_i].csv);
}
