// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_note.c  Sentences on a terminal. */
#include "show/note.h"

#include "terminal.h"

static void print(const char *text)
{
    note("%s", text);
}

static const char *printed(const char *text)
{
    return terminal_output(40, print, text);
}

TEST(plain, short_sentence)
{
    ck_assert_str_eq(printed("web1: well\n"), "web1: well\r\n");
}

TEST(plain, wide_sentence)
{
    ck_assert_str_eq(printed("one two three four five six seven eight nine ten\n"),
                     "one two three four five six seven eight\r\n  nine ten\r\n");
}

TEST(plain, no_newline)
{
    ck_assert_str_eq(printed("web1: well\nweb2: not"), "web1: well\r\nweb2: not");
}
