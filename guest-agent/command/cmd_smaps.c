// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file cmd_smaps.c  vmwss-guest smaps: whose the memory is. */
#include "base/parse.h"
#include "command/command.h"
#include "print/columns.h"
#include "print/record.h"
#include "proc/keyed.h"
#include "proc/processes.h"
#include "show/json.h"
#include "show/units.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#define TOP 20

static const char help[] =
    "Usage: vmwss-guest smaps [OPTIONS] [PID...]\n\n"
    "The memory of processes, by their page tables: RSS, PSS (each page divided by the number of its mappings),\n"
    "REF (touched since somebody last cleared that mark; see vmwss-guest wss) and swap. Without PIDs the 20 largest.\n\n"
    "  -a, --all       all processes that have memory of their own\n"
    "  -n, --top N     the N largest of them (20)\n"
    "  -s, --sort KEY  rss, pss, referenced or swap (pss)\n"
    "  -j, --json      one JSON object, schema vmwss.guest_smaps.v1\n"
    "  -h, --help      this text\n\n"
    "Page tables are walked for it: some ms for each GiB. What may not be looked at is shown by its RSS alone.\n";

struct options {
    uint64_t top; /* 0: as many as there are */
    enum process_key key;
    bool json;
};

static int parse_key(const char *text, enum process_key *key)
{
    static const char *const names[] = {[PROCESS_RSS] = "rss",
                                        [PROCESS_PSS] = "pss",
                                        [PROCESS_REFERENCED] = "referenced",
                                        [PROCESS_SWAP] = "swap"};

    for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (!strcmp(text, names[i])) {
            *key = (enum process_key)i;
            return 0;
        }
    return command_bad_value("--sort", text, "rss, pss, referenced or swap");
}

static int parse_option(struct options *options, int option)
{
    switch (option) {
    case 'a':
        options->top = 0;
        return 0;
    case 'n':
        if (parse_u64(optarg, 1, INT_MAX, &options->top) == 0)
            return 0;
        return command_bad_value("--top", optarg, "a number of processes");
    case 's':
        return parse_key(optarg, &options->key);
    case 'j':
        options->json = true;
        return 0;
    case 'h':
        fputs(help, stdout);
        return 1;
    default:
        return -EINVAL; /* getopt has said why */
    }
}

/* 0, 1 for "help was shown", or -EINVAL. */
static int parse_options(struct options *options, int argc, char **argv)
{
    static const struct option longs[] = {
        {"all", no_argument, NULL, 'a'},        {"top", required_argument, NULL, 'n'},
        {"sort", required_argument, NULL, 's'}, {"json", no_argument, NULL, 'j'},
        {"help", no_argument, NULL, 'h'},       {0}};
    int option;
    int rc = 0;

    while (rc == 0 && (option = getopt_long(argc, argv, "an:s:jh", longs, NULL)) >= 0)
        rc = parse_option(options, option);
    return rc;
}

static char *bytes_text(char *text, size_t size, uint64_t bytes)
{
    if (bytes == KEYED_UNKNOWN)
        snprintf(text, size, "?");
    else
        show_bytes(text, size, bytes);
    return text;
}

static int add_row(struct columns *columns, const struct process *process)
{
    const struct process_memory *memory = &process->memory;
    char pid[16], rss[32], pss[32], referenced[32], swap[32];

    snprintf(pid, sizeof(pid), "%d", (int)process->pid);
    return columns_row(
        columns,
        (const char *[]){pid, bytes_text(rss, sizeof(rss), memory->rss_bytes),
                         bytes_text(pss, sizeof(pss), memory->pss_bytes),
                         bytes_text(referenced, sizeof(referenced), memory->referenced_bytes),
                         bytes_text(swap, sizeof(swap), memory->swap_bytes), process->name});
}

static int print_table(const struct processes *processes)
{
    static const struct column column[] = {
        {.name = "PID", .right = true},  {.name = "RSS", .right = true},
        {.name = "PSS", .right = true},  {.name = "REF", .right = true},
        {.name = "SWAP", .right = true}, {.name = "NAME"}};
    struct columns *columns = columns_new(column, sizeof(column) / sizeof(column[0]));
    int rc = columns ? 0 : -ENOMEM;

    for (size_t i = 0; rc == 0 && i < processes->n; i++)
        rc = add_row(columns, &processes->process[i]);
    if (rc == 0)
        columns_print(columns, true, stdout);
    columns_free(columns);
    return rc;
}

static int print_json(const struct processes *processes)
{
    char time[RECORD_TIME];

    return json_print_line(json_pack(
        "{ss ss si si si so}", "schema", "vmwss.guest_smaps.v1", "time", record_time(time), "ended",
        (int)processes->ended, "refused", (int)processes->refused, "failed", (int)processes->failed,
        "processes", processes_json(processes, true)));
}

/* All, or the largest. */
static int survey(const struct fsroot *root, const struct options *options,
                  struct processes *processes, struct error *error)
{
    int rc = processes_list(root, processes, error);

    if (rc == 0)
        rc = processes_read(root, processes, error);
    if (rc < 0)
        return rc;
    processes_sort(processes, options->key);
    if (options->top > 0 && processes->n > options->top)
        processes->n = options->top;
    return 0;
}

static int look_up(const struct fsroot *root, const char *text, struct process *process,
                   struct error *error)
{
    uint64_t pid;

    if (parse_u64(text, 1, INT_MAX, &pid) < 0)
        return error_set(error, -EINVAL, "'%s' is no PID", text);

    int rc = process_identify(root, (pid_t)pid, process);

    if (rc == 0)
        rc = process_memory_read(root, (pid_t)pid, &process->memory);
    if (rc == -ESRCH)
        return error_set(error, rc, "process %s: there is no such process", text);
    if (rc == -EACCES || rc == -EPERM)
        return error_set(error, rc, "/proc/%s/smaps_rollup: not permitted; run as root", text);
    if (rc == -ENOTSUP)
        return error_set(error, rc, PROCESS_MEMORY_UNTOLD);
    return rc < 0 ? error_set(error, rc, "/proc/%s/smaps_rollup: %s", text, strerror(-rc)) : 0;
}

/* Those of the command line, in its order. */
static int look_up_all(const struct fsroot *root, char **pids, size_t n,
                       struct processes *processes, struct error *error)
{
    int rc = 0;

    *processes = (struct processes){.process = calloc(n, sizeof(*processes->process)), .n = n};
    if (!processes->process)
        return error_set(error, -ENOMEM, "out of memory");
    for (size_t i = 0; rc == 0 && i < n; i++)
        rc = look_up(root, pids[i], &processes->process[i], error);
    return rc;
}

/* That processes end is no news. */
static void tell_failures(const struct processes *processes)
{
    if (processes->refused > 0)
        command_error("not permitted to look at some processes (%zu); run as root",
                      processes->refused);
    if (processes->failed > 0)
        command_error("some processes cannot be looked at (%zu): %s", processes->failed,
                      processes->failure.text);
}

int cmd_smaps(int argc, char **argv)
{
    struct options options = {.top = TOP, .key = PROCESS_PSS};
    struct processes processes = {0};
    struct error error = {0};
    struct fsroot root;
    int rc = parse_options(&options, argc, argv);

    if (rc != 0)
        return rc > 0 ? EXIT_DONE : EXIT_USAGE;
    if (command_root(&root) != EXIT_DONE)
        return EXIT_CANNOT;
    if (optind < argc)
        rc = look_up_all(&root, argv + optind, (size_t)(argc - optind), &processes, &error);
    else
        rc = survey(&root, &options, &processes, &error);
    fsroot_close(&root);
    if (rc == 0 && (options.json ? print_json(&processes) : print_table(&processes)) < 0)
        rc = error_set(&error, -ENOMEM, "out of memory");
    if (rc == 0)
        tell_failures(&processes);
    processes_free(&processes);
    if (rc < 0)
        command_cannot(&error);
    return rc == 0 ? EXIT_DONE : rc == -EINVAL ? EXIT_USAGE : EXIT_CANNOT;
}
