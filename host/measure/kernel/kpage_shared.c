// SPDX-License-Identifier: LGPL-2.1-or-later
#include "measure/kernel/kpage_shared.h"

#include "base/cleanup.h"
#include "measure/kernel/kpageflags.h"

#include <pthread.h>

struct shared {
    int (*open)(const struct fsroot *root, struct error *error);
    int fd; /* valid while users is above 0 */
    unsigned users;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct shared shared_flags = {.open = kpageflags_open};
static struct shared shared_count = {.open = kpagecount_open};

static int share_file(struct shared *shared, const struct fsroot *root, struct error *error)
{
    if (!root->live)
        return shared->open(root, error);
    pthread_mutex_lock(&mutex);

    int fd = shared->users ? shared->fd : shared->open(root, error);

    if (fd >= 0) {
        shared->fd = fd;
        shared->users++;
    }
    pthread_mutex_unlock(&mutex);
    return fd;
}

int kpageflags_share(const struct fsroot *root, struct error *error)
{
    return share_file(&shared_flags, root, error);
}

int kpagecount_share(const struct fsroot *root, struct error *error)
{
    return share_file(&shared_count, root, error);
}

/* Returns true if other users still have this file. */
static bool still_used(struct shared *shared, int fd)
{
    return shared->users && shared->fd == fd && --shared->users;
}

void kpage_release(int *fd)
{
    pthread_mutex_lock(&mutex);
    /* close it under the lock, so that no other thread gets this number while it is still
     * registered as shared */
    if (!still_used(&shared_flags, *fd) && !still_used(&shared_count, *fd))
        cleanup_close_at(fd);
    *fd = -1;
    pthread_mutex_unlock(&mutex);
}
