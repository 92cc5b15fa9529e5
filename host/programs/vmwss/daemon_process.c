// SPDX-License-Identifier: LGPL-2.1-or-later
#include "programs/vmwss/daemon_process.h"

#include "base/cleanup.h"
#include "base/proc_pid.h"
#include "programs/vmwssd/config/options.h"

#include <getopt.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define NAME "vmwssd"
#define SCANNER_NAME "vmwssd-scanner"
#define MAX_LOCKS_BYTES (16UL << 20)
#define MAX_CMDLINE_BYTES (64UL << 10)
#define MAX_ARGS 256

/* --- the process ------------------------------------------------------------------------------ */

static bool is_named(const struct fsroot *root, pid_t pid, const char *name)
{
    char comm[64];

    return fsroot_read(root, comm, sizeof(comm), "proc/%d/comm", (int)pid) >= 0 &&
           strcmp(comm, name) == 0;
}

uint64_t daemon_process_shm_inode(const char *database)
{
    char resolved[PATH_MAX];
    char path[PATH_MAX + 8];
    struct stat status;

    if (!realpath(database, resolved))
        return 0;
    snprintf(path, sizeof(path), "%s-shm", resolved);
    return stat(path, &status) == 0 ? status.st_ino : 0;
}

bool daemon_process_parse_lock(const char *line, uint64_t inode, pid_t *pid)
{
    unsigned long long found;
    int owner;

    /* A line with "->" is a process that waits for the lock and does not hold it. */
    if (sscanf(line, "%*d: POSIX %*s %*s %d %*x:%*x:%llu", &owner, &found) != 2 || owner <= 0 ||
        found != inode)
        return false;
    *pid = owner;
    return true;
}

/* Returns 0 if no vmwssd holds a lock of it. */
static pid_t find_writer(const struct fsroot *root, uint64_t inode)
{
    cleanup_free char *text = NULL;
    char *rest = NULL;
    pid_t pid;

    if (inode == 0 || fsroot_read_all(root, &text, MAX_LOCKS_BYTES, "proc/locks") < 0)
        return 0;
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        if (daemon_process_parse_lock(line, inode, &pid) && is_named(root, pid, NAME))
            return pid;
    return 0;
}

/* Returns the first process with that name; a negative errno. */
static pid_t find_by_name(const struct fsroot *root)
{
    cleanup_free pid_t *pids = NULL;
    ssize_t n = proc_numbers(root, "proc", &pids);

    for (ssize_t i = 0; i < n; i++)
        if (is_named(root, pids[i], NAME))
            return pids[i];
    return n < 0 ? (pid_t)n : 0;
}

static pid_t find_scanner(const struct fsroot *root, pid_t pid)
{
    char text[4096];
    char *rest = NULL;

    if (fsroot_read(root, text, sizeof(text), "proc/%d/task/%d/children", (int)pid, (int)pid) < 0)
        return 0;
    for (char *word = strtok_r(text, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        pid_t child = (pid_t)strtol(word, NULL, 10);

        if (child > 0 && is_named(root, child, SCANNER_NAME))
            return child;
    }
    return 0;
}

/* --- since when, and at what cost ------------------------------------------------------------- */

static double up_s(const struct fsroot *root)
{
    char text[128];

    return fsroot_read(root, text, sizeof(text), "proc/uptime") < 0 ? 0 : strtod(text, NULL);
}

static double cpu_of(const struct proc_stat *stat)
{
    return (double)(stat->utime_ticks + stat->stime_ticks) / (double)sysconf(_SC_CLK_TCK);
}

static void read_times(const struct fsroot *root, struct status_daemon *daemon)
{
    struct proc_stat stat;

    daemon->cpu_s = -1;
    if (proc_stat_read(root, daemon->pid, &stat) < 0)
        return;
    daemon->age_s = fmax(0, up_s(root) - (double)stat.start_ticks / (double)sysconf(_SC_CLK_TCK));
    double cpu_s = cpu_of(&stat);

    if (daemon->scanner_pid && proc_stat_read(root, daemon->scanner_pid, &stat) == 0)
        daemon->cpu_s = cpu_s + cpu_of(&stat);
}

/* --- its budget ------------------------------------------------------------------------------- */

static int split_words(char *cmdline, size_t bytes, char **argv)
{
    int argc = 0;

    for (char *at = cmdline; at < cmdline + bytes && argc < MAX_ARGS; at += strlen(at) + 1)
        argv[argc++] = at;
    argv[argc] = NULL;
    return argc;
}

/* vmwssd has parsed this command line before: nothing is printed about it here. Only the process
 * that writes the history counts: any user may call a program vmwssd, and name a FIFO as its
 * configuration. */
static void read_budget(const struct fsroot *root, struct status_daemon *daemon)
{
    cleanup_free char *cmdline = NULL;
    ssize_t n = fsroot_read_all(root, &cmdline, MAX_CMDLINE_BYTES, "proc/%d/cmdline",
                                (int)daemon->pid);
    char *argv[MAX_ARGS + 1];
    struct options options;
    struct config config;
    struct error unreadable = {0};

    if (n <= 0)
        return;

    int argc = split_words(cmdline, (size_t)n, argv);

    optind = 0; /* getopt_long(3): starts over */
    opterr = 0;
    if (options_parse(&options, argc, argv) != 0 ||
        options_config(&options, &config, &unreadable) < 0)
        return;
    daemon->budget = config.budget;
    if (options.path || access(CONFIG_DEFAULT_PATH, R_OK) == 0)
        snprintf(daemon->config, sizeof(daemon->config), "%s",
                 options.path ? options.path : CONFIG_DEFAULT_PATH);
}

int daemon_process_find(const struct fsroot *root, uint64_t shm_inode, struct status_daemon *daemon,
                        struct error *error)
{
    *daemon = (struct status_daemon){.pid = find_writer(root, shm_inode)};
    daemon->writes = daemon->pid > 0;
    if (!daemon->writes)
        daemon->pid = find_by_name(root);
    if (daemon->pid < 0)
        return error_set(error, daemon->pid, "/proc: %s", strerror(-daemon->pid));
    if (daemon->pid == 0)
        return 0;
    daemon->scanner_pid = find_scanner(root, daemon->pid);
    read_times(root, daemon);
    if (daemon->writes)
        read_budget(root, daemon);
    return 0;
}
