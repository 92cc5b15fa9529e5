// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_note.c  Sentences on a terminal: a pty, and a child that prints to it. */
#include "show/note.h"

#include "fixture.h"

#include <pty.h>
#include <sys/wait.h>

/* Returns what a process prints to a terminal of 40 columns, without carriage returns. */
static const char *printed(const char *text)
{
    static char all[1024];
    const struct winsize size = {.ws_row = 25, .ws_col = 40};
    size_t n = 0;
    int terminal;
    pid_t pid = forkpty(&terminal, NULL, NULL, &size);
    int status;

    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        unsetenv("COLUMNS");
        note("%s", text);
        exit(0);
    }
    while (n < sizeof(all) - 1 && read(terminal, all + n, 1) == 1)
        n += all[n] != '\r';
    all[n] = '\0';
    close(terminal);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    return all;
}

TEST(plain, short_sentence)
{
    ck_assert_str_eq(printed("web1: well\n"), "web1: well\n");
}

TEST(plain, wide_sentence)
{
    ck_assert_str_eq(printed("one two three four five six seven eight nine ten\n"),
                     "one two three four five six seven eight\n  nine ten\n");
}

TEST(plain, no_newline)
{
    ck_assert_str_eq(printed("web1: well\nweb2: not"), "web1: well\nweb2: not");
}
