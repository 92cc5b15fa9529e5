// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file option.h  A command's options, or the keys of a configuration file, as one table, from
 * which the help is printed, and by which the command line or the file is read.
 *
 * A line has the option's name, its value's name, its purpose, and the destination of the value: a
 * member of the command's own struct, or a function. Every command has -h, --help, on its last
 * line. The programs of the host and of a guest use these tables.
 */
#pragma once

#include "base/command.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum option_type {
    OPTION_END,
    OPTION_FLAG,    /* bool: it becomes true */
    OPTION_TEXT,    /* const char *, from the command line */
    OPTION_SECONDS, /* double: parse_seconds() */
    OPTION_SPAN,    /* double: parse_span() */
    OPTION_SIZE,    /* uint64_t: parse_size() */
    OPTION_COUNT,   /* uint64_t, from .min to .max */
    OPTION_CALL,    /* .call; a flag too, if it has no value */
    /* For files as well. */
    OPTION_YES,   /* bool: yes or no */
    OPTION_COPY,  /* char[] of .size: parse_text() */
    OPTION_SHARE, /* double: a percentage above 0 and up to 100, or .min to .max, as a fraction */
    OPTION_WORD,  /* an enum or an int: the place of the word in .words */
    OPTION_KEY,   /* .set and .dump */
};

struct option_line {
    enum option_type type;
    char letter;      /* 0: no letter */
    const char *name; /* after "--" */
    /* The name of its value: "PID"; "[=N]": it may be left out, OPTION_CALL only; NULL: no
     * value. */
    const char *value;
    size_t offset; /* offset of the member; 0: the struct itself, for OPTION_CALL */
    /* Lines. NULL: accepted, but not shown. Text that begins with '\n' stands below the option,
     * which may then be of any length. */
    const char *help;
    uint64_t min, max; /* OPTION_COUNT; OPTION_SHARE: in parts per million, .max 0: no limits */
    /* For command_bad_value(). NULL: OPTION_SECONDS, OPTION_SPAN, OPTION_YES have their own
     * text. */
    const char *expect;
    /* OPTION_CALL. @p at: the command's struct, or the member. @p value: NULL if the option has no
     * value, or if it was left out. 0; -EINVAL after printing the error. */
    int (*call)(void *at, const char *value);
    /* another name, shown beside it; NULL: no other name */
    const char *also;
    char *(*names)(char *text, size_t size); /* replaces "@names@" in its help */
    size_t size;                             /* OPTION_COPY */
    const char *none;         /* OPTION_COPY, OPTION_SIZE: the word for the empty text, or 0 */
    const char *const *words; /* OPTION_WORD: ends with NULL; "" stands for no word */
    /* OPTION_KEY. @p at: as for .call. set() does not print: 0, or -EINVAL. dump() prints the line,
     * or lines, of a file, "KEY = VALUE". */
    int (*set)(void *at, const char *value);
    void (*dump)(const void *at, const char *key, FILE *out);
};

struct command_options {
    const char *usage; /* the text above the options: "Usage: ..." and sentences */
    const struct option_line *lines;
    const char *after; /* the text below them; NULL: no text */
    /* the least width of the options; longer ones move their help to the right. 0: the widest
     * option */
    int column;
    const char *version; /* text of -V, --version; NULL: there is no such option */
    bool no_arguments;   /* an argument that is not an option is an error */
};

/**
 * Reads the command line into the struct at @p base, which has the defaults. optind is then the
 * index of the first argument that is not an option.
 * @return 0; 1: help, or the version, was printed; -EINVAL after printing the error
 */
int options_read(const struct command_options *options, void *base, int argc, char **argv);

/** The exit code of a command whose options_read() has not returned 0. */
static inline int options_exit(int rc)
{
    return rc > 0 ? EXIT_DONE : EXIT_USAGE;
}

/** Sets the member of the struct at @p base for the key @p name. 0; -ENOENT: there is no such key;
 * -EINVAL: the message has the expected form. */
int option_set(const struct option_line *keys, void *base, const char *name, const char *value,
               struct error *error);

/** Prints "KEY = VALUE" for each key, in the form that option_set() reads. */
void options_dump(const struct option_line *keys, const void *base, FILE *out);
