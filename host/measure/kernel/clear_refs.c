// SPDX-License-Identifier: LGPL-2.1-or-later
#include "measure/kernel/clear_refs.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

static int (*opener)(pid_t pid);

void clear_refs_keep(int (*other)(pid_t pid))
{
    opener = other;
}

int clear_refs(const struct target *target, enum clear_refs what, struct error *error)
{
    pid_t pid = target->process->pid;
    cleanup_close int fd = opener ? opener(pid)
                                  : fsroot_openf(target->root, O_WRONLY, "proc/%d/clear_refs", pid);

    if (fd < 0)
        return error_set(error, fd == -ENOENT ? -ESRCH : fd, "/proc/%d/clear_refs: %s", pid,
                         strerror(-fd));

    char digit = (char)('0' + what);

    if (write(fd, &digit, 1) != 1)
        return error_set(error, -errno, "/proc/%d/clear_refs: writing %d: %s", pid, what,
                         strerror(errno));
    return 0;
}
