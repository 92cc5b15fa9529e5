// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file option.h  A command's options, or the keys of a configuration file, as one table. The same
 * table prints the help and parses the command line or the file.
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
    OPTION_FLAG,    /* bool: set to true */
    OPTION_TEXT,    /* const char *, from the command line */
    OPTION_SECONDS, /* double: parse_seconds() */
    OPTION_SPAN,    /* double: parse_span() */
    OPTION_SIZE,    /* uint64_t: parse_size() */
    OPTION_SPEED,   /* double: parse_speed() */
    OPTION_MOMENT,  /* double, Unix time: parse_moment() */
    OPTION_COUNT,   /* uint64_t, from .min to .max */
    OPTION_CHOICE, /* an enum, 0 by default: .min; once set, another choice is refused by .expect */
    OPTION_LIST,   /* struct option_list: another value, up to .max of them */
    OPTION_CALL,   /* calls .call; an option without a value is a flag */
    /* Also for configuration files. */
    OPTION_YES,   /* bool: yes or no, or the two .words, that for false first */
    OPTION_COPY,  /* char[] of .size: parse_text() */
    OPTION_SHARE, /* double: a percentage above 0 and up to 100, or .min to .max, as a fraction */
    OPTION_WORD,  /* an enum or an int: the index of the word in .words */
    OPTION_KEY,   /* .set and .dump */
    OPTION_TABLE, /* the lines of .lines stand here; their struct is a member */
};

struct option_line {
    enum option_type type;
    char letter;      /* 0: no letter */
    const char *name; /* after "--" */
    /* The name of its value, such as "PID"; "[=N]": the value is optional (OPTION_CALL only); NULL:
     * the option has no value. */
    const char *value;
    size_t offset; /* offset of the member; 0 for OPTION_CALL: the struct itself */
    /* The help, which fill_words() prints. NULL: the option is accepted but not shown. If the text
     * begins with '\n', it is printed below the option, whose left side may then be longer than the
     * column. */
    const char *help;
    uint64_t min, max; /* OPTION_COUNT, _CHOICE, _LIST; OPTION_SECONDS: .max 0: no limit;
                          OPTION_SHARE: in parts per million, .max 0: no limits */
    /* The expected form, for command_bad_value(). NULL: the type has a text (OPTION_SECONDS,
     * OPTION_SPAN, OPTION_SPEED, OPTION_MOMENT, OPTION_YES). */
    const char *expect;
    /* OPTION_CALL. @p at: the command's struct, or the member. @p value: NULL if the option has no
     * value or the value was omitted. Returns 0, or -EINVAL after printing the error. */
    int (*call)(void *at, const char *value);
    /* an alias, shown beside the name; NULL: no alias */
    const char *also;
    /* writes the text that replaces "@names@" in the help */
    char *(*names)(char *text, size_t size);
    size_t size; /* OPTION_COPY */
    /* OPTION_COPY, OPTION_SECONDS, OPTION_SIZE, OPTION_COUNT: the word for the empty text, or for
     * 0; "": there is no word, and such a key is left out of a dump */
    const char *none;
    const char *const *words; /* OPTION_WORD: ends with NULL; "" stands for no word */
    /* OPTION_KEY. @p at: as for .call. set() returns 0 or -EINVAL, and does not print. dump()
     * prints the "KEY = VALUE" lines of a file. */
    int (*set)(void *at, const char *value);
    void (*dump)(const void *at, const char *key, FILE *out);
    const struct option_line *lines; /* OPTION_TABLE; without one in it */
};

#define OPTION_LIST_MAX 64

struct option_list {
    size_t n;
    const char *all[OPTION_LIST_MAX + 1]; /* ends with NULL */
};

struct command_options {
    /* the text above the options: "Usage: ..." and sentences, which fill_paragraphs() prints */
    const char *usage;
    const struct option_line *lines;
    const char *after; /* printed in the same way below them; NULL: no text */
    /* minimum width of the options' column; longer options move their help to the right. 0: as wide
     * as the longest option */
    int column;
    const char *version; /* text of -V, --version; NULL: there is no such option */
    bool no_arguments;   /* a non-option argument is an error */
    /* Takes the arguments that follow the options, from argv[optind] on, and checks what was read
     * into the command's struct. Returns 0, or -EINVAL after printing the error. NULL: nothing to
     * take or to check. */
    int (*check)(void *base, int argc, char **argv);
};

/**
 * Reads the command line into the struct at @p base, which holds the defaults. Sets optind to the
 * index of the first non-option argument.
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
