// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file options.c  See options.h. */
#include "programs/vmwssd/config/options.h"

#include <errno.h>
#include <getopt.h>
#include <string.h>
#include <unistd.h>

#define MAX_KEYS 32
#define FIRST_KEY 1000 /* getopt's numbers for keys; letters are below */

static void print_help(void)
{
    const char *help;

    fputs(
        "Usage: vmwssd [OPTIONS]\n\n"
        "Watches the working set of every guest of this host, within a CPU budget, and keeps its history.\n\n"
        "  -f, --foreground         do not leave the foreground: it never does\n"
        "      --config FILE        configuration (" CONFIG_DEFAULT_PATH ", if there is one)\n"
        "      --dump-config        print the configuration that results, and end\n"
        "      --debug              --log-level debug\n",
        stdout);
    for (size_t i = 0; config_key(i, &help); i++)
        printf("      --%s %s\n", config_key(i, &help), help);
    fputs("  -h, --help               this text\n"
          "  -V, --version            version\n\n"
          "Each key of the configuration file is an option of the same name, which prevails.\n"
          "SIGHUP: read the configuration again. SIGTERM: restore all and end,\n"
          "within a second, unless libvirt or a scan hangs.\n"
          "Exit status: 0 ended by a signal, 1 usage, 2 cannot work. See vmwssd(8).\n",
          stdout);
}

static int add_option(struct options *options, const char *key, const char *value)
{
    struct config unused;
    struct error error = {0};

    config_init(&unused);
    if (options->n == sizeof(options->set) / sizeof(options->set[0])) {
        fputs("vmwssd: too many options\n", stderr);
        return -EINVAL;
    }
    if (config_set(&unused, key, value, &error) < 0) {
        fprintf(stderr, "vmwssd: --%s\n", error.text);
        return -EINVAL;
    }
    options->set[options->n].key = key;
    options->set[options->n++].value = value;
    return 0;
}

static int options_take(struct options *options, int option, const struct option *longs)
{
    switch (option) {
    case 'f':
        return 0;
    case 'c':
        options->path = optarg;
        return 0;
    case 'd':
        options->dump = true;
        return 0;
    case 'D':
        return add_option(options, "log-level", "debug");
    case 'h':
        print_help();
        return 1;
    case 'V':
        puts("vmwssd " VMWSS_VERSION);
        return 1;
    default:
        return option >= FIRST_KEY ? add_option(options, longs[option - FIRST_KEY].name, optarg)
                                   : -EINVAL;
    }
}

/* The keys first, so that their numbers are their places. */
static void list_options(struct option *longs)
{
    static const struct option own[] = {
        {"foreground", no_argument, NULL, 'f'},
        {"config", required_argument, NULL, 'c'},
        {"dump-config", no_argument, NULL, 'd'},
        {"debug", no_argument, NULL, 'D'},
        {"help", no_argument, NULL, 'h'},
        {"version", no_argument, NULL, 'V'},
        {0},
    };
    const char *help;
    size_t n = 0;

    for (const char *key; (key = config_key(n, &help)); n++)
        longs[n] = (struct option){key, required_argument, NULL, FIRST_KEY + (int)n};
    memcpy(&longs[n], own, sizeof(own));
}

int options_parse(struct options *options, int argc, char **argv)
{
    struct option longs[MAX_KEYS];
    int option;
    int rc = 0;

    *options = (struct options){0};
    list_options(longs);
    while (rc == 0 && (option = getopt_long(argc, argv, "fhV", longs, NULL)) != -1)
        rc = options_take(options, option, longs);
    if (rc == 0 && optind < argc) {
        fprintf(stderr, "vmwssd: '%s' is too much; see vmwssd --help\n", argv[optind]);
        return -EINVAL;
    }
    return rc;
}

int options_config(const struct options *options, struct config *config, struct error *error)
{
    int rc = 0;

    config_init(config);
    if (options->path || access(CONFIG_DEFAULT_PATH, F_OK) == 0)
        rc = config_load(config, options->path ? options->path : CONFIG_DEFAULT_PATH, error);
    config_next_source(config);
    for (size_t i = 0; rc == 0 && i < options->n; i++)
        rc = config_set(config, options->set[i].key, options->set[i].value, error);
    return rc == 0 ? config_check(config, error) : rc;
}
