// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file options.c  See options.h. */
#include "programs/exporter/options.h"

#include "base/own_memory.h"
#include "base/parse.h"
#include "programs/exporter/message.h"
#include "programs/exporter/web_report.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

static const char help[] =
    "Usage: vmwss-exporter [OPTIONS]\n\n"
    "Serves the working set sizes that vmwssd has measured to Prometheus, from its history alone.\n\n"
    "  -l, --listen ADDRESS:PORT  where to answer (" EXPORTER_LISTEN ");\n"
    "                             [ADDRESS] for IPv6; a socket from systemd prevails\n"
    "  -t, --textfile FILE        instead, keep FILE (*.prom) up to date for node_exporter\n"
    "  -i, --interval S           write it so often (15)\n"
    "  -1, --print                instead, print the metrics once\n"
    "      --web                  serve pages for a browser, too: the report at /, all guests now at\n"
    "                             /status\n"
    "      --web-since TIME       how far back that report goes: 90m, 12h, 7d, 2w (1d)\n"
    "      --web-host NAME        a name by which browsers may call this host, beside its own and\n"
    "                             its addresses; may be repeated\n"
    "      --page-to-stdout       instead, print that report once, as --web makes it\n"
    "      --stale S              a guest without a new record for so long is left out (300)\n"
    "      --capacity SIZE        memory of this host for guests, for planners (its own less 5 %)\n"
    "      --reserve SIZE         of it, kept free (0)\n"
    "      --plan-window S        the window of the needs that planners read, and of the report (60)\n"
    "  -D, --database FILE        the history (" STORE_DEFAULT_PATH ")\n"
    "  -J, --journal FILE         of vmwss-balloond (" JOURNAL_DEFAULT_PATH ")\n"
    "  -h, --help                 this text\n"
    "  -V, --version              version\n\n"
    "Exit status: 0 ended by a signal, or printed; 1 usage; 2 cannot work. See vmwss-exporter(8).\n";

static int bad_value(const char *option, const char *value, const char *expected)
{
    message("%s %s: expected %s", option, value, expected);
    return -EINVAL;
}

static int set_seconds(const char *option, const char *value, double *seconds)
{
    return parse_seconds(value, seconds) == 0 ? 0
                                              : bad_value(option, value, PARSE_SECONDS_EXPECTED);
}

static int set_size(const char *option, const char *value, uint64_t *bytes)
{
    return parse_size(value, bytes) == 0 ? 0 : bad_value(option, value, "a size, as in 64G");
}

static int set_mode(struct exporter_options *options, enum exporter_mode mode)
{
    if (options->mode != EXPORTER_HTTP && options->mode != mode) {
        message("--textfile, --print or --page-to-stdout, not two of them");
        return -EINVAL;
    }
    options->mode = mode;
    return 0;
}

static int set_textfile(struct exporter_options *options, const char *path)
{
    size_t n = strlen(path);

    if (n <= 5 || strcmp(path + n - 5, ".prom") != 0 || path[n - 6] == '/')
        return bad_value("--textfile", path,
                         "a name that ends in .prom: node_exporter reads no other");
    options->textfile = path;
    return set_mode(options, EXPORTER_TEXTFILE);
}

static int set_span(const char *option, const char *value, double *seconds)
{
    return parse_span(value, seconds) == 0 ? 0 : bad_value(option, value, PARSE_SPAN_EXPECTED);
}

static bool is_host_name(const char *name)
{
    return *name && !name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                       "0123456789-._")];
}

static int add_host(struct web_options *pages, const char *name)
{
    if (!is_host_name(name))
        return bad_value("--web-host", name, "a name, as in hv1.example.org, without a port");
    if (pages->n_names == WEB_NAMES_MAX) {
        message("--web-host: %d names at most", WEB_NAMES_MAX);
        return -EINVAL;
    }
    pages->names[pages->n_names++] = name;
    return 0;
}

/* --- all of them ------------------------------------------------------------------------------ */

static int take_web(struct exporter_options *options, int option, const char *value)
{
    options->of_web |= option == 'S' || option == 'H';
    switch (option) {
    case 'W':
        options->web = true;
        return 0;
    case 'S':
        return set_span("--web-since", value, &options->web_since_s);
    case 'H':
        return add_host(&options->pages, value);
    default:
        return set_mode(options, EXPORTER_PAGE);
    }
}

static int exporter_options_take(struct exporter_options *options, int option, const char *value)
{
    switch (option) {
    case 'l':
        options->listen = value;
        return 0;
    case 't':
        return set_textfile(options, value);
    case 'i':
        return set_seconds("--interval", value, &options->interval_s);
    case '1':
        return set_mode(options, EXPORTER_PRINT);
    case 's':
        return set_seconds("--stale", value, &options->metrics.stale_s);
    case 'c':
        return set_size("--capacity", value, &options->metrics.capacity_bytes);
    case 'r':
        return set_size("--reserve", value, &options->metrics.reserve_bytes);
    case 'w':
        return set_seconds("--plan-window", value, &options->metrics.plan_window_s);
    case 'W':
    case 'S':
    case 'H':
    case 'P':
        return take_web(options, option, value);
    case 'D':
        options->metrics.database = value;
        return 0;
    case 'J':
        options->metrics.journal = value;
        return 0;
    case 'h':
        fputs(help, stdout);
        return 1;
    case 'V':
        puts("vmwss-exporter " VMWSS_VERSION);
        return 1;
    default:
        return -EINVAL; /* getopt has said why */
    }
}

/* Or is the process that makes the page of one that is. */
static bool is_served(const struct exporter_options *options)
{
    return options->mode == EXPORTER_HTTP || options->mode == EXPORTER_PAGE;
}

int exporter_options_parse(struct exporter_options *options, int argc, char **argv)
{
    static const struct option longs[] = {
        {"listen", required_argument, NULL, 'l'},
        {"textfile", required_argument, NULL, 't'},
        {"interval", required_argument, NULL, 'i'},
        {"print", no_argument, NULL, '1'},
        {"web", no_argument, NULL, 'W'},
        {"web-since", required_argument, NULL, 'S'},
        {"web-host", required_argument, NULL, 'H'},
        {"page-to-stdout", no_argument, NULL, 'P'},
        {"stale", required_argument, NULL, 's'},
        {"capacity", required_argument, NULL, 'c'},
        {"reserve", required_argument, NULL, 'r'},
        {"plan-window", required_argument, NULL, 'w'},
        {"database", required_argument, NULL, 'D'},
        {"journal", required_argument, NULL, 'J'},
        {"help", no_argument, NULL, 'h'},
        {"version", no_argument, NULL, 'V'},
        {0},
    };
    int option;
    int rc = 0;

    *options = (struct exporter_options){
        .metrics = {.database = STORE_DEFAULT_PATH,
                    .journal = JOURNAL_DEFAULT_PATH,
                    .stale_s = PROMETHEUS_STALE_S,
                    .plan_window_s = PROMETHEUS_PLAN_WINDOW_S,
                    .capacity_bytes = own_memory_for_guests()},
        .listen = EXPORTER_LISTEN,
        .interval_s = EXPORTER_INTERVAL_S,
        .web_since_s = WEB_REPORT_SINCE_S,
    };
    while (rc == 0 && (option = getopt_long(argc, argv, "l:t:i:1D:J:hV", longs, NULL)) != -1)
        rc = exporter_options_take(options, option, optarg);
    if (rc == 0 && optind < argc) {
        message("'%s' is too much; see vmwss-exporter --help", argv[optind]);
        return -EINVAL;
    }
    if (rc == 0 && options->web && !is_served(options)) {
        message("--web answers requests: not with --textfile or --print");
        return -EINVAL;
    }
    if (rc == 0 && !options->web && options->of_web && options->mode != EXPORTER_PAGE) {
        message("--web-since and --web-host say nothing without --web");
        return -EINVAL;
    }
    options->pages.database = options->metrics.database;
    return rc;
}
