// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file main.c  vmwss: the table of subcommands. */
#include "programs/vmwss/cli.h"

#include <locale.h>

static const struct command commands[] = {
    {"list", "the guests of this host, their RAM, and the method that fits each", cmd_list},
    {"status", "this host now: vmwssd, its memory, and every guest, measured or not", cmd_status},
    {"measure", "the working set of one guest", cmd_measure},
    {"ages", "how long ago each byte of one guest was touched", cmd_ages},
    {"map", "which addresses of one guest were touched, within each window", cmd_map},
    {"trace", "which pages of one guest were touched, period after period, in a file", cmd_trace},
    {"cgroups", "how much memory control groups touch: those of guests and all others",
     cmd_cgroups},
    {"cache", "what a guest does to the last-level cache, and whether it fits into it", cmd_cache},
    {"profile", "the working set of one guest over windows that double", cmd_profile},
    {"grow", "the cumulative growth of the working set of one guest", cmd_grow},
    {"top", "the daemon's last record of every guest, on the whole screen", cmd_top},
    {"watch", "the daemon's records of all guests, as they are added", cmd_watch},
    {"guest", "what a guest says of its own memory, beside what the host knows", cmd_guest},
    {"history", "the working set of one guest over time, as the daemon has kept it", cmd_history},
    {"report", "what all guests needed, what could be given back, and what more would fit",
     cmd_report},
    {"advise", "how much memory each guest should have, and why, from what the daemon has kept",
     cmd_advise},
    {"plan", "what the hosts of a fleet need, what more fits where, and which could be emptied",
     cmd_plan},
    {"shrink", "how small a guest can be before it complains, by experiment", cmd_shrink},
    {"balloon", "what vmwss-balloond decided and why; ask it for room, release what it took",
     cmd_balloon},
    {"doctor", "what this host, or one guest, can be measured with, and the remedies", cmd_doctor},
    {"bugreport", "collect what a bug report or a test fixture needs, without guest data",
     cmd_bugreport},
};

static const struct program program = {
    .name = "vmwss",
    .purpose = "Measures how much of its memory a QEMU/KVM guest really uses, from the host.",
    .statuses =
        "0 done, 1 usage, 2 cannot measure, 3 the guest vanished meanwhile,\n130 interrupted",
    .commands = commands,
    .n_commands = sizeof(commands) / sizeof(commands[0]),
    .debugs = true,
};

int main(int argc, char **argv)
{
    setlocale(LC_CTYPE, ""); /* the table's ± is not ASCII; numbers stay in the C locale */
    return command_main(&program, argc, argv);
}
