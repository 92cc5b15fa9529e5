// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file cmd_trace.c  vmwss trace: writes the reference set of one guest, period after period, into
 * a file; and shows such a file. */
#include "base/clock.h"
#include "base/interrupt.h"
#include "base/text/units.h"
#include "base/utf8.h"
#include "guest/ram/gpa.h"
#include "history/trace/trace_record.h"
#include "history/trace/trace_writer.h"
#include "programs/vmwss/sampling.h"
#include "programs/vmwss/trace_show.h"
#include "show/trace.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A period of a guest of 1 GiB with a scattered set takes some 0.5 MiB; a period of a panel 4 KiB.
 */
#define DEFAULT_MAX_BYTES (256ULL << 20)

struct options {
    struct sampling_choice sampling; /* must be first: see session.h */
    const char *out, *show;
    double interval_s; /* 0: not given */
    double duration_s; /* 0: not given */
    uint64_t count;    /* 0: not given */
    uint64_t max_bytes;
    bool csv;
};

#define AT(member) offsetof(struct options, member)

static const struct option_line lines[] = {
    SAMPLING_GUEST,
    {OPTION_TEXT, 0, "out", "FILE", AT(out),
     .help = "write the trace into FILE, which must not exist"},
    {OPTION_TEXT, 0, "show", "FILE", AT(show),
     .help = "print what the trace in FILE shows: WSS against window, reuse between periods"},
    SAMPLING_WINDOWS("when each period is read, in seconds; the last ends it (1,2,5,10)"),
    {OPTION_SECONDS, 'i', "interval", "S", AT(interval_s),
     .help = "begin a period every S seconds (default: when the one before has ended)"},
    {OPTION_SECONDS, 0, "duration", "S", AT(duration_s),
     .help = "begin no period after S seconds (default: until interrupted)"},
    {OPTION_COUNT, 'k', "count", "N", AT(count), .help = "end after N periods", 1, UINT64_MAX,
     "a whole number above 0"},
    {OPTION_SIZE, 0, "max-size", "SIZE", AT(max_bytes),
     .help = "end before FILE is larger than that (256M)", .expect = "a size, as in 64M"},
    SAMPLING_METHOD("auto, @names@: a method that sees single pages (auto)",
                    sampling_names_following),
    SAMPLING_CENSUS("sample every page (the default up to 1 GiB of RAM, except for zap)"),
    SAMPLING_SAMPLES("a panel of N pages chosen at random, the same in each period (2000)"),
    SAMPLING_WAIT("how long to wait while another vmwss measures the guest (default: not at\n"
                  "all; with --interval, the interval minus the longest window)"),
    {OPTION_FLAG, 0, "csv", NULL, AT(csv),
     .help = "comma-separated values: with --show, or for each period instead of --out"},
    SAMPLING_JSON("with --show: one JSON object, schema vmwss.trace.v1"),
    {.type = OPTION_END},
};

/* --- options ---------------------------------------------------------------------------------- */

static int check_show(const struct options *options, int argc)
{
    if (options->sampling.guest.pid || optind < argc || options->out)
        return command_refuse("--show reads a file: no guest, and no --out");
    if (options->csv && options->sampling.json)
        return command_refuse("--json or --csv, not both");
    return 0;
}

static int check_options(void *base, int argc, char **argv)
{
    struct options *options = base;

    if (options->show)
        return check_show(options, argc);
    if (sampling_check(&options->sampling, argc, argv) < 0)
        return -EINVAL;
    if (options->sampling.json)
        return command_refuse("--json is for --show; a trace is written with --out or --csv");
    if (!options->out == !options->csv)
        return command_refuse("--out FILE or --csv, one of them");
    return sampling_check_interval(&options->sampling, options->interval_s);
}

static const struct command_options command_options = {
    .usage =
        "Usage: vmwss trace (DOMAIN | --pid PID) (--out FILE | --csv) [OPTIONS]\n"
        "       vmwss trace --show FILE [--json | --csv]\n\n"
        "Records which pages of a guest were touched in each period, and at which reading first.\n",
    .lines = lines,
    .check = check_options,
};

/* --- tracing ---------------------------------------------------------------------------------- */

struct tracing {
    struct session *session;
    const struct options *options;
    const struct method *method; /* named in the head */
    struct page_set set;
    struct trace_layout layout; /* layout of the set, once it was measured; before that empty */
    struct trace_recorder recorder;
    int note_rc; /* result of trace_recorder_note() */
    struct trace_writer writer;
    struct sheet csv;
    uint64_t tried, periods; /* periods that were begun, and periods that are in the trace */
    int why_none;            /* error of the last period that is not in the trace */
    double clock_s;          /* Unix time minus clock_ns(), at the first period; 0: none yet */
};

static void note(const struct page_set *set, size_t reading, void *context)
{
    struct tracing *tracing = context;

    if (reading == 0)
        tracing->note_rc = 0;
    if (tracing->note_rc == 0)
        tracing->note_rc = trace_recorder_note(&tracing->recorder, set, reading);
}

static int no_memory(int rc, struct error *error)
{
    return rc == -ENOMEM ? error_set(error, rc, "out of memory") : rc;
}

static void forget_set(struct tracing *tracing)
{
    page_set_free(&tracing->set);
    tracing->set = (struct page_set){0};
    trace_layout_free(&tracing->layout);
}

/* Starts over with other pages when RAM was plugged. */
static int prepare_tracing(struct tracing *tracing, struct resident_now *now, struct error *error)
{
    bool relocated;
    int rc = session_ready(tracing->session, now, &relocated, error);

    if (relocated)
        forget_set(tracing);
    if (rc == 0 && tracing->session->plan.method != tracing->method)
        return error_set(
            error, -ENOTSUP,
            "guest RAM was plugged: the method is now %s instead of %s: begin a new trace",
            tracing->session->plan.method->name, tracing->method->name);
    if (rc == 0 && !tracing->set.state)
        rc = session_draw(tracing->session, now, &tracing->set, error);
    return rc;
}

/* The set is known only now: the method has dropped the pages that it cannot sample. */
static int lay_out(struct tracing *tracing, struct error *error)
{
    const struct session *session = tracing->session;
    struct gpa_layout deduced;
    struct error why = {0};
    const bool known = gpa_layout_deduce(&session->root, &session->subject.guest.process,
                                         &session->subject.ram, &deduced, &why) == 0;
    int rc;

    if (!known)
        command_error("addresses are not known: %s", why.text);
    rc = no_memory(trace_layout_of(&tracing->layout, &tracing->set, known ? &deduced : NULL),
                   error);
    if (rc < 0 || tracing->options->csv)
        return rc;
    return trace_writer_layout(&tracing->writer, &tracing->layout, error);
}

/* The length of windows over several periods is the difference of their times: if the clock is set
 * meanwhile, the times continue on the old clock. */
static void keep_time(struct tracing *tracing, struct trace_period *period)
{
    const double monotonic_s = clock_s(CLOCK_MONOTONIC);
    const double set_s = clock_s(CLOCK_REALTIME) - monotonic_s;

    if (tracing->clock_s == 0)
        tracing->clock_s = set_s;
    period->end_unix_s += tracing->clock_s - set_s;
}

static int write_period(struct tracing *tracing, const struct sample_record *record,
                        struct error *error)
{
    struct trace_period period;
    int rc = trace_recorder_finish(&tracing->recorder, &tracing->set, record, &period);

    if (rc < 0)
        return no_memory(rc, error);
    keep_time(tracing, &period);
    if (tracing->options->csv) {
        rc = no_memory(
            trace_csv_period(&tracing->csv, &tracing->layout, &period, tracing->periods + 1),
            error);
        rc = rc == 0 ? command_flush(error) : rc;
    } else {
        rc = trace_writer_period(&tracing->writer, &period, error);
    }
    tracing->periods += rc == 0;
    trace_period_free(&period);
    return rc;
}

/* Returns true if the next period may succeed where this one failed. */
static bool is_passing(const struct tracing *tracing, int rc)
{
    return rc == -ENOMSG || (rc == -EBUSY && tracing->options->interval_s > 0);
}

static int trace_period(struct tracing *tracing, struct error *error)
{
    struct sample_record record;
    struct resident_now now = {0};
    int rc = prepare_tracing(tracing, &now, error);

    tracing->tried++;
    if (rc == 0)
        rc = session_measure_pages(tracing->session, &tracing->set, &now, &record, error);
    if (is_passing(tracing, rc)) {
        command_error("period %s: %s", rc == -EBUSY ? "skipped" : "without a result", error->text);
        tracing->why_none = rc;
        return 0;
    }
    if (rc == 0)
        rc = no_memory(tracing->note_rc, error);
    if (rc == 0 && tracing->layout.n == 0)
        rc = lay_out(tracing, error);
    return rc == 0 ? write_period(tracing, &record, error) : rc;
}

static bool is_over(const struct tracing *tracing, uint64_t began_ns)
{
    const struct options *options = tracing->options;
    const double elapsed_s = (double)(clock_ns() - began_ns) / 1e9;

    return (options->count > 0 && tracing->tried >= options->count) ||
           (options->duration_s > 0 && elapsed_s >= options->duration_s);
}

static int trace_all(struct tracing *tracing, struct error *error)
{
    const double interval_s = tracing->options->interval_s;
    const uint64_t began_ns = clock_ns();
    uint64_t next_ns = began_ns;

    for (;;) {
        int rc = trace_period(tracing, error);

        if (rc < 0)
            return rc;
        if (is_over(tracing, began_ns))
            return tracing->periods > 0 ? 0 : tracing->why_none;
        if (interval_s > 0) {
            next_ns += (uint64_t)(interval_s * 1e9);
            session_yield(tracing->session);
            session_wait(tracing->session, next_ns);
        }
        if (interrupted)
            return error_set(error, -EINTR, "interrupted");
    }
}

/* --- its beginning and end -------------------------------------------------------------------- */

static void fill_head(const struct tracing *tracing, struct trace_head *head)
{
    const struct session *session = tracing->session;
    const struct guest *guest = &session->subject.guest;
    char host[sizeof(head->host)] = "";

    *head = (struct trace_head){
        .pid = (uint64_t)guest->process.pid,
        .census = session->plan.census,
        .interval_s = tracing->options->interval_s,
        .n_windows = session->plan.n_windows,
    };
    (void)gethostname(host, sizeof(host) - 1);
    utf8_printable_copy(head->host, sizeof(head->host), host);
    utf8_printable_copy(head->domain, sizeof(head->domain), guest->name);
    utf8_printable_copy(head->uuid, sizeof(head->uuid), guest->uuid);
    utf8_printable_copy(head->accel, sizeof(head->accel), accel_name(guest->process.accel));
    utf8_printable_copy(head->method, sizeof(head->method), session->plan.method->name);
    memcpy(head->window_s, session->plan.window_s, sizeof(head->window_s));
}

static int begin_tracing(struct tracing *tracing, struct error *error)
{
    struct trace_head head;

    if (tracing->options->csv) {
        trace_csv_begin(&tracing->csv);
        return command_flush(error);
    }
    fill_head(tracing, &head);
    return trace_writer_open(&tracing->writer, tracing->options->out, tracing->options->max_bytes,
                             &head, error);
}

static void find_reason(const struct tracing *tracing, int rc, const struct error *error,
                        char *reason, size_t size)
{
    const struct session *session = tracing->session;

    if (rc == 0)
        snprintf(reason, size, "complete");
    else if (rc == -EFBIG)
        snprintf(reason, size, "the size limit was reached");
    else if (rc == -EINTR)
        snprintf(reason, size, "interrupted");
    else if (rc != -ESTALE &&
             qemu_process_verify(&session->root, &session->subject.guest.process, NULL) < 0)
        snprintf(reason, size, "the guest ended");
    else
        utf8_printable_copy(reason, size, *error->text ? error->text : strerror(-rc));
}

/* A trace that reached its size limit is complete. @p rc: result of tracing. */
static int end_tracing(struct tracing *tracing, int rc, struct error *error)
{
    struct trace_writer *writer = &tracing->writer;
    char reason[100];

    if (tracing->options->csv)
        return rc;
    find_reason(tracing, rc, error, reason, sizeof(reason));
    if (rc == -EFBIG && writer->periods > 0)
        rc = 0;

    int ended = trace_writer_end(writer, reason, rc < 0 ? NULL : error);

    if (writer->periods > 0) {
        printf("%s: %" PRIu64 " period%s, %s; %s%s\n", writer->path, writer->periods,
               writer->periods == 1 ? "" : "s", BYTES_TEXT(writer->bytes), reason,
               writer->cut ? "; not ended properly, but readable up to there" : "");
        fflush(stdout);
    }
    return rc < 0 ? rc : ended;
}

static int trace_guest(struct session *session, const void *context, struct error *error)
{
    struct tracing tracing = {
        .session = session,
        .options = context,
        .method = session->plan.method,
        .writer = {.fd = -1},
    };
    int rc = sampling_needs_pages(session, error);

    if (rc < 0)
        return rc;
    session->plan.collected = note;
    session->plan.collected_context = &tracing;
    rc = begin_tracing(&tracing, error);
    if (rc == 0)
        rc = end_tracing(&tracing, trace_all(&tracing, error), error);
    session->plan.collected = NULL;
    sheet_free(&tracing.csv);
    forget_set(&tracing);
    trace_recorder_free(&tracing.recorder);
    return rc;
}

int cmd_trace(int argc, char **argv)
{
    struct options options = {
        .sampling = {.n_windows = 4, .window_s = {1, 2, 5, 10}, .pages = true, .same_pages = true},
        .max_bytes = DEFAULT_MAX_BYTES,
    };
    int rc = options_read(&command_options, &options, argc, argv);

    if (rc != 0)
        return options_exit(rc);
    if (options.show)
        return trace_show(options.show, options.csv             ? TRACE_CSV
                                        : options.sampling.json ? TRACE_JSON
                                                                : TRACE_TABLES);
    return sampling_run(&options.sampling, trace_guest, &options);
}
