// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file main.c  vmwss: the table of subcommands. */
#include "programs/vmwss/cli.h"

#include "base/array.h"

#include <locale.h>

static const struct command commands[] = {
    {"list", "list the guests, their RAM, and the method that fits each", cmd_list},
    {"status", "show vmwssd, the host's memory, and every guest, measured or not", cmd_status},
    {"measure", "measure the working set of guests", cmd_measure},
    {"ages", "show how long ago each byte of a guest was last touched", cmd_ages},
    {"map", "show which addresses of a guest were touched within each window", cmd_map},
    {"trace", "record in a file which pages of a guest were touched in each period", cmd_trace},
    {"cgroups", "measure how much memory each control group touches", cmd_cgroups},
    {"cache", "show how a guest uses the last-level cache, and whether it fits", cmd_cache},
    {"profile", "measure the working set over windows that double", cmd_profile},
    {"grow", "measure how the working set grows from one reading to the next", cmd_grow},
    {"top", "show vmwssd's last record of every guest on the whole screen", cmd_top},
    {"watch", "print vmwssd's records of all guests as they are added", cmd_watch},
    {"guest", "show what a guest reports about its memory", cmd_guest},
    {"history", "show the working set of one guest over time, from vmwssd's history", cmd_history},
    {"report", "show what all guests needed, and how many more would fit", cmd_report},
    {"advise", "advise how much memory each guest should have, and why", cmd_advise},
    {"plan", "plan a fleet: what hosts need, what fits where, which to empty", cmd_plan},
    {"migrate", "foretell whether a live migration converges, its time, its downtime", cmd_migrate},
    {"shrink", "find by experiment how small a guest can be before it complains", cmd_shrink},
    {"balloon", "show vmwss-balloond's decisions, ask it for room, undo them", cmd_balloon},
    {"doctor", "show which methods work on this host or guest, and what others lack", cmd_doctor},
    {"bugreport", "collect what a bug report needs, without guest data", cmd_bugreport},
};

static const struct program program = {
    .name = "vmwss",
    .purpose = "Measures how much of its memory a QEMU/KVM guest really uses, from the host.",
    .statuses = "0 done, 1 usage, 2 cannot measure, 3 the guest ended meanwhile,\n130 interrupted",
    .commands = commands,
    .n_commands = COUNT(commands),
    .debugs = true,
};

int main(int argc, char **argv)
{
    setlocale(LC_CTYPE, ""); /* the table's ± is not ASCII; numbers stay in the C locale */
    return command_main(&program, argc, argv);
}
