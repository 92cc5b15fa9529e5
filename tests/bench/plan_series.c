// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file plan_series.c  What a server has of many hosts with generated guests after it has scraped
 * their vmwss-exporter once a minute; for tests/bench/plan.
 *
 *   plan_series FIRST HOSTS GUESTS DAYS END SCRAPED RECORDED vm|openmetrics|vm+writes
 *
 * Hosts FIRST, FIRST + 1, ..., each of a family of plan_fleets.h, up to END, Unix time. What seldom
 * changes (capacity and sizes) is written every five minutes: so long a server takes a value for.
 * The times of the others tell which scrape they are of. Of guests what was scraped is of the last
 * SCRAPED days, and what the rules of vmwss.rules.yml record is of the last RECORDED days. As
 * VictoriaMetrics imports it, or as promtool does, without its last line. With writes, guests have
 * what prices of moves need: a curve an hour, of six windows, every five minutes.
 */
#include "plan_fleets.h"

#include "base/array.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CAPACITY (192 * GIB)
#define HOUR_MINUTES 60
/* A scrape has the minute before, and is so late in its own. */
#define SCRAPE_S (60 + 20)
#define SIZE_SHARE 1.2
#define DAYS_MAX 40
#define TEXT_MAX (1 << 20) /* of one series */
#define SELDOM_MINUTES 5
/* The rules: each quarter of an hour of the clock, recorded half an hour after it began, and so
 * much later as their turn comes. */
#define RECORDED_MINUTES 15
#define RECORDED_S (30 * 60 + 137)

struct output {
    bool openmetrics, writes;
    size_t first_s, n_minutes;
    size_t scraped_from, recorded_from; /* minutes */
};

/* The series' value in a minute; negative: there is none. */
typedef double value_fn(const struct generated *generated, size_t guest, size_t minute);

static double need_of(const struct generated *generated, size_t guest, size_t minute)
{
    return generated->need[guest * generated->n_minutes + minute];
}

static double ram_of(const struct generated *generated, size_t guest, size_t minute)
{
    return need_of(generated, guest, minute) < 0 ? -1 : generated->ram_bytes[guest];
}

/* The size over the last whole hour. */
static double size_of(const struct generated *generated, size_t guest, size_t minute)
{
    const size_t hour = (minute + 1) / HOUR_MINUTES;
    double most = -1;

    for (size_t m = hour > 0 ? (hour - 1) * HOUR_MINUTES : 0; m < hour * HOUR_MINUTES; m++)
        most = fmax(most, need_of(generated, guest, m));
    return need_of(generated, guest, minute) < 0 || most < 0
               ? -1
               : fmin(most * SIZE_SHARE, generated->ram_bytes[guest]);
}

static double joint_of(const struct generated *generated, size_t guest, size_t minute)
{
    double sum = 0;

    (void)guest;
    for (size_t g = 0; g < generated->n_guests; g++)
        sum += fmax(need_of(generated, g, minute), 0);
    return sum;
}

static double capacity_of(const struct generated *generated, size_t guest, size_t minute)
{
    (void)generated, (void)guest, (void)minute;
    return CAPACITY;
}

static double reserve_of(const struct generated *generated, size_t guest, size_t minute)
{
    (void)generated, (void)guest, (void)minute;
    return 0;
}

static double scrapes_of(const struct generated *generated, size_t guest, size_t minute)
{
    (void)guest;
    return (double)(generated->n_minutes - minute < RECORDED_MINUTES ? generated->n_minutes - minute
                                                                     : RECORDED_MINUTES);
}

/* The maximum of the quarter of an hour that begins then. */
static double most_of(const struct generated *generated, size_t guest, size_t minute)
{
    double most = -1;

    for (size_t m = minute; m < minute + RECORDED_MINUTES && m < generated->n_minutes; m++)
        most = fmax(most, need_of(generated, guest, m));
    return most;
}

static double one_of(const struct generated *generated, size_t guest, size_t minute)
{
    return need_of(generated, guest, minute) < 0 ? -1 : 1;
}

/* The curve is of the last whole hour; its time is counted from the first, below. */
static double curve_of(const struct generated *generated, size_t guest, size_t minute)
{
    return minute < HOUR_MINUTES || need_of(generated, guest, minute) < 0
               ? -1
               : (double)(minute / HOUR_MINUTES * HOUR_MINUTES * 60);
}

static double written_of(const struct generated *generated, size_t guest, size_t minute)
{
    return curve_of(generated, guest, minute) < 0 ? -1 : need_of(generated, guest, minute) / 16;
}

enum written { OF_HOST, OF_HOST_RECORDED, SCRAPED, RECORDED, WRITES };

#define CURVE(window)                                                              \
    {"vmwss_write_set_bytes", written_of, SELDOM_MINUTES, WRITES, window},         \
        {"vmwss_write_set_low_bytes", written_of, SELDOM_MINUTES, WRITES, window}, \
    {                                                                              \
        "vmwss_write_set_high_bytes", written_of, SELDOM_MINUTES, WRITES, window   \
    }

static const struct metric {
    const char *name;
    value_fn *value;
    size_t each_minutes;
    enum written written;
    unsigned window_s;
} metrics[] = {
    {"vmwss_plan_capacity_bytes", capacity_of, SELDOM_MINUTES, OF_HOST, 0},
    {"vmwss_plan_reserve_bytes", reserve_of, 1, OF_HOST, 0},
    {"vmwss_plan_host_need_bytes", joint_of, 1, OF_HOST, 60},
    {"vmwss_plan_ram_bytes", ram_of, 1, SCRAPED, 0},
    {"vmwss_plan_need_bytes", need_of, 1, SCRAPED, 60},
    {"vmwss_plan_size_bytes", size_of, SELDOM_MINUTES, SCRAPED, 3600},
    {"vmwss:plan_scrapes:count15m", scrapes_of, RECORDED_MINUTES, OF_HOST_RECORDED, 0},
    {"vmwss:plan_need_bytes:max15m", most_of, RECORDED_MINUTES, RECORDED, 60},
    {"vmwss:plan_size_bytes:max", size_of, RECORDED_MINUTES, RECORDED, 3600},
    {"vmwss_guest_info", one_of, SELDOM_MINUTES, WRITES, 0},
    {"vmwss_resident_bytes", ram_of, SELDOM_MINUTES, WRITES, 0},
    {"vmwss_write_set_timestamp_seconds", curve_of, SELDOM_MINUTES, WRITES, 0},
    CURVE(1),
    CURVE(2),
    CURVE(5),
    CURVE(10),
    CURVE(20),
    CURVE(50),
};

static bool is_of_guests(const struct metric *metric)
{
    return metric->written == SCRAPED || metric->written == RECORDED || metric->written == WRITES;
}

static bool is_recorded(const struct metric *metric)
{
    return metric->written == OF_HOST_RECORDED || metric->written == RECORDED;
}

/* --- a number --------------------------------------------------------------------------------- */

/* printf() would take most of the time. */
static char *write_number(char *at, uint64_t n)
{
    char digits[20];
    size_t k = 0;

    do
        digits[k++] = (char)('0' + n % 10);
    while ((n /= 10) > 0);
    while (k > 0)
        *at++ = digits[--k];
    return at;
}

/* --- a series --------------------------------------------------------------------------------- */

struct one {
    const struct generated *generated;
    const struct metric *metric;
    size_t host, guest;
};

static void write_labels(const struct one *one, bool json)
{
    const char *const equals = json ? "\":\"" : "=\"";
    const char *const next = json ? "\",\"" : "\",";

    printf("%shost%shost-%04zu%sinstance%shost-%04zu:9112", json ? "\"" : "", equals, one->host,
           next, equals, one->host);
    if (is_of_guests(one->metric))
        printf("%sdomain%sinstance-%08zx%suuid%s%08zx-1111-4111-8111-%012zx", next, equals,
               one->guest, next, equals, one->guest, one->host);
    if (strcmp(one->metric->name, "vmwss_guest_info") == 0)
        printf("%saccel%skvm", next, equals);
    if (one->metric->window_s > 0)
        printf("%swindow%s%u", next, equals, one->metric->window_s);
    putchar('"');
}

static size_t first_of(const struct output *output, const struct metric *metric)
{
    const size_t from[] = {0, output->recorded_from, output->scraped_from, output->recorded_from,
                           output->scraped_from};

    return from[metric->written] / RECORDED_MINUTES * RECORDED_MINUTES;
}

/* A recorded size has the time of its scrape. */
static size_t time_of(const struct output *output, const struct metric *metric, size_t minute)
{
    return output->first_s + 60 * minute + (is_recorded(metric) ? RECORDED_S : SCRAPE_S);
}

/* {"metric":{...},"values":[...],"timestamps":[...]}, of one series. */
static void write_vm(const struct output *output, const struct one *one)
{
    const struct metric *metric = one->metric;
    static char values[TEXT_MAX];
    static char times[TEXT_MAX];
    char *v = values;
    char *t = times;

    for (size_t m = first_of(output, metric); m < output->n_minutes; m += metric->each_minutes) {
        double value = metric->value(one->generated, one->guest, m);

        if (value < 0)
            continue;
        if (metric->value == curve_of)
            value += (double)output->first_s;
        *v++ = *t++ = ',';
        v = write_number(v, (uint64_t)value);
        t = write_number(t, time_of(output, metric, m) * 1000);
    }
    if (v == values)
        return;
    printf("{\"metric\":{\"__name__\":\"%s\",\"job\":\"vmwss\",", metric->name);
    write_labels(one, true);
    printf("},\"values\":[%.*s],\"timestamps\":[%.*s]}\n", (int)(v - values - 1), values + 1,
           (int)(t - times - 1), times + 1);
}

static void write_openmetrics(const struct output *output, const struct one *one)
{
    const struct metric *metric = one->metric;

    for (size_t m = first_of(output, metric); m < output->n_minutes; m += metric->each_minutes) {
        double value = metric->value(one->generated, one->guest, m);

        if (value < 0)
            continue;
        if (metric->value == curve_of)
            value += (double)output->first_s;
        printf("%s{job=\"vmwss\",", metric->name);
        write_labels(one, false);
        printf("} %" PRIu64 " %zu\n", (uint64_t)value, time_of(output, metric, m));
    }
}

static void write_host(const struct output *output, const struct generated *generated, size_t host)
{
    void (*write)(const struct output *output,
                  const struct one *one) = output->openmetrics ? write_openmetrics : write_vm;

    for (size_t i = 0; i < COUNT(metrics); i++)
        for (size_t g = 0; g < (is_of_guests(&metrics[i]) ? generated->n_guests : 1); g++)
            if (metrics[i].written != WRITES || output->writes)
                write(output, &(struct one){generated, &metrics[i], host, g});
}

static size_t last_days(const char *days, size_t n_minutes)
{
    const size_t n = (size_t)(strtod(days, NULL) * DAY_MINUTES);

    return n < n_minutes ? n_minutes - n : 0;
}

int main(int argc, char **argv)
{
    if (argc != 9 || strtod(argv[4], NULL) > DAYS_MAX)
        return 1;

    const size_t first = strtoul(argv[1], NULL, 10);
    const size_t minutes = (size_t)(strtod(argv[4], NULL) * DAY_MINUTES);
    const size_t end_s = strtoul(argv[5], NULL, 10) / 900 * 900;
    const struct output output = {
        .openmetrics = strcmp(argv[8], "openmetrics") == 0,
        .writes = strcmp(argv[8], "vm+writes") == 0,
        .first_s = end_s - 60 * (minutes / RECORDED_MINUTES * RECORDED_MINUTES),
        .n_minutes = minutes,
        .scraped_from = last_days(argv[6], minutes),
        .recorded_from = last_days(argv[7], minutes),
    };

    for (size_t h = first; h < first + strtoul(argv[2], NULL, 10); h++) {
        struct generated generated = generate(&families[h % n_families], strtoul(argv[3], NULL, 10),
                                              minutes, 1, h + 1);

        write_host(&output, &generated, h);
        generated_free(&generated);
    }
    return ferror(stdout) != 0;
}
