// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file cmd_top.c  vmwss top: parses the options of the live table. */
#include "programs/vmwss/kept.h"
#include "show/screen/screen.h"

/* In the order of enum row_key. */
static const char *const sort_keys[] = {"name",  "ram",         "resident", "wss",
                                        "share", "reclaimable", "age",      NULL};

static int set_columns(void *base, const char *value)
{
    struct screen_options *options = base;
    char names[256];

    if (layout_choose(&options->columns, value) == 0)
        return 0;
    return command_bad_value("--output", value, layout_column_names(names, sizeof(names)));
}

static const struct option_line lines[] = {
    {OPTION_SECONDS, 'd', "delay", "S", offsetof(struct screen_options, delay_s),
     .help = "look for new records every S seconds (1)"},
    {OPTION_WORD, 's', "sort", "KEY", offsetof(struct screen_options, key),
     .help = "name, ram, resident, wss, share, reclaimable or age (wss)",
     .expect = "name, ram, resident, wss, share, reclaimable or age", .words = sort_keys},
    {OPTION_CALL, 'o', "output", "COLUMNS", 0,
     .help = "comma-separated list of columns: domain, wss, ram, error, wss-longest, age,\n"
             "reclaimable, wss-middle, needs, available, resident, share, method, flags",
     .call = set_columns},
    {OPTION_SHARE, 0, "above", "P%", offsetof(struct screen_options, filter.above),
     .help = "show only guests that touch more than this of their RAM in the shortest window", 0,
     999999, "more than 0% and less than 100%"},
    KEPT_DATABASE(offsetof(struct screen_options, database)),
    {.type = OPTION_END},
};

static int check_options(void *base, int argc, char **argv)
{
    struct screen_options *options = base;

    options->filter.patterns = argv + optind;
    options->filter.n_patterns = argc - optind;
    return 0;
}

static const struct command_options command_options = {
    .usage =
        "Usage: vmwss top [GUEST...] [OPTIONS]\n\n"
        "Shows the working set of every guest, or of those named, on the whole screen, from vmwssd's history.\n"
        "GUEST is a UUID, or a pattern of names, as in 'web*'.\n",
    .lines = lines,
    .check = check_options,
    .after = "Keys: arrows select, Enter shows more of a guest, < > sort, r reverses, h helps, q "
             "quits.\n",
};

int cmd_top(int argc, char **argv)
{
    struct screen_options options = {
        .database = STORE_DEFAULT_PATH, .delay_s = 1, .key = ROW_BY_WSS};
    struct error error = {0};
    int rc = options_read(&command_options, &options, argc, argv);

    if (rc != 0)
        return options_exit(rc);
    rc = screen_run(&options, &error);
    return kept_end(NULL, rc, &error);
}
