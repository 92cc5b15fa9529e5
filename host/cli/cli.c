// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file cli.c  See cli.h. */
#include "cli/cli.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
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

int cli_parse_seconds(const char *text, double *seconds)
{
    char *end;
    double value = strtod(text, &end);

    if (end == text || *end || !isfinite(value) || value < 0.001 || value > 1e6)
        return -EINVAL;
    *seconds = value;
    return 0;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return (x > y) - (x < y);
}

static int parse_list(const char *list, double *value, size_t max, size_t *n)
{
    char copy[1024];
    char *rest = NULL;

    *n = 0;
    if (strlen(list) >= sizeof(copy))
        return -EINVAL;
    snprintf(copy, sizeof(copy), "%s", list);
    for (char *one = strtok_r(copy, ",", &rest); one; one = strtok_r(NULL, ",", &rest)) {
        if (*n == max || cli_parse_seconds(one, &value[*n]) < 0)
            return -EINVAL;
        ++*n;
    }
    return *n > 0 ? 0 : -EINVAL;
}

int cli_parse_windows(const char *list, double *window_s, size_t max, size_t *n_windows)
{
    if (parse_list(list, window_s, max, n_windows) < 0)
        return cli_bad_value("--window", list, "up to 64 numbers of seconds, as in 1,10,60");
    qsort(window_s, *n_windows, sizeof(double), compare_doubles);

    size_t kept = 1;

    for (size_t i = 1; i < *n_windows; i++)
        if (window_s[i] > window_s[kept - 1])
            window_s[kept++] = window_s[i];
    *n_windows = kept;
    return 0;
}

int cli_parse_u64(const char *text, uint64_t min, uint64_t max, uint64_t *value)
{
    char *end;

    if (*text < '0' || *text > '9')
        return -EINVAL;
    errno = 0;

    uint64_t number = strtoull(text, &end, 10);

    if (errno || *end || number < min || number > max)
        return -EINVAL;
    *value = number;
    return 0;
}

int guest_choice_option(struct guest_choice *choice, int option, const char *value)
{
    uint64_t pid;

    if (option == 'c') {
        choice->uri = value;
        return 0;
    }
    if (cli_parse_u64(value, 1, INT_MAX, &pid) < 0) {
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
