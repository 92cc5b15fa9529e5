// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file cmd_cache.c  vmwss-guest cache: how much of each file is in the page cache. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/interrupt.h"
#include "base/progress.h"
#include "command/cache_options.h"
#include "command/command.h"
#include "print/escape.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static int print_total(struct cache_options *options, const struct cache_total *total)
{
    struct survey *survey = &options->survey;
    size_t n = files_shown(options);

    if (options->json)
        return cache_print_json(&options->format, survey->file, n, total);
    if (options->csv)
        cache_print_csv(&options->format, survey->file, n);
    else if (survey->n == 0 && survey->n_faults > 0)
        return 0; /* the file or directory does not exist */
    else if (options->format.map)
        cache_print_maps(&options->format, survey->file, n, total);
    else
        cache_print_table(&options->format, survey->file, n, total);
    return 0;
}

static int show_files(struct cache_options *options)
{
    struct survey *survey = &options->survey;
    const struct cache_total *total = &survey->total;

    /* The first order chooses the files, the second one arranges them. */
    cache_sort(survey->file, survey->n, survey->order);
    cache_sort(survey->file, files_shown(options), options->sort);
    if (print_total(options, total) < 0)
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
    uint64_t began_ns;
};

static bool go_on(void *context, double position)
{
    struct cache_wait *wait = context;
    char text[64];

    snprintf(text, sizeof(text), "%" PRIu64 " files, and %.0f%% of one", wait->survey->total.files,
             100 * position);
    progress_say((double)(clock_ns() - wait->began_ns) / 1e9, text, &wait->progress);
    return !interrupted;
}

/* Installs this patience in the survey; from now on signals only end the survey. */
static void begin_wait(struct cache_wait *wait, struct survey *survey)
{
    *wait = (struct cache_wait){
        .patience = {go_on, wait}, .survey = survey, .began_ns = clock_ns()};
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
