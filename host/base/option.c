// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file option.c  See option.h; getopt_long(3) reads, and says what it does not understand. */
#include "base/option.h"

#include "base/parse.h"

#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct option_line help_line = {OPTION_FLAG, 'h', "help", .help = "this text"};

/* --- help ------------------------------------------------------------------------------------- */

/* Only a function can be called without a value: it gets NULL. "[HOST=]FILE" must be there. */
static bool is_optional(const struct option_line *line)
{
    return line->type == OPTION_CALL && line->value && strncmp(line->value, "[=", 2) == 0;
}

/* "  -w, --window S,..." */
static int left_side(char *text, size_t size, const struct option_line *line)
{
    char letter[8] = "    ";
    bool optional = is_optional(line);

    if (line->letter)
        snprintf(letter, sizeof(letter), "-%c, ", line->letter);
    return snprintf(text, size, "  %s--%s%s%s%s%s", letter, line->name, line->also ? ", --" : "",
                    line->also ? line->also : "", line->value && !optional ? " " : "",
                    line->value ? line->value : "");
}

static bool stands_below(const struct option_line *line)
{
    return line->help[0] == '\n';
}

static int widest(const struct option_line *lines)
{
    char text[80];
    int width = left_side(text, sizeof(text), &help_line);

    for (; lines->type; lines++) {
        bool counts = lines->help && !stands_below(lines);
        int n = counts ? left_side(text, sizeof(text), lines) : 0;

        width = n > width ? n : width;
    }
    return width;
}

/* A line of its help, without the '\n'. */
static void print_text(const struct option_line *line, const char *text, int length)
{
    static const char token[] = "@names@";
    char names[128];
    const char *at = strstr(text, token);

    if (!line->names || !at || at >= text + length) {
        printf("%.*s\n", length, text);
        return;
    }
    printf("%.*s%s", (int)(at - text), text, line->names(names, sizeof(names)));
    at += strlen(token);
    printf("%.*s\n", (int)(text + length - at), at);
}

static void print_line(const struct option_line *line, int width)
{
    const char *rest = line->help;
    char text[80];

    left_side(text, sizeof(text), line);
    if (stands_below(line))
        printf("%s", text);
    else
        printf("%-*s  ", width, text);
    for (const char *end; (end = strchr(rest, '\n')); rest = end + 1) {
        print_text(line, rest, (int)(end - rest));
        printf("%*s", width + 2, "");
    }
    print_text(line, rest, (int)strlen(rest));
}

static void print_help(const struct command_options *options)
{
    int width = options->column ? options->column : widest(options->lines);

    printf("%s\n", options->usage);
    for (const struct option_line *line = options->lines; line->type; line++)
        if (line->help)
            print_line(line, width);
    print_line(&help_line, width);
    if (options->after)
        printf("\n%s", options->after);
}

/* --- the command line ------------------------------------------------------------------------- */

static int bad_value(const struct option_line *line, const char *value, const char *expected)
{
    char name[40];

    snprintf(name, sizeof(name), "--%s", line->name);
    return command_bad_value(name, value, expected);
}

static int set_value(const struct option_line *line, void *base, const char *value)
{
    void *at = (char *)base + line->offset;

    switch (line->type) {
    case OPTION_FLAG:
        *(bool *)at = true;
        return 0;
    case OPTION_TEXT:
        *(const char **)at = value;
        return 0;
    case OPTION_SECONDS:
        return parse_seconds(value, at) == 0 ? 0 : bad_value(line, value, PARSE_SECONDS_EXPECTED);
    case OPTION_SPAN:
        return parse_span(value, at) == 0 ? 0 : bad_value(line, value, PARSE_SPAN_EXPECTED);
    case OPTION_SIZE:
        return parse_size(value, at) == 0 ? 0 : bad_value(line, value, line->expect);
    case OPTION_COUNT:
        return parse_u64(value, line->min, line->max, at) == 0
                   ? 0
                   : bad_value(line, value, line->expect);
    default:
        return line->call(at, value);
    }
}

/* What getopt takes; an option's number is 256 and its place, that of -h 'h'. */
#define OPTIONS_MAX 32
#define FIRST_NUMBER 256

struct getopt_tables {
    char shorts[3 * OPTIONS_MAX + 2];
    struct option longs[2 * OPTIONS_MAX + 2];
    size_t n;
};

static int argument_of(const struct option_line *line)
{
    if (!line->value)
        return no_argument;
    return is_optional(line) ? optional_argument : required_argument;
}

/* "w:", and "s::" of one whose value may be left out. */
static char *add_letter(char *to, const struct option_line *line)
{
    if (!line->letter)
        return to;
    *to++ = line->letter;
    for (int i = argument_of(line); i > no_argument; i--)
        *to++ = ':';
    return to;
}

static void make_tables(struct getopt_tables *tables, const struct option_line *lines)
{
    struct option *option = tables->longs;
    char *letter = tables->shorts;
    size_t n = 0;

    for (; n < OPTIONS_MAX && lines[n].type; n++) {
        int argument = argument_of(&lines[n]), number = FIRST_NUMBER + (int)n;

        *option++ = (struct option){lines[n].name, argument, NULL, number};
        if (lines[n].also)
            *option++ = (struct option){lines[n].also, argument, NULL, number};
        letter = add_letter(letter, &lines[n]);
    }
    if (lines[n].type)
        abort(); /* OPTIONS_MAX is too small; every use of the command shows it */
    *letter++ = 'h';
    *letter = '\0';
    *option = (struct option){"help", no_argument, NULL, 'h'};
    tables->n = n;
}

static const struct option_line *find_line(const struct getopt_tables *tables,
                                           const struct option_line *lines, int number)
{
    if (number >= FIRST_NUMBER)
        return &lines[number - FIRST_NUMBER];
    for (size_t i = 0; i < tables->n; i++)
        if (lines[i].letter == number)
            return &lines[i];
    return NULL; /* getopt has said why */
}

int options_read(const struct command_options *options, void *base, int argc, char **argv)
{
    struct getopt_tables tables = {0};
    int number;

    make_tables(&tables, options->lines);
    while ((number = getopt_long(argc, argv, tables.shorts, tables.longs, NULL)) >= 0) {
        if (number == 'h') {
            print_help(options);
            return 1;
        }
        const struct option_line *line = find_line(&tables, options->lines, number);

        if (!line || set_value(line, base, optarg) < 0)
            return -EINVAL;
    }
    return 0;
}
