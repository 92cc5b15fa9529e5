// SPDX-License-Identifier: LGPL-2.1-or-later
#include "programs/vmwssd/config/options.h"

#include <errno.h>
#include <getopt.h>
#include <string.h>
#include <syslog.h>
#include <unistd.h>

/* vmwssd never leaves the foreground. */
static int stay(void *options, const char *value)
{
    (void)options, (void)value;
    return 0;
}

static int set_debug(void *options, const char *value)
{
    (void)value;
    ((struct options *)options)->config.log_level = LOG_DEBUG;
    return 0;
}

static const struct option_line own[] = {
    {OPTION_CALL, 'f', "foreground", .call = stay,
     .help = "no effect: vmwssd always stays in the foreground"},
    {OPTION_TEXT, 0, "config", "FILE", offsetof(struct options, path),
     .help = "configuration (" CONFIG_DEFAULT_PATH ", if there is one)"},
    {OPTION_FLAG, 0, "dump-config", NULL, offsetof(struct options, dump),
     .help = "print the configuration that results, and end"},
    {OPTION_CALL, 0, "debug", .call = set_debug, .help = "--log-level debug"},
    {OPTION_TABLE, .offset = offsetof(struct options, config), .lines = config_keys},
    {.type = OPTION_END},
};

/* Reads its own options and the keys. */
static int read_line(struct options *options, int argc, char **argv)
{
    static const struct command_options command = {
        .usage =
            "Usage: vmwssd [OPTIONS]\n\n"
            "Measures the working set of every guest of this host, within a CPU budget, and keeps its history.\n",
        .lines = own,
        .after =
            "Each key of the configuration file is an option of the same name, which prevails.\n\n"
            "SIGHUP: read the configuration again. SIGTERM: restore all and end, "
            "within a second, unless libvirt or a scan hangs.\n\n"
            "Exit status: 0 ended by a signal, 1 usage, 2 cannot work. See vmwssd(8).\n",
        .version = "vmwssd " VMWSS_VERSION,
        .no_arguments = true,
    };

    return options_read(&command, options, argc, argv);
}

int options_parse(struct options *options, int argc, char **argv)
{
    *options = (struct options){.argc = argc, .argv = argv};
    config_init(&options->config);
    return read_line(options, argc, argv);
}

int options_config(const struct options *options, struct config *config, struct error *error)
{
    struct options again = *options;
    int rc = 0;

    config_init(&again.config);
    if (options->path || access(CONFIG_DEFAULT_PATH, F_OK) == 0)
        rc = config_load(&again.config, options->path ? options->path : CONFIG_DEFAULT_PATH, error);
    config_next_source(&again.config);
    optind = 0; /* getopt_long(3): starts over */
    if (rc == 0 && read_line(&again, options->argc, options->argv) != 0)
        rc = error_set(error, -EINVAL, "the command line has changed");
    *config = again.config;
    return rc == 0 ? config_check(config, error) : rc;
}
