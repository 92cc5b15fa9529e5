// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file option.c  See option.h; getopt_long(3) parses, and reports unknown options. */
#include "base/option.h"

#include "base/clock.h"
#include "base/fill.h"
#include "base/parse.h"

#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const struct option_line help_line = {OPTION_FLAG, 'h', "help", .help = "this text"};
static const struct option_line version_line = {OPTION_FLAG, 'V', "version", .help = "version"};

/* The tables for getopt; an option's number is 256 plus its index, that of -h is 'h'. */
#define OPTIONS_MAX 48
#define FIRST_NUMBER 256

struct getopt_tables {
    char shorts[3 * OPTIONS_MAX + 3];
    struct option longs[2 * OPTIONS_MAX + 3];
    struct option_line lines[OPTIONS_MAX + 1]; /* ends with OPTION_END */
    size_t n;
};

/* --- help ------------------------------------------------------------------------------------- */

/* Only OPTION_CALL can have an optional value: the function then gets NULL. The value of
 * "[HOST=]FILE" is required. */
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

/* Returns the option's help, in which @p text holds the names in place of "@names@". */
static const char *help_text(const struct option_line *line, char *text, size_t size)
{
    static const char token[] = "@names@";
    const char *at = line->names ? strstr(line->help, token) : NULL;
    char names[128];

    if (!at)
        return line->help;
    snprintf(text, size, "%.*s%s%s", (int)(at - line->help), line->help,
             line->names(names, sizeof(names)), at + strlen(token));
    return text;
}

static void print_line(const struct option_line *line, int width)
{
    char left[80], text[512];
    const char *help = help_text(line, text, sizeof(text));

    left_side(left, sizeof(left), line);
    if (stands_below(line)) {
        puts(left);
        left[0] = '\0';
    }
    fill_words(stdout, help, strchr(help, '\0'), printf("%-*s  ", width, left), width + 2);
}

static void print_help(const struct command_options *options, const struct option_line *lines)
{
    int width = options->column ? options->column : widest(lines);

    fill_paragraphs(stdout, options->usage);
    putchar('\n');
    for (const struct option_line *line = lines; line->type; line++)
        if (line->help)
            print_line(line, width);
    print_line(&help_line, width);
    if (options->version)
        print_line(&version_line, width);
    if (options->after) {
        putchar('\n');
        fill_paragraphs(stdout, options->after);
    }
}

/* --- the command line ------------------------------------------------------------------------- */

static const char *expected_of(const struct option_line *line)
{
    if (line->expect)
        return line->expect;
    switch (line->type) {
    case OPTION_SECONDS:
        return PARSE_SECONDS_EXPECTED;
    case OPTION_SPAN:
        return PARSE_SPAN_EXPECTED;
    case OPTION_SPEED:
        return PARSE_SPEED_EXPECTED;
    case OPTION_MOMENT:
        return PARSE_MOMENT_EXPECTED;
    default:
        return "yes or no";
    }
}

static int set_word(const struct option_line *line, void *at, const char *value)
{
    for (int i = 0; line->words[i]; i++)
        if (*value && !strcmp(line->words[i], value)) {
            memcpy(at, &i, sizeof(i));
            return 0;
        }
    return -EINVAL;
}

static int set_share(const struct option_line *line, void *at, const char *value)
{
    double percent;
    int rc = parse_percent(value, line->max ? (double)line->max / 1e4 : 100, &percent);

    if (rc < 0 || percent < (double)line->min / 1e4)
        return -EINVAL;
    *(double *)at = percent / 100;
    return 0;
}

static int set_choice(const struct option_line *line, int *at)
{
    const int choice = (int)line->min;

    if (*at != 0 && *at != choice)
        return -EINVAL;
    *at = choice;
    return 0;
}

static int add_to_list(const struct option_line *line, struct option_list *list, const char *value)
{
    if (list->n == line->max)
        return -EINVAL;
    list->all[list->n++] = value;
    return 0;
}

static const char *const yes_words[] = {"no", "yes", NULL};

static int set_yes(const struct option_line *line, bool *at, const char *value)
{
    const char *const *words = line->words ? line->words : yes_words;

    *at = !strcmp(value, words[1]);
    return *at || !strcmp(value, words[0]) ? 0 : -EINVAL;
}

static int set_seconds(const struct option_line *line, double *at, const char *value)
{
    int rc = parse_seconds(value, at);

    return rc == 0 && line->max && *at > (double)line->max ? -EINVAL : rc;
}

/* Sets the option to nothing if @p value is its word for that. */
static int set_none(const struct option_line *line, void *at)
{
    if (line->type == OPTION_COPY)
        *(char *)at = '\0';
    else if (line->type == OPTION_SECONDS)
        *(double *)at = 0;
    else
        *(uint64_t *)at = 0;
    return 0;
}

/* Returns 0 or negative. Prints nothing itself, but an OPTION_CALL may. */
static int set_value(const struct option_line *line, void *base, const char *value)
{
    void *at = (char *)base + line->offset;

    if (line->none && *line->none && !strcmp(value, line->none))
        return set_none(line, at);
    switch (line->type) {
    case OPTION_FLAG:
        *(bool *)at = true;
        return 0;
    case OPTION_TEXT:
        *(const char **)at = value;
        return 0;
    case OPTION_SECONDS:
        return set_seconds(line, at, value);
    case OPTION_SPAN:
        return parse_span(value, at);
    case OPTION_SPEED:
        return parse_speed(value, at);
    case OPTION_MOMENT:
        return parse_moment(value, clock_s(CLOCK_REALTIME), at);
    case OPTION_SIZE:
        return parse_size(value, at);
    case OPTION_COUNT:
        return parse_u64(value, line->min, line->max, at);
    case OPTION_CHOICE:
        return set_choice(line, at);
    case OPTION_LIST:
        return add_to_list(line, at, value);
    case OPTION_YES:
        return set_yes(line, at, value);
    case OPTION_COPY:
        return parse_text(value, at, line->size);
    case OPTION_SHARE:
        return set_share(line, at, value);
    case OPTION_WORD:
        return set_word(line, at, value);
    case OPTION_KEY:
        return line->set(at, value);
    default:
        return line->call ? line->call(at, value) : -EINVAL;
    }
}

static int take_option(const struct option_line *line, void *base, const char *value)
{
    char name[40];
    int rc = set_value(line, base, value);

    if (rc == 0 || line->type == OPTION_CALL)
        return rc;
    if (line->type == OPTION_CHOICE)
        return command_refuse("%s", line->expect);
    snprintf(name, sizeof(name), "--%s", line->name);
    return command_bad_value(name, value, expected_of(line));
}

static int argument_of(const struct option_line *line)
{
    if (!line->value)
        return no_argument;
    return is_optional(line) ? optional_argument : required_argument;
}

/* Adds "w:", or "s::" for an optional value. */
static char *add_letter(char *to, const struct option_line *line)
{
    if (!line->letter)
        return to;
    *to++ = line->letter;
    for (int i = argument_of(line); i > no_argument; i--)
        *to++ = ':';
    return to;
}

/* Adds the lines, which lie at @p offset, and those of the tables among them. */
static void add_lines(struct getopt_tables *tables, const struct option_line *lines, size_t offset)
{
    for (; lines->type; lines++)
        if (lines->type == OPTION_TABLE) {
            add_lines(tables, lines->lines, offset + lines->offset);
        } else {
            if (tables->n == OPTIONS_MAX)
                abort(); /* OPTIONS_MAX is too small; every use of the command shows it */
            tables->lines[tables->n] = *lines;
            tables->lines[tables->n++].offset += offset;
        }
}

static void make_tables(struct getopt_tables *tables, const struct command_options *options)
{
    struct option *option = tables->longs;
    char *letter = tables->shorts;

    add_lines(tables, options->lines, 0);
    for (size_t n = 0; n < tables->n; n++) {
        const struct option_line *line = &tables->lines[n];
        int argument = argument_of(line), number = FIRST_NUMBER + (int)n;

        *option++ = (struct option){line->name, argument, NULL, number};
        if (line->also)
            *option++ = (struct option){line->also, argument, NULL, number};
        letter = add_letter(letter, line);
    }
    *letter++ = 'h';
    *option++ = (struct option){"help", no_argument, NULL, 'h'};
    if (options->version) {
        *letter++ = 'V';
        *option = (struct option){"version", no_argument, NULL, 'V'};
    }
}

static const struct option_line *find_line(const struct getopt_tables *tables, int number)
{
    if (number >= FIRST_NUMBER)
        return &tables->lines[number - FIRST_NUMBER];
    for (size_t i = 0; i < tables->n; i++)
        if (tables->lines[i].letter == number)
            return &tables->lines[i];
    return NULL; /* getopt has printed the reason */
}

/* 0; 1 after printing help or the version; -EINVAL after printing the error. */
static int take_number(const struct command_options *options, const struct getopt_tables *tables,
                       void *base, int number)
{
    const struct option_line *line;

    if (number == 'h') {
        print_help(options, tables->lines);
        return 1;
    }
    if (number == 'V' && options->version) {
        puts(options->version);
        return 1;
    }
    line = find_line(tables, number);
    return line ? take_option(line, base, optarg) : -EINVAL;
}

int options_read(const struct command_options *options, void *base, int argc, char **argv)
{
    struct getopt_tables tables = {0};
    int number;
    int rc = 0;

    make_tables(&tables, options);
    while (rc == 0 && (number = getopt_long(argc, argv, tables.shorts, tables.longs, NULL)) >= 0)
        rc = take_number(options, &tables, base, number);
    if (rc == 0 && options->no_arguments && optind < argc)
        return command_refuse("'%s' is too much; see --help", argv[optind]);
    return rc == 0 && options->check ? options->check(base, argc, argv) : rc;
}

/* --- the file --------------------------------------------------------------------------------- */

int option_set(const struct option_line *keys, void *base, const char *name, const char *value,
               struct error *error)
{
    for (const struct option_line *key = keys; key->type; key++)
        if (!strcmp(key->name, name))
            return set_value(key, base, value) == 0
                       ? 0
                       : error_set(error, -EINVAL, "%s = %s: expected %s", name, value,
                                   expected_of(key));
    return error_set(error, -ENOENT, "unknown key '%s'", name);
}

static void dump_span(double seconds, FILE *out)
{
    double days = seconds / 86400;

    if (days == (double)(uint64_t)days)
        fprintf(out, "%.17gd\n", days);
    else
        fprintf(out, "%.17gs\n", seconds);
}

static void dump_size(uint64_t bytes, FILE *out)
{
    if (bytes % (1ULL << 20) == 0)
        fprintf(out, "%lluM\n", (unsigned long long)(bytes >> 20));
    else
        fprintf(out, "%llu\n", (unsigned long long)bytes);
}

static bool is_none(const struct option_line *key, const void *at)
{
    if (key->type == OPTION_SECONDS)
        return key->none && *(const double *)at <= 0;
    return key->none &&
           (key->type == OPTION_COPY ? !*(const char *)at : *(const uint64_t *)at == 0);
}

static void dump_value(const struct option_line *key, const void *at, FILE *out)
{
    int word;

    switch (key->type) {
    case OPTION_SECONDS:
        fprintf(out, "%.10g\n", *(const double *)at);
        break;
    case OPTION_SPAN:
        dump_span(*(const double *)at, out);
        break;
    case OPTION_SIZE:
        dump_size(*(const uint64_t *)at, out);
        break;
    case OPTION_COUNT:
        fprintf(out, "%llu\n", (unsigned long long)*(const uint64_t *)at);
        break;
    case OPTION_YES:
        fprintf(out, "%s\n", (key->words ? key->words : yes_words)[*(const bool *)at]);
        break;
    case OPTION_SHARE:
        fprintf(out, "%g%%\n", *(const double *)at * 100);
        break;
    case OPTION_WORD:
        memcpy(&word, at, sizeof(word));
        fprintf(out, "%s\n", key->words[word]);
        break;
    default: /* OPTION_COPY */
        fprintf(out, "%s\n", (const char *)at);
    }
}

void options_dump(const struct option_line *keys, const void *base, FILE *out)
{
    for (const struct option_line *key = keys; key->type; key++) {
        const void *at = (const char *)base + key->offset;

        if (key->type == OPTION_KEY) {
            key->dump(at, key->name, out);
        } else if (!is_none(key, at)) {
            fprintf(out, "%s = ", key->name);
            dump_value(key, at, out);
        } else if (*key->none) {
            fprintf(out, "%s = %s\n", key->name, key->none);
        }
    }
}
