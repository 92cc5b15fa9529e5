// SPDX-License-Identifier: LGPL-2.1-or-later
#include "programs/exporter/web_report.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "history/report_timeline.h"
#include "programs/exporter/message.h"
#include "programs/exporter/run.h"
#include "show/html_report.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

/* --- the page --------------------------------------------------------------------------------- */

struct newest {
    double time_s;
    char host[256];
};

static int see_newest(const struct kept_sample *kept, void *context)
{
    struct newest *newest = context;
    const double time_s = timespec_s(&kept->record.sample.time);

    if (time_s > newest->time_s) {
        newest->time_s = time_s;
        snprintf(newest->host, sizeof(newest->host), "%s", kept->record.sample.host);
    }
    return 0;
}

/* Chooses the requested window, or among the windows kept the next longer one, or the longest. */
static int choose_window(struct store *store, double *window_s, struct error *error)
{
    double kept_s[RUN_MAX_WINDOWS];
    ssize_t n = history_windows(store, 0, kept_s, error);
    ssize_t i = 0;

    while (i < n - 1 && kept_s[i] < *window_s)
        i++;
    if (n > 0)
        *window_s = kept_s[i];
    return n < 0 ? (int)n : 0;
}

static int draw(struct store *store, const struct report *report, double now_s, char **text,
                size_t *size, struct error *error)
{
    struct timeline_span span;
    struct timeline_cell *cells;
    int rc = report_timeline(store, report, &span, &cells, error);

    if (rc == 0) {
        const struct html_report page = {
            .report = report, .span = &span, .cells = cells, .now_s = now_s, .served = true};

        rc = html_report_text(&page, text, size, error);
    }
    free(cells);
    return rc;
}

static int read_and_draw(struct store *store, const struct web_report *options, char **text,
                         size_t *size, struct error *error)
{
    const double now_s = store_clock_now().wall_s;
    struct newest newest = {0};
    struct report_options asked = {.from_s = now_s - options->since_s,
                                   .to_s = now_s,
                                   .window_s = options->window_s,
                                   .risk = 0.01,
                                   .capacity_bytes = options->capacity_bytes};
    struct report report;
    int rc = history_latest(store, see_newest, &newest, error);

    if (rc == 0)
        rc = choose_window(store, &asked.window_s, error);
    if (rc < 0)
        return rc;
    if (*newest.host) /* after the host was renamed the file has two hosts */
        asked.host = newest.host;
    rc = report_make(store, &asked, &report, error);
    if (rc < 0)
        return rc;
    rc = draw(store, &report, now_s, text, size, error);
    report_free(&report);
    return rc;
}

int web_report_text(const struct web_report *options, char **text, size_t *size,
                    struct error *error)
{
    struct store *store;
    int rc = history_open(options->database, &store, error);

    if (rc < 0)
        return rc;
    rc = read_and_draw(store, options, text, size, error);
    store_close(store);
    return rc;
}

/* --- the process ------------------------------------------------------------------------------ */

static void bound(int resource, rlim_t most)
{
    const struct rlimit limit = {most, most};

    setrlimit((__rlimit_resource_t)resource, &limit); /* fails if the limit is lower already */
}

/* Makes this process the first to be killed when memory is short. */
static void offer_to_oom_killer(void)
{
    FILE *file = fopen("/proc/self/oom_score_adj", "we");

    if (!file)
        return;
    fputs("1000", file);
    fclose(file);
}

/* Also works if the parent ended before the signal was requested. */
static void end_with_parent(void)
{
    struct pollfd reader = {.fd = STDOUT_FILENO};

    /* The signal comes with the end of the parent's thread, which lives as long as the parent. */
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 ||
        (poll(&reader, 1, 0) > 0 && reader.revents & POLLERR))
        raise(SIGKILL);
}

void web_report_bound_process(void)
{
    end_with_parent();
    alarm(WEB_REPORT_DEADLINE_S + 5); /* the process that waits gives up before that */
    offer_to_oom_killer();
    bound(RLIMIT_CORE, 0);
    bound(RLIMIT_CPU, WEB_REPORT_CPU_S);
/* the sanitizers need terabytes of address space */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    bound(RLIMIT_DATA, WEB_REPORT_DATA_BYTES);
#endif
    setpriority(PRIO_PROCESS, 0, 10); /* the service unit may forbid it */
}

/* Inserts the option before the server's own: an argument behind those may not be taken for an
 * option. */
static char **with_option(char **argv, char *option)
{
    size_t n = 0;
    char **more;

    while (argv[n])
        n++;
    more = calloc(n + 2, sizeof(*more));
    if (!more)
        return NULL;
    more[0] = argv[0];
    more[1] = option;
    memcpy(more + 2, argv + 1, (n - 1) * sizeof(*more));
    return more;
}

/* The server prefixes the message with its own name. */
static void drop_prefix(char *text)
{
    const size_t n = strlen(MESSAGE_PREFIX);

    if (strncmp(text, MESSAGE_PREFIX, n) == 0)
        memmove(text, text + n, strlen(text + n) + 1);
}

int web_report_run(void *argv, int ends_fd, char **text, size_t *size, struct error *error)
{
    char option[] = "--page-to-stdout";
    cleanup_free char **words = with_option(argv, option);
    const struct run run = {.path = "/proc/self/exe",
                            .argv = words,
                            .max_bytes = WEB_REPORT_MAX_BYTES,
                            .deadline_s = WEB_REPORT_DEADLINE_S,
                            .ends_fd = ends_fd};
    int rc;

    if (!words)
        return error_set(error, -ENOMEM, "out of memory for the page");
    rc = run_program(&run, text, size, error);
    if (rc == -ETIMEDOUT || rc == -EFBIG)
        return error_prefix(error, "the page of the report (see --web-since)");
    if (rc == -EIO)
        drop_prefix(error->text);
    return rc;
}
