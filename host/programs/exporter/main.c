// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file main.c  vmwss-exporter: needs only the right to read the history, and gives up all others.
 * One thread answers requests (http.h), or the main thread writes the file; otherwise it waits for
 * a signal. With --web another thread waits for a process of this program that makes a page
 * (web_report.h).
 */
#include "base/command.h"
#include "base/service/main_loop.h"
#include "base/service/reader_group.h"
#include "programs/exporter/http.h"
#include "programs/exporter/listen.h"
#include "programs/exporter/message.h"
#include "programs/exporter/options.h"
#include "programs/exporter/textfile.h"
#include "programs/exporter/web.h"
#include "programs/exporter/web_report.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- four ways to work ------------------------------------------------------------------------ */

static int expire(sd_event_source *timer, uint64_t now_us, void *http)
{
    (void)now_us;
    http_expire(http);
    return main_loop_again(timer, 1);
}

static int start_web(const struct exporter_options *options, struct web **web, struct error *error)
{
    if (!options->web)
        return 0;
    signal(SIGCHLD, SIG_DFL); /* the parent process may ignore it: run.h */
    return web_start(web, &options->pages, error);
}

static int serve_metrics(const struct exporter_options *options, struct error *error)
{
    struct http *http = NULL;
    struct web *web = NULL;
    sd_event *loop;
    int fd = listen_passed(error);
    int rc;

    if (fd == -ENOENT)
        fd = listen_on(options->listen, error);
    if (fd < 0)
        return fd;
    rc = main_loop_open(&loop, error);
    if (rc == 0)
        rc = start_web(options, &web, error);
    if (rc == 0)
        rc = http_start(&http, fd, &(struct http_options){&options->metrics, web, &options->names},
                        error);
    if (rc == 0)
        rc = main_loop_add(loop, expire, http, error);
    if (rc == 0)
        rc = main_loop_run(loop, error);
    if (http)
        http_stop(http);
    web_stop(web);
    return rc;
}

static int write_file(const struct exporter_options *options, struct error *error)
{
    char *text;
    size_t size;
    int rc = prometheus_text(&options->metrics, &text, &size, error);

    if (rc < 0)
        return rc;
    rc = textfile_write(options->textfile, text, size, error);
    free(text);
    return rc;
}

struct keeping {
    const struct exporter_options *options;
    int failing;
};

/* The file exists only while it is correct: if it cannot be replaced, the old content would be read
 * as current. */
static int keep_file(sd_event_source *timer, uint64_t now_us, void *context)
{
    struct keeping *keeping = context;
    struct error error = {0};
    int rc = write_file(keeping->options, &error);

    (void)now_us;
    if (rc < 0)
        textfile_remove(keeping->options->textfile);
    message_outcome(&keeping->failing, rc, &error);
    return main_loop_again(timer, keeping->options->interval_s);
}

static int keep_file_until_signal(const struct exporter_options *options, struct error *error)
{
    struct keeping keeping = {.options = options};
    sd_event *loop;
    int rc = main_loop_open(&loop, error);

    if (rc == 0)
        sd_event_set_watchdog(loop, true); /* WatchdogSec of vmwss-textfile.service */
    if (rc == 0)
        rc = main_loop_add(loop, keep_file, &keeping, error);
    if (rc == 0)
        rc = main_loop_run(loop, error);
    textfile_remove(options->textfile);
    return rc;
}

static int make_page(const struct exporter_options *options, char **text, size_t *size,
                     struct error *error)
{
    const struct web_report report = {.database = options->metrics.database,
                                      .since_s = options->web_since_s,
                                      .window_s = options->metrics.plan_window_s,
                                      .capacity_bytes = options->metrics.capacity_bytes};

    web_report_bound_process();
    return web_report_text(&report, text, size, error);
}

static int print_once(const struct exporter_options *options, struct error *error)
{
    char *text;
    size_t size;
    int rc = options->mode == EXPORTER_PAGE
                 ? make_page(options, &text, &size, error)
                 : prometheus_text(&options->metrics, &text, &size, error);

    if (rc < 0)
        return rc;
    if (fwrite(text, 1, size, stdout) != size || fflush(stdout) != 0)
        rc = error_set(error, -errno, "standard output: %s", strerror(errno));
    free(text);
    return rc;
}

static int export_metrics(const struct exporter_options *options, struct error *error)
{
    switch (options->mode) {
    case EXPORTER_TEXTFILE:
        return keep_file_until_signal(options, error);
    case EXPORTER_PRINT:
    case EXPORTER_PAGE:
        return print_once(options, error);
    default:
        return serve_metrics(options, error);
    }
}

int main(int argc, char **argv)
{
    struct exporter_options options;
    struct error error = {0};
    int rc = exporter_options_parse(&options, argc, argv);

    if (rc != 0)
        return rc > 0 ? 0 : EXIT_USAGE;
    request_names_of_host(&options.names);
    options.pages.make = web_report_run;
    options.pages.context = argv;
    rc = reader_become(false, &error);
    if (rc == 0)
        rc = export_metrics(&options, &error);
    if (rc == 0)
        return 0;
    command_error("%s", error.text);
    return EXIT_CANNOT;
}
