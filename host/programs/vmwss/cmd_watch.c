// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file cmd_watch.c  vmwss watch: prints the daemon's records as they are added. */
#include "base/array.h"
#include "base/clock.h"
#include "history/stream.h"
#include "programs/vmwss/kept.h"
#include "show/ages.h"
#include "show/sample_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Interval between checks for new records. */
#define POLL_NS 500000000ULL
#define ROWS_PER_HEADING 20

struct options {
    const char *database;
    uint64_t count; /* 0: until interrupted */
    bool json;
    char **domains; /* names and UUIDs; empty: all guests */
    int n_domains;
};

#define AT(member) offsetof(struct options, member)

static const struct option_line lines[] = {
    {OPTION_COUNT, 'k', "count", "N", AT(count),
     .help = "end after N records (default: when interrupted)", 1, UINT64_MAX,
     "a whole number above 0"},
    KEPT_DATABASE(AT(database)),
    {OPTION_FLAG, 'j', "json", NULL, AT(json),
     .help = "one JSON object per line, schema vmwss.ages.v1"},
    {.type = OPTION_END},
};

static int check_options(void *base, int argc, char **argv)
{
    struct options *options = base;

    options->domains = argv + optind;
    options->n_domains = argc - optind;
    return 0;
}

static const struct command_options command_options = {
    .usage =
        "Usage: vmwss watch [DOMAIN...] [OPTIONS]\n\n"
        "Prints vmwssd's last record of each guest, or of those named, and then each new record as it is\n"
        "added.\n",
    .lines = lines,
    .check = check_options,
};

/* Maximum number of records read at once: more are read when these are printed. */
#define COLLECT_MAX 256

struct printing {
    const struct options *options;
    uint64_t n;
    struct error *error;
    size_t n_collected;
    struct kept_sample *collected;
};

static bool is_asked_for(const struct options *options, const struct sample_record *sample)
{
    for (int i = 0; i < options->n_domains; i++)
        if (!strcmp(options->domains[i], sample->domain) ||
            !strcasecmp(options->domains[i], sample->uuid))
            return true;
    return options->n_domains == 0;
}

static bool is_enough(const struct printing *printing)
{
    return printing->options->count > 0 && printing->n >= printing->options->count;
}

/* Returns 1 when there are enough. */
static int print_sample(struct printing *printing, const struct kept_sample *kept)
{
    int rc = 0;

    if (printing->options->json)
        rc = ages_print(&kept->record, SHOW_JSON);
    else
        sample_table_print_series(&kept->record.sample, printing->n % ROWS_PER_HEADING == 0);
    if (rc == 0)
        rc = command_flush(printing->error);
    printing->n++;
    return rc == 0 && is_enough(printing) ? 1 : rc;
}

static int collect_sample(const struct kept_sample *kept, void *context)
{
    struct printing *printing = context;

    if (!is_asked_for(printing->options, &kept->record.sample))
        return 0;
    return array_put(&printing->collected, &printing->n_collected, kept, sizeof(*kept)) < 0
               ? error_set(printing->error, -ENOMEM, "out of memory")
               : 0;
}

/* Returns 1 when the limit is reached. */
static int collect_new(const struct kept_sample *kept, void *context)
{
    const struct printing *printing = context;
    int rc = collect_sample(kept, context);

    return rc == 0 ? printing->n_collected >= COLLECT_MAX : rc;
}

/* The reader of the output may stop for any time: the history is not held meanwhile, because
 * otherwise its WAL would grow. @p rc: result of collecting; 1 when there are enough. */
static int print_collected(struct printing *printing, struct stream *stream, int rc)
{
    size_t n = printing->n_collected;

    printing->n_collected = 0;
    if (rc >= 0 && stream_store(stream))
        rc = history_refresh(stream_store(stream), printing->error);
    for (size_t i = 0; rc == 0 && i < n; i++)
        rc = print_sample(printing, &printing->collected[i]);
    return rc;
}

/* An unknown name may become known later; a message says that it is not known yet. */
static void tell_unknown(struct store *store, const struct options *options)
{
    for (int i = 0; i < options->n_domains; i++) {
        struct history_guest guest;
        struct error error = {0};

        if (history_find(store, options->domains[i], &guest, &error) == -ENOENT)
            command_error("%s; waiting for it", error.text);
    }
}

static int watch_stream(struct stream *stream, const struct options *options, struct error *error)
{
    struct printing printing = {.options = options, .error = error};
    int rc;

    tell_unknown(stream_store(stream), options);
    rc = history_latest(stream_store(stream), collect_sample, &printing, error);
    rc = print_collected(&printing, stream, rc);
    while (rc == 0) {
        bool more;

        rc = stream_next(stream, collect_new, &printing, error);
        more = rc == 1;
        rc = print_collected(&printing, stream, rc);
        if (rc == 0 && !more)
            clock_sleep(POLL_NS);
    }
    free(printing.collected);
    return rc > 0 ? 0 : rc;
}

int cmd_watch(int argc, char **argv)
{
    struct options options = {.database = STORE_DEFAULT_PATH};
    struct stream *stream = NULL;
    struct error error = {0};
    int rc = options_read(&command_options, &options, argc, argv);

    if (rc != 0)
        return options_exit(rc);
    rc = stream_open(options.database, &stream, &error);
    if (rc == 0)
        rc = watch_stream(stream, &options, &error);
    stream_close(stream);
    return kept_end(NULL, rc, &error);
}
