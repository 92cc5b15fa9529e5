// SPDX-License-Identifier: LGPL-2.1-or-later
#include "measure/kernel/host_fix.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/run_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <unistd.h>

#define STATE_FILE "doctor.fixes"
#define STATE_BYTES 4000
#define VALUE_BYTES 64
#define MOUNTS_BYTES ((size_t)4 << 20)
#define NOT_MOUNTED "-"

struct fix {
    const char *what;
    const char *path;
    const char *type;       /* of a file system; NULL: a setting */
    const char *bad, *good; /* values of a setting */
    bool by_hand;
    const char *command, *purpose;
};

static const struct fix fixes[] = {
    {.what = "debugfs",
     .path = "sys/kernel/debug",
     .type = "debugfs",
     .command = "mount -t debugfs debugfs /sys/kernel/debug",
     .purpose = "mglru reads generations there, and KVM's counters are there"},
    {.what = "tracefs",
     .path = "sys/kernel/tracing",
     .type = "tracefs",
     .command = "mount -t tracefs tracefs /sys/kernel/tracing",
     .purpose = "zap and pageout see KVM's page faults by its tracepoints"},
    {.what = "damon_stat",
     .path = "sys/module/damon_stat/parameters/enabled",
     .bad = "Y",
     .good = "N",
     .command = "echo N > /sys/module/damon_stat/parameters/enabled",
     .purpose = "it clears accessed bits, and keeps the method damon from working"},
    {.what = "numa-balancing",
     .path = "proc/sys/kernel/numa_balancing",
     .bad = "1",
     .good = "0",
     .by_hand = true,
     .command = "sysctl kernel.numa_balancing=0",
     .purpose = "it unmaps pages; without it guests may run slower on a host of several nodes"},
    {.what = "ksm",
     .path = "sys/kernel/mm/ksm/run",
     .bad = "1",
     .good = "0",
     .by_hand = true,
     .command = "echo 0 > /sys/kernel/mm/ksm/run",
     .purpose = "idle cannot measure merged pages; without it guests may need more memory"},
};

_Static_assert(COUNT(fixes) <= HOST_FIX_MAX, "a line for each");

static const struct fix *fix_of(const char *what)
{
    for (size_t i = 0; i < COUNT(fixes); i++)
        if (!strcmp(fixes[i].what, what))
            return &fixes[i];
    return NULL;
}

/* --- the kernel ------------------------------------------------------------------------------- */

static int mount_here(const struct fsroot *root, const char *type, const char *path)
{
    char at[VALUE_BYTES];

    if (!root->live)
        return -EINVAL;
    snprintf(at, sizeof(at), "/%s", path);
    return mount(HOST_FIX_SOURCE, at, type, MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=700") < 0
               ? -errno
               : 0;
}

static int unmount_here(const struct fsroot *root, const char *path)
{
    char at[VALUE_BYTES];

    if (!root->live)
        return -EINVAL;
    snprintf(at, sizeof(at), "/%s", path);
    return umount2(at, UMOUNT_NOFOLLOW) < 0 ? -errno : 0;
}

static const struct host_fix_calls kernel_calls = {mount_here, unmount_here};

/* Reads the source of what is mounted at the path, NOT_MOUNTED if nothing is: proc(5). The last
 * mount hides those before it. */
static int read_source(const struct fsroot *root, const struct fix *fix, char value[VALUE_BYTES])
{
    cleanup_free char *text = NULL;
    char *rest;
    ssize_t n = fsroot_read_all(root, &text, MOUNTS_BYTES, "proc/self/mountinfo");

    if (n < 0)
        return (int)n;
    snprintf(value, VALUE_BYTES, NOT_MOUNTED);
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        char at[256], source[VALUE_BYTES];
        const char *after = strstr(line, " - ");

        if (sscanf(line, "%*s %*s %*s %*s /%255s", at) == 1 && !strcmp(at, fix->path) && after &&
            sscanf(after, " - %*s %63s", source) == 1)
            snprintf(value, VALUE_BYTES, "%s", source);
    }
    return 0;
}

static int read_value(const struct fsroot *root, const struct fix *fix, char value[VALUE_BYTES])
{
    if (fix->type)
        return read_source(root, fix, value);

    ssize_t n = fsroot_read(root, value, VALUE_BYTES, "%s", fix->path);

    return n < 0 ? (int)n : 0;
}

static int write_setting(const struct fsroot *root, const struct fix *fix, const char *value)
{
    cleanup_close int fd = fsroot_openf(root, O_WRONLY | O_TRUNC, "%s", fix->path);

    if (fd < 0)
        return fd;
    return write(fd, value, strlen(value)) < 0 ? -errno : 0;
}

static const char *good_value(const struct fix *fix)
{
    return fix->type ? HOST_FIX_SOURCE : fix->good;
}

static bool is_known(const struct fsroot *root, const struct fix *fix)
{
    cleanup_free char *known = NULL;
    char word[VALUE_BYTES];

    if (!fix->type)
        return true;
    snprintf(word, sizeof(word), "\t%s\n", fix->type);
    return fsroot_exists(root, "%s", fix->path) &&
           fsroot_read_all(root, &known, MOUNTS_BYTES, "proc/filesystems") > 0 &&
           strstr(known, word);
}

static bool is_needed(const struct fsroot *root, const struct fix *fix, char before[VALUE_BYTES])
{
    return read_value(root, fix, before) == 0 &&
           !strcmp(before, fix->type ? NOT_MOUNTED : fix->bad) && is_known(root, fix);
}

/* --- what was changed ------------------------------------------------------------------------- */

struct change {
    const struct fix *fix;
    char before[VALUE_BYTES];
};

/* Reads the lines "NAME BEFORE". A line that was cut by kill -9 precedes no change. */
static size_t read_changes(const struct fsroot *root, struct change changes[HOST_FIX_MAX])
{
    _Static_assert(COUNT(fixes) * 2 * VALUE_BYTES < STATE_BYTES, "each fix has one line");
    char text[STATE_BYTES];
    char *rest;
    size_t n = 0;

    if (fsroot_read(root, text, sizeof(text), RUN_DIR "/" STATE_FILE) < 0)
        return 0;
    for (char *line = strtok_r(text, "\n", &rest); line && n < HOST_FIX_MAX;
         line = strtok_r(NULL, "\n", &rest)) {
        char what[VALUE_BYTES];

        if (sscanf(line, "%63s %63s", what, changes[n].before) != 2 || !fix_of(what))
            continue;
        changes[n].fix = fix_of(what);
        n++;
    }
    return n;
}

static bool was_changed(const struct change *changes, size_t n, const struct fix *fix)
{
    for (size_t i = 0; i < n; i++)
        if (changes[i].fix == fix)
            return true;
    return false;
}

/* Opens the file of changes, and locks it until it is closed. */
static int open_state(const struct fsroot *root, struct error *error)
{
    cleanup_close int dir_fd = run_dir_open(root);
    int fd = dir_fd < 0 ? dir_fd : run_dir_create(dir_fd, STATE_FILE);

    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
        return fd;
    if (fd >= 0) {
        close(fd);
        return error_set(error, -EBUSY, "another vmwss doctor is at work");
    }
    return error_set(error, fd, "/" RUN_DIR "/" STATE_FILE ": %s", strerror(-fd));
}

static int note(int fd, const struct fix *fix, const char *before)
{
    char line[2 * VALUE_BYTES];
    const int n = snprintf(line, sizeof(line), "%s %s\n", fix->what, before);

    if (lseek(fd, 0, SEEK_END) < 0 || write(fd, line, (size_t)n) != n || fsync(fd) < 0)
        return errno ? -errno : -EIO;
    return 0;
}

/* --- the lines -------------------------------------------------------------------------------- */

static struct host_fix_line line_of(const struct fix *fix, enum host_fix_state state)
{
    return (struct host_fix_line){
        .what = fix->what, .state = state, .command = fix->command, .purpose = fix->purpose};
}

size_t host_fix_list(const struct fsroot *root, struct host_fix_line lines[HOST_FIX_MAX])
{
    struct change changes[HOST_FIX_MAX];
    const size_t n_changes = read_changes(root, changes);
    size_t n = 0;

    for (size_t i = 0; i < COUNT(fixes); i++) {
        const struct fix *fix = &fixes[i];
        char value[VALUE_BYTES];

        if (is_needed(root, fix, value))
            lines[n++] = line_of(fix, fix->by_hand ? HOST_FIX_BY_HAND : HOST_FIX_NEEDED);
        else if (was_changed(changes, n_changes, fix) && read_value(root, fix, value) == 0)
            lines[n++] = line_of(fix,
                                 strcmp(value, good_value(fix)) ? HOST_FIX_LEFT : HOST_FIX_APPLIED);
    }
    return n;
}

/* A fix that was applied, and taken back by others, has its line. */
static int make_change(const struct fsroot *root, const struct host_fix_calls *calls, int state_fd,
                       const struct fix *fix)
{
    struct change changes[HOST_FIX_MAX];
    const size_t n = read_changes(root, changes);
    char before[VALUE_BYTES];
    int rc = is_needed(root, fix, before) ? 0 : -EAGAIN;

    if (rc == 0 && !was_changed(changes, n, fix))
        rc = note(state_fd, fix, before);
    if (rc < 0)
        return rc;
    return fix->type ? calls->mount(root, fix->type, fix->path)
                     : write_setting(root, fix, fix->good);
}

static void keep_first(struct error *error, const struct error *other)
{
    if (!error->code)
        *error = *other;
}

static void set_outcome(struct host_fix_line *line, int rc, enum host_fix_state state,
                        struct error *error)
{
    line->state = rc < 0 ? HOST_FIX_FAILED : state;
    if (rc == 0)
        return;
    error_set(&line->error, rc, "%s: %s: %s", line->what, line->command, strerror(-rc));
    keep_first(error, &line->error);
}

int host_fix_apply(const struct fsroot *root, const struct host_fix_calls *calls,
                   struct host_fix_line lines[HOST_FIX_MAX], size_t *n, struct error *error)
{
    cleanup_close int fd = open_state(root, error);
    struct error first = {0};

    if (fd < 0)
        return fd;
    *n = host_fix_list(root, lines);
    for (size_t i = 0; i < *n; i++)
        if (lines[i].state == HOST_FIX_NEEDED)
            set_outcome(&lines[i],
                        make_change(root, calls ? calls : &kernel_calls, fd, fix_of(lines[i].what)),
                        HOST_FIX_APPLIED, &first);
    return first.code ? error_set(error, first.code, "%s", first.text) : 0;
}

/* If kill -9 came between the line and the change, there is nothing to restore. */
static int restore(const struct fsroot *root, const struct host_fix_calls *calls,
                   const struct change *change, enum host_fix_state *state)
{
    const struct fix *fix = change->fix;
    char value[VALUE_BYTES];
    int rc = read_value(root, fix, value);

    if (rc < 0)
        return rc;
    *state = HOST_FIX_UNDONE;
    if (!strcmp(value, change->before))
        return 0;
    if (strcmp(value, good_value(fix)) != 0) {
        *state = HOST_FIX_LEFT;
        return 0;
    }
    return fix->type ? calls->unmount(root, fix->path) : write_setting(root, fix, change->before);
}

/* The file is emptied, not removed: another process may wait for its lock. */
int host_fix_undo(const struct fsroot *root, const struct host_fix_calls *calls,
                  struct host_fix_line lines[HOST_FIX_MAX], size_t *n, struct error *error)
{
    struct change changes[HOST_FIX_MAX];
    struct error first = {0};
    cleanup_close int fd = open_state(root, error);

    if (fd < 0)
        return fd;
    *n = read_changes(root, changes);
    for (size_t i = 0; i < *n; i++) {
        const struct change *change = &changes[*n - 1 - i];
        enum host_fix_state state = HOST_FIX_UNDONE;
        int rc;

        lines[i] = line_of(change->fix, state);
        rc = restore(root, calls ? calls : &kernel_calls, change, &state);
        set_outcome(&lines[i], rc, state, &first);
    }
    if (first.code)
        return error_set(error, first.code, "%s", first.text);
    return ftruncate(fd, 0) < 0
               ? error_set(error, -errno, "/" RUN_DIR "/" STATE_FILE ": %s", strerror(errno))
               : 0;
}
