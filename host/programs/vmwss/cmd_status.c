// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file cmd_status.c  vmwss status: this host at one moment, from the history and /proc. */
#include "programs/vmwss/kept.h"
#include "programs/vmwss/status_collect.h"

struct options {
    struct status_choice choice;
    const char *columns;
    bool json;
};

static int set_columns(void *base, const char *value)
{
    struct options *options = base;
    char names[256];

    options->columns = value;
    if (status_columns_check(value) < 0)
        return command_bad_value("--output", value, status_column_names(names, sizeof(names)));
    return 0;
}

#define AT(member) offsetof(struct options, member)

static const struct option_line lines[] = {
    {OPTION_CALL, 'o', "output", "COLUMNS", 0,
     .help = "comma-separated list of columns: domain, uuid, pid, assigned, balloon,\n"
             "resident, wss, error, share, wss-middle, error-middle, wss-longest,\n"
             "error-longest, reclaimable, method, age, flags",
     .call = set_columns},
    {OPTION_TEXT, 'c', "connect", "URI", AT(choice.uri),
     .help = "also ask libvirt how much memory balloons leave guests"},
    KEPT_DATABASE(AT(choice.database)),
    {OPTION_FLAG, 'j', "json", NULL, AT(json), .help = "one JSON object, schema vmwss.status.v1"},
    {.type = OPTION_END},
};

static int check_options(void *base, int argc, char **argv)
{
    (void)base;
    if (optind < argc)
        return command_refuse("status shows all guests: unexpected '%s'", argv[optind]);
    return 0;
}

static const struct command_options command_options = {
    .usage =
        "Usage: vmwss status [OPTIONS]\n\n"
        "Shows this host now: vmwssd, the host's memory, and every guest with its last record, or why it has\n"
        "none. It measures nothing and changes nothing.\n",
    .lines = lines,
    .check = check_options,
    .after =
        "Exit status: 0 vmwssd runs, and all guests that are not suspended are measured; 1 usage;\n"
        "2 otherwise.\n",
};

int cmd_status(int argc, char **argv)
{
    struct options options = {.choice.database = STORE_DEFAULT_PATH};
    struct status status;
    struct error error = {0};
    int rc = options_read(&command_options, &options, argc, argv);

    if (rc != 0)
        return options_exit(rc);
    rc = status_collect(&options.choice, &status, &error);
    if (rc < 0)
        return kept_end(NULL, rc, &error);
    rc = status_print(&status, options.columns, options.json ? SHOW_JSON : SHOW_TABLE);

    const bool well = status_is_well(&status);

    status_free(&status);

    int code = kept_end(NULL, rc, &error);

    return code == EXIT_DONE && !well ? EXIT_CANNOT : code;
}
