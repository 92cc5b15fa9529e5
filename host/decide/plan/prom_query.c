// SPDX-License-Identifier: LGPL-2.1-or-later
#include "decide/plan/prom_query.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/utf8.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* This makes some 3 MB of JSON, and 30 MB once parsed. */
#define POINTS_OF_PIECE 100000
/* Prometheus refuses more than 11,000 points of one series. */
#define TIMES_OF_PIECE 10000
/* So many series of an answer are named in warnings. */
#define NAMED_MAX 5
/* A subquery over the whole time has at most so many. */
#define MOMENTS_MAX 10000

#define LABELS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

bool prom_is_uuid(const char *text)
{
    return strlen(text) == 36 && strspn(text, "0123456789abcdefABCDEF-") == 36;
}

int prom_begin(struct prom_reader *reader, const struct plan_reading *reading, size_t source,
               struct error *error)
{
    *reader = (struct prom_reader){
        .url = reading->sources[source].path, .reading = reading, .error = error};
    return prom_open(reader->url, reading->prometheus, &reader->client, error);
}

int prom_end(struct prom_reader *reader, int rc)
{
    prom_close(reader->client);
    if (rc == -ENOMEM)
        error_set(reader->error, rc, "out of memory");
    return rc < 0 ? error_prefix(reader->error, "%s", reader->url) : rc;
}

/* --- the name of a series --------------------------------------------------------------------- */

static const char *match_of(const struct plan_reading *reading)
{
    const char *match = reading->prometheus ? reading->prometheus->match : NULL;

    return match ? match : "";
}

void prom_write_text(FILE *out, const char *text)
{
    for (const char *c = text; *c; c++) {
        if (*c == '\\' || *c == '"' || *c == '\n')
            fputc('\\', out);
        fputc(*c == '\n' ? 'n' : *c, out);
    }
}

/* Writes the matchers of a host's series, which go between braces: its name, and the user's. */
static void write_matchers(FILE *out, const struct prom_reader *reader)
{
    const char *match = match_of(reader->reading);

    if (reader->host) {
        fputs("host=\"", out);
        prom_write_text(out, reader->host);
        fputs(*match ? "\"," : "\"", out);
    }
    fputs(match, out);
}

/* Writes METRIC{LABELS}: those that the query selects, and those that the series has. */
static void write_series(FILE *out, const struct prom_reader *reader, const char *query,
                         const struct prom_series *series)
{
    const char *name = prom_label(series, "__name__");
    const char *metric = *name ? name : strstr(query, "vmwss");
    const char *more = reader->host || *match_of(reader->reading) ? "," : "";
    const char *label;
    json_t *value;

    fprintf(out, "%.*s{", metric ? (int)strspn(metric, LABELS ":") : 0, metric);
    write_matchers(out, reader);
    json_object_foreach((json_t *)series->labels, label, value)
    {
        if (json_string_length(value) == 0 || strcmp(label, "__name__") == 0 ||
            (reader->host && strcmp(label, "host") == 0))
            continue;
        fprintf(out, "%s%s=\"%s\"", more, label, json_string_value(value));
        more = ",";
    }
    fputc('}', out);
}

void prom_guest_name(char *name, size_t size, const struct prom_series *series)
{
    static const char *const labels[] = {"exported_domain", "domain", "uuid"};
    const char *value = "";

    for (size_t i = 0; *value == '\0' && i < COUNT(labels); i++)
        value = prom_label(series, labels[i]);
    utf8_printable_copy(name, size, value);
}

/* --- what is wrong with it -------------------------------------------------------------------- */

static bool is_good_label(const char *name, const char *value)
{
    if (strcmp(name, "uuid") == 0)
        return prom_is_uuid(value);
    return strcmp(name, "window") == 0 ? strtod(value, NULL) > 0 : value[0] != '\0';
}

/* Returns the label among those in the query's "by (...)" that the series lacks; or NULL. */
static const char *missing_label(const char *query, const struct prom_series *series)
{
    static const char *const labels[] = {"host", "uuid", "window", "accel"};
    const char *by = strstr(query, "by (");

    for (size_t i = 0; by && i < COUNT(labels); i++)
        if (memmem(by, strcspn(by, ")"), labels[i], strlen(labels[i])) &&
            !is_good_label(labels[i], prom_label(series, labels[i])))
            return labels[i];
    return NULL;
}

/* --- warnings --------------------------------------------------------------------------------- */

/* Names a series without a valid label; NULL: with a value that is not an amount. */
static void warn_of(const struct prom_reader *reader, const char *query,
                    const struct prom_series *series, const char *label)
{
    cleanup_free char *name = NULL;
    size_t size;
    FILE *out = open_memstream(&name, &size);
    char printable[400];

    if (!out)
        return;
    write_series(out, reader, query, series);
    if (fclose(out) != 0)
        return;
    utf8_printable_copy(printable, sizeof(printable), name);
    if (label)
        plan_warn(reader->reading,
                  "%s: %s: no valid label %s, so it is not in the plan: was the label dropped or "
                  "rewritten by relabelling?",
                  reader->url, printable, label);
    else
        plan_warn(reader->reading,
                  "%s: %s: a value is not finite, negative or too large, and counts as not known",
                  reader->url, printable);
}

/* Warns of a partial answer, of values that are not amounts, and of series without a label that
 * the plan needs. Names a few of them and counts the others, so a bad exporter has a few lines. */
static void warn_of_answer(struct prom_reader *reader, const char *query,
                           const struct prom_answer *answer)
{
    size_t n = 0;

    if (answer->partial)
        plan_warn(reader->reading, "%s: its answer is partial: %s", reader->url, answer->doubt);
    reader->partial |= answer->partial;
    for (size_t i = 0; i < answer->n; i++) {
        const struct prom_series *series = &answer->series[i];
        const char *label = missing_label(query, series);

        if (series->unreadable && n++ < NAMED_MAX)
            warn_of(reader, query, series, NULL);
        if (label && n++ < NAMED_MAX)
            warn_of(reader, query, series, label);
    }
    if (n > NAMED_MAX)
        plan_warn(reader->reading, "%s: and of %zu other series of that answer", reader->url,
                  n - NAMED_MAX);
}

void prom_lost(struct prom_reader *reader, const char *host)
{
    char name[300];

    utf8_printable_copy(name, sizeof(name), host);
    plan_warn(reader->reading,
              "%s: host %s is in one answer, but not in another: the server has left something "
              "out, unsaid",
              reader->url, name);
    reader->partial = true;
}

void prom_lost_of(const struct plan_reading *reading, struct plan_host *host, const char *guest,
                  const char *what)
{
    plan_warn(reading, "host %s: guest %s has %s: the server has left something out, unsaid",
              host->name, guest, what);
    host->partial = true;
}

/* --- queries ---------------------------------------------------------------------------------- */

/* A query, and what becomes of its answers. */
struct question {
    struct prom_reader *reader;
    const char *query;
    prom_see *see;
    void *context;
    double at_once; /* how many series there are at one time, at most */
};

static int ask_piece(struct question *question, const struct prom_span *piece, struct error *error)
{
    struct prom_reader *reader = question->reader;
    struct prom_answer answer;
    int rc = prom_query(reader->client, question->query, piece, &answer, error);

    if (rc < 0)
        return rc;
    question->at_once = fmax(question->at_once, (double)answer.n_points / (double)piece->n_times);
    warn_of_answer(reader, question->query, &answer);
    for (size_t i = 0; rc == 0 && i < answer.n; i++)
        rc = question->see(&answer.series[i], question->context);
    prom_answer_free(&answer);
    return rc;
}

/* The piece before shows how many series there are at one time; if there are now so many that an
 * answer is too large, a quarter of the piece is queried. */
static int ask_pieces(struct question *question, const struct prom_span *span)
{
    int rc = 0;

    for (size_t t = 0; rc == 0 && t < span->n_times;) {
        const double most = fmin(POINTS_OF_PIECE / (question->at_once + 1) + 1, TIMES_OF_PIECE);
        struct prom_span piece = *span;
        struct error own = {0};

        piece.from_s += (double)t * span->step_s;
        piece.n_times = (size_t)fmin((double)(span->n_times - t), fmax(most, 1));
        rc = ask_piece(question, &piece, &own);
        if (rc == 0)
            t += piece.n_times;
        else if ((rc == -E2BIG || rc == -EFBIG) && piece.n_times > 1)
            rc = 0, question->at_once = 4 * POINTS_OF_PIECE / (double)piece.n_times;
        else if (own.code != 0)
            *question->reader->error = own;
    }
    return rc;
}

/* Writes the value of the name of @p n bytes, one of those in prom_query.h. */
static void write_value(FILE *out, const struct prom_reader *reader, const struct prom_span *times,
                        const char *name, size_t n)
{
    const struct plan_reading *reading = reader->reading;
    const double span_s = reading->to_s - reading->from_s;

    if (strncmp(name, "of", n) == 0)
        write_matchers(out, reader);
    else if (strncmp(name, "instances", n) == 0)
        fprintf(out, "instance=~\"%s\",%s", reader->instances, match_of(reading));
    else if (strncmp(name, "window", n) == 0)
        fprintf(out, "window=\"%.10g\"", reading->window_s);
    else if (strncmp(name, "span", n) == 0)
        fprintf(out, "%.0fs", span_s);
    else if (strncmp(name, "step", n) == 0)
        fprintf(out, "%ds", times->step_s);
    else if (strncmp(name, "late", n) == 0)
        fprintf(out, "offset -%.0fms", PROM_LATE_MS + times->ahead_s * 1000);
    else if (strncmp(name, "size", n) == 0)
        fprintf(out, "%.10g", plan_size_quantile(reading));
    else if (strncmp(name, "cpus", n) == 0)
        fputs(reading->cpu_query, out);
    else
        fprintf(out, "%.0fs", fmax(strtod(name, NULL), ceil(span_s / MOMENTS_MAX)));
}

int prom_each(struct prom_reader *reader, const struct prom_span *span, const char *query,
              prom_see *see, void *context)
{
    struct prom_span times =
        span ? *span : (struct prom_span){.from_s = reader->reading->to_s, .n_times = 1};
    cleanup_free char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    times.ahead_s = times.step_s > 0 ? fmod(times.from_s, times.step_s) : 0;
    times.from_s -= times.ahead_s;
    for (const char *at = query; out && *at; at++) {
        const size_t n = *at == '$' ? strspn(at + 1, LABELS) : 0;

        if (n > 0)
            write_value(out, reader, &times, at + 1, n);
        else
            fputc(*at, out);
        at += n;
    }
    if (!out || fclose(out) != 0)
        return -ENOMEM;
    return ask_pieces(&(struct question){reader, text, see, context, (double)times.n_series},
                      &times);
}

/* Matchers that a series without the label passes would select what was recorded of all hosts. */
bool prom_may_be_recorded(const struct plan_reading *reading)
{
    const char *match = match_of(reading);

    return !strpbrk(match, "!~") && !strstr(match, "=\"\"");
}
