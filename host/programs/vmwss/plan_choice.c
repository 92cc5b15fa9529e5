// SPDX-License-Identifier: LGPL-2.1-or-later
#include "programs/vmwss/plan_choice.h"

#include "base/array.h"
#include "base/parse.h"
#include "programs/vmwss/migrate_terms.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A smaller size is refused: most likely the number was meant in another unit. */
#define SIZE_MIN (1ULL << 20)
#define SIZE_EXPECTED "a size with its unit, M, G or T, as in 64G, or HOST=SIZE; 1M at least"

/* --- options ---------------------------------------------------------------------------------- */

size_t plan_name_length(const char *value)
{
    const size_t n = strcspn(value, "=/");

    return value[n] == '=' ? n : 0;
}

static int no_memory(void)
{
    command_error("out of memory");
    return -ENOMEM;
}

/* Recognises a URL of an unknown kind, or with a name: it is not printed, nor later taken for a
 * file name and printed then, because it may contain a password. */
static bool is_other_url(const char *value)
{
    return strstr(value, "://") && !prom_is_url(value);
}

/* Recognises a server's HOST:PORT that is no file. */
static bool is_address(const char *value)
{
    const size_t n = strcspn(value, "/");
    size_t port = n;

    while (port > 0 && value[port - 1] >= '0' && value[port - 1] <= '9')
        port--;
    return port < n && port > 1 && value[port - 1] == ':' && access(value, F_OK) != 0;
}

int plan_choice_source(void *base, const char *value)
{
    struct plan_choice *choice = base;
    const size_t n = plan_name_length(value);
    struct plan_source *more;
    char *host = NULL;

    if (is_other_url(value))
        return command_refuse(
            "--from: expected a URL that begins with http:// or https://, without a "
            "host name, because it serves many hosts");
    if (n == 0 && !prom_is_url(value) && is_address(value))
        return command_refuse(
            "--from %s: there is no such file; a URL begins with http:// or https://, as "
            "in http://%s",
            value, value);
    more = reallocarray(choice->sources, choice->n_sources + 1, sizeof(*more));
    if (!more)
        return no_memory();
    choice->sources = more;
    if (n > 0 && !(host = strndup(value, n)))
        return no_memory();
    more[choice->n_sources++] = (struct plan_source){n > 0 ? value + n + 1 : value, host};
    return 0;
}

/* Returns the end of one matcher, LABEL=~"VALUE", or NULL. */
static const char *skip_matcher(const char *at)
{
    static const char *const operators[] = {"=~", "!~", "!=", "="};
    const size_t n = strspn(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
    const char *value = NULL;

    for (size_t i = 0; !value && i < COUNT(operators); i++)
        if (strncmp(at + n, operators[i], strlen(operators[i])) == 0)
            value = at + n + strlen(operators[i]);
    if (n == 0 || (at[0] >= '0' && at[0] <= '9') || !value || *value != '"')
        return NULL;
    for (value++; *value != '"' && *value != '\0'; value++)
        value += *value == '\\' && value[1] != '\0';
    return *value == '"' ? value + 1 : NULL;
}

static bool are_matchers(const char *text)
{
    const char *at = skip_matcher(text);

    while (at && *at == ',')
        at = skip_matcher(at + 1);
    return at && *at == '\0' && strlen(text) <= PROM_MATCH_MAX;
}

/* Takes 'cluster="east"', also in braces; all must match if it is given several times. */
static int add_match(void *base, const char *value)
{
    struct plan_choice *choice = base;
    const size_t n = strlen(value);
    const size_t brace = n >= 2 && value[0] == '{' && value[n - 1] == '}';
    char *text = NULL;

    if (asprintf(&text, "%s%s%.*s", choice->match ? choice->match : "", choice->match ? "," : "",
                 (int)(n - 2 * brace), value + brace) < 0)
        return no_memory();
    free(choice->match);
    choice->prometheus.match = choice->match = text;
    return are_matchers(text)
               ? 0
               : command_bad_value("--match", value,
                                   "matchers of labels, as in cluster=\"east\",zone=~\"a|b\"");
}

static int keep_size(struct plan_sizes *sizes, const char *value)
{
    return array_put(&sizes->all, &sizes->n, &value, sizeof(value)) < 0 ? no_memory() : 0;
}

static int add_size(struct plan_sizes *sizes, const char *option, const char *value)
{
    const size_t n = plan_name_length(value);
    uint64_t bytes;

    if (parse_size(n > 0 ? value + n + 1 : value, &bytes) < 0 || bytes < SIZE_MIN)
        return command_bad_value(option, value, SIZE_EXPECTED);
    return keep_size(sizes, value);
}

static int add_capacity(void *base, const char *value)
{
    return add_size(&((struct plan_choice *)base)->capacities, "--capacity", value);
}

static int add_reserve(void *base, const char *value)
{
    return add_size(&((struct plan_choice *)base)->reserves, "--reserve", value);
}

static int add_cpus(void *base, const char *value)
{
    struct plan_sizes *cpus = &((struct plan_choice *)base)->cpus;
    const size_t n = plan_name_length(value);
    uint64_t number;

    if (parse_u64(n > 0 ? value + n + 1 : value, 1, 1000000, &number) < 0)
        return command_bad_value("--cpus", value, "a number of CPUs, as in 64, or HOST=NUMBER");
    return keep_size(cpus, value);
}

/* "8G,4G" */
static int set_places(void *base, const char *value)
{
    struct plan_request *request = &((struct plan_choice *)base)->request;

    for (const char *at = value;; at++) {
        const size_t n = strcspn(at, ",");
        char text[32];
        uint64_t bytes;

        snprintf(text, sizeof(text), "%.*s", (int)n, at);
        if (n >= sizeof(text) || parse_size(text, &bytes) < 0 || request->n_place == PLAN_PLACE_MAX)
            return command_bad_value("--place", value, "up to 64 sizes, as in 8G,4G");
        request->place_bytes[request->n_place++] = (double)bytes;
        at += n;
        if (*at == '\0')
            return 0;
    }
}

/* A header must not bring others, nor a body. */
static int add_header(void *base, const char *value)
{
    struct prom_options *prometheus = &((struct plan_choice *)base)->prometheus;
    const char *colon = strchr(value, ':');

    if (!colon || colon == value || strpbrk(value, "\r\n") ||
        prometheus->n_headers == PROM_HEADERS_MAX)
        return command_bad_value("--header", value, "NAME: VALUE, at most 16 times");
    prometheus->headers[prometheus->n_headers++] = value;
    return 0;
}

static int set_step(void *base, const char *value)
{
    double step_s;

    if (parse_span(value, &step_s) < 0 || !plan_is_step(step_s))
        return command_bad_value("--step", value, "1m, 2m, 3m, 5m, 10m, 15m, 30m or 1h");
    ((struct plan_choice *)base)->step_s = (int)step_s;
    return 0;
}

#define AT(member) offsetof(struct plan_choice, member)
#define LISTS_MAX .max = OPTION_LIST_MAX, .expect = "64 of them at most"

static const struct option_line lines[] = {
    {OPTION_CALL, 0, "from", "FILE|URL", 0,
     .help = "a history; HOST=FILE gives its host another name; or where a Prometheus HTTP\n"
             "API has what vmwss-exporter serves, as in http://prometheus:9090; repeatable",
     .call = plan_choice_source},
    {OPTION_TEXT, 0, "cacert", "FILE", AT(prometheus.cacert),
     .help = "the authority of the URL's certificate (the system's)"},
    {OPTION_TEXT, 0, "cert", "FILE", AT(prometheus.cert),
     .help = "a client certificate for the URL, PEM"},
    {OPTION_TEXT, 0, "key", "FILE", AT(prometheus.key),
     .help = "the key of that certificate, if it is in another file"},
    {OPTION_TEXT, 0, "user-file", "FILE", AT(prometheus.user_file),
     .help = "a file whose first line is USER:PASSWORD for the URL"},
    {OPTION_TEXT, 0, "token-file", "FILE", AT(prometheus.token_file),
     .help = "a file with a bearer token for the URL"},
    {OPTION_CALL, 0, "header", "HEADER", 0,
     .help = "an HTTP header for the URL, as in \"X-Scope-OrgID: tenant\"; repeatable",
     .call = add_header},
    {OPTION_CALL, 0, "match", "LABELS", 0,
     .help = "only series of the URL with these labels, as in cluster=\"east\",zone=~\"a|b\"",
     .call = add_match},
    {OPTION_SECONDS, 0, "timeout", "S", AT(prometheus.timeout_s),
     .help = "how long to wait for each answer of the URL (60)"},
    {OPTION_CALL, 0, "capacity", "SIZE", 0,
     .help = "memory of each host for guests; HOST=SIZE: of that host only (default: as the "
             "URL says; this host: its RAM less 5 %); repeatable",
     .call = add_capacity},
    {OPTION_CALL, 0, "reserve", "SIZE", 0,
     .help = "the part of it to keep free; HOST=SIZE: on that host only (default: as the URL "
             "says, or 0); repeatable",
     .call = add_reserve},
    {OPTION_CALL, 0, "cpus", "N", 0,
     .help = "CPUs of each host, which no move exceeds; HOST=N: of that host only; repeatable",
     .call = add_cpus},
    {OPTION_TEXT, 0, "cpu-query", "QUERY", AT(cpu_query),
     .help = "PromQL for the CPUs of each guest, by uuid (default: as vmwss-exporter says)"},
    {OPTION_SHARE, 0, "risk", "P%", AT(request.options.risk),
     .help = "the share of the time for which a host may be short (0.1%)", RISK_RANGE},
    {OPTION_SHARE, 0, "size-percentile", "P%", AT(size_quantile),
     .help = "the percentile of its WSS that is the right size of a guest (99%)", 500000, 1000000,
     "50% to 100%"},
    {OPTION_SHARE, 0, "size-margin", "P%", AT(size_margin),
     .help = "what is added to that percentile (15%)", 100, 9000000, "0.01% to 900%"},
    {OPTION_CALL, 0, "place", "SIZE[,...]", 0,
     .help = "show where new guests of that RAM fit best, and how many more would",
     .call = set_places},
    {OPTION_FLAG, 0, "empty", NULL, AT(request.consolidate),
     .help = "show which guests to move so that hosts could be emptied"},
    {OPTION_COUNT, 0, "moves", "N", AT(moves), .help = "as --empty, with at most N moves", 0,
     1000000, "a number up to 1000000"},
    {OPTION_COUNT, 0, "spare", "N", AT(spare),
     .help = "keep enough hosts that any N others, 1 or 2, may fail (0)", 0, PLAN_SPARE_MAX,
     "a number of hosts, 0 to 2"},
    {OPTION_LIST, 0, "drain", "HOST", AT(drains), LISTS_MAX,
     .help = "show where to move the guests of this host, one after the other, before it is "
             "switched off; repeatable"},
    {OPTION_FLAG, 0, "running-only", NULL, AT(request.options.running_only),
     .help = "leave out the needs of guests that have ended"},
    {OPTION_LIST, 0, "apart", "GUEST,...", AT(apart), LISTS_MAX,
     .help = "guests of which no two may be on one host; repeatable"},
    {OPTION_LIST, 0, "together", "GUEST,...", AT(together), LISTS_MAX,
     .help = "guests that belong on one host; repeatable"},
    {OPTION_LIST, 0, "pin", "GUEST,...", AT(pinned), LISTS_MAX,
     .help = "guests that stay where they are; repeatable"},
    {OPTION_TABLE, .offset = AT(request.terms), .lines = migrate_terms_lines},
    {OPTION_SPAN, 0, "horizon", "TIME", AT(request.options.horizon_s),
     .help = "how far ahead to follow trends (14d)"},
    {OPTION_SPAN, 's', "since", "TIME", AT(kept.since_s),
     .help = "how far back: 12h, 7d, 4w (28d)"},
    {OPTION_CALL, 0, "step", "TIME", 0,
     .help = "add up the largest need of each step: 1m to 1h (as short as 320 MiB allow)",
     .call = set_step},
    {OPTION_SECONDS, 'w', "window", "S", AT(kept.window_s),
     .help = "one of the windows in the history (60)"},
    {OPTION_TEXT, 0, "html", "FILE", AT(html),
     .help = "write an HTML page with the fleet in pictures into FILE instead"},
    KEPT_JSON("one JSON object, schema vmwss.plan.v1"),
    KEPT_CSV,
    {.type = OPTION_END},
};

const struct command_options plan_options_table = {
    .usage =
        "Usage: vmwss plan [OPTIONS] [--from] [HOST=]HISTORY|URL...\n\n"
        "Shows what the guests of several hosts need together and at which risk, where more would fit, "
        "which hosts could be emptied, and when they will be full: by the histories that vmwssd keeps on "
        "each host, or by a Prometheus that scrapes them.\n",
    .lines = lines,
};

void plan_choice_free(struct plan_choice *choice)
{
    for (size_t s = 0; s < choice->n_sources; s++)
        free((char *)choice->sources[s].host);
    free(choice->sources);
    free(choice->capacities.all);
    free(choice->reserves.all);
    free(choice->cpus.all);
    free(choice->match);
}
