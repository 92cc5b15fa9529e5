// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file command.h  The subcommands of vmwss-guest, and what they share. */
#pragma once

#include "base/command.h"
#include "base/fsroot.h"
#include "base/option.h"

int cmd_cache(int argc, char **argv);
int cmd_memory(int argc, char **argv);
int cmd_paging(int argc, char **argv);
int cmd_pressure(int argc, char **argv);
int cmd_regrow(int argc, char **argv);
int cmd_serve(int argc, char **argv);
int cmd_smaps(int argc, char **argv);
int cmd_wss(int argc, char **argv);

/** Runs a command with its options and its operands (a list that ends with NULL). Returns the exit
 * code; or a negative errno with the message, or -EINVAL after printing the error.
 */
typedef int command_body(const struct fsroot *root, void *options, char **operands,
                         struct error *error);

/** Calls @p body with "/" as the root, or in tests with the tree that VMWSS_GUEST_ROOT names.
 * Returns the exit code. */
int command_on_root(void *options, char **operands, command_body *body);

/** Reads the options into the struct at @p base, then continues as command_on_root(). */
int command_run(const struct command_options *options, void *base, int argc, char **argv,
                command_body *body);
