// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file main.c  vmwss-guest: the table of subcommands. */
#include "command/command.h"

#include "base/array.h"

static const struct command commands[] = {
    {"cache", "how much of files is in the page cache", cmd_cache},
    {"memory", "the guest's memory as its kernel counts it, and what the kernel itself takes",
     cmd_memory},
    {"paging", "swapping, reclaim and refaults, and whether the working set fits", cmd_paging},
    {"pressure", "who waits for memory, disks and CPUs (PSI), and stalls as they happen",
     cmd_pressure},
    {"regrow",
     "the page cache that is needed, by experiment: drops it, and watches what comes back",
     cmd_regrow},
    {"serve", "the agent, which the host asks", cmd_serve},
    {"smaps", "whose the memory is: RSS, PSS, referenced and swap of processes", cmd_smaps},
    {"wss", "the working set of processes: what they touch within a time", cmd_wss},
};

static const struct program program = {
    .name = "vmwss-guest",
    .purpose =
        "A guest's own view of its memory: by whom it is used, for what, and whether it hurts.",
    .statuses = "0 done, 1 usage, 2 cannot, 130 interrupted",
    .commands = commands,
    .n_commands = COUNT(commands),
};

int main(int argc, char **argv)
{
    return command_main(&program, argc, argv);
}
