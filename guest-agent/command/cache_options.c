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

static int set_histogram(void *at, const char *value)
{
    struct cache_options *options = at;
    uint64_t parts = PARTS_DEFAULT;

    if (value && parse_u64(value, 2, CACHE_PARTS_MAX, &parts) < 0)
        return command_bad_value("--histogram", value, "2 to 16 parts");
    options->format.parts = options->survey.question.parts = (unsigned)parts;
    return 0;
}

static int set_sort(void *at, const char *value)
{
    struct cache_options *options = at;

    if (!cache_sort(NULL, 0, value))
        return command_bad_value("--sort", value, "name, size, cached or percent");
    options->sort = value;
    return 0;
}

static int add_pid(void *at, const char *value)
{
    struct cache_options *options = at;
    uint64_t pid;

    if (parse_u64(value, 1, INT_MAX, &pid) < 0)
        return command_bad_value("--pid", value, "the number of a process");
    if (options->n_pids == CACHE_PIDS_MAX)
        return command_bad_value("--pid", value, "64 processes at most");
    options->pid[options->n_pids++] = (pid_t)pid;
    return 0;
}

static int add_ignore(void *at, const char *value)
{
    struct cache_options *options = at;

    if (options->n_ignore == CACHE_IGNORE_MAX)
        return command_bad_value("--ignore", value, "64 patterns at most");
    options->ignore[options->n_ignore++] = value;
    return 0;
}

static const char *const methods[] = {"auto", "cachestat", "mincore", NULL};

#define AT(member) offsetof(struct cache_options, member)
static const struct option_line lines[] = {
    {OPTION_CALL, 'p', "pid", "PID", 0,
     .help = "all files that the process has mapped or open; may be repeated", .call = add_pid},
    {OPTION_TEXT, 'f', "files-from", "LIST", AT(files_from),
     .help = "the files and directories that stand in LIST, one a line; \"-\": standard input"},
    {OPTION_FLAG, '0', "null", NULL, AT(null),
     .help = "the names in LIST end with a NUL, as of find -print0"},
    {OPTION_CALL, 'i', "ignore", "PATTERN", 0,
     .help = "leave out what matches, by its name or its whole path (fnmatch(3)); may be repeated",
     .call = add_ignore},
    {OPTION_FLAG, 0, "follow", NULL, AT(survey.follow),
     .help = "symbolic links that are named, and those of the kernel in /proc/PID/fd"},
    {OPTION_FLAG, 0, "all-file-systems", NULL, AT(survey.all_file_systems),
     .help = "also enter what is mounted below a directory that is named"},
    {OPTION_WORD, 'm', "method", "METHOD", AT(method),
     .help = "auto, cachestat (Linux 6.5) or mincore (auto)", .words = methods,
     .expect = "auto, cachestat or mincore"},
    {OPTION_CALL, 0, "histogram", "[=N]", 0,
     .help = "also the share of each of N equal parts of a file, 2 .. 16 (10)",
     .call = set_histogram},
    {OPTION_FLAG, 0, "map", NULL, AT(format.map),
     .help = "which pages of each file, instead of the table; not with --csv"},
    {OPTION_FLAG, 'c', "cached", NULL, AT(survey.cached_only),
     .help = "only files of which something is in the cache; the total is of all"},
    {OPTION_CALL, 's', "sort", "KEY", 0, .help = "name, size, cached or percent (name)",
     .call = set_sort},
    {OPTION_COUNT, 'n', "top", "N", AT(top),
     .help = "only the first N files, by default sorted by cached; the total covers all files", 0,
     SIZE_MAX - 1, "a number of files"},
    {OPTION_FLAG, 'b', "bytes", NULL, AT(format.bytes), .help = "exact bytes"},
    {OPTION_FLAG, 0, "basename", NULL, AT(format.basename),
     .help = "names without their directories"},
    {OPTION_FLAG, 0, "no-header", NULL, AT(format.no_header), .help = "without the heading"},
    {OPTION_FLAG, 0, "csv", NULL, AT(csv), .help = "comma-separated values, without the total",
     .also = "terse"},
    {OPTION_FLAG, 'j', "json", NULL, AT(json),
     .help = "one JSON object, schema vmwss.guest_cache.v1"},
    {.type = OPTION_END},
};
static const struct command_options command_line = {
    .usage =
        "Usage: vmwss-guest cache [FILE|DIRECTORY|DEVICE]... [OPTIONS]\n\n"
        "How much of files is in the page cache. Reads no file, and leaves the cache as it is.\n",
    .lines = lines,
    .after =
        "CACHED and the columns after it are pages; a dash is an unknown value. \"unknown\" marks a file about which the\n"
        "kernel answers only those who may write it.\n",
};

/* Refuses options that exclude each other. */
static int check_options(const struct cache_options *options)
{
    if (!*options->path && options->n_pids == 0 && !options->files_from) {
        command_error(
            "cache needs a FILE, a DIRECTORY, --files-from or --pid; see vmwss-guest cache --help");
        return -EINVAL;
    }
    if (options->format.map && options->csv) {
        command_error(
            "--map: as text or --json, not --csv: a line for each file has no room for its runs");
        return -EINVAL;
    }
    return 0;
}

/* Bounds the number of files that are kept in memory. */
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

int cache_options_read(struct cache_options *options, int argc, char **argv)
{
    int rc = options_read(&command_line, options, argc, argv);

    if (rc != 0)
        return rc;
    options->path = argv + optind;
    options->survey.question.method = (const struct cache_method *[]){
        NULL, &cache_cachestat, &cache_mincore}[options->method];
    options->survey.question.runs = options->format.map;
    options->survey.ignore = options->ignore;
    set_bound(options);
    return check_options(options);
}
