// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file cmd_top.c  vmwss top: the options of the live table. */
#include "base/parse.h"
#include "cli/kept.h"
#include "screen/screen.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const char help[] =
    "Usage: vmwss top [OPTIONS]\n\n"
    "The working set of every guest on the whole screen, as vmwssd keeps it.\n\n"
    "  -d, --delay S        look for new records so often (1)\n"
    "  -s, --sort KEY       name, ram, resident, wss, share, back or age (wss)\n"
    "  -D, --database FILE  the history (" STORE_DEFAULT_PATH ")\n"
    "  -h, --help           this text\n\n"
    "Keys: arrows select, Enter shows more of a guest, < > sort, r reverses, h helps, q quits.\n";

static int set_sort(struct screen_options *options, const char *value)
{
    static const char *const names[ROW_N_KEYS] = {"name",  "ram",  "resident", "wss",
                                                  "share", "back", "age"};

    for (enum row_key key = 0; key < ROW_N_KEYS; key++)
        if (!strcmp(value, names[key])) {
            options->key = key;
            return 0;
        }
    return command_bad_value("--sort", value, "name, ram, resident, wss, share, back or age");
}

static int set_option(struct screen_options *options, int option, const char *value)
{
    switch (option) {
    case 'd':
        return parse_seconds(value, &options->delay_s) == 0
                   ? 0
                   : command_bad_value("--delay", value, PARSE_SECONDS_EXPECTED);
    case 's':
        return set_sort(options, value);
    case 'D':
        options->database = value;
        return 0;
    default:
        return -EINVAL; /* getopt has said why */
    }
}

/* 0, 1 for "help was shown", or -EINVAL. */
static int parse_options(struct screen_options *options, int argc, char **argv)
{
    static const struct option longs[] = {
        {"delay", required_argument, NULL, 'd'},
        {"sort", required_argument, NULL, 's'},
        {"database", required_argument, NULL, 'D'},
        {"help", no_argument, NULL, 'h'},
        {0},
    };
    int option;

    *options = (struct screen_options){
        .database = STORE_DEFAULT_PATH, .delay_s = 1, .key = ROW_BY_WSS};
    while ((option = getopt_long(argc, argv, "d:s:D:h", longs, NULL)) >= 0) {
        if (option == 'h') {
            fputs(help, stdout);
            return 1;
        }
        if (set_option(options, option, optarg) < 0)
            return -EINVAL;
    }
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
        return rc > 0 ? 0 : EXIT_USAGE;
    rc = screen_run(&options, &error);
    return kept_end(NULL, rc, &error);
}
