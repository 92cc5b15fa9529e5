// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file cli.h  The subcommands of vmwss, and what they share: the guest named on the command line,
 * windows.
 */
#pragma once

#include "base/command.h"
#include "base/fsroot.h"
#include "domain/domain.h"

#include <getopt.h>

int cmd_list(int argc, char **argv);
int cmd_measure(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_profile(int argc, char **argv);
int cmd_grow(int argc, char **argv);
int cmd_ages(int argc, char **argv);
int cmd_guest(int argc, char **argv);
int cmd_history(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_advise(int argc, char **argv);
int cmd_top(int argc, char **argv);
int cmd_watch(int argc, char **argv);
int cmd_bugreport(int argc, char **argv);

/** Prints a command's help, in which @methods@ stands for the names of all methods, and @followers@
 * for those that can follow
 *  a panel over time. */
void cli_print_help(const char *help);

/** The guest that a command is asked about. */
struct guest_choice {
    const char *uri;    /* --connect; NULL: qemu:///system */
    const char *domain; /* DOMAIN; NULL if --pid was given */
    pid_t pid;          /* --pid; 0 if DOMAIN was given */
};

/** Long options that every command with a guest understands; see guest_choice_option(). */
#define GUEST_CHOICE_OPTIONS                   \
    {"connect", required_argument, NULL, 'c'}, \
    {                                          \
        "pid", required_argument, NULL, 'p'    \
    }

/** Handles 'c' and 'p'. 0; -EINVAL after printing what is wrong. */
int guest_choice_option(struct guest_choice *choice, int option, const char *value);

/** Opens the guest; prints nothing. Errors as guest_open_domain() and guest_open_pid(). */
int guest_choice_open(const struct guest_choice *choice, const struct fsroot *root,
                      struct guest *guest, struct error *error);

/** "S,S,..." into window_s[0 .. *n_windows), ascending, each once, at most @p max. 0; -EINVAL after
 * printing what is wrong. */
int cli_parse_windows(const char *list, double *window_s, size_t max, size_t *n_windows);
