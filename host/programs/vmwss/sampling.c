// SPDX-License-Identifier: LGPL-2.1-or-later
#include "programs/vmwss/sampling.h"

#include "base/parse.h"
#include "show/chart.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define MOST_WITNESSES 10000

static int bad_method(const char *name)
{
    char names[128];
    char expected[160];

    snprintf(expected, sizeof(expected), "auto, %s", method_names(names, sizeof(names), false));
    return command_bad_value("--method", name, expected);
}

char *sampling_names(char *text, size_t size)
{
    return method_names(text, size, false);
}

char *sampling_names_following(char *text, size_t size)
{
    return method_names(text, size, true);
}

static struct sampling_choice *sampling(void *choice)
{
    return choice;
}

int sampling_set_windows(void *choice, const char *value)
{
    return cli_parse_windows(value, sampling(choice)->window_s, RUN_MAX_WINDOWS,
                             &sampling(choice)->n_windows);
}

int sampling_set_method(void *choice, const char *value)
{
    sampling(choice)->method = strcmp(value, "auto") ? value : NULL;
    return !sampling(choice)->method || method_by_name(value) ? 0 : bad_method(value);
}

int sampling_set_witness(void *choice, const char *value)
{
    if (parse_u64(value, 0, MOST_WITNESSES, &sampling(choice)->witness) < 0)
        return command_bad_value("--witness", value, "a number of pages, 0 to 10000");
    sampling(choice)->has_witness = true;
    return 0;
}

int sampling_check(struct sampling_choice *choice, int argc, char **argv)
{
    if (optind < argc)
        choice->guest.domain = argv[optind++];
    if (optind < argc)
        return command_refuse("one guest at a time: unexpected '%s'", argv[optind]);
    if (!choice->guest.domain == !choice->guest.pid)
        return command_refuse("name either a DOMAIN or a --pid; see %s --help", argv[0]);
    if (choice->census + (choice->samples > 0) + (choice->precision > 0) > 1)
        return command_refuse("--census, --samples and --precision exclude each other");
    return 0;
}

int sampling_check_interval(struct sampling_choice *choice, double interval_s)
{
    const double longest_s = choice->window_s[choice->n_windows - 1];

    if (interval_s == 0)
        return 0;
    if (interval_s < longest_s)
        return command_refuse("--interval %g is shorter than the longest window, %g s", interval_s,
                              longest_s);
    if (choice->wait_s == 0)
        choice->wait_s = interval_s - longest_s;
    return 0;
}

int sampling_check_writes(const struct sampling_choice *choice)
{
    if (!choice->writes && !choice->watch_writes)
        return 0;
    if (choice->writes && (choice->samples > 0 || choice->precision > 0 || choice->fine > 0))
        return command_refuse(
            "--writes examines every page: --samples, --precision and --fine do not apply");
    if (choice->n_windows > WRITE_POINTS_MAX)
        return command_refuse("--writes takes at most %d windows", WRITE_POINTS_MAX);
    return 0;
}

int sampling_needs_pages(const struct session *session, struct error *error)
{
    return session->plan.method->needs_pages
               ? 0
               : error_set(error, -ENOTSUP,
                           "%s counts touched pages but not their addresses: choose one of "
                           "idle, damon, zap, pageout",
                           session->plan.method->name);
}

int sampling_run(const struct sampling_choice *choice,
                 int (*work)(struct session *session, const void *options, struct error *error),
                 const void *options)
{
    struct error error = {0};

    if (choice->svg && chart_check("--svg", choice->svg, &error) < 0)
        return command_cannot(&error);
    return session_run(choice, work, options);
}
