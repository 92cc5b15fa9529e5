// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file terminal.h  What a process prints to a terminal: a pty, and a child. */
#pragma once

#include "unit.h"

#include <pty.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/** Returns what @p print, given @p text, prints to a terminal of @p columns columns. */
static const char *terminal_output(unsigned short columns, void (*print)(const char *text),
                                   const char *text)
{
    static char all[1024];
    const struct winsize size = {.ws_row = 25, .ws_col = columns};
    size_t n = 0;
    int terminal, status;
    pid_t pid = forkpty(&terminal, NULL, NULL, &size);

    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        unsetenv("COLUMNS");
        print(text);
        exit(0);
    }
    while (n < sizeof(all) - 1 && read(terminal, all + n, 1) == 1)
        n++;
    all[n] = '\0';
    close(terminal);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    return all;
}
