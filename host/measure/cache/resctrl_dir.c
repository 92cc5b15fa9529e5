// SPDX-License-Identifier: LGPL-2.1-or-later
#include "measure/cache/resctrl_dir.h"

#include "base/cleanup.h"
#include "base/debug.h"
#include "base/guardian.h"
#include "base/open_dir.h"
#include "base/run_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define PREFIX "vmwss-cache-"
#define PATH_BYTES (2 * RESCTRL_NAME_BYTES + 64)

struct resctrl_dir {
    struct fsroot root; /* borrowed */
    struct guardian *guardian;
    char *path; /* shared with the guardian; empty: no group exists */
};

/* The name of our group for a process. */
static void group_name(pid_t pid, char name[RESCTRL_NAME_BYTES])
{
    snprintf(name, RESCTRL_NAME_BYTES, PREFIX "%d", (int)pid);
}

void resctrl_lock_name(pid_t pid, char name[32])
{
    snprintf(name, 32, "cache-%d", (int)pid);
}

static void write_path(char *path, size_t size, const char *control, const char *name)
{
    snprintf(path, size, RESCTRL "%s%s/mon_groups/%s", *control ? "/" : "", control, name);
}

/* rmdir(2) moves the group's threads back to the control group. */
static void remove_path(const struct fsroot *root, const char *path)
{
    if (*path && unlinkat(root->dirfd, path, AT_REMOVEDIR) < 0 && errno != ENOENT)
        debug_log("%s: %s", path, strerror(errno));
}

static void undo(void *shared, void *context)
{
    const struct resctrl_dir *dir = context;

    remove_path(&dir->root, shared);
}

static int make(struct resctrl_dir *dir, const char *control, const char *name, struct error *error)
{
    write_path(dir->path, PATH_BYTES, control, name);
    if (mkdirat(dir->root.dirfd, dir->path, 0755) == 0)
        return 0;

    int rc = -errno;

    error_set(error, rc, "/%s: %s%s", dir->path, strerror(-rc),
              rc == -ENOSPC ? ": the CPU has no monitoring group (RMID) left: remove one"
              : rc == -EACCES || rc == -EPERM ? ": run as root"
                                              : "");
    *dir->path = '\0';
    return rc;
}

int resctrl_dir_make(const struct fsroot *root, const char *control, pid_t pid,
                     struct resctrl_dir **out, struct error *error)
{
    struct resctrl_dir *dir = calloc(1, sizeof(*dir));
    char name[RESCTRL_NAME_BYTES];

    if (!dir)
        return error_set(error, -ENOMEM, "out of memory");
    dir->root = *root;
    group_name(pid, name);

    int rc = guardian_post(&dir->guardian, PATH_BYTES, undo, dir, error);

    if (rc == 0) {
        dir->path = guardian_shared(dir->guardian);
        rc = make(dir, control, name, error);
    }
    if (rc < 0) {
        guardian_dismiss(dir->guardian);
        free(dir);
        return rc;
    }
    *out = dir;
    return 0;
}

const char *resctrl_dir_path(const struct resctrl_dir *dir)
{
    return dir->path;
}

void resctrl_dir_remove(struct resctrl_dir *dir)
{
    if (!dir)
        return;
    remove_path(&dir->root, dir->path);
    guardian_dismiss(dir->guardian);
    free(dir);
}

/* --- leftovers -------------------------------------------------------------------------------- */

int resctrl_each_dir(const struct fsroot *root, const char *path,
                     int (*visit)(const struct fsroot *root, const char *name, void *context),
                     void *context)
{
    cleanup_dir DIR *dir = NULL;
    const struct dirent *entry;
    int rc = open_dir_at(fsroot_openf(root, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, "%s", path), &dir);

    while (rc == 0 && (entry = readdir(dir)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
            strlen(entry->d_name) < RESCTRL_NAME_BYTES &&
            (entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN))
            rc = visit(root, entry->d_name, context);
    return rc;
}

bool resctrl_is_control(const char *name)
{
    return strcmp(name, "info") != 0 && strcmp(name, "mon_groups") != 0 &&
           strcmp(name, "mon_data") != 0;
}

struct sweep {
    const char *control;
    pid_t locked;
};

/* The pid in the name of one of our groups; 0: the name is not ours. */
static pid_t pid_of_name(const char *name)
{
    char again[RESCTRL_NAME_BYTES];
    int pid;

    if (sscanf(name, PREFIX "%d", &pid) != 1 || pid <= 0)
        return 0;
    group_name(pid, again);
    return strcmp(name, again) == 0 ? pid : 0;
}

/* A guardian holds the lock as long as it has something to remove. */
static int sweep_monitor(const struct fsroot *root, const char *name, void *context)
{
    const struct sweep *sweep = context;
    const struct lock_wait no_wait = {.pidfd = -1};
    struct run_lock lock = RUN_LOCK_NONE;
    char lock_name[32], path[PATH_BYTES];
    pid_t pid = pid_of_name(name);

    if (pid == 0)
        return 0;
    resctrl_lock_name(pid, lock_name);
    if (pid != sweep->locked && run_lock_host(&lock, root, lock_name, &no_wait, NULL) < 0)
        return 0;
    write_path(path, sizeof(path), sweep->control, name);
    remove_path(root, path);
    run_lock_release(&lock);
    return 0;
}

static int sweep_control(const struct fsroot *root, const char *name, void *context)
{
    struct sweep sweep = *(const struct sweep *)context;
    char path[PATH_BYTES];

    if (!resctrl_is_control(name))
        return 0;
    sweep.control = name;
    snprintf(path, sizeof(path), RESCTRL "/%s/mon_groups", name);
    resctrl_each_dir(root, path, sweep_monitor, &sweep);
    return 0;
}

void resctrl_dir_sweep(const struct fsroot *root, pid_t pid)
{
    struct sweep sweep = {.control = "", .locked = pid};

    resctrl_each_dir(root, RESCTRL "/mon_groups", sweep_monitor, &sweep);
    resctrl_each_dir(root, RESCTRL, sweep_control, &sweep);
}
