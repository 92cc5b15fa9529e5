// SPDX-License-Identifier: LGPL-2.1-or-later
#include "proc/process_memory.h"

#include "base/cleanup.h"
#include "base/kernel_number.h"
#include "base/page_sizes.h"
#include "base/proc_pid.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

/* Longer than any line: a path has at most PATH_MAX bytes, each written as at most four. */
#define CHUNK ((size_t)32 << 10)

#define ROW(key, member)                                   \
    {                                                      \
        key, offsetof(struct process_memory, member), NULL \
    }
static const struct keyed_field fields[] = {
    ROW("Rss", rss_bytes),
    ROW("Pss", pss_bytes),
    ROW("Referenced", referenced_bytes),
    ROW("Swap", swap_bytes),
    ROW("AnonHugePages", huge_bytes),
    ROW("ShmemPmdMapped", huge_bytes),
    ROW("FilePmdMapped", huge_bytes),
    ROW("Private_Clean", uss_bytes),
    ROW("Private_Dirty", uss_bytes),
    ROW("Pss_Anon", pss_anon_bytes),
    ROW("Pss_File", pss_file_bytes),
    ROW("Pss_Shmem", pss_shmem_bytes),
};
#undef ROW

static uint64_t known_sum(uint64_t a, uint64_t b)
{
    if (a == KEYED_UNKNOWN || b == KEYED_UNKNOWN)
        return a == KEYED_UNKNOWN ? b : a;
    return a + b;
}

void process_memory_add(struct process_memory *all, const struct process_memory *part)
{
    for (size_t at = 0; at < sizeof(*all); at += sizeof(uint64_t)) {
        uint64_t sum = known_sum(process_memory_at(all, at), process_memory_at(part, at));

        memcpy((char *)all + at, &sum, sizeof(sum));
    }
}

/* Adds up the complete lines in text[0 .. have), moves the rest to the beginning, and returns its
 * length. */
static size_t take_lines(char *text, size_t have, struct process_memory *memory)
{
    char *last = memrchr(text, '\n', have);
    struct process_memory part;

    if (!last)
        return have;
    *last = '\0';
    keyed_parse(text, fields, COUNT(fields), &part);
    process_memory_add(memory, &part);

    size_t left = have - (size_t)(last + 1 - text);

    memmove(text, last + 1, left);
    return left;
}

/* Reads in pieces, because smaps of a process with many mappings has megabytes, and the agent has
 * little memory. */
static int sum_up(int fd, struct process_memory *memory)
{
    cleanup_free char *text = malloc(CHUNK);
    size_t have = 0;

    *memory = PROCESS_MEMORY_UNKNOWN;
    while (text && have < CHUNK) {
        ssize_t n = read(fd, text + have, CHUNK - have);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : 0;
        have = take_lines(text, have + (size_t)n, memory);
    }
    return text ? -EBADMSG : -ENOMEM;
}

static char *thread_path(char path[PROCESS_PATH], pid_t pid, pid_t tid, const char *name)
{
    if (tid == pid)
        snprintf(path, PROCESS_PATH, "proc/%d/%s", (int)pid, name);
    else
        snprintf(path, PROCESS_PATH, "proc/%d/task/%d/%s", (int)pid, (int)tid, name);
    return path;
}

static bool has_memory(const struct fsroot *root, pid_t pid, pid_t tid)
{
    struct process_statm statm;

    return process_statm(root, pid, tid, &statm) == 0 && statm.size_bytes > 0;
}

pid_t process_thread(const struct fsroot *root, pid_t pid)
{
    cleanup_free pid_t *tid = NULL;
    struct proc_stat stat = {0};
    char path[PROCESS_PATH];
    ssize_t n = 0;

    if (proc_stat_read(root, pid, &stat) == 0 && stat.state == 'Z')
        n = proc_numbers(root, thread_path(path, pid, pid, "task"), &tid);
    for (ssize_t i = 0; i < n; i++)
        if (tid[i] != pid && has_memory(root, pid, tid[i]))
            return tid[i];
    return pid;
}

char *process_path(const struct fsroot *root, pid_t pid, const char *name, char path[PROCESS_PATH])
{
    return thread_path(path, pid, process_thread(root, pid), name);
}

int process_smaps_walk(const struct fsroot *root, pid_t pid, vma_visitor visit, void *context)
{
    pid_t tid = process_thread(root, pid);

    return tid == pid ? smaps_walk(root, pid, visit, context, NULL)
                      : smaps_walk_thread(root, pid, tid, visit, context, NULL);
}

static int read_file(const struct fsroot *root, const char *path, struct process_memory *memory)
{
    cleanup_close int fd = fsroot_openf(root, O_RDONLY, "%s", path);

    return fd < 0 ? fd : sum_up(fd, memory);
}

static int read_memory(const struct fsroot *root, pid_t pid, pid_t tid,
                       struct process_memory *memory)
{
    char path[PROCESS_PATH];
    int rc = read_file(root, thread_path(path, pid, tid, "smaps_rollup"), memory);

    if (rc == -ENOENT)
        rc = read_file(root, thread_path(path, pid, tid, "smaps"), memory);
    return rc == 0 && memory->rss_bytes == KEYED_UNKNOWN ? -ENODATA : rc;
}

/* Explains a failure: the process does not exist, has no memory, or may not or cannot be read. */
static int explain_failure(const struct fsroot *root, pid_t pid, pid_t tid, int rc,
                           struct process_memory *memory)
{
    struct process_statm statm;
    int there = process_statm(root, pid, tid, &statm);

    if (there < 0)
        return there;
    if (statm.size_bytes > 0)
        return rc == -ENOENT ? -ENOTSUP : rc;
    *memory = (struct process_memory){0};
    return 0;
}

int process_memory_read(const struct fsroot *root, pid_t pid, struct process_memory *memory)
{
    int rc = read_memory(root, pid, pid, memory);
    pid_t tid = rc < 0 ? process_thread(root, pid) : pid;

    if (tid != pid)
        rc = read_memory(root, pid, tid, memory);
    if (rc == 0)
        return 0;
    *memory = PROCESS_MEMORY_UNKNOWN;
    return explain_failure(root, pid, tid, rc, memory);
}

uint64_t process_swap_bytes(const struct fsroot *root, pid_t pid)
{
    static const struct keyed_field field = {"VmSwap", 0, NULL};
    uint64_t swap_bytes;
    char path[PROCESS_PATH];

    if (keyed_read(root, &field, 1, &swap_bytes, thread_path(path, pid, pid, "status")) < 0)
        keyed_read(root, &field, 1, &swap_bytes, process_path(root, pid, "status", path));
    return swap_bytes;
}

int process_statm(const struct fsroot *root, pid_t pid, pid_t tid, struct process_statm *statm)
{
    char text[256], path[PROCESS_PATH];
    ssize_t n = fsroot_read(root, text, sizeof(text), "%s", thread_path(path, pid, tid, "statm"));

    if (n < 0)
        return n == -ENOENT ? -ESRCH : (int)n;
    if (!kernel_u64(kernel_u64(text, &statm->size_bytes), &statm->rss_bytes))
        return -EBADMSG;
    statm->size_bytes *= base_page_bytes();
    statm->rss_bytes *= base_page_bytes();
    return 0;
}
