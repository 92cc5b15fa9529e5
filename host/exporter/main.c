// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file main.c  vmwss-exporter: needs no rights but to read the history, and gives up all others.
 * One thread answers (http.h), or the file is written here; the rest is waiting for a signal.
 */
#include "exporter/http.h"
#include "exporter/listen.h"
#include "exporter/message.h"
#include "exporter/options.h"
#include "exporter/textfile.h"
#include "keep/reader_group.h"

#include <cap-ng.h>
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <systemd/sd-daemon.h>
#include <time.h>
#include <unistd.h>

#define EXIT_USAGE 1
#define EXIT_CANNOT 2

/* Root without capabilities is the owner of root's files, and in the groups that it is in, and no
 * more. */
static int give_up_privileges(struct error *error)
{
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return error_set(error, -errno, "no_new_privs: %s", strerror(errno));
    /* None to drop: another user, or a service manager has done it. */
    if (capng_get_caps_process() == 0 && capng_have_capabilities(CAPNG_SELECT_CAPS) == CAPNG_NONE)
        return 0;
    reader_group_join();
    capng_clear(CAPNG_SELECT_BOTH);
    if (capng_apply(CAPNG_SELECT_BOTH) != 0)
        return error_set(error, -EPERM, "capabilities could not be dropped");
    return 0;
}

/* Blocked in all threads, and waited for. */
static void take_signals(sigset_t *signals)
{
    sigemptyset(signals);
    sigaddset(signals, SIGTERM);
    sigaddset(signals, SIGINT);
    signal(SIGPIPE, SIG_IGN);
    sigprocmask(SIG_BLOCK, signals, NULL);
}

/* --- three ways to work ----------------------------------------------------------------------- */

static int serve(const struct exporter_options *options, struct error *error)
{
    struct http *http = NULL;
    const struct timespec second = {.tv_sec = 1};
    sigset_t signals;
    int fd = listen_passed(error);
    int rc;

    if (fd == -ENOENT)
        fd = listen_on(options->listen, error);
    if (fd < 0)
        return fd;
    take_signals(&signals);
    rc = http_start(&http, fd, &options->metrics, error);
    if (rc < 0)
        return rc;
    sd_notify(0, "READY=1");
    while (sigtimedwait(&signals, NULL, &second) < 0)
        http_expire(http);
    sd_notify(0, "STOPPING=1");
    http_stop(http);
    return 0;
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

/* The file is there as long as it is right: what cannot be written anew would be read as
 * today's. */
static int keep_file(const struct exporter_options *options)
{
    double whole_s = floor(options->interval_s);
    const struct timespec interval = {.tv_sec = (time_t)whole_s,
                                      .tv_nsec = (long)((options->interval_s - whole_s) * 1e9)};
    sigset_t signals;
    int failing = 0;

    take_signals(&signals);
    sd_notify(0, "READY=1");
    do {
        struct error error = {0};
        int rc = write_file(options, &error);

        if (rc < 0)
            textfile_remove(options->textfile);
        message_outcome(&failing, rc, &error);
    } while (sigtimedwait(&signals, NULL, &interval) < 0);
    sd_notify(0, "STOPPING=1");
    textfile_remove(options->textfile);
    return 0;
}

static int print_once(const struct exporter_options *options, struct error *error)
{
    char *text;
    size_t size;
    int rc = prometheus_text(&options->metrics, &text, &size, error);

    if (rc < 0)
        return rc;
    if (fwrite(text, 1, size, stdout) != size || fflush(stdout) != 0)
        rc = error_set(error, -errno, "standard output: %s", strerror(errno));
    free(text);
    return rc;
}

static int work(const struct exporter_options *options, struct error *error)
{
    switch (options->mode) {
    case EXPORTER_TEXTFILE:
        return keep_file(options);
    case EXPORTER_PRINT:
        return print_once(options, error);
    default:
        return serve(options, error);
    }
}

int main(int argc, char **argv)
{
    struct exporter_options options;
    struct error error = {0};
    int rc = exporter_options_parse(&options, argc, argv);

    if (rc != 0)
        return rc > 0 ? 0 : EXIT_USAGE;
    rc = give_up_privileges(&error);
    if (rc == 0)
        rc = work(&options, &error);
    if (rc == 0)
        return 0;
    message("%s", error.text);
    return EXIT_CANNOT;
}
