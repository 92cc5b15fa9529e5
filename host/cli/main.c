// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file main.c  vmwss: the table of subcommands. */
#include "cli/cli.h"

#include <locale.h>
#include <stdio.h>
#include <string.h>

static const struct command commands[] = {
    {"list", "the guests of this host, their RAM, and the method that fits each", cmd_list},
    {"measure", "the working set of one guest", cmd_measure},
    {"ages", "how long ago each byte of one guest was touched", cmd_ages},
    {"profile", "the working set of one guest over windows that double", cmd_profile},
    {"grow", "the cumulative growth of the working set of one guest", cmd_grow},
    {"top", "the daemon's last record of every guest, on the whole screen", cmd_top},
    {"watch", "the daemon's records of all guests, as they are added", cmd_watch},
    {"history", "the working set of one guest over time, as the daemon has kept it", cmd_history},
    {"report", "what all guests needed, what could be given back, and what more would fit",
     cmd_report},
    {"doctor", "what this host, or one guest, can be measured with, and the remedies", cmd_doctor},
    {"bugreport", "collect what a bug report or a test fixture needs, without guest data",
     cmd_bugreport},
};
#define N_COMMANDS (sizeof(commands) / sizeof(commands[0]))

static void print_help(FILE *out)
{
    fputs("Usage: vmwss COMMAND [OPTIONS]\n\n"
          "Measures how much of its memory a QEMU/KVM guest really uses, from the host.\n\n"
          "Commands:\n",
          out);
    for (size_t i = 0; i < N_COMMANDS; i++)
        fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].summary);
    fputs("\nOptions:\n"
          "  -h, --help     this text; after a command, that command's\n"
          "  -V, --version  version\n\n"
          "Exit status: 0 done, 1 usage, 2 cannot measure, 3 the guest vanished meanwhile,\n"
          "130 interrupted.\n"
          "See vmwss(1).\n",
          out);
}

/* A command that has done its work has failed all the same if nobody can have read it. */
static int run(const struct command *command, int argc, char **argv)
{
    struct error error = {0};
    int code = command->run(argc, argv);

    if (code != 0 || cli_flush(&error) == 0)
        return code;
    cli_error("%s", error.text);
    return EXIT_CANNOT;
}

int main(int argc, char **argv)
{
    setlocale(LC_CTYPE, ""); /* the ± of the table is not ASCII; numbers stay in the C locale */
    if (argc < 2) {
        print_help(stderr);
        return EXIT_USAGE;
    }
    if (!strcmp(argv[1], "-h") || !strcmp(argv[1], "--help") || !strcmp(argv[1], "help")) {
        print_help(stdout);
        return 0;
    }
    if (!strcmp(argv[1], "-V") || !strcmp(argv[1], "--version")) {
        puts("vmwss " VMWSS_VERSION);
        return 0;
    }
    for (size_t i = 0; i < N_COMMANDS; i++)
        if (!strcmp(argv[1], commands[i].name)) {
            char name[64]; /* with which getopt begins its messages */

            snprintf(name, sizeof(name), "vmwss %s", argv[1]);
            argv[1] = name;
            return run(&commands[i], argc - 1, argv + 1);
        }
    cli_error("no command '%s'; see vmwss --help", argv[1]);
    return EXIT_USAGE;
}
