// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_option.c  A table of options: what is read by it, what is refused, and its help. */
#include "base/option.h"

#include "fixture.h"

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct choice {
    bool json, hidden;
    const char *file;
    double seconds, span;
    uint64_t bytes, count;
    const char *called;
};

static int call(void *base, const char *value)
{
    ((struct choice *)base)->called = value ? value : "nothing";
    return value && !strcmp(value, "bad") ? -EINVAL : 0;
}

static char *names(char *text, size_t size)
{
    snprintf(text, size, "one, two");
    return text;
}

#define AT(member) offsetof(struct choice, member)

static const struct option_line lines[] = {
    {OPTION_FLAG, 'j', "json", NULL, AT(json), .help = "JSON"},
    {OPTION_TEXT, 'f', "file", "FILE", AT(file),
     .help = "a file, in two lines\nas this is longer than a terminal is wide, ±"},
    {OPTION_SECONDS, 0, "seconds", "S", AT(seconds), .help = "seconds"},
    {OPTION_SPAN, 0, "span", "TIME", AT(span), .help = "time"},
    {OPTION_SIZE, 0, "bytes", "SIZE", AT(bytes), .help = "bytes", .expect = "a size"},
    {OPTION_COUNT, 'k', "count", "N", AT(count), .help = "a number", 2, 9, "2 to 9"},
    {OPTION_CALL, 'c', "call", "[=X]", 0, .help = "auto, @names@ or so", .call = call,
     .names = names},
    {OPTION_CALL, 0, "of", "[H=]F", 0, .help = "a file", .call = call},
    {OPTION_SIZE, 0, "room", "[=S]", AT(bytes), .help = "bytes", .expect = "a size"},
    {OPTION_FLAG, 0, "name", NULL, AT(hidden), .help = "with two names", .also = "alias"},
    {OPTION_CALL, 0, "trigger", "RESOURCE:THRESHOLD", 0, .help = "\nbelow it,\nand on",
     .call = call},
    {OPTION_CALL, 0, "flag", NULL, 0, .help = "a flag", .call = call},
    {OPTION_FLAG, 0, "hidden", NULL, AT(hidden), .help = NULL},
    {.type = OPTION_END},
};
static const struct command_options options = {
    .usage = "Usage: it [OPTIONS]\n",
    .lines = lines,
    .after =
        "And so on. The lines of a paragraph are joined,\nup to 80 columns, of which there are "
        "many.\n\n  A table\n  has lines\n"};

static struct choice choice;

/* The words end with NULL. */
static int read_words(char *first, ...)
{
    char name[] = "it";
    char *argv[16] = {name};
    int argc = 1;
    va_list words;

    va_start(words, first);
    for (char *word = first; word; word = va_arg(words, char *))
        argv[argc++] = word;
    va_end(words);
    choice = (struct choice){.count = 5};
    optind = 0; /* glibc: begin anew */
    return options_read(&options, &choice, argc, argv);
}

static char *word(const char *text)
{
    static char words[16][32];
    static unsigned n;

    snprintf(words[n % 16], 32, "%s", text);
    return words[n++ % 16];
}

#define READ1(a) read_words(word(a), NULL)
#define READ2(a, b) read_words(word(a), word(b), NULL)

TEST(plain, values_go_where_the_line_says)
{
    ck_assert_int_eq(READ2("-j", "left"), 0);
    ck_assert(choice.json && !choice.hidden && choice.count == 5);
    ck_assert_int_eq(READ2("-f", "x"), 0);
    ck_assert_str_eq(choice.file, "x");
    ck_assert_int_eq(READ1("--seconds=2m"), 0);
    ck_assert_double_eq(choice.seconds, 120);
    ck_assert_int_eq(READ1("--span=1w"), 0);
    ck_assert_double_eq(choice.span, 604800);
    ck_assert_int_eq(READ2("--bytes", "4k"), 0);
    ck_assert_uint_eq(choice.bytes, 4096);
    ck_assert_int_eq(READ1("-k9"), 0);
    ck_assert_uint_eq(choice.count, 9);
    ck_assert_int_eq(READ2("--call", "left"), 0);
    ck_assert_str_eq(choice.called, "nothing");
    ck_assert_int_eq(optind, 2); /* "left" is no value of it */
    ck_assert_int_eq(READ1("--call=x"), 0);
    ck_assert_str_eq(choice.called, "x");
    ck_assert_int_eq(READ2("-c", "left"), 0);
    ck_assert_str_eq(choice.called, "nothing");
    ck_assert_int_eq(READ1("-cx"), 0);
    ck_assert_str_eq(choice.called, "x");
    ck_assert_int_eq(READ1("--alias"), 0);
    ck_assert(choice.hidden);
    ck_assert_int_eq(READ2("--flag", "left"), 0);
    ck_assert_str_eq(choice.called, "nothing");
    ck_assert_int_eq(READ2("--of", "a=x"), 0);
    ck_assert_str_eq(choice.called, "a=x");
    ck_assert_int_eq(READ1("--hidden"), 0);
    ck_assert(choice.hidden);
}

TEST(plain, what_is_none_is_refused)
{
    static const char *const wrong[] = {"--seconds=x", "--span=x",   "--bytes=x", "-k1",
                                        "--count=10",  "--call=bad", "--json=x",  "--no-such",
                                        "-Z",          "--file",     "--of",      "--room"};

    for (size_t i = 0; i < COUNT(wrong); i++)
        ck_assert_msg(READ1(wrong[i]) == -EINVAL, "%s", wrong[i]);
    ck_assert_int_eq(options_exit(-EINVAL), EXIT_USAGE);
}

static const char *help_of(const struct command_options *of)
{
    static char text[2048];
    char name[] = "it", help[] = "--help", *argv[] = {name, help, NULL};
    int saved = dup(1);
    FILE *file = tmpfile();

    fflush(stdout);
    dup2(fileno(file), 1);
    optind = 0;
    ck_assert_int_eq(options_read(of, &choice, 2, argv), 1);
    fflush(stdout);
    dup2(saved, 1);
    close(saved);
    rewind(file);
    memset(text, 0, sizeof(text));
    ck_assert_uint_gt(fread(text, 1, sizeof(text) - 1, file), 0);
    fclose(file);
    return text;
}

TEST(plain, the_help_shows_the_table)
{
    const char *text = help_of(&options);

    ck_assert_ptr_nonnull(strstr(
        text, "Usage: it [OPTIONS]\n\n"
              "  -j, --json           JSON\n"
              "  -f, --file FILE      a file, in two lines as this is longer than a terminal is\n"
              "                       wide, ±\n"
              "      --seconds S      seconds\n"));
    ck_assert_ptr_nonnull(strstr(text, "  -c, --call[=X]       auto, one, two or so\n"));
    ck_assert_ptr_nonnull(strstr(text, "      --name, --alias  with two names\n"));
    ck_assert_ptr_nonnull(strstr(text, "      --trigger RESOURCE:THRESHOLD\n"
                                       "                       below it, and on\n"));
    ck_assert_ptr_nonnull(strstr(text, "  -h, --help           this text\n\n"
                                       "And so on. The lines of a paragraph are joined, up to 80 "
                                       "columns, of which there\nare many.\n\n"
                                       "  A table\n  has lines\n"));
    ck_assert_ptr_null(strstr(text, "hidden"));
    ck_assert_int_eq(options_exit(1), EXIT_DONE);
}

/* An option longer than the column pushes its help text aside. */
TEST(plain, a_column_may_be_chosen)
{
    struct command_options narrow = options;

    narrow.column = 20;
    ck_assert_ptr_nonnull(strstr(help_of(&narrow), "  -j, --json          JSON\n"));
    ck_assert_ptr_nonnull(strstr(help_of(&narrow), "      --name, --alias  with two names\n"));
}
