// SPDX-License-Identifier: LGPL-2.1-or-later
#include "base/proc_pid.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/compare.h"
#include "base/kernel_number.h"
#include "base/open_dir.h"
#include "base/utf8.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

/* Returns the field @p n fields after the one at @p at; NULL if there are fewer. A newline at the
 * end is not a field. */
static const char *field_after(const char *at, unsigned n)
{
    for (; at && n > 0; n--) {
        at += strcspn(at, " \n");
        at += strspn(at, " \n");
    }
    return at && *at ? at : NULL;
}

int proc_stat_parse(const char *text, struct proc_stat *stat)
{
    const char *state = field_after(strrchr(text, ')'), 1);
    const char *parent = field_after(state, 1);
    const char *minor = field_after(parent, 6);
    const char *major = field_after(minor, 2);
    const char *utime = field_after(major, 2);
    const char *stime = field_after(utime, 1);
    const char *start = field_after(stime, 7);
    const char *stack = field_after(start, 6);
    const char *guest = field_after(stack, 15);
    struct proc_stat s = {.state = state ? *state : '\0'};
    uint64_t parent_pid = 0;

    if (!kernel_u64(parent, &parent_pid) || parent_pid > INT_MAX ||
        !kernel_u64(minor, &s.minor_faults) || !kernel_u64(major, &s.major_faults) ||
        !kernel_u64(utime, &s.utime_ticks) || !kernel_u64(stime, &s.stime_ticks) ||
        !kernel_u64(start, &s.start_ticks) || (stack && !kernel_u64(stack, &s.start_stack)) ||
        (guest && !kernel_u64(guest, &s.guest_ticks)))
        return -EINVAL;
    s.parent = (pid_t)parent_pid;
    *stat = s;
    return 0;
}

int proc_stat_name(const char *text, char *name, size_t size)
{
    const char *begin = strchr(text, '(');
    const char *end = strrchr(text, ')');

    if (!begin || !end || end <= begin)
        return -EINVAL;
    snprintf(name, size, "%.*s", (int)(end - begin - 1), begin + 1);
    utf8_printable(name);
    return 0;
}

int proc_stat_read(const struct fsroot *root, pid_t pid, struct proc_stat *stat)
{
    char text[1024];
    ssize_t n = fsroot_read(root, text, sizeof(text), "proc/%d/stat", (int)pid);

    if (n == -ENOENT)
        return -ESRCH;
    return n < 0 ? (int)n : proc_stat_parse(text, stat);
}

/* Returns @p name as a number, or -1 if it is not one. */
static long whole_number(const char *name)
{
    char *end;

    if (name[0] < '0' || name[0] > '9')
        return -1;
    errno = 0;
    long number = strtol(name, &end, 10);

    return errno || *end || number > INT_MAX ? -1 : number;
}

COMPARE_BY(by_number, struct proc_number, number)

ssize_t proc_numbers_inodes(const struct fsroot *root, const char *path,
                            struct proc_number **numbers)
{
    cleanup_dir DIR *dir = NULL;
    cleanup_free struct proc_number *found = NULL;
    size_t n = 0;
    int rc = fsroot_opendir(root, &dir, "%s", path);

    for (const struct dirent *entry; rc == 0 && (entry = readdir(dir));) {
        long number = whole_number(entry->d_name);

        if (number >= 0)
            rc = array_put(&found, &n, &(struct proc_number){(pid_t)number, entry->d_ino},
                           sizeof(*found));
    }
    if (rc < 0)
        return rc;
    if (n > 1)
        qsort(found, n, sizeof(*found), by_number);
    *numbers = found;
    found = NULL;
    return (ssize_t)n;
}

ssize_t proc_numbers(const struct fsroot *root, const char *path, pid_t **numbers)
{
    cleanup_free struct proc_number *found = NULL;
    ssize_t n = proc_numbers_inodes(root, path, &found);

    if (n < 0)
        return n;
    *numbers = malloc(((size_t)n + 1) * sizeof(**numbers));
    if (!*numbers)
        return -ENOMEM;
    for (ssize_t i = 0; i < n; i++)
        (*numbers)[i] = found[i].number;
    return n;
}
