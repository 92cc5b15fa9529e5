// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file config.c  See config.h. */
#include "programs/vmwssd/config/config.h"

#include "base/cleanup.h"
#include "base/parse.h"
#include "measure/panel.h"

#include <errno.h>
#include <ini.h>
#include <math.h>
#include <string.h>
#include <syslog.h>

#define SECTION "vmwssd"
#define MIN_SAMPLES 16
#define MAX_SAMPLES 1000000

static const char *const level_names[] = {
    [LOG_ERR] = "error", [LOG_WARNING] = "warning", [LOG_NOTICE] = "notice",
    [LOG_INFO] = "info", [LOG_DEBUG] = "debug",
};
#define N_LEVELS (sizeof(level_names) / sizeof(level_names[0]))

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

/* --- one key each ----------------------------------------------------------------------------- */

static int set_connect(struct config *config, const char *value)
{
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

static void dump_connect(const struct config *config, FILE *out)
{
    for (size_t i = 0; i < config->n_connections; i++)
        fprintf(out, "connect = %s\n", config->connect[i]);
}

static int set_user(struct config *config, const char *value)
{
    return parse_text(value, config->user, sizeof(config->user));
}

static void dump_user(const struct config *config, FILE *out)
{
    fprintf(out, "user = %s\n", config->user);
}

static int set_database(struct config *config, const char *value)
{
    if (strcmp(value, "none") != 0)
        return parse_text(value, config->database, sizeof(config->database));
    config->database[0] = '\0';
    return 0;
}

static void dump_database(const struct config *config, FILE *out)
{
    fprintf(out, "database = %s\n", *config->database ? config->database : "none");
}

static int set_period(struct config *config, const char *value)
{
    return parse_seconds(value, &config->period_s);
}

static void dump_period(const struct config *config, FILE *out)
{
    fprintf(out, "period = %g\n", config->period_s);
}

static int set_max_period(struct config *config, const char *value)
{
    if (!strcmp(value, "auto"))
        config->max_period_s = CONFIG_MAX_PERIOD_AUTO;
    else if (!strcmp(value, "none"))
        config->max_period_s = CONFIG_MAX_PERIOD_NONE;
    else
        return parse_seconds(value, &config->max_period_s);
    return 0;
}

static void dump_max_period(const struct config *config, FILE *out)
{
    if (config->max_period_s > 0)
        fprintf(out, "max-period = %g\n", config->max_period_s);
    else
        fprintf(out, "max-period = %s\n",
                config->max_period_s == CONFIG_MAX_PERIOD_AUTO ? "auto" : "none");
}

double config_max_period_s(const struct config *config)
{
    if (config->max_period_s == CONFIG_MAX_PERIOD_AUTO)
        return config->window_s[0];
    return fmax(config->period_s, config->max_period_s);
}

static int set_window(struct config *config, const char *value)
{
    return parse_seconds_list(value, config->window_s, RUN_MAX_WINDOWS, &config->n_windows);
}

static void dump_window(const struct config *config, FILE *out)
{
    for (size_t i = 0; i < config->n_windows; i++)
        fprintf(out, "%s%.10g", i ? "," : "window = ", config->window_s[i]);
    fputc('\n', out);
}

static int set_samples(struct config *config, const char *value)
{
    return parse_u64(value, MIN_SAMPLES, MAX_SAMPLES, &config->samples);
}

static void dump_samples(const struct config *config, FILE *out)
{
    fprintf(out, "samples = %llu\n", (unsigned long long)config->samples);
}

static int set_share(double *share, const char *value)
{
    double percent;
    int rc = parse_percent(value, 100, &percent);

    if (rc == 0)
        *share = percent / 100;
    return rc;
}

static int set_budget(struct config *config, const char *value)
{
    return set_share(&config->budget, value);
}

static void dump_budget(const struct config *config, FILE *out)
{
    fprintf(out, "budget = %g%%\n", config->budget * 100);
}

static int set_guest_budget(struct config *config, const char *value)
{
    return set_share(&config->guest_budget, value);
}

static void dump_guest_budget(const struct config *config, FILE *out)
{
    fprintf(out, "guest-budget = %g%%\n", config->guest_budget * 100);
}

static int set_method(struct config *config, const char *value)
{
    const struct method *method = method_by_name(value);

    if (strcmp(value, "auto") != 0 && (!method || !method->rank[ORDER_DAEMON]))
        return -EINVAL;
    config->method = method;
    return 0;
}

static void dump_method(const struct config *config, FILE *out)
{
    fprintf(out, "method = %s\n", config->method ? config->method->name : "auto");
}

static int set_publish(struct config *config, const char *value)
{
    return parse_yes(value, &config->publish);
}

static void dump_publish(const struct config *config, FILE *out)
{
    fprintf(out, "publish = %s\n", config->publish ? "yes" : "no");
}

static int set_agents(struct config *config, const char *value)
{
    return parse_yes(value, &config->agents);
}

static void dump_agents(const struct config *config, FILE *out)
{
    fprintf(out, "agents = %s\n", config->agents ? "yes" : "no");
}

bool config_asks_agents(const struct config *config)
{
    for (size_t i = 0; config->agents && i < config->n_connections; i++)
        if (strcmp(config->connect[i], CONFIG_PROCESSES) != 0)
            return true;
    return false;
}

static int set_level(struct config *config, const char *value)
{
    for (size_t i = 0; i < N_LEVELS; i++)
        if (level_names[i] && !strcmp(level_names[i], value)) {
            config->log_level = (int)i;
            return 0;
        }
    return -EINVAL;
}

static void dump_level(const struct config *config, FILE *out)
{
    fprintf(out, "log-level = %s\n", level_names[config->log_level]);
}

static int set_max_size(struct config *config, const char *value)
{
    config->retention.max_bytes = 0;
    return strcmp(value, "none") ? parse_size(value, &config->retention.max_bytes) : 0;
}

static int set_keep_records(struct config *config, const char *value)
{
    return parse_span(value, &config->retention.raw_s);
}

static int set_keep_minutes(struct config *config, const char *value)
{
    return parse_span(value, &config->retention.minute_s);
}

static int set_keep_hours(struct config *config, const char *value)
{
    return parse_span(value, &config->retention.hour_s);
}

static void dump_span(const char *key, double seconds, FILE *out)
{
    double days = seconds / 86400;

    if (days == floor(days))
        fprintf(out, "%s = %.17gd\n", key, days);
    else
        fprintf(out, "%s = %.17gs\n", key, seconds);
}

static void dump_max_size(const struct config *config, FILE *out)
{
    uint64_t bytes = config->retention.max_bytes;

    if (bytes == 0)
        fprintf(out, "max-size = none\n");
    else if (bytes % (1ULL << 20) == 0)
        fprintf(out, "max-size = %lluM\n", (unsigned long long)(bytes >> 20));
    else
        fprintf(out, "max-size = %llu\n", (unsigned long long)bytes);
}

static void dump_keep_records(const struct config *config, FILE *out)
{
    dump_span("keep-records", config->retention.raw_s, out);
}

static void dump_keep_minutes(const struct config *config, FILE *out)
{
    dump_span("keep-minutes", config->retention.minute_s, out);
}

static void dump_keep_hours(const struct config *config, FILE *out)
{
    dump_span("keep-hours", config->retention.hour_s, out);
}

static const struct key {
    const char *name;
    const char *expected;
    const char *help;
    int (*set)(struct config *config, const char *value);
    void (*dump)(const struct config *config, FILE *out);
} keys[] = {
    {"connect", "a libvirt URI or processes, at most 16 of them",
     "URI      libvirt connection, or processes; may be repeated (qemu:///system)", set_connect,
     dump_connect},
    {"user", "the name of a user", "NAME        runs what needs no privileges (vmwss), or root",
     set_user, dump_user},
    {"database", "a path, or none", "FILE    where the history is kept, or none", set_database,
     dump_database},
    {"max-size", "a number of bytes, as in 500M or 2G, or none",
     "BYTES   how large the history may become: the oldest goes first (10G), or none", set_max_size,
     dump_max_size},
    {"keep-records", PARSE_SPAN_EXPECTED, "TIME  how long each record is kept (1d)",
     set_keep_records, dump_keep_records},
    {"keep-minutes", PARSE_SPAN_EXPECTED,
     "TIME  likewise, what is left of them for each minute (31d)", set_keep_minutes,
     dump_keep_minutes},
    {"keep-hours", PARSE_SPAN_EXPECTED, "TIME    likewise, for each hour (731d)", set_keep_hours,
     dump_keep_hours},
    {"period", PARSE_SECONDS_EXPECTED, "S         seconds between two scans of a guest (30)",
     set_period, dump_period},
    {"max-period", PARSE_SECONDS_EXPECTED ", auto or none",
     "S     so seldom while its working set does not change: auto, none (auto)", set_max_period,
     dump_max_period},
    {"window", "up to 64 times, as in 60,600,1h",
     "S,...     the windows that are answered (60,600,3600)", set_window, dump_window},
    {"samples", "a number of pages, 16 to 1000000",
     "N        pages in a guest's panel, at most (2000)", set_samples, dump_samples},
    {"budget", "a percentage of one core, above 0% to 100%",
     "P%        CPU time of one core for the whole host (1%)", set_budget, dump_budget},
    {"guest-budget", "a percentage of one core, above 0% to 100%",
     "P%  CPU time of one core for each guest (0.15%)", set_guest_budget, dump_guest_budget},
    {"method", "auto, idle, pageout or zap", "NAME      auto, idle, pageout, zap", set_method,
     dump_method},
    {"publish", "yes or no", "yes|no   write it into libvirt's metadata, for virsh (no)",
     set_publish, dump_publish},
    {"agents", "yes or no", "yes|no    ask guests what they say of their memory (yes)", set_agents,
     dump_agents},
    {"log-level", "error, warning, notice, info or debug",
     "LEVEL  error, warning, notice, info (default), debug", set_level, dump_level},
};
#define N_KEYS (sizeof(keys) / sizeof(keys[0]))

/* --- all of them ------------------------------------------------------------------------------ */

const char *config_key(size_t number, const char **help)
{
    if (number >= N_KEYS)
        return NULL;
    *help = keys[number].help;
    return keys[number].name;
}

int config_set(struct config *config, const char *key, const char *value, struct error *error)
{
    for (size_t i = 0; i < N_KEYS; i++) {
        if (strcmp(keys[i].name, key) != 0)
            continue;
        if (keys[i].set(config, value) == 0)
            return 0;
        return error_set(error, -EINVAL, "%s %s: expected %s", key, value, keys[i].expected);
    }
    return error_set(error, -ENOENT, "unknown key '%s'", key);
}

void config_dump(const struct config *config, FILE *out)
{
    fputs("[" SECTION "]\n", out);
    for (size_t i = 0; i < N_KEYS; i++)
        keys[i].dump(config, out);
}

int config_check(const struct config *config, struct error *error)
{
    double longest_s = config->window_s[config->n_windows - 1];

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

struct loading {
    struct config *config;
    FILE *file;
    const char *path;
    unsigned line;
    struct error error; /* the first */
};

/* inih asks for a line at a time, which lets us count them; what does not fit it would take for two
 * lines. */
static char *next_line(char *text, int size, void *context)
{
    struct loading *loading = context;
    char *got = fgets(text, size, loading->file);

    loading->line += got != NULL;
    if (got && !strchr(got, '\n') && !feof(loading->file) && !loading->error.code)
        error_set(&loading->error, -EINVAL, "%s:%u: the line is too long", loading->path,
                  loading->line);
    return got;
}

static int take_key(void *context, const char *section, const char *name, const char *value)
{
    struct loading *loading = context;
    struct error why = {0};

    if (loading->error.code)
        return 0;
    if (strcmp(section, SECTION) != 0)
        error_set(&why, -EINVAL, "'%s' in section [%s]: there is [" SECTION "] only", name,
                  section);
    else
        config_set(loading->config, name, value, &why);
    if (why.code)
        error_set(&loading->error, -EINVAL, "%s:%u: %s", loading->path, loading->line, why.text);
    return why.code == 0;
}

int config_load(struct config *config, const char *path, struct error *error)
{
    cleanup_file FILE *file = fopen(path, "re");
    struct loading loading = {.config = config, .file = file, .path = path};

    if (!file)
        return error_set(error, -errno, "%s: %s", path, strerror(errno));

    int bad_line = ini_parse_stream(next_line, &loading, take_key, &loading);

    if (loading.error.code)
        return error_set(error, -EINVAL, "%s", loading.error.text);
    if (bad_line > 0)
        return error_set(error, -EINVAL, "%s:%d: neither [section] nor key = value", path,
                         bad_line);
    return bad_line < 0 ? error_set(error, -ENOMEM, "%s: out of memory", path) : 0;
}
