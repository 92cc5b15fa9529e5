// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file cmd_advise.c  vmwss advise: how much memory each guest should have, from vmwssd's history.
 */
#include "base/cleanup.h"
#include "base/progress.h"
#include "decide/advice/advising.h"
#include "programs/vmwss/kept.h"
#include "show/advice.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct options {
    struct advising advising;
    const char *database;
    const char *uri; /* --connect; NULL: do not ask libvirt */
    double backtest_s;
    bool explain, json;
    char **domains;
    size_t n_domains;
};

#define AT(member) offsetof(struct options, member)

static const struct option_line lines[] = {
    {OPTION_FLAG, 0, "explain", NULL, AT(explain),
     .help = "show every term of the formula, with its value and its source"},
    {OPTION_SPAN, 0, "backtest", "TIME", AT(backtest_s),
     .help = "replay the history, as in 7d: how often the WSS of the next hour would have\n"
             "exceeded the advice, how much it would have saved, and with how many changes"},
    {OPTION_KEY, 'w', "window", "S,S,S", AT(advising.windows),
     .help = "the windows of the demand (60,600,3600)", .set = decide_windows_parse,
     .expect = DECIDE_WINDOWS_EXPECTED},
    {OPTION_TEXT, 'c', "connect", "URI", AT(uri),
     .help = "ask libvirt, read-only, how much memory the balloon leaves each guest"},
    KEPT_DATABASE(AT(database)),
    {OPTION_FLAG, 'j', "json", NULL, AT(json),
     .help = "one JSON object per line, schema vmwss.advice.v1 or vmwss.backtest.v1"},
    {.type = OPTION_END},
};

static int check_options(void *base, int argc, char **argv)
{
    struct options *options = base;

    options->domains = argv + optind;
    options->n_domains = (size_t)(argc - optind);
    if (options->explain && (options->json || options->backtest_s > 0))
        return command_refuse(
            "--explain cannot be combined with --json, which has every term, or --backtest");
    return 0;
}

static const struct command_options command_options = {
    .usage =
        "Usage: vmwss advise [DOMAIN...] [OPTIONS]\n\n"
        "Shows how much memory each guest should have, what it could give back, and why, from vmwssd's\n"
        "history. It changes nothing. Name guests by name or UUID; without a name it shows all guests that\n"
        "have a record of the last hour.\n",
    .lines = lines,
    .check = check_options,
};

/* --- guests ----------------------------------------------------------------------------------- */

static int choose_guests(struct store *store, const struct options *options,
                         struct history_guest **out, size_t *n, struct error *error)
{
    ssize_t found;

    if (options->n_domains == 0) {
        found = history_guests(store, out, error);
        *n = found > 0 ? (size_t)found : 0;
        return found < 0 ? (int)found : 0;
    }
    *out = calloc(options->n_domains, sizeof(**out));
    if (!*out)
        return error_set(error, -ENOMEM, "out of memory");
    for (*n = 0; *n < options->n_domains; (*n)++) {
        int rc = history_find(store, options->domains[*n], &(*out)[*n], error);

        if (rc < 0)
            return rc;
    }
    return 0;
}

/* --- advice ----------------------------------------------------------------------------------- */

static int print_advice(const struct options *options, const struct advice *all, size_t n)
{
    int rc = 0;

    if (!options->explain)
        return advice_print(all, n, options->json ? SHOW_JSON : SHOW_TABLE);
    for (size_t i = 0; rc == 0 && i < n; i++) {
        if (i > 0)
            putchar('\n');
        rc = advice_print_explained(&all[i]);
    }
    return rc;
}

/* A guest that is measured rarely may have no newer record yet. */
static bool is_recent(const struct decide_input *input)
{
    return input->age_s <= fmax(ADVISING_RECENT_S, 3 * input->period_s);
}

/* Without names, guests that have ended are left out; for a named guest a veto shows its age. */
static int advise(struct store *store, struct options *options, const struct history_guest *guests,
                  size_t n_guests, struct error *error)
{
    cleanup_free struct advice *all = calloc(n_guests + 1, sizeof(*all));
    bool named = options->n_domains > 0;
    size_t n = 0;

    if (!all)
        return error_set(error, -ENOMEM, "out of memory");
    for (size_t g = 0; g < n_guests; g++) {
        int rc = advising_make(&options->advising, store, &guests[g], &all[n], error);

        if (rc < 0)
            return rc;
        if (rc == 0 && named)
            return error_set(error, -ENODATA,
                             "domain %s: the history has no record of the last day",
                             guests[g].name);
        if (rc == 0 || (!named && !is_recent(&all[n].input)))
            continue;
        rc = advising_test(&options->advising, store, &all[n++], error);
        if (rc < 0)
            return rc;
    }
    if (n == 0)
        return error_set(error, -ENODATA,
                         "%s: no guest has a record of the last hour: does vmwssd run?",
                         options->database);

    int rc = history_refresh(store, error); /* a pager must not keep the WAL from being truncated */

    return rc < 0 ? rc : print_advice(options, all, n);
}

/* --- the past --------------------------------------------------------------------------------- */

static int backtest(struct store *store, struct options *options,
                    const struct history_guest *guests, size_t n_guests, struct error *error)
{
    cleanup_free struct replayed *all = calloc(n_guests + 1, sizeof(*all));
    struct progress progress;
    size_t n = 0;
    int rc = 0;

    if (!all)
        return error_set(error, -ENOMEM, "out of memory");
    progress_init(&progress, "backtest");
    for (size_t g = 0; rc == 0 && g < n_guests; g++) {
        progress_say(&progress, "%zu of %zu guests", g, n_guests);
        rc = advising_replay(&options->advising, store, &guests[g], options->backtest_s, &all[n],
                             error);
        n += all[n].result.decisions > 0;
    }
    progress_clear(&progress);
    if (rc < 0)
        return rc;
    if (n == 0)
        return error_set(error, -ENODATA, "%s: the history has no minute of that time",
                         options->database);
    rc = history_refresh(store, error);
    return rc < 0 ? rc : replayed_print(all, n, options->json ? SHOW_JSON : SHOW_TABLE);
}

static int advise_run(struct options *options, struct store *store, struct error *error)
{
    cleanup_free struct history_guest *guests = NULL;
    size_t n = 0;
    int rc = history_refresh(store, error); /* libvirt may take its time */

    if (rc == 0)
        rc = advising_begin(&options->advising, options->uri, error);
    if (rc == 0)
        rc = choose_guests(store, options, &guests, &n, error);
    if (rc == 0)
        rc = (options->backtest_s > 0 ? backtest : advise)(store, options, guests, n, error);
    advising_end(&options->advising);
    return rc;
}

int cmd_advise(int argc, char **argv)
{
    struct options options = {.advising.windows = decide_windows_default,
                              .database = STORE_DEFAULT_PATH};
    struct store *store = NULL;
    struct error error = {0};
    int rc = options_read(&command_options, &options, argc, argv);

    if (rc != 0)
        return options_exit(rc);
    rc = history_open(options.database, &store, &error);
    if (rc == 0)
        rc = advise_run(&options, store, &error);
    return kept_end(store, rc, &error);
}
