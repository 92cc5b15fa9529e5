// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file cmd_cache.c  vmwss-guest cache: how much of each file is in the page cache. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/interrupt.h"
#include "base/parse.h"
#include "base/progress.h"
#include "cache/survey.h"
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

/* --- options ---------------------------------------------------------------------------------- */

#define CACHE_PIDS_MAX 64
#define CACHE_IGNORE_MAX 64
#define CACHE_SHOWN_MAX 100000 /* the default; takes about 30 MB, at times twice as much */

struct cache_options {
    struct survey survey; /* the survey's parameters */
    struct cache_format format;
    bool csv, json;
    int method; /* index of the method's name: auto, cachestat, mincore */
    const char *sort;
    uint64_t top; /* UINT64_MAX: not given */
    pid_t pid[CACHE_PIDS_MAX];
    size_t n_pids;
    char **path; /* ends with NULL */
    /* file with a list of further names; "-": standard input; NULL: not given */
    const char *files_from;
    bool null; /* names in that list end with NUL instead of a newline */
    const char *ignore[CACHE_IGNORE_MAX + 1];
    size_t n_ignore;
};

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
    if (!*options->path && options->n_pids == 0 && !options->files_from)
        return command_refuse(
            "cache needs a FILE, a DIRECTORY, --files-from or --pid; see vmwss-guest cache --help");
    if (options->format.map && options->csv)
        return command_refuse(
            "--map: as text or --json, not --csv: a line for each file has no room for its runs");
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

/* As options_read(). @p options must not move: the survey points into it. */
static int cache_options_read(struct cache_options *options, int argc, char **argv)
{
    int rc = options_read(&command_line, options, argc, argv);

    if (rc != 0)
        return rc;
    options->path = argv + optind;
    options->survey.question.method = (const struct cache_method *[]){
        NULL, &cache_cachestat, &cache_mincore}[options->method];
    options->survey.question.runs = options->format.map;
    options->survey.ignore = options->ignore;
    options->format.show = options->json ? SHOW_JSON : options->csv ? SHOW_CSV : SHOW_TABLE;
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

/* A process that has ended, or may not be read, is a fault like a missing file: the rest is
 * shown. */
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

/* Handles each name as it is read, so the list may still be growing. */
static int survey_names(struct survey *survey, FILE *list, int delimiter)
{
    cleanup_free char *name = NULL;
    size_t room = 0;
    ssize_t length;
    int rc = 0;

    while (rc == 0 && (length = getdelim(&name, &room, delimiter, list)) > 0) {
        if (name[length - 1] == delimiter)
            name[length - 1] = '\0';
        if (*name)
            rc = survey_path(survey, name);
    }
    if (rc == 0 && interrupted)
        return -EINTR;
    return rc == 0 && ferror(list) ? -errno : rc;
}

static int survey_list(struct cache_options *options, struct error *error)
{
    const char *name = options->files_from;
    cleanup_file FILE *opened = strcmp(name, "-") != 0 ? fopen(name, "re") : NULL;
    FILE *list = strcmp(name, "-") != 0 ? opened : stdin;
    int rc = list ? survey_names(&options->survey, list, options->null ? '\0' : '\n') : -errno;

    if (rc == 0 || rc == -EINTR || rc == -ENOMEM)
        return rc;
    return error_set(error, rc, "--files-from %s: %s", name, strerror(-rc));
}

static int cache_survey(struct cache_options *options, struct error *error)
{
    int rc = options->files_from ? survey_list(options, error) : 0;

    for (char **path = options->path; *path && rc == 0; path++)
        rc = survey_path(&options->survey, *path);
    for (size_t i = 0; i < options->n_pids && rc == 0; i++)
        rc = survey_pid(&options->survey, options->pid[i]);
    return rc == -ENOMEM ? error_set(error, rc, "out of memory") : rc;
}

/* Prints a line for each reason; there are few reasons. */
static void tell_unknown(const struct cache_total *total)
{
    for (size_t i = 0; i < CACHE_REASONS && total->reason[i].text; i++)
        command_error("%" PRIu64 " unknown: %s", total->reason[i].files, total->reason[i].text);
}

/* The number of kept files to show. */
static size_t files_shown(const struct cache_options *options)
{
    const struct survey *survey = &options->survey;
    uint64_t most = options->top < survey->at_most ? options->top : survey->at_most;

    return most < survey->n ? (size_t)most : survey->n;
}

static void tell_bounds(const struct cache_options *options)
{
    if (options->survey.total.not_entered > 0)
        command_error("other file systems are mounted on directories (%" PRIu64
                      "), which are not entered: add --all-file-systems",
                      options->survey.total.not_entered);
    if (options->top == UINT64_MAX && options->survey.n_wanted > CACHE_SHOWN_MAX)
        command_error("only the %d files with most in the cache are shown; the total is of all "
                      "(--top N shows N)",
                      CACHE_SHOWN_MAX);
}

static int show_files(struct cache_options *options)
{
    struct survey *survey = &options->survey;
    const struct cache_total *total = &survey->total;

    /* The first order chooses the files, the second one arranges them. */
    cache_sort(survey->file, survey->n, survey->order);
    cache_sort(survey->file, files_shown(options), options->sort);
    /* A file or directory that does not exist has no table. */
    if ((options->format.show != SHOW_TABLE || survey->n > 0 || survey->n_faults == 0) &&
        cache_print(&options->format, survey->file, files_shown(options), total) < 0)
        return EXIT_CANNOT;
    fflush(stdout);
    tell_bounds(options);
    tell_unknown(total);
    if (total->interrupted)
        return EXIT_INTERRUPTED;
    return survey->n_faults > 0 || (total->files > 0 && total->unknown_files == total->files)
               ? EXIT_CANNOT
               : EXIT_DONE;
}

/* Continues until a signal, and shows progress on a terminal. */
struct cache_wait {
    struct cache_patience patience;
    struct survey *survey;
    struct progress progress;
};

static bool go_on(void *context, double position)
{
    struct cache_wait *wait = context;

    progress_say(&wait->progress, "%" PRIu64 " files, and %.0f%% of one", wait->survey->total.files,
                 100 * position);
    return !interrupted;
}

/* Installs this patience in the survey; from now on signals only end the survey. */
static void begin_wait(struct cache_wait *wait, struct survey *survey)
{
    *wait = (struct cache_wait){.patience = {go_on, wait}, .survey = survey};
    progress_init(&wait->progress, "looking");
    survey->question.patience = &wait->patience;
    interrupt_catch();
}

/* A signal ends the survey, and the results so far are shown. */
static int look_and_show(const struct fsroot *root, void *at, char **operands, struct error *error)
{
    struct cache_options *options = at;
    struct cache_wait wait;

    options->survey.question.root = root;
    options->path = operands;
    begin_wait(&wait, &options->survey);

    int rc = cache_survey(options, error);

    progress_clear(&wait.progress);
    options->survey.total.interrupted = rc == -EINTR;
    if (rc == -EINTR)
        command_error("interrupted: this is what was looked at until then");
    if (rc == 0 || rc == -EINTR)
        rc = show_files(options);
    survey_free(&options->survey);
    return rc;
}

int cmd_cache(int argc, char **argv)
{
    struct cache_options options = {.survey.fault = tell_fault, .top = UINT64_MAX};
    int rc = cache_options_read(&options, argc, argv);

    return rc != 0 ? options_exit(rc) : command_on_root(&options, options.path, look_and_show);
}
