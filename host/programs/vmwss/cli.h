// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file cli.h  The subcommands of vmwss, and their common parts: the guest named on the command
 * line, windows.
 */
#pragma once

#include "base/command.h"
#include "base/fsroot.h"
#include "base/option.h"
#include "guest/domain/guest_choice.h"

#include <getopt.h>

int cmd_list(int argc, char **argv);
int cmd_measure(int argc, char **argv);
int cmd_status(int argc, char **argv);
int cmd_map(int argc, char **argv);
int cmd_trace(int argc, char **argv);
int cmd_cgroups(int argc, char **argv);
int cmd_cache(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_profile(int argc, char **argv);
int cmd_grow(int argc, char **argv);
int cmd_ages(int argc, char **argv);
int cmd_guest(int argc, char **argv);
int cmd_history(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_advise(int argc, char **argv);
int cmd_plan(int argc, char **argv);
int cmd_migrate(int argc, char **argv);
int cmd_balloon(int argc, char **argv);
int cmd_shrink(int argc, char **argv);
int cmd_top(int argc, char **argv);
int cmd_watch(int argc, char **argv);
int cmd_bugreport(int argc, char **argv);

/* The options that name a guest; @p guest: the offset of the struct guest_choice. */
#define OPTION_CONNECT(guest)                                                             \
    {                                                                                     \
        OPTION_TEXT, 'c', "connect", "URI", (guest) + offsetof(struct guest_choice, uri), \
            .help = "libvirt connection, or pods (qemu:///system)"                        \
    }
#define OPTION_PID(guest)                                                                   \
    {                                                                                       \
        OPTION_CALL, 'p', "pid", "PID", (guest), .help = "a QEMU process, without libvirt", \
                                                 .call = guest_choice_set_pid               \
    }

/* --json and --csv; @p format: the offset of the enum show_format. */
#define FORMAT_EXPECTED "--json or --csv, not both"
#define FORMAT_JSON(format, text)                                                         \
    {                                                                                     \
        OPTION_CHOICE, 'j', "json", NULL, (format), .help = (text), SHOW_JSON, SHOW_JSON, \
                                                    FORMAT_EXPECTED                       \
    }
#define FORMAT_CSV(format)                                                                         \
    {                                                                                              \
        OPTION_CHOICE, 0, "csv", NULL, (format), .help = "comma-separated values, with a heading", \
                                                 SHOW_CSV, SHOW_CSV, FORMAT_EXPECTED               \
    }

/** Sets --pid of a struct guest_choice. Returns 0; -EINVAL after printing the error. */
int guest_choice_set_pid(void *guest_choice, const char *value);

/** Takes the DOMAIN that follows the options, if there is one. Returns 0; -EINVAL after printing
 * that @p command takes one DOMAIN or one --pid. */
int guest_choice_take(struct guest_choice *choice, int argc, char **argv, const char *command);

/** Parses "S,S,..." into window_s[0 .. *n_windows), ascending, without duplicates, at most @p max.
 * Returns 0; -EINVAL after printing the error. */
int cli_parse_windows(const char *list, double *window_s, size_t max, size_t *n_windows);
