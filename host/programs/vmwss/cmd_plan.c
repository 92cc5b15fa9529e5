// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file cmd_plan.c  vmwss plan: the joint need of the hosts of a fleet, what more fits where, and
 * which hosts could be emptied. */
#include "base/clock.h"
#include "base/progress.h"
#include "decide/plan/from_history.h"
#include "programs/vmwss/kept.h"
#include "programs/vmwss/migrate_terms.h"
#include "programs/vmwss/plan_choice.h"
#include "show/html_plan.h"
#include "show/plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* As options_read(). */
static int parse_options(struct plan_choice *choice, int argc, char **argv)
{
    int rc = options_read(&plan_options_table, choice, argc, argv);

    for (; rc == 0 && optind < argc; optind++)
        rc = plan_choice_source(choice, argv[optind]);
    choice->request.drain = choice->drains.n > 0;
    choice->request.consolidate |= choice->moves != UINT64_MAX;
    choice->request.options.max_moves = (size_t)choice->moves;
    choice->request.options.spare = (size_t)choice->spare;
    choice->request.cpus = choice->cpus.n > 0 || choice->cpu_query;
    if (rc == 0)
        rc = migrate_terms_check(&choice->request.terms);
    if (rc == 0 && choice->n_sources == 0)
        return command_refuse("name the histories of the hosts to plan, as in vmwss plan --from "
                              "a=/srv/a.db --from b=/srv/b.db");
    if (rc == 0 && choice->prometheus.user_file && choice->prometheus.token_file)
        return command_refuse("--user-file or --token-file, not both");
    if (rc == 0 && choice->html && choice->kept.format != SHOW_TABLE)
        return command_refuse("--html, --json or --csv: only one of them");
    return rc;
}

/* Maximum number of different warnings kept for the page. */
#define WARNINGS_MAX 100

struct showing {
    struct progress progress;
    const char *what;
    double done;
    char *warned[WARNINGS_MAX]; /* each one once */
    size_t n_warned;
};

static void show_progress(double done, void *context)
{
    struct showing *showing = context;

    showing->done = done;
    progress_say(&showing->progress, "%.0f%% %s", 100 * done, showing->what);
}

/* Shows that an answer is awaited. */
static void show_waiting(void *context)
{
    show_progress(((struct showing *)context)->done, context);
}

/* Each piece of a partial answer may cause the same warning. */
static bool was_warned(const struct showing *showing, const char *text)
{
    for (size_t w = 0; w < showing->n_warned; w++)
        if (strcmp(showing->warned[w], text) == 0)
            return true;
    return false;
}

static void show_warning(const char *text, void *context)
{
    struct showing *showing = context;

    if (was_warned(showing, text))
        return;
    if (showing->n_warned < WARNINGS_MAX && (showing->warned[showing->n_warned] = strdup(text)))
        showing->n_warned++;
    progress_clear(&showing->progress);
    command_error("%s", text);
}

static void showing_free(struct showing *showing)
{
    progress_clear(&showing->progress);
    while (showing->n_warned > 0)
        free(showing->warned[--showing->n_warned]);
}

static int print_plan(const struct plan_choice *choice, const struct plan_shown *shown,
                      const struct showing *showing, struct error *error)
{
    const struct html_plan page = {.shown = shown,
                                   .warnings = showing->warned,
                                   .n_warnings = showing->n_warned,
                                   .now_s = clock_s(CLOCK_REALTIME)};

    if (choice->html)
        return html_plan_write(&page, choice->html, error);
    return plan_print(shown, choice->kept.format);
}

static int make_and_print(struct plan_choice *choice, struct plan_fleet *fleet,
                          struct showing *showing, struct error *error)
{
    struct plan_result result;
    int rc = plan_choice_apply(choice, fleet, error);

    if (rc < 0)
        return rc;
    showing->what = "planned";
    choice->request.progress = show_progress;
    choice->request.context = showing;
    rc = plan_make(fleet, &choice->request, &result);
    progress_clear(&showing->progress);
    if (rc < 0)
        return error_set(error, rc,
                         "out of memory for a plan of %zu guests: choose a later --since",
                         fleet->n_guests);

    const struct plan_shown shown = {fleet, &choice->request, &result, choice->kept.window_s,
                                     choice->size_quantile};

    rc = print_plan(choice, &shown, showing, error);
    plan_result_free(&result);
    return rc;
}

static int plan_run(struct plan_choice *choice, struct error *error)
{
    struct showing showing = {.what = "read"};
    struct prom_options prometheus = choice->prometheus;
    struct plan_reading reading = {
        .sources = choice->sources,
        .n_sources = choice->n_sources,
        .step_s = choice->step_s,
        .window_s = choice->kept.window_s,
        .size_quantile = choice->size_quantile,
        .size_margin = choice->size_margin,
        .cpu_query = choice->cpu_query    ? choice->cpu_query
                     : choice->cpus.n > 0 ? ""
                                          : NULL,
        .writes = plan_has_moves(&choice->request),
        .prometheus = &prometheus,
        .warn = show_warning,
        .progress = show_progress,
        .context = &showing,
    };
    struct plan_fleet fleet;
    int rc;

    progress_init(&showing.progress, "plan");
    prometheus.tick = show_waiting;
    prometheus.context = &showing;
    kept_span(&choice->kept, &reading.from_s, &reading.to_s);
    rc = plan_read(&reading, &fleet, error);
    if (rc == 0) {
        rc = make_and_print(choice, &fleet, &showing, error);
        plan_fleet_free(&fleet);
    }
    showing_free(&showing);
    return rc;
}

int cmd_plan(int argc, char **argv)
{
    struct plan_choice choice = PLAN_CHOICE_DEFAULT;
    struct error error = {0};
    int rc = parse_options(&choice, argc, argv);
    int status;

    if (rc != 0)
        status = options_exit(rc);
    else
        status = kept_end(NULL, plan_run(&choice, &error), &error);
    plan_choice_free(&choice);
    return status;
}
