// SPDX-License-Identifier: LGPL-2.1-or-later
#include "programs/vmwssd/config/config.h"

#include "base/parse.h"
#include "base/service/ini_file.h"
#include "guest/domain/domain.h"
#include "measure/panel.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <syslog.h>

#define SECTION "vmwssd"

void config_init(struct config *config)
{
    *config = (struct config){
        .n_connections = 1,
        .connect = {"qemu:///system"},
        .connect_fresh = true,
        .user = ACCOUNT_DEFAULT,
        .database = STORE_DEFAULT_PATH,
        .period_s = 30,
        .n_windows = 3,
        .window_s = {60, 600, 3600},
        .samples = 2000,
        .budget = 0.01,
        .guest_budget = 0.0015,
        .agents = true,
        .log_level = LOG_INFO,
        .retention = store_retention_default,
    };
}

void config_next_source(struct config *config)
{
    config->connect_fresh = true;
}

/* --- keys with a form of their own -------------------------------------------------------------
 */

static int set_connect(void *at, const char *value)
{
    struct config *config = at;

    if (config->connect_fresh)
        config->n_connections = 0;
    config->connect_fresh = false;
    for (size_t i = 0; i < config->n_connections; i++)
        if (!strcmp(config->connect[i], value))
            return 0;
    if (config->n_connections == CONFIG_MAX_CONNECTIONS)
        return -EINVAL;
    return parse_text(value, config->connect[config->n_connections++], sizeof(config->connect[0]));
}

static void dump_connect(const void *at, const char *key, FILE *out)
{
    const struct config *config = at;

    for (size_t i = 0; i < config->n_connections; i++)
        fprintf(out, "%s = %s\n", key, config->connect[i]);
}

static int set_max_period(void *at, const char *value)
{
    double *period_s = at;

    if (!strcmp(value, "auto"))
        *period_s = CONFIG_MAX_PERIOD_AUTO;
    else if (!strcmp(value, "none"))
        *period_s = CONFIG_MAX_PERIOD_NONE;
    else
        return parse_seconds(value, period_s);
    return 0;
}

static void dump_max_period(const void *at, const char *key, FILE *out)
{
    const double period_s = *(const double *)at;

    if (period_s > 0)
        fprintf(out, "%s = %.10g\n", key, period_s);
    else
        fprintf(out, "%s = %s\n", key, period_s == CONFIG_MAX_PERIOD_AUTO ? "auto" : "none");
}

static int set_window(void *at, const char *value)
{
    struct config *config = at;

    return parse_seconds_list(value, config->window_s, RUN_MAX_WINDOWS, &config->n_windows);
}

static void dump_window(const void *at, const char *key, FILE *out)
{
    const struct config *config = at;

    fprintf(out, "%s = ", key);
    for (size_t i = 0; i < config->n_windows; i++)
        fprintf(out, "%s%.10g", i ? "," : "", config->window_s[i]);
    fputc('\n', out);
}

static int set_method(void *at, const char *value)
{
    const struct method *method = method_by_name(value);

    if (strcmp(value, "auto") != 0 && (!method || !method->rank[ORDER_DAEMON]))
        return -EINVAL;
    *(const struct method **)at = method;
    return 0;
}

static void dump_method(const void *at, const char *key, FILE *out)
{
    const struct method *method = *(const struct method *const *)at;

    fprintf(out, "%s = %s\n", key, method ? method->name : "auto");
}

/* --- all of them ------------------------------------------------------------------------------ */

static const char *const level_names[] = {
    "", "", "", [LOG_ERR] = "error", "warning", "notice", "info", "debug", NULL};

/* The order is that of --help and of a file. */
#define AT(member) .offset = offsetof(struct config, member)
#define TEXT(member) AT(member), .size = sizeof(((struct config *)NULL)->member)
#define PERCENT_EXPECTED "a percentage of one core, above 0% to 100%"

const struct option_line config_keys[] = {
    {OPTION_KEY, 0, "connect", "URI", .set = set_connect, .dump = dump_connect,
     .help = "libvirt connection, or processes; may be repeated (qemu:///system)",
     .expect = "a libvirt URI or processes, at most 16 of them"},
    {OPTION_COPY, 0, "user", "NAME", TEXT(user), .expect = "the name of a user",
     .help = "the user of the process without privileges (vmwss), or root"},
    {OPTION_COPY, 0, "database", "FILE", TEXT(database), .none = "none",
     .expect = "a path, or none", .help = "where the history is kept, or none"},
    {OPTION_SIZE, 0, "max-size", "BYTES", AT(retention.max_bytes), .none = "none",
     .expect = "a number of bytes, as in 500M or 2G, or none",
     .help = "limit of the history's size: the oldest goes first (10G), or none"},
    {OPTION_SPAN, 0, "keep-records", "TIME", AT(retention.raw_s),
     .help = "how long each record is kept (1d)"},
    {OPTION_SPAN, 0, "keep-minutes", "TIME", AT(retention.minute_s),
     .help = "how long the summary of each minute is kept (31d)"},
    {OPTION_SPAN, 0, "keep-hours", "TIME", AT(retention.hour_s),
     .help = "how long the summary of each hour is kept (731d)"},
    {OPTION_SECONDS, 0, "period", "S", AT(period_s),
     .help = "seconds between two scans of a guest (30)"},
    {OPTION_KEY, 0, "max-period", "S", AT(max_period_s), .set = set_max_period,
     .dump = dump_max_period, .expect = PARSE_SECONDS_EXPECTED ", auto or none",
     .help = "longest period, for a guest that does not change: auto, none (auto)"},
    {OPTION_KEY, 0, "window", "S,...", .set = set_window, .dump = dump_window,
     .help = "the windows that are answered (60,600,3600)",
     .expect = "up to 64 times, as in 60,600,1h"},
    {OPTION_COUNT, 0, "samples", "N", AT(samples), .min = 16, .max = 1000000,
     .expect = "a number of pages, 16 to 1000000",
     .help = "pages in a guest's panel, at most (2000)"},
    {OPTION_SHARE, 0, "budget", "P%", AT(budget), .expect = PERCENT_EXPECTED,
     .help = "CPU time of one core for the whole host (1%)"},
    {OPTION_SHARE, 0, "guest-budget", "P%", AT(guest_budget), .expect = PERCENT_EXPECTED,
     .help = "CPU time of one core for each guest (0.15%)"},
    {OPTION_KEY, 0, "method", "NAME", AT(method), .set = set_method, .dump = dump_method,
     .help = "auto, idle, pageout, zap", .expect = "auto, idle, pageout or zap"},
    {OPTION_YES, 0, "publish", "yes|no", AT(publish),
     .help = "write each WSS into libvirt's metadata, for virsh (no)"},
    {OPTION_YES, 0, "agents", "yes|no", AT(agents),
     .help = "ask guests for statistics of their memory (yes)"},
    {OPTION_SECONDS, 0, "writes", "TIME", AT(writes_s), .none = "no",
     .expect = PARSE_SECONDS_EXPECTED ", or no",
     .help = "how often to measure what a guest writes, as in 30m, or no (no)"},
    {OPTION_WORD, 0, "log-level", "LEVEL", AT(log_level), .words = level_names,
     .help = "error, warning, notice, info (default), debug",
     .expect = "error, warning, notice, info or debug"},
    {.type = OPTION_END},
};

void config_dump(const struct config *config, FILE *out)
{
    fputs("[" SECTION "]\n", out);
    options_dump(config_keys, config, out);
}

double config_max_period_s(const struct config *config)
{
    if (config->max_period_s == CONFIG_MAX_PERIOD_AUTO)
        return config->window_s[0];
    return fmax(config->period_s, config->max_period_s);
}

bool config_asks_agents(const struct config *config)
{
    for (size_t i = 0; config->agents && i < config->n_connections; i++)
        if (strcmp(config->connect[i], CONFIG_PROCESSES) != 0)
            return true;
    return false;
}

int config_check(const struct config *config, struct error *error)
{
    double longest_s = config->window_s[config->n_windows - 1];

    for (size_t i = 0; i < config->n_connections; i++)
        if (domain_is_pods(config->connect[i]))
            return error_set(error, -EINVAL,
                             "connect " DOMAIN_PODS
                             " is for vmwss: vmwssd finds the guests of pods by "
                             "connect = " CONFIG_PROCESSES);
    if (config->writes_s > 0 && config->writes_s < CONFIG_WRITES_LEAST_S)
        return error_set(error, -EINVAL, "writes %g is shorter than %g s", config->writes_s,
                         CONFIG_WRITES_LEAST_S);
    if (config->period_s > config->window_s[0])
        return error_set(error, -EINVAL, "period %g is longer than the shortest window, %g s",
                         config->period_s, config->window_s[0]);
    if (config->max_period_s > config->window_s[0])
        return error_set(error, -EINVAL, "max-period %g is longer than the shortest window, %g s",
                         config->max_period_s, config->window_s[0]);
    if (config->max_period_s > 0 && config->max_period_s < config->period_s)
        return error_set(error, -EINVAL,
                         "max-period %g is shorter than period %g; none has a single period",
                         config->max_period_s, config->period_s);
    if (longest_s / config->period_s > PANEL_MAX_TICKS)
        return error_set(error, -EINVAL, "window %g has more than %d periods of %g s", longest_s,
                         PANEL_MAX_TICKS, config->period_s);
    for (size_t w = 0; w < config->n_windows; w++)
        if (!panel_ticks_answer(config->period_s, config->window_s[w]))
            return error_set(error, -EINVAL,
                             "window %g cannot be answered by scans every %g s: choose a window, "
                             "or a period, so that one is about a multiple of the other",
                             config->window_s[w], config->period_s);
    return store_retention_check(&config->retention, error);
}

/* --- the file --------------------------------------------------------------------------------- */

static int take_key(void *context, const char *section, const char *name, const char *value,
                    struct error *error)
{
    if (strcmp(section, SECTION) != 0)
        return error_set(error, -EINVAL, "'%s' in section [%s]: there is [" SECTION "] only", name,
                         section);
    return option_set(config_keys, context, name, value, error);
}

int config_load(struct config *config, const char *path, struct error *error)
{
    return ini_file_read(path, take_key, config, error);
}
