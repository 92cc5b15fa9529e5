// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file option.h  A command's options, or the keys of a configuration file, as one table: its help
 * is printed from it, and its command line or its file is read by it.
 *
 * A line says how the option is written, what its value is called, what it is for, and where the
 * value goes: into a member of the command's own struct, or to a function. -h, --help is every
 * command's, and its last line. The programs of the host and of a guest have them.
 */
#pragma once

#include "base/command.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum option_type {
    OPTION_END,
    OPTION_FLAG,    /* bool: it becomes true */
    OPTION_TEXT,    /* const char *, of the command line */
    OPTION_SECONDS, /* double: parse_seconds() */
    OPTION_SPAN,    /* double: parse_span() */
    OPTION_SIZE,    /* uint64_t: parse_size() */
    OPTION_COUNT,   /* uint64_t, from .min to .max */
    OPTION_CALL,    /* .call, which without a value is a flag's too */
    /* Of files too. */
    OPTION_YES,   /* bool: yes or no */
    OPTION_COPY,  /* char[] of .size: parse_text() */
    OPTION_SHARE, /* double: a percentage above 0 and up to 100, as a fraction */
    OPTION_WORD,  /* an enum or an int: the place of the word in .words */
    OPTION_KEY,   /* .set and .dump */
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
    uint64_t min, max; /* OPTION_COUNT */
    /* For command_bad_value(). NULL: OPTION_SECONDS, OPTION_SPAN, OPTION_YES have their own. */
    const char *expect;
    /* OPTION_CALL. @p at: the command's struct, or the member. @p value: NULL if there is none, or
     * it may be left out, and was. 0; -EINVAL after printing what is wrong. */
    int (*call)(void *at, const char *value);
    const char *also;                        /* another name, shown beside it; NULL: it has none */
    char *(*names)(char *text, size_t size); /* what "@names@" stands for in its help */
    size_t size;                             /* OPTION_COPY */
    const char *none;         /* OPTION_COPY, OPTION_SIZE: the word for the empty text, or 0 */
    const char *const *words; /* OPTION_WORD: ends with NULL; "" is no word */
    /* OPTION_KEY. @p at: as of .call. set() prints nothing: 0, or -EINVAL. dump() prints the line,
     * or lines, of a file, "KEY = VALUE". */
    int (*set)(void *at, const char *value);
    void (*dump)(const void *at, const char *key, FILE *out);
};

struct command_options {
    const char *usage; /* what stands above the options: "Usage: ..." and sentences */
    const struct option_line *lines;
    const char *after; /* and below them; NULL: nothing */
    int column; /* as wide are they at least; longer ones push their help aside. 0: the widest */
    const char *version; /* what -V, --version prints; NULL: there is no such option */
    bool no_arguments;   /* what is no option is an error */
};

/**
 * Reads the command line into the struct at @p base, which has the defaults. optind is then the
 * first argument that is no option.
 * @return 0; 1: help, or the version, was printed; -EINVAL after printing what is wrong
 */
int options_read(const struct command_options *options, void *base, int argc, char **argv);

/** The exit code of a command whose options_read() has not returned 0. */
static inline int options_exit(int rc)
{
    return rc > 0 ? EXIT_DONE : EXIT_USAGE;
}

/** Sets the member of the struct at @p base that the key @p name is for. 0; -ENOENT: there is no
 * such key; -EINVAL: the message says what was expected. */
int option_set(const struct option_line *keys, void *base, const char *name, const char *value,
               struct error *error);

/** Prints "KEY = VALUE" for each key, as option_set() reads it. */
void options_dump(const struct option_line *keys, const void *base, FILE *out);
