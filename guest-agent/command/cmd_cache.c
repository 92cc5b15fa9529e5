// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file cmd_cache.c  vmwss-guest cache: which files are in the page cache, and how much of each. */
#include "base/parse.h"
#include "cache/survey.h"
#include "command/cache_wait.h"
#include "command/command.h"
#include "print/cache.h"
#include "print/escape.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PIDS_MAX 64
#define PARTS_DEFAULT 10
#define SHOWN_MAX 100000 /* unless told otherwise: some 30 MB, and twice as much at times */

enum output { OUTPUT_TABLE, OUTPUT_CSV, OUTPUT_JSON };

struct options {
    struct survey survey;
    struct cache_format format;
    enum output output;
    const char *sort;
    uint64_t top;
    pid_t pid[PIDS_MAX];
    size_t n_pids;
    char **path; /* ends with NULL */
};

static const char help[] =
    "Usage: vmwss-guest cache [FILE|DIRECTORY]... [OPTIONS]\n\n"
    "How much of files is in the page cache. Reads no file, and leaves the cache as it is.\n\n"
    "  -p, --pid PID           all files that the process has mapped or open; may be repeated\n"
    "      --follow            symbolic links that are named, and those of the kernel in /proc/PID/fd\n"
    "      --all-file-systems  also those mounted below a directory that is named\n"
    "  -m, --method METHOD     auto, cachestat (Linux 6.5) or mincore (auto)\n"
    "      --histogram[=N]     also the share of each of N equal parts of a file, 2 .. 16 (10)\n"
    "      --map               which pages of each file, instead of the table; not with --csv\n"
    "  -s, --sort KEY          name, size, cached or percent (name)\n"
    "  -n, --top N             the first N files only, by cached unless told otherwise; the total is of all\n"
    "  -b, --bytes             exact bytes\n"
    "      --basename          names without their directories\n"
    "      --no-header         without the heading\n"
    "      --csv, --terse      comma-separated values, without the total\n"
    "  -j, --json              one JSON object, schema vmwss.guest_cache.v1\n"
    "  -h, --help              this text\n\n"
    "CACHED and what follows are pages; a dash is what is not known. \"unknown\" is a file of which the kernel does\n"
    "not tell us: it tells whoever may write the file.\n";

static int set_method(struct options *options, const char *value)
{
    options->survey.question.method = cache_method_find(value);
    if (options->survey.question.method || !strcmp(value, "auto"))
        return 0;
    return command_bad_value("--method", value, "auto, cachestat or mincore");
}

static int set_histogram(struct options *options, const char *value)
{
    uint64_t parts = PARTS_DEFAULT;

    if (value && parse_u64(value, 2, CACHE_PARTS_MAX, &parts) < 0)
        return command_bad_value("--histogram", value, "2 to 16 parts");
    options->format.parts = options->survey.question.parts = (unsigned)parts;
    return 0;
}

static int set_sort(struct options *options, const char *value)
{
    if (!cache_sort(NULL, 0, value))
        return command_bad_value("--sort", value, "name, size, cached or percent");
    options->sort = value;
    return 0;
}

static int set_top(struct options *options, const char *value)
{
    if (parse_u64(value, 0, SIZE_MAX - 1, &options->top) < 0)
        return command_bad_value("--top", value, "a number of files");
    return 0;
}

static int add_pid(struct options *options, const char *value)
{
    uint64_t pid;

    if (parse_u64(value, 1, INT_MAX, &pid) < 0)
        return command_bad_value("--pid", value, "the number of a process");
    if (options->n_pids == PIDS_MAX)
        return command_bad_value("--pid", value, "64 processes at most");
    options->pid[options->n_pids++] = (pid_t)pid;
    return 0;
}

static int set_flag(struct options *options, int option)
{
    switch (option) {
    case 'F':
        options->survey.follow = true;
        return 0;
    case 'A':
        options->survey.all_file_systems = true;
        return 0;
    case 'M':
        options->format.map = options->survey.question.runs = true;
        return 0;
    case 'b':
        options->format.bytes = true;
        return 0;
    case 'B':
        options->format.basename = true;
        return 0;
    case 'N':
        options->format.no_header = true;
        return 0;
    case 'C':
        options->output = OUTPUT_CSV;
        return 0;
    case 'j':
        options->output = OUTPUT_JSON;
        return 0;
    default:
        return -EINVAL; /* getopt has said why */
    }
}

static int set_option(struct options *options, int option, const char *value)
{
    switch (option) {
    case 'p':
        return add_pid(options, value);
    case 'm':
        return set_method(options, value);
    case 'H':
        return set_histogram(options, value);
    case 's':
        return set_sort(options, value);
    case 'n':
        return set_top(options, value);
    default:
        return set_flag(options, option);
    }
}

/* What does not go together. */
static int check_options(const struct options *options)
{
    if (!*options->path && options->n_pids == 0) {
        command_error("cache needs a FILE, a DIRECTORY or --pid; see vmwss-guest cache --help");
        return -EINVAL;
    }
    if (options->format.map && options->output == OUTPUT_CSV) {
        command_error(
            "--map: as text or --json, not --csv: a line for each file has no room for its runs");
        return -EINVAL;
    }
    return 0;
}

/* What is kept in memory of however many files. */
static void set_bound(struct options *options)
{
    bool asked = options->top != UINT64_MAX;

    if (!options->sort)
        options->sort = asked ? "cached" : "name";
    options->survey.at_most = !asked ? SHOWN_MAX : options->top > 0 ? (size_t)options->top : 1;
    options->survey.order = asked ? options->sort : "cached";
}

/* 0, 1 for "help was shown", or -EINVAL. */
static int parse_options(struct options *options, int argc, char **argv)
{
    static const struct option longs[] = {
        {"pid", required_argument, NULL, 'p'},
        {"follow", no_argument, NULL, 'F'},
        {"all-file-systems", no_argument, NULL, 'A'},
        {"method", required_argument, NULL, 'm'},
        {"histogram", optional_argument, NULL, 'H'},
        {"map", no_argument, NULL, 'M'},
        {"sort", required_argument, NULL, 's'},
        {"top", required_argument, NULL, 'n'},
        {"bytes", no_argument, NULL, 'b'},
        {"basename", no_argument, NULL, 'B'},
        {"no-header", no_argument, NULL, 'N'},
        {"csv", no_argument, NULL, 'C'},
        {"terse", no_argument, NULL, 'C'},
        {"json", no_argument, NULL, 'j'},
        {"help", no_argument, NULL, 'h'},
        {0},
    };
    int option;

    while ((option = getopt_long(argc, argv, "p:m:s:n:bjh", longs, NULL)) >= 0) {
        if (option == 'h') {
            fputs(help, stdout);
            return 1;
        }
        if (set_option(options, option, optarg) < 0)
            return -EINVAL;
    }
    options->path = argv + optind;
    set_bound(options);
    return check_options(options);
}

static void tell_fault(const char *name, const char *why)
{
    bool escaped;
    char *text = escape_name(name, &escaped);

    command_error("%s: %s", text ? text : "", why);
    free(text);
}

/* One that has ended, or is closed to us, is a fault like a file that is not there: the rest is shown all the same. */
static int survey_pid(struct survey *survey, pid_t pid)
{
    struct error error = {0};
    int rc = survey_process(survey, pid, &error);

    if (rc == 0 || rc == -EINTR || rc == -ENOMEM)
        return rc;
    survey->n_faults++;
    command_cannot(&error);
    return 0;
}

static int look(struct options *options, struct error *error)
{
    int rc = 0;

    for (char **path = options->path; *path && rc == 0; path++)
        rc = survey_path(&options->survey, *path);
    for (size_t i = 0; i < options->n_pids && rc == 0; i++)
        rc = survey_pid(&options->survey, options->pid[i]);
    return rc == -ENOMEM ? error_set(error, rc, "out of memory") : rc;
}

/* Why files are unknown: a line for each reason, of which there are few. */
static void tell_unknown(const struct cache_total *total)
{
    for (size_t i = 0; i < CACHE_REASONS && total->reason[i].text; i++)
        command_error("%" PRIu64 " unknown: %s", total->reason[i].files, total->reason[i].text);
}

/* Of those kept, as many as are wanted. */
static size_t shown(const struct options *options)
{
    const struct survey *survey = &options->survey;
    uint64_t most = options->top < survey->at_most ? options->top : survey->at_most;

    return most < survey->n ? (size_t)most : survey->n;
}

static void tell_bound(const struct options *options)
{
    if (options->top == UINT64_MAX && options->survey.total.files > SHOWN_MAX)
        command_error("only the %d files with most in the cache are shown; the total is of all "
                      "(--top N shows N)",
                      SHOWN_MAX);
}

static int print(struct options *options, const struct cache_total *total)
{
    struct survey *survey = &options->survey;
    size_t n = shown(options);

    if (options->output == OUTPUT_JSON)
        return cache_print_json(&options->format, survey->file, n, total);
    if (options->output == OUTPUT_CSV)
        cache_print_csv(&options->format, survey->file, n);
    else if (survey->n == 0 && survey->n_faults > 0)
        return 0; /* what was named is not there */
    else if (options->format.map)
        cache_print_maps(&options->format, survey->file, n, total);
    else
        cache_print_table(&options->format, survey->file, n, total);
    return 0;
}

static int show(struct options *options)
{
    struct survey *survey = &options->survey;
    const struct cache_total *total = &survey->total;

    /* First which, then in which order. */
    cache_sort(survey->file, survey->n, survey->order);
    cache_sort(survey->file, shown(options), options->sort);
    if (print(options, total) < 0)
        return EXIT_CANNOT;
    fflush(stdout);
    tell_bound(options);
    tell_unknown(total);
    if (total->interrupted)
        return EXIT_INTERRUPTED;
    return survey->n_faults > 0 || (total->files > 0 && total->unknown_files == total->files)
               ? EXIT_CANNOT
               : EXIT_DONE;
}

/* A signal ends it with what is known by then. */
static int look_and_show(struct options *options)
{
    struct error error = {0};
    struct cache_wait wait;

    cache_wait_begin(&wait, &options->survey);

    int rc = look(options, &error);

    cache_wait_end(&wait);
    options->survey.total.interrupted = rc == -EINTR;
    if (rc == -EINTR)
        command_error("interrupted: this is what was looked at until then");
    return rc < 0 && rc != -EINTR ? command_cannot(&error) : show(options);
}

int cmd_cache(int argc, char **argv)
{
    struct options options = {.survey.fault = tell_fault, .top = UINT64_MAX};
    struct fsroot root;
    int rc = parse_options(&options, argc, argv);

    if (rc != 0)
        return rc > 0 ? EXIT_DONE : EXIT_USAGE;
    if (command_root(&root) != EXIT_DONE)
        return EXIT_CANNOT;
    options.survey.question.root = &root;

    int code = look_and_show(&options);

    survey_free(&options.survey);
    fsroot_close(&root);
    return code;
}
