// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_table.c  Tables on narrow terminals: columns are left out before names, names are cut
 * before columns that matter, words are wrapped whole, and a pipe has all. */
#include "show/fit.h"
#include "show/table.h"

#include "fixture.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static char text[65536];
static bool terminal;

int __wrap_isatty(int fd);
int __wrap_isatty(int fd)
{
    (void)fd;
    return terminal;
}

static const struct table_column columns[] = {
    {.name = "DOMAIN", .cut = true},          {.name = "WSS", .right = true},
    {.name = "±", .right = true, .rank = 1},  {.name = "RAM", .right = true, .rank = 2},
    {.name = "WHY", .last = true, .rank = 3},
};
#define N 5
#define WHY "idle: no page_idle; damon: in use, stop it"

static void teardown(void)
{
    unsetenv("COLUMNS");
    terminal = false;
    setlocale(LC_ALL, "C");
}

static void setup(void)
{
    terminal = true;
    setenv("NO_COLOR", "1", 1);
}

/* Prints the table into text[]. */
static void print(struct table *table, unsigned width, bool heading)
{
    int fd = memfd_create("out", MFD_CLOEXEC);
    int before = dup(STDOUT_FILENO);
    ssize_t n;
    const char *number = TEXT_OF(16, "%u", width);

    setenv("COLUMNS", number, 1);
    ck_assert(fd >= 0 && before >= 0 && fflush(stdout) == 0);
    dup2(fd, STDOUT_FILENO);
    table_print(table, heading);
    fflush(stdout);
    dup2(before, STDOUT_FILENO);
    n = pread(fd, text, sizeof(text) - 1, 0);
    ck_assert_int_ge(n, 0);
    text[n] = '\0';
    close(before);
    close(fd);
    table_free(table);
}

static struct table *with_rows(const char *name)
{
    struct table *table = table_new(columns, N);

    ck_assert_ptr_nonnull(table);
    ck_assert_zero(
        table_row(table, (const char *const[]){name, "64.0 MiB", "1.0 MiB", "1.0 GiB", WHY}));
    ck_assert_int_eq(table_row(table, (const char *const[]){"b", "1.0 GiB", "0 B", "-", ""}), 0);
    return table;
}

static size_t widest_line(void)
{
    size_t most = 0;
    char copy[sizeof(text)];
    char *rest;

    memcpy(copy, text, sizeof(text));
    for (char *line = strtok_r(copy, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        size_t width = fit_text_width(line);

        most = width > most ? width : most;
    }
    return most;
}

FIXTURE(cases, .setup = setup, .teardown = teardown);

TEST(cases, a_pipe_has_all)
{
    char name[101] = "";

    memset(name, 'n', 100);
    terminal = false;
    print(with_rows(name), 80, true); /* $COLUMNS, as some shells export it */
    ck_assert_ptr_nonnull(strstr(text, name));
    ck_assert_ptr_nonnull(strstr(text, WHY));
    ck_assert_uint_gt(widest_line(), 160);
}

TEST(cases, no_line_is_wider)
{
    for (unsigned width = 27; width < 120; width++) {
        print(with_rows("instance-0000001a"), width, true);
        ck_assert_msg(widest_line() <= width, "%u:\n%s", width, text);
        ck_assert_ptr_nonnull(strstr(text, "instance-0000001a "));
        ck_assert_ptr_nonnull(strstr(text, "64.0 MiB"));
    }
}

/* Where they are printed as \xc3\xbc. */
TEST(cases, no_line_is_wider_in_the_c_locale)
{
    print(with_rows("müller-übersee"), 50, true);
    ck_assert_uint_le(widest_line(), 50);
    ck_assert_ptr_nonnull(strstr(text, "m\\xc3\\xbcller-\\xc3\\xbcbersee "));
    ck_assert_ptr_null(strstr(text, WHY));
}

TEST(cases, columns_go_by_rank)
{
    print(with_rows("web1"), 23, true);
    ck_assert_ptr_nonnull(strstr(text, "1.0 MiB"));
    ck_assert_ptr_null(strstr(text, "RAM"));
    print(with_rows("web1"), 31, true);
    ck_assert_ptr_nonnull(strstr(text, "RAM"));
    ck_assert_ptr_null(strstr(text, "WHY"));
    print(with_rows("web1"), 5, true);
    ck_assert_ptr_nonnull(strstr(text, "web1")); /* beyond the line, rather than nothing */
}

TEST(cases, words_stay_whole)
{
    print(with_rows("web1"), 62, true);
    ck_assert_ptr_nonnull(strstr(text, "idle: no page_idle; damon: in\n"));
    ck_assert_ptr_nonnull(strstr(text, " use, stop it\n"));
    ck_assert_ptr_null(strstr(text, "\\x0a"));
    print(with_rows("web1"), 80, true);
    ck_assert_ptr_nonnull(strstr(text, WHY));
}

TEST(cases, a_long_name_is_cut)
{
    char name[101] = "";

    memset(name, 'n', 100);
    print(with_rows(name), 60, true);
    ck_assert_ptr_nonnull(strstr(text, "\nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn~ 64.0 MiB"));
    ck_assert_ptr_nonnull(strstr(text, "1.0 GiB"));
    ck_assert_uint_le(widest_line(), 60);
    memcpy(name, "nü", 3);
    memset(name + 3, 'n', 60);
    name[63] = '\0';
    if (!setlocale(LC_ALL, "C.UTF-8"))
        return;
    print(with_rows(name), 60, true);
    ck_assert_ptr_nonnull(strstr(text, "\nnünnnnnnnnnnnnnnnnnnnnnnnnnnnnn… 64.0 MiB"));
    memset(name, 'n', 32);
    name[32] = '\0';
    print(with_rows(name), 60, true);
    ck_assert_ptr_nonnull(strstr(text, name));
}

/* As a record is printed after the other: what stands in one does not move the columns. */
static struct table *of_series(const char *name, const char *flags)
{
    static const struct table_column series[] = {
        {.name = "DOMAIN", .cut = true, .width = 20},
        {.name = "WSS", .right = true, .width = 10},
        {.name = "RAM", .right = true, .rank = 2, .width = 10},
        {.name = "FLAGS", .last = true, .rank = 1, .width = 16},
    };
    struct table *table = table_new(series, 4);

    ck_assert_int_eq(table_row(table, (const char *const[]){name, "1 B", "8 B", flags}), 0);
    return table;
}

TEST(cases, a_series_keeps_its_columns)
{
    static const char *const names[] = {"a", "instance-00000001",
                                        "a name that is not short at all"};
    static const char *const flags[] = {"", "thp", "numa-balancing,thp,partial"};

    for (unsigned width = 48; width <= 70; width += 22)
        for (size_t i = 0; i < 9; i++) {
            print(of_series(names[i % 3], flags[i / 3]), width, false);
            const char *wss = strstr(text, "1 B");

            ck_assert_ptr_nonnull(wss);
            ck_assert_msg(wss - text == 28 || names[i % 3] == names[2], "%u: %s", width, text);
            ck_assert_int_eq(strstr(text, "8 B") != NULL, width == 70);
            ck_assert_msg(widest_line() <= width || names[i % 3] == names[2], "%u: %s", width,
                          text);
        }
}

/* The first row with its heading, others without. */
TEST_EACH(cases, rows_of_a_series_are_aligned, 0, 2)
{
    static const char *const needles[] = {"1 B", "8 B", "thp"};
    size_t at[3];

    terminal = _i;
    print(of_series("a", "thp"), 70, true);
    for (size_t i = 0; i < 3; i++)
        at[i] = (size_t)(strstr(strchr(text, '\n') + 1, needles[i]) - strchr(text, '\n') - 1);
    print(of_series("b", "thp"), 70, false);
    for (size_t i = 0; i < 3; i++)
        ck_assert_msg(strstr(text, needles[i]) - text == (ssize_t)at[i], "%zu: %s", at[i], text);
}
