// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file cache_options.c  See cache_options.h. */
#include "command/cache_options.h"

#include "base/parse.h"
#include "command/command.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#define PARTS_DEFAULT 10

static const char help[] =
    "Usage: vmwss-guest cache [FILE|DIRECTORY|DEVICE]... [OPTIONS]\n\n"
    "How much of files is in the page cache. Reads no file, and leaves the cache as it is.\n\n"
    "  -p, --pid PID           all files that the process has mapped or open; may be repeated\n"
    "  -f, --files-from LIST   the files and directories that stand in LIST, one a line; \"-\": standard input\n"
    "  -0, --null              the names in LIST end with a NUL, as of find -print0\n"
    "  -i, --ignore PATTERN    leave out what matches, by its name or its whole path (fnmatch(3)); may be repeated\n"
    "      --follow            symbolic links that are named, and those of the kernel in /proc/PID/fd\n"
    "      --all-file-systems  also those mounted below a directory that is named\n"
    "  -m, --method METHOD     auto, cachestat (Linux 6.5) or mincore (auto)\n"
    "      --histogram[=N]     also the share of each of N equal parts of a file, 2 .. 16 (10)\n"
    "      --map               which pages of each file, instead of the table; not with --csv\n"
    "  -c, --cached            only files of which something is in the cache; the total is of all\n"
    "  -s, --sort KEY          name, size, cached or percent (name)\n"
    "  -n, --top N             only the first N files, by default sorted by cached; the total covers all files\n"
    "  -b, --bytes             exact bytes\n"
    "      --basename          names without their directories\n"
    "      --no-header         without the heading\n"
    "      --csv, --terse      comma-separated values, without the total\n"
    "  -j, --json              one JSON object, schema vmwss.guest_cache.v1\n"
    "  -h, --help              this text\n\n"
    "CACHED and the columns after it are pages; a dash is an unknown value. \"unknown\" marks a file about which the\n"
    "kernel answers only those who may write it.\n";

static int set_method(struct cache_options *options, const char *value)
{
    options->survey.question.method = cache_method_find(value);
    if (options->survey.question.method || !strcmp(value, "auto"))
        return 0;
    return command_bad_value("--method", value, "auto, cachestat or mincore");
}

static int set_histogram(struct cache_options *options, const char *value)
{
    uint64_t parts = PARTS_DEFAULT;

    if (value && parse_u64(value, 2, CACHE_PARTS_MAX, &parts) < 0)
        return command_bad_value("--histogram", value, "2 to 16 parts");
    options->format.parts = options->survey.question.parts = (unsigned)parts;
    return 0;
}

static int set_sort(struct cache_options *options, const char *value)
{
    if (!cache_sort(NULL, 0, value))
        return command_bad_value("--sort", value, "name, size, cached or percent");
    options->sort = value;
    return 0;
}

static int set_top(struct cache_options *options, const char *value)
{
    if (parse_u64(value, 0, SIZE_MAX - 1, &options->top) < 0)
        return command_bad_value("--top", value, "a number of files");
    return 0;
}

static int add_pid(struct cache_options *options, const char *value)
{
    uint64_t pid;

    if (parse_u64(value, 1, INT_MAX, &pid) < 0)
        return command_bad_value("--pid", value, "the number of a process");
    if (options->n_pids == CACHE_PIDS_MAX)
        return command_bad_value("--pid", value, "64 processes at most");
    options->pid[options->n_pids++] = (pid_t)pid;
    return 0;
}

static int add_ignore(struct cache_options *options, const char *value)
{
    if (options->n_ignore == CACHE_IGNORE_MAX)
        return command_bad_value("--ignore", value, "64 patterns at most");
    options->ignore[options->n_ignore++] = value;
    return 0;
}

static int set_flag(struct cache_options *options, int option)
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
    case '0':
        options->delimiter = '\0';
        return 0;
    case 'c':
        options->survey.cached_only = true;
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
        options->output = CACHE_CSV;
        return 0;
    case 'j':
        options->output = CACHE_JSON;
        return 0;
    default:
        return -EINVAL; /* getopt has said why */
    }
}

static int set_option(struct cache_options *options, int option, const char *value)
{
    switch (option) {
    case 'p':
        return add_pid(options, value);
    case 'f':
        options->files_from = value;
        return 0;
    case 'i':
        return add_ignore(options, value);
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
static int check_options(const struct cache_options *options)
{
    if (!*options->path && options->n_pids == 0 && !options->files_from) {
        command_error(
            "cache needs a FILE, a DIRECTORY, --files-from or --pid; see vmwss-guest cache --help");
        return -EINVAL;
    }
    if (options->format.map && options->output == CACHE_CSV) {
        command_error(
            "--map: as text or --json, not --csv: a line for each file has no room for its runs");
        return -EINVAL;
    }
    return 0;
}

/* What is kept in memory of however many files. */
static void set_bound(struct cache_options *options)
{
    bool asked = options->top != UINT64_MAX;

    if (!options->sort)
        options->sort = asked ? "cached" : "name";
    options->survey.at_most = !asked             ? CACHE_SHOWN_MAX
                              : options->top > 0 ? (size_t)options->top
                                                 : 1;
    options->survey.order = asked ? options->sort : "cached";
}

/* 0, 1 for "help was shown", or -EINVAL. */
int cache_options_parse(struct cache_options *options, int argc, char **argv)
{
    static const struct option longs[] = {
        {"pid", required_argument, NULL, 'p'},
        {"files-from", required_argument, NULL, 'f'},
        {"null", no_argument, NULL, '0'},
        {"ignore", required_argument, NULL, 'i'},
        {"cached", no_argument, NULL, 'c'},
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

    while ((option = getopt_long(argc, argv, "p:f:0i:cm:s:n:bjh", longs, NULL)) >= 0) {
        if (option == 'h') {
            fputs(help, stdout);
            return 1;
        }
        if (set_option(options, option, optarg) < 0)
            return -EINVAL;
    }
    options->path = argv + optind;
    options->survey.ignore = options->ignore;
    set_bound(options);
    return check_options(options);
}
