// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file command.h  The subcommands of vmwss-guest, and what only they share. */
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

/** Reads the command line of a command that takes nothing but options; as options_read(). */
int command_options_alone(const struct command_options *options, void *base, int argc, char **argv);

/** "/", or for tests the tree that VMWSS_GUEST_ROOT names. EXIT_DONE, or EXIT_CANNOT after printing
 * why. */
int command_root(struct fsroot *root);
