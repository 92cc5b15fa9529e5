// SPDX-License-Identifier: LGPL-2.1-or-later
#include "measure/kernel/memcg.h"

#include "base/cleanup.h"
#include "base/kernel_number.h"
#include "base/open_dir.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define MAX_TEXT (8UL << 20)
#define MAX_PROCESSES 4096
#define MAX_DEPTH 8

/* --- finding the group ------------------------------------------------------------------------ */

/* Takes the path from the line of /proc/PID/cgroup that contains @p begin: "0::/a/b",
 * "4:memory:/a/b". */
static bool take_path(const char *text, const char *begin, struct memcg *memcg)
{
    const char *at = strstr(text, begin);

    if (!at)
        return false;
    at += strlen(begin);
    snprintf(memcg->path, sizeof(memcg->path), "%.*s", (int)strcspn(at, "\n"), at);
    return *memcg->path == '/';
}

static bool has_stat(const struct fsroot *root, const char *mount, const char *path)
{
    return fsroot_exists(root, "sys/fs/cgroup%s%s/memory.stat", mount, path);
}

bool memcg_find(const struct fsroot *root, pid_t pid, struct memcg *out)
{
    cleanup_free char *text = NULL;

    if (fsroot_read_all(root, &text, MAX_TEXT, "proc/%d/cgroup", (int)pid) < 0)
        return false;
    out->mount = "/memory";
    if (!take_path(text, ":memory:", out)) {
        out->mount = "";
        if (!take_path(text, "0::", out))
            return false;
    }
    while (!has_stat(root, out->mount, out->path)) {
        char *slash = strrchr(out->path, '/');

        if (!out->path[1])
            return false;
        slash[slash == out->path] = '\0';
    }
    return true;
}

/* --- its counters ----------------------------------------------------------------------------- */

uint64_t memcg_scanned_pages(const struct fsroot *root, const struct memcg *memcg)
{
    cleanup_free char *text = NULL;

    if (fsroot_read_all(root, &text, MAX_TEXT, "sys/fs/cgroup%s%s/memory.stat", memcg->mount,
                        memcg->path) < 0)
        return 0;
    return kernel_line_u64(text, "pgscan") + kernel_line_u64(text, "pgrefill");
}

/* --- its processes ---------------------------------------------------------------------------- */

struct census {
    const struct fsroot *root;
    const char *mount;
    pid_t pid; /* the process to leave out */
    uint64_t bytes;
    unsigned n;
    struct memcg_process largest;
};

static void add_process(struct census *census, pid_t pid)
{
    char text[8192];
    struct memcg_process process = {.pid = pid};

    census->n++;
    if (pid <= 0 || pid == census->pid ||
        fsroot_read(census->root, text, sizeof(text), "proc/%d/status", (int)pid) < 0)
        return;
    process.bytes = (kernel_line_u64(text, "RssAnon:") + kernel_line_u64(text, "RssShmem:")) * 1024;
    census->bytes += process.bytes;
    if (process.bytes > census->largest.bytes)
        census->largest = process;
}

/* The processes of a threaded group are listed in the file of its parent. */
static int add_processes(struct census *census, const char *path)
{
    cleanup_free char *text = NULL;

    if (fsroot_read_all(census->root, &text, MAX_TEXT, "sys/fs/cgroup%s%s/cgroup.procs",
                        census->mount, path) < 0)
        return 0;
    for (const char *line = text; *line; line = kernel_next_line(line)) {
        if (census->n >= MAX_PROCESSES)
            return -E2BIG;
        add_process(census, (pid_t)strtol(line, NULL, 10));
    }
    return 0;
}

static int add_group(struct census *census, const char *path, unsigned depth);

static int add_below(struct census *census, const char *path, const char *name, unsigned depth)
{
    char below[4096];

    if (*name == '.' || (size_t)snprintf(below, sizeof(below), "%s/%s",
                                         strcmp(path, "/") ? path : "", name) >= sizeof(below))
        return 0;
    return has_stat(census->root, census->mount, below) ? 0 : add_group(census, below, depth + 1);
}

static int add_group(struct census *census, const char *path, unsigned depth)
{
    cleanup_dir DIR *directory = NULL;
    const struct dirent *entry;
    int rc = add_processes(census, path);

    if (rc == 0 && depth < MAX_DEPTH)
        fsroot_opendir(census->root, &directory, "sys/fs/cgroup%s%s", census->mount, path);
    while (rc == 0 && directory && (entry = readdir(directory)))
        if (entry->d_type == DT_DIR)
            rc = add_below(census, path, entry->d_name, depth);
    return rc;
}

int64_t memcg_others(const struct fsroot *root, const struct memcg *memcg, pid_t pid,
                     struct memcg_process *largest)
{
    struct census census = {.root = root, .mount = memcg->mount, .pid = pid};
    int rc = add_group(&census, memcg->path, 0);

    *largest = census.largest;
    return rc < 0 ? rc : (int64_t)census.bytes;
}
