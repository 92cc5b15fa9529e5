// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file cmd_smaps.c  vmwss-guest smaps: the memory of processes. */
#include "base/parse.h"
#include "command/command.h"
#include "command/smaps_output.h"
#include "proc/hidden.h"
#include "proc/rights.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#define TOP 20

struct options {
    struct smaps_output output;
    int sort; /* index of the word */
    bool all;
    bool named; /* PIDs were given */
};

static const char *const sort_words[] = {"pss", "rss", "uss", "referenced", "swap", NULL};
static const enum process_key keys[] = {PROCESS_PSS, PROCESS_RSS, PROCESS_USS, PROCESS_REFERENCED,
                                        PROCESS_SWAP};
/* In the order of enum process_grouping. */
static const char *const by_words[] = {"", "program", "user", NULL};

#define AT(member) offsetof(struct options, member)
static const struct option_line lines[] = {
    {OPTION_FLAG, 'a', "all", NULL, AT(all), .help = "all processes that have memory of their own"},
    {OPTION_COUNT, 'n', "top", "N", AT(output.top), .help = "the N largest of them (20)", 1,
     INT_MAX, "a number of processes"},
    {OPTION_WORD, 's', "sort", "KEY", AT(sort), .help = "rss, pss, uss, referenced or swap (pss)",
     .words = sort_words, .expect = "rss, pss, uss, referenced or swap"},
    {OPTION_FLAG, 0, "split", NULL, AT(output.split),
     .help = "also PSS by what it is: anonymous, pages of files, shared memory (Linux 5.3)"},
    {OPTION_WORD, 0, "by", "GROUP", AT(output.by),
     .help = "sums instead of processes: of each program or of each user", .words = by_words,
     .expect = "program or user"},
    {OPTION_FLAG, 'j', "json", NULL, AT(output.json),
     .help = "one JSON object, schema vmwss.guest_smaps.v1"},
    {.type = OPTION_END},
};
static const struct command_options command_line = {
    .usage =
        "Usage: vmwss-guest smaps [OPTIONS] [PID...]\n\n"
        "The memory of processes, by their page tables: RSS, PSS (each page divided by the number of its mappings),\n"
        "USS (pages that no other process maps), REF (touched since that mark was last cleared; see vmwss-guest wss) and swap.\n"
        "Without PIDs the 20 largest.\n",
    .lines = lines,
    .after =
        "Page tables are walked for it: some ms for each GiB. What may not be looked at is shown by its RSS and swap alone,\n"
        "and stands where its RSS belongs.\n",
};

static bool is_among(const struct processes *processes, pid_t pid)
{
    for (size_t i = 0; i < processes->n; i++)
        if (processes->process[i].pid == pid)
            return true;
    return false;
}

/* A process that does not exist is reported, and the others are shown. A process named twice counts
 * once. */
static int add_named(const struct fsroot *root, const char *text, struct processes *processes)
{
    uint64_t pid;

    if (parse_u64(text, 1, INT_MAX, &pid) < 0)
        return command_refuse("'%s' is no PID", text);
    if (is_among(processes, (pid_t)pid))
        return 0;

    int rc = process_identify(root, (pid_t)pid, &processes->process[processes->n]);

    if (rc == 0) {
        processes->n++;
        return 0;
    }
    processes_count_failure(processes, (pid_t)pid, rc);
    if (rc == -ESRCH)
        command_error("process %s: there is no such process", text);
    return 0;
}

/* Lists the processes of the command line, in its order. */
static int list_named(const struct fsroot *root, char **pids, size_t n, struct processes *processes,
                      struct error *error)
{
    int rc = 0;

    processes->process = calloc(n, sizeof(*processes->process));
    if (!processes->process)
        return error_set(error, -ENOMEM, "out of memory");
    for (size_t i = 0; rc == 0 && i < n; i++)
        rc = add_named(root, pids[i], processes);
    return rc;
}

/* Processes that were not named may end without a message. */
static void tell_failures(const struct processes *processes)
{
    if (processes->refused > 0)
        command_error("not permitted to look at some processes (%zu); %s", processes->refused,
                      RIGHTS_REMEDY(CAP_SYS_PTRACE));
    if (processes->hidden)
        command_error(PROCESSES_HIDDEN ": they are not among these; %s",
                      RIGHTS_REMEDY(CAP_SYS_PTRACE));
    if (processes->sharing_unknown)
        command_error(MEMORY_SHARING_UNKNOWN);
    if (processes->failed > 0)
        command_error("some processes cannot be looked at (%zu): %s", processes->failed,
                      processes->failure.text);
}

static int show_processes(const struct fsroot *root, const struct options *options,
                          struct processes *processes, struct error *error)
{
    struct process_groups groups = {0};
    bool grouped = options->output.by != GROUP_NONE;
    int rc = 0;

    if (grouped)
        rc = process_groups_make(root, processes, options->output.by, keys[options->sort], &groups);
    if (rc == 0 && (processes->n > 0 || options->output.json))
        rc = smaps_output_print(&options->output, processes, grouped ? &groups : NULL);
    process_groups_free(&groups);
    return rc < 0 ? error_set(error, rc, "out of memory") : 0;
}

static int survey(const struct fsroot *root, const struct options *options, char **pids, size_t n,
                  struct processes *processes, struct error *error)
{
    int rc = options->named ? list_named(root, pids, n, processes, error)
                            : processes_list(root, processes, error);

    if (rc == 0)
        rc = processes_read(root, processes, error);
    if (rc == 0 && !options->named)
        processes_sort(processes, keys[options->sort]);
    return rc == 0 ? show_processes(root, options, processes, error) : rc;
}

/* If something is unknown about a process that was named, the command fails. */
static bool is_complete(const struct options *options, const struct processes *processes)
{
    return !options->named || processes->ended + processes->refused + processes->failed == 0;
}

static int show_smaps(const struct fsroot *root, void *at, char **pids, struct error *error)
{
    struct options *options = at;
    struct processes processes = {0};
    size_t n = 0;

    while (pids[n])
        n++;
    options->named = n > 0;
    if (options->named || options->all)
        options->output.top = 0;

    int rc = survey(root, options, pids, n, &processes, error);

    if (rc == 0)
        tell_failures(&processes);
    if (rc == 0 && !is_complete(options, &processes))
        rc = EXIT_CANNOT;
    processes_free(&processes);
    return rc;
}

int cmd_smaps(int argc, char **argv)
{
    return command_run(&command_line, &(struct options){.output.top = TOP}, argc, argv, show_smaps);
}
