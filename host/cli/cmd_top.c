// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file cmd_top.c  vmwss top: the options of the live table. */
#include "cli/kept.h"
#include "screen/screen.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static int set_sort(void *base, const char *value)
{
    struct screen_options *options = base;
    static const char *const names[ROW_N_KEYS] = {"name",  "ram",         "resident", "wss",
                                                  "share", "reclaimable", "age"};

    for (enum row_key key = 0; key < ROW_N_KEYS; key++)
        if (!strcmp(value, names[key])) {
            options->key = key;
            return 0;
        }
    return command_bad_value("--sort", value,
                             "name, ram, resident, wss, share, reclaimable or age");
}

static const struct option_line lines[] = {
    {OPTION_SECONDS, 'd', "delay", "S", offsetof(struct screen_options, delay_s),
     .help = "look for new records so often (1)"},
    {OPTION_CALL, 's', "sort", "KEY", 0,
     .help = "name, ram, resident, wss, share, reclaimable or age (wss)", .call = set_sort},
    KEPT_DATABASE(offsetof(struct screen_options, database)),
    {.type = OPTION_END},
};

static const struct command_options command_options = {
    .usage = "Usage: vmwss top [OPTIONS]\n\n"
             "The working set of every guest on the whole screen, as vmwssd keeps it.\n",
    .lines = lines,
    .after = "Keys: arrows select, Enter shows more of a guest, < > sort, r reverses, h helps, q "
             "quits.\n",
};

/* As options_read(). */
static int parse_options(struct screen_options *options, int argc, char **argv)
{
    *options = (struct screen_options){
        .database = STORE_DEFAULT_PATH, .delay_s = 1, .key = ROW_BY_WSS};

    int rc = options_read(&command_options, options, argc, argv);

    if (rc != 0)
        return rc;
    if (optind < argc) {
        command_error("top shows all guests: '%s' is too much", argv[optind]);
        return -EINVAL;
    }
    return 0;
}

int cmd_top(int argc, char **argv)
{
    struct screen_options options;
    struct error error = {0};
    int rc = parse_options(&options, argc, argv);

    if (rc != 0)
        return options_exit(rc);
    rc = screen_run(&options, &error);
    return kept_end(NULL, rc, &error);
}
