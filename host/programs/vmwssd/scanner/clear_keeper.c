// SPDX-License-Identifier: LGPL-2.1-or-later
#include "programs/vmwssd/scanner/clear_keeper.h"

#include "base/cleanup.h"
#include "base/service/privileges.h"
#include "measure/kernel/clear_refs.h"
#include "programs/vmwssd/scanner/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

/* --- the keeper ------------------------------------------------------------------------------- */

int clear_keeper_answer(int dir_fd, const void *message, size_t size, int *fd)
{
    char file[32];
    int32_t pid;

    if (size != sizeof(pid))
        return 1;
    memcpy(&pid, message, sizeof(pid));
    if (pid <= 0)
        return 1;
    snprintf(file, sizeof(file), "%d/clear_refs", pid);
    *fd = openat(dir_fd, file, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
    return *fd < 0 ? -errno : 0;
}

static int answer(const void *request, size_t size, int *fd)
{
    return clear_keeper_answer(KEEPER_DIRECTORY, request, size, fd);
}

static struct keeper keeper = {
    .name = "the keeper of clear_refs",
    .process = "vmwssd-clear",
    .drop = privileges_drop_clearer,
    .answer = answer,
    KEEPER_NOT_STARTED,
};

/* --- the scanner ------------------------------------------------------------------------------ */

static int open_clear_refs(pid_t pid)
{
    const int32_t request = pid;

    return keeper_ask_fd(&keeper, &request, sizeof(request));
}

int clear_keeper_start(const struct fsroot *root, struct error *error)
{
    cleanup_close int dir_fd = fsroot_openf(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC, "proc");
    int rc = keeper_start(&keeper, dir_fd, -1, error);

    if (rc == 0)
        clear_refs_keep(open_clear_refs);
    return rc;
}
