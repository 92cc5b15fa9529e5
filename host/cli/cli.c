// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file cli.c  See cli.h. */
#include "cli/cli.h"

#include "base/parse.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void cli_error(const char *format, ...)
{
    bool colour = isatty(STDERR_FILENO) && !getenv("NO_COLOR");
    va_list args;

    fprintf(stderr, colour ? "\033[31mvmwss:\033[0m " : "vmwss: ");
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
}

int cli_flush(struct error *error)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return 0;

    int rc = errno ? -errno : -EIO;

    return error_set(error, rc, "standard output: %s", strerror(-rc));
}

int cli_bad_value(const char *option, const char *value, const char *expected)
{
    cli_error("%s %s: expected %s", option, value, expected);
    return -EINVAL;
}

int cli_parse_windows(const char *list, double *window_s, size_t max, size_t *n_windows)
{
    if (parse_seconds_list(list, window_s, max, n_windows) < 0)
        return cli_bad_value("--window", list, "up to 64 numbers of seconds, as in 1,10,60");
    return 0;
}

int guest_choice_option(struct guest_choice *choice, int option, const char *value)
{
    uint64_t pid;

    if (option == 'c') {
        choice->uri = value;
        return 0;
    }
    if (parse_u64(value, 1, INT_MAX, &pid) < 0) {
        cli_error("--pid %s: not a process id", value);
        return -EINVAL;
    }
    choice->pid = (pid_t)pid;
    return 0;
}

int guest_choice_open(const struct guest_choice *choice, const struct fsroot *root,
                      struct guest *guest, struct error *error)
{
    struct domain_connection *connection = NULL;

    if (choice->pid)
        return guest_open_pid(root, choice->pid, guest, error);

    int rc = domain_connect(choice->uri, &connection, error);

    if (rc < 0)
        return rc;
    rc = guest_open_domain(connection, root, choice->domain, guest, error);
    domain_disconnect(connection);
    return rc;
}
