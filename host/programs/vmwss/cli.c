// SPDX-License-Identifier: LGPL-2.1-or-later
#include "programs/vmwss/cli.h"

#include "base/parse.h"

#include <getopt.h>
#include <limits.h>

int cli_parse_windows(const char *list, double *window_s, size_t max, size_t *n_windows)
{
    if (parse_seconds_list(list, window_s, max, n_windows) < 0)
        return command_bad_value("--window", list,
                                 "up to 64 times from 1ms to 1000000s, as in 1,10,1m");
    return 0;
}

int guest_choice_set_pid(void *guest_choice, const char *value)
{
    struct guest_choice *choice = guest_choice;
    uint64_t pid;

    if (parse_u64(value, 1, INT_MAX, &pid) < 0)
        return command_refuse("--pid %s: not a process id", value);
    choice->pid = (pid_t)pid;
    return 0;
}

int guest_choice_take(struct guest_choice *choice, int argc, char **argv, const char *command)
{
    if (optind < argc)
        choice->domain = argv[optind++];
    if (optind == argc && !(choice->domain && choice->pid))
        return 0;
    return command_refuse("name one DOMAIN or one --pid; see vmwss %s --help", command);
}
