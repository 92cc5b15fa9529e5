// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file option.h  A command's options as one table, from which its help is printed and its command
 * line is read.
 *
 * A line says how the option is written, what its value is called, what it is for, and where the
 * value goes: into a member of the command's own struct, or to a function. -h, --help is every
 * command's, and its last line. The programs of the host and of a guest have them.
 */
#pragma once

#include "base/command.h"

#include <stddef.h>
#include <stdint.h>

enum option_type {
    OPTION_END,
    OPTION_FLAG,    /* bool: it becomes true */
    OPTION_TEXT,    /* const char *, of the command line */
    OPTION_SECONDS, /* double: parse_seconds() */
    OPTION_SPAN,    /* double: parse_span() */
    OPTION_SIZE,    /* uint64_t: parse_size() */
    OPTION_COUNT,   /* uint64_t, from .min to .max */
    OPTION_CALL,    /* .call, which without a value is a flag's too */
};

struct option_line {
    enum option_type type;
    char letter;      /* 0: it has none */
    const char *name; /* after "--" */
    /* What its value is called: "PID"; "[=N]": it may be left out, OPTION_CALL only; NULL: none. */
    const char *value;
    size_t offset; /* of the member; 0: of the struct itself, for OPTION_CALL */
    /* Lines. NULL: understood, but not shown. One that begins with '\n' stands below the option,
     * which may then be as long as it likes. */
    const char *help;
    uint64_t min, max;  /* OPTION_COUNT */
    const char *expect; /* OPTION_COUNT, OPTION_SIZE: for command_bad_value() */
    /* OPTION_CALL. @p at: the command's struct, or the member. @p value: NULL if there is none, or
     * it may be left out, and was. 0; -EINVAL after printing what is wrong. */
    int (*call)(void *at, const char *value);
    const char *also;                        /* another name, shown beside it; NULL: it has none */
    char *(*names)(char *text, size_t size); /* what "@names@" stands for in its help */
};

struct command_options {
    const char *usage; /* what stands above the options: "Usage: ..." and sentences */
    const struct option_line *lines;
    const char *after; /* and below them; NULL: nothing */
    int column; /* as wide are they at least; longer ones push their help aside. 0: the widest */
};

/**
 * Reads the command line into the struct at @p base, which has the defaults. optind is then the
 * first argument that is no option.
 * @return 0; 1: help was printed; -EINVAL after printing what is wrong
 */
int options_read(const struct command_options *options, void *base, int argc, char **argv);

/** The exit code of a command whose options_read() has not returned 0. */
static inline int options_exit(int rc)
{
    return rc > 0 ? EXIT_DONE : EXIT_USAGE;
}
