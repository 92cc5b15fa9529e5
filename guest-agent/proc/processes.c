// SPDX-License-Identifier: LGPL-2.1-or-later
#include "proc/processes.h"

#include "base/cleanup.h"
#include "base/proc_pid.h"
#include "base/text/json.h"
#include "proc/hidden.h"
#include "proc/keyed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void processes_free(struct processes *processes)
{
    free(processes->process);
    *processes = (struct processes){0};
}

int process_identify(const struct fsroot *root, pid_t pid, struct process *process)
{
    char text[2048];
    struct proc_stat stat = {0};
    struct process_statm statm = {0};
    ssize_t n = fsroot_read(root, text, sizeof(text), "proc/%d/stat", (int)pid);

    if (n < 0)
        return n == -ENOENT ? process_absence(root, pid) : (int)n;

    int rc = proc_stat_parse(text, &stat);

    if (rc == 0)
        rc = proc_stat_name(text, process->name, sizeof(process->name));
    process->pid = pid;
    process->thread = stat.state == 'Z' ? process_thread(root, pid) : pid;
    if (rc == 0)
        rc = process_statm(root, pid, process->thread, &statm);
    process->start_ticks = stat.start_ticks;
    process->size_bytes = statm.size_bytes;
    process->memory = PROCESS_MEMORY_UNKNOWN;
    process->memory.rss_bytes = statm.rss_bytes;
    return rc;
}

int process_check(const struct fsroot *root, const struct process *process)
{
    struct proc_stat stat = {0};
    int rc = proc_stat_read(root, process->pid, &stat);

    return rc == 0 && stat.start_ticks != process->start_ticks ? -ESRCH : rc;
}

void processes_count_failure(struct processes *processes, pid_t pid, int rc)
{
    if (rc == -ESRCH)
        processes->ended++;
    else if (rc == -EACCES || rc == -EPERM)
        processes->refused++;
    else if (processes->failed++ == 0)
        error_set(&processes->failure, rc, "process %d: %s", (int)pid, strerror(-rc));
}

int processes_list(const struct fsroot *root, struct processes *processes, struct error *error)
{
    cleanup_free pid_t *pid = NULL;
    ssize_t n = proc_numbers(root, "proc", &pid);

    *processes = (struct processes){.hidden = processes_hidden(root)};
    if (n < 0)
        return error_set(error, (int)n, "/proc: %s", strerror((int)-n));
    if (n == 0 && root->live)
        return error_set(error, -ENOENT, "/proc: " PROC_NOT_MOUNTED);
    processes->process = calloc(n ? (size_t)n : 1, sizeof(*processes->process));
    if (!processes->process)
        return error_set(error, -ENOMEM, "out of memory");
    for (ssize_t i = 0; i < n; i++) {
        struct process *process = &processes->process[processes->n];
        int rc = process_identify(root, pid[i], process);

        if (rc < 0)
            processes_count_failure(processes, pid[i], rc);
        else if (process->size_bytes > 0) /* otherwise it is a kernel thread or a zombie */
            processes->n++;
    }
    return 0;
}

void processes_drop_self(const struct fsroot *root, struct processes *processes)
{
    pid_t self = process_self(root);
    size_t kept = 0;

    for (size_t i = 0; i < processes->n; i++)
        if (processes->process[i].pid != self)
            processes->process[kept++] = processes->process[i];
    processes->n = kept;
}

int processes_read(const struct fsroot *root, struct processes *processes, struct error *error)
{
    size_t kept = 0;
    int rc = 0;

    processes_find_sharing(root, processes);
    for (size_t i = 0; i < processes->n && rc != -ENOTSUP; i++) {
        struct process process = processes->process[i];
        uint64_t rss_bytes = process.memory.rss_bytes;

        process.counted = process_is_counted(&process, processes->process, kept);
        rc = process.counted ? 0 : process_memory_read(root, process.pid, &process.memory);
        if (rc < 0) {
            processes_count_failure(processes, process.pid, rc);
            process.memory.rss_bytes = rss_bytes;
            process.memory.swap_bytes = process_swap_bytes(root, process.pid);
        }
        if (rc != -ESRCH)
            processes->process[kept++] = process;
    }
    processes->n = kept;
    if (rc != -ENOTSUP)
        return 0;
    return error_set(error, rc, PROCESS_MEMORY_UNTOLD);
}

uint64_t process_rank(const struct process *process, enum process_key key)
{
    uint64_t value = process_memory_at(&process->memory, key);

    if (value == KEYED_UNKNOWN && key != PROCESS_SWAP && !process->counted)
        value = process->memory.rss_bytes;
    return value == KEYED_UNKNOWN ? 0 : value;
}

static int by_value(const void *a, const void *b, void *context)
{
    const struct process *x = a;
    const struct process *y = b;
    const enum process_key *key = context;
    uint64_t of_x = process_rank(x, *key);
    uint64_t of_y = process_rank(y, *key);

    return of_x == of_y ? (x->pid > y->pid) - (x->pid < y->pid) : (of_x < of_y) - (of_x > of_y);
}

void processes_sort(struct processes *processes, enum process_key key)
{
    if (processes->n > 0)
        qsort_r(processes->process, processes->n, sizeof(*processes->process), by_value, &key);
}

static uint64_t rank(const struct process *process)
{
    return process_rank(process, PROCESS_PSS);
}

/* Moves the last element of process[0 .. n) up to its place by rank. */
static void settle(struct process *process, size_t n)
{
    struct process last = process[n - 1];
    size_t at = n - 1;

    for (; at > 0 && rank(&process[at - 1]) < rank(&last); at--)
        process[at] = process[at - 1];
    process[at] = last;
}

/* Swapped-out pages have page table entries, too, and cost as much as resident ones. Returns -ESRCH
 * if the process has ended. */
static int read_within(const struct fsroot *root, uint64_t *walk_bytes, struct process *process)
{
    struct process_memory cheap = process->memory;
    uint64_t cost = cheap.rss_bytes;
    int rc;

    cheap.swap_bytes = process_swap_bytes(root, process->pid);
    cost += cheap.swap_bytes == KEYED_UNKNOWN ? 0 : cheap.swap_bytes;
    if (cost > *walk_bytes) {
        process->memory = cheap;
        return 0;
    }
    *walk_bytes -= cost;
    rc = process_memory_read(root, process->pid, &process->memory);
    if (rc < 0)
        process->memory = cheap;
    return rc;
}

int processes_largest(const struct fsroot *root, size_t n, uint64_t walk_bytes,
                      struct processes *processes, struct error *error)
{
    int rc = processes_list(root, processes, error);
    size_t ranked = 0;

    if (rc < 0)
        return rc;
    processes_find_sharing(root, processes);
    processes_sort(processes, PROCESS_RSS);
    for (size_t i = 0; i < processes->n; i++) {
        struct process next = processes->process[i];

        if (next.shares_with)
            continue;
        if (ranked >= n && (n == 0 || next.memory.rss_bytes <= rank(&processes->process[n - 1])))
            break;
        if (read_within(root, &walk_bytes, &next) == -ESRCH)
            continue;
        processes->process[ranked++] = next;
        settle(processes->process, ranked);
    }
    processes->n = ranked < n ? ranked : n;
    return 0;
}

static json_t *process_json(const struct process *process, bool referenced)
{
    json_t *object = json_pack("{si ss}", "pid", (int)process->pid, "name", process->name);

    json_set_known(object, "rss_bytes", process->memory.rss_bytes);
    json_set_known(object, "pss_bytes", process->memory.pss_bytes);
    json_set_known(object, "swap_bytes", process->memory.swap_bytes);
    if (referenced)
        json_set_known(object, "referenced_bytes", process->memory.referenced_bytes);
    return object;
}

json_t *processes_json(const struct processes *processes, bool referenced)
{
    json_t *array = json_array();

    for (size_t i = 0; array && i < processes->n; i++)
        json_array_append_new(array, process_json(&processes->process[i], referenced));
    return array;
}
