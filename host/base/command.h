// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file command.h  The parts of a program with subcommands: their table, exit codes, messages,
 * output. */
#pragma once

#include "base/error.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

enum exit_code {
    EXIT_DONE = 0,
    EXIT_USAGE = 1,
    EXIT_CANNOT = 2,   /* one line of output names the problem and the remedy */
    EXIT_VANISHED = 3, /* the guest ended during the command */
    EXIT_INTERRUPTED = 130,
    /* the reader of standard output is gone; the program then dies of SIGPIPE, like other
     * programs */
    EXIT_PIPE = 141,
};

struct command {
    const char *name;
    const char *summary;
    int (*run)(int argc, char **argv); /* argv[0] is "PROGRAM NAME"; returns an exit code */
};

struct program {
    const char *name;
    const char *purpose;  /* sentences, for --help */
    const char *statuses; /* the meaning of its exit codes, for --help */
    const struct command *commands;
    size_t n_commands;
    bool debugs; /* it accepts --debug before the command: see debug.h */
};

/** main() of @p program: runs the command that argv[1] names, or prints help or version; returns
 * the exit code. */
int command_main(const struct program *program, int argc, char **argv);

/** Sets the PROGRAM that the functions below print, for a program without subcommands. */
void command_name(const char *program);

/** Prints "PROGRAM: MESSAGE" to standard error, red on a terminal. It stays one line, even with
 * names that guests or files chose: unprintable characters become '?' (utf8_printable()). */
void command_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/** As command_error(), for an argument that is wrong; returns -EINVAL. */
#define command_refuse(...) (command_error(__VA_ARGS__), -EINVAL)

/** Prints "OPTION VALUE: expected WHAT"; returns -EINVAL. */
int command_bad_value(const char *option, const char *value, const char *expected);

/** Prints the error's text; returns EXIT_CANNOT. */
int command_cannot(const struct error *error);

/** Returns the exit code of a command that ends with @p rc: 0, if its output was written; an exit
 * code; or a negative errno, whose message is printed (-EINVAL without a message: it was printed).
 */
int command_end(int rc, struct error *error);

/** Checks that everything has reached standard output. 0, or a negative errno with the message;
 * -EPIPE: its reader is gone. */
int command_flush(struct error *error);
