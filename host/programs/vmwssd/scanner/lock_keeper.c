// SPDX-License-Identifier: LGPL-2.1-or-later
#include "programs/vmwssd/scanner/lock_keeper.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/run_dir.h"
#include "base/service/privileges.h"
#include "measure/kernel/trace_event.h"
#include "programs/vmwssd/scanner/keeper.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* --- requests --------------------------------------------------------------------------------- */

/* Returns true if a name is exactly what run_dir_guest_file() produces: "guest-42.lock" is, and
 * "guest-042.lock", "guest-42.lock/../x" are not. */
static bool is_served(const char *file)
{
    static const char *const suffixes[] = {RUN_DIR_LOCK, RUN_DIR_PANEL};
    char again[RUN_DIR_NAME_MAX];
    unsigned number = 0;
    int pid = 0;

    if (sscanf(file, "guest-%9d-%10u", &pid, &number) >= 1 && pid > 0)
        for (size_t i = 0; i < COUNT(suffixes); i++) {
            if (number > 0)
                snprintf(again, sizeof(again), "guest-%d-%u%s", pid, number, suffixes[i]);
            else
                snprintf(again, sizeof(again), "guest-%d%s", pid, suffixes[i]);
            if (!strcmp(file, again))
                return true;
        }
    return !strcmp(file, "vmwssd.lock");
}

bool lock_keeper_valid(const struct lock_keeper_request *request, size_t size)
{
    if (size != sizeof(*request) || !memchr(request->file, '\0', sizeof(request->file)))
        return false;
    if (request->op == LOCK_KEEPER_TRACE)
        return request->tid > 0; /* 0 is the keeper itself, and -1 every thread of a CPU */
    return (request->op == LOCK_KEEPER_CREATE || request->op == LOCK_KEEPER_REMOVE) &&
           is_served(request->file);
}

/* --- the keeper ------------------------------------------------------------------------------- */

/* Returns a descriptor, 0 for a file that was removed, or a negative errno. */
static int answer_to(const struct lock_keeper_request *request)
{
    const struct fsroot root = {.dirfd = KEEPER_ROOT};

    if (request->op == LOCK_KEEPER_CREATE)
        return run_dir_create(KEEPER_DIRECTORY, request->file);
    if (request->op == LOCK_KEEPER_REMOVE)
        return run_dir_remove(KEEPER_DIRECTORY, request->file);
    return trace_event_is_recorded(&root, request->event)
               ? trace_event_open(request->event, request->tid, request->wake_bytes)
               : -EACCES;
}

static int answer(const void *message, size_t size, int *fd)
{
    const struct lock_keeper_request *request = message;
    int rc;

    if (!lock_keeper_valid(request, size))
        return 1;
    rc = answer_to(request);
    if (rc >= 0 && request->op != LOCK_KEEPER_REMOVE)
        *fd = rc;
    return rc < 0 ? rc : 0;
}

static struct keeper keeper = {
    .name = "the keeper of locks",
    .process = "vmwssd-keeper",
    .drop = privileges_drop_keeper,
    .answer = answer,
    KEEPER_NOT_STARTED,
};

/* --- the scanner ------------------------------------------------------------------------------ */

static struct lock_keeper_request about(enum lock_keeper_op op, const char *file)
{
    struct lock_keeper_request request = {.op = (int)op};

    snprintf(request.file, sizeof(request.file), "%s", file);
    return request;
}

static int create(const char *file)
{
    const struct lock_keeper_request request = about(LOCK_KEEPER_CREATE, file);

    return keeper_ask_fd(&keeper, &request, sizeof(request));
}

static int remove_file(const char *file)
{
    const struct lock_keeper_request request = about(LOCK_KEEPER_REMOVE, file);

    return keeper_ask(&keeper, &request, sizeof(request), NULL);
}

static int open_event(uint64_t id, pid_t tid, uint32_t wake_bytes)
{
    const struct lock_keeper_request request = {
        .op = LOCK_KEEPER_TRACE, .tid = tid, .wake_bytes = wake_bytes, .event = id};

    return keeper_ask_fd(&keeper, &request, sizeof(request));
}

int lock_keeper_start(const struct fsroot *root, struct error *error)
{
    static const struct run_dir_keeper files = {create, remove_file};
    cleanup_close int dir_fd = run_dir_open(root);
    int rc = keeper_start(&keeper, dir_fd, root->dirfd, error);

    if (rc < 0)
        return rc;
    run_dir_keep(&files);
    trace_event_keep(open_event);
    return keeper.fd;
}
