// SPDX-License-Identifier: LGPL-2.1-or-later
#include "programs/exporter/options.h"

#include "base/option.h"
#include "base/own_memory.h"
#include "base/parse.h"
#include "programs/exporter/web_report.h"

#include <string.h>

static bool is_host_name(const char *name)
{
    return *name && !name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                       "0123456789-._")];
}

static int add_host(void *at, const char *name)
{
    struct exporter_options *options = at;
    struct request_names *names = &options->names;

    if (!is_host_name(name))
        return command_bad_value("--web-host", name,
                                 "a name, as in hv1.example.org, without a port");
    if (names->n_more == REQUEST_HOST_MORE)
        return command_refuse("--web-host: %d names at most", REQUEST_HOST_MORE);
    names->more[names->n_more++] = name;
    return 0;
}

/* --- all of them ------------------------------------------------------------------------------ */

#define AT(member) .offset = offsetof(struct exporter_options, member)
#define ONE_MODE "--textfile, --print or --page-to-stdout: only one of them"
#define SIZE_EXPECTED "a size, as in 64G"

static const struct option_line lines[] = {
    {OPTION_TEXT, 'l', "listen", "ADDRESS:PORT", AT(listen),
     .help = "the address to listen on (" EXPORTER_LISTEN ");\n"
             "[ADDRESS] for IPv6; a socket from systemd has precedence"},
    {OPTION_TEXT, 't', "textfile", "FILE", AT(textfile),
     .help = "keep FILE (*.prom) up to date for node_exporter instead"},
    {OPTION_SECONDS, 'i', "interval", "S", AT(interval_s), .help = "write it every S seconds (15)"},
    {OPTION_CHOICE, '1', "print", AT(mode), .min = EXPORTER_PRINT, .expect = ONE_MODE,
     .help = "print the metrics once instead"},
    {OPTION_FLAG, 0, "web", AT(web),
     .help = "also serve pages for a browser: the report at /, all guests now at\n/status"},
    {OPTION_SPAN, 0, "web-since", "TIME", AT(web_since_s),
     .help = "how far back that report goes: 90m, 12h, 7d, 2w (1d)"},
    {OPTION_CALL, 0, "web-host", "NAME", .call = add_host,
     .help = "a name of this host that clients may use, beside its own and\n"
             "its addresses; repeatable"},
    {OPTION_CHOICE, 0, "page-to-stdout", AT(mode), .min = EXPORTER_PAGE, .expect = ONE_MODE,
     .help = "print the report of --web once instead"},
    {OPTION_SECONDS, 0, "stale", "S", AT(metrics.stale_s),
     .help = "leave out a guest without a new record for S seconds (300)"},
    {OPTION_SIZE, 0, "capacity", "SIZE", AT(metrics.capacity_bytes), .expect = SIZE_EXPECTED,
     .help = "memory of this host for guests, for planners (its RAM less 5 %)"},
    {OPTION_SIZE, 0, "reserve", "SIZE", AT(metrics.reserve_bytes), .expect = SIZE_EXPECTED,
     .help = "the part of it that is kept free (0)"},
    {OPTION_SECONDS, 0, "plan-window", "S", AT(metrics.plan_window_s),
     .help = "the window of the needs that planners read, and of the report (60)"},
    {OPTION_TEXT, 'D', "database", "FILE", AT(metrics.database),
     .help = "the history (" STORE_DEFAULT_PATH ")"},
    {OPTION_TEXT, 'J', "journal", "FILE", AT(metrics.journal),
     .help = "vmwss-balloond's journal (" JOURNAL_DEFAULT_PATH ")"},
    {.type = OPTION_END},
};

static int check_textfile(struct exporter_options *options)
{
    const char *path = options->textfile;
    size_t n = strlen(path);

    if (n <= 5 || strcmp(path + n - 5, ".prom") != 0 || path[n - 6] == '/')
        return command_bad_value("--textfile", path,
                                 "a name that ends in .prom: node_exporter reads no other");
    if (options->mode != EXPORTER_HTTP)
        return command_refuse(ONE_MODE);
    options->mode = EXPORTER_TEXTFILE;
    return 0;
}

/* Returns true if pages are served, or if this process makes the page for a server. */
static bool is_served(const struct exporter_options *options)
{
    return options->mode == EXPORTER_HTTP || options->mode == EXPORTER_PAGE;
}

int exporter_options_parse(struct exporter_options *options, int argc, char **argv)
{
    static const struct command_options command = {
        .usage = "Usage: vmwss-exporter [OPTIONS]\n\n"
                 "Serves the working set sizes in vmwssd's history to Prometheus.\n",
        .lines = lines,
        .after = "Exit status: 0 ended by a signal, or printed; 1 usage; 2 cannot work. See "
                 "vmwss-exporter(8).\n",
        .version = "vmwss-exporter " VMWSS_VERSION,
        .no_arguments = true,
    };
    int rc;

    command_name("vmwss-exporter");
    *options = (struct exporter_options){
        .metrics = {.database = STORE_DEFAULT_PATH,
                    .journal = JOURNAL_DEFAULT_PATH,
                    .stale_s = PROMETHEUS_STALE_S,
                    .plan_window_s = PROMETHEUS_PLAN_WINDOW_S,
                    .capacity_bytes = own_memory_for_guests()},
        .listen = EXPORTER_LISTEN,
        .interval_s = EXPORTER_INTERVAL_S,
    };
    rc = options_read(&command, options, argc, argv);
    if (rc == 0 && options->textfile)
        rc = check_textfile(options);
    if (rc == 0 && options->web && !is_served(options))
        return command_refuse("--web answers requests, so it excludes --textfile and --print");
    if (rc == 0 && !options->web && options->web_since_s > 0 && options->mode != EXPORTER_PAGE)
        return command_refuse("--web-since needs --web");
    if (options->web_since_s == 0)
        options->web_since_s = WEB_REPORT_SINCE_S;
    options->pages.database = options->metrics.database;
    return rc;
}
