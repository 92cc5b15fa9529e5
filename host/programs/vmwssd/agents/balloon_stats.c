// SPDX-License-Identifier: LGPL-2.1-or-later
#include "programs/vmwssd/agents/balloon_stats.h"

#include "base/cond.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define MAX_LEFT 16

/* Owned by the calling thread once it has been abandoned; before that by the thread that waits for
 * it. */
struct call {
    pthread_mutex_t mutex;
    pthread_cond_t returned;
    bool done, left;
    struct domain_connection *libvirt;
    struct domain_memory *memory;
    ssize_t n;
    double cpu_s;
    struct error error;
};

static atomic_uint n_left;

static void free_call(struct call *call)
{
    pthread_cond_destroy(&call->returned);
    pthread_mutex_destroy(&call->mutex);
    free(call->memory);
    free(call);
}

static void *balloon_stats_ask(void *context)
{
    struct call *call = context;

    call->n = domain_memory_all(call->libvirt, &call->memory, &call->error);
    call->cpu_s = thread_cpu_s();
    pthread_mutex_lock(&call->mutex);

    bool left = call->left;

    call->done = true;
    pthread_cond_signal(&call->returned);
    pthread_mutex_unlock(&call->mutex);
    if (left) {
        domain_disconnect(call->libvirt);
        free_call(call);
        atomic_fetch_sub(&n_left, 1);
    }
    return NULL;
}

/* Returns true if the call has returned; otherwise it is abandoned. */
static bool wait_for(struct call *call, double patience_s)
{
    uint64_t until_ns = cond_in_s(patience_s);
    int rc = 0;

    pthread_mutex_lock(&call->mutex);
    while (!call->done && rc == 0)
        rc = cond_wait_until(&call->returned, &call->mutex, until_ns);
    call->left = !call->done;
    if (call->left)
        atomic_fetch_add(&n_left, 1);

    bool done = call->done;

    pthread_mutex_unlock(&call->mutex);
    return done;
}

ssize_t balloon_stats_fetch(struct domain_connection **libvirt, double patience_s,
                            struct domain_memory **out, double *cpu_s, struct error *error)
{
    pthread_t thread;
    ssize_t n;

    if (atomic_load(&n_left) >= MAX_LEFT)
        return error_set(error, -EBUSY, "%d calls of libvirt hang with guests that do not answer",
                         MAX_LEFT);

    struct call *call = calloc(1, sizeof(*call));

    if (!call)
        return error_set(error, -ENOMEM, "out of memory");
    pthread_mutex_init(&call->mutex, NULL);
    cond_init(&call->returned);
    call->libvirt = *libvirt;

    int rc = -pthread_create(&thread, NULL, balloon_stats_ask, call);

    if (rc < 0) {
        free_call(call);
        return error_set(error, rc, "no thread to ask libvirt: %s", strerror(-rc));
    }
    if (!wait_for(call, patience_s)) {
        pthread_detach(thread);
        *libvirt = NULL;
        return error_set(error, -ETIMEDOUT,
                         "libvirt does not answer, or waits for a guest that does not");
    }
    pthread_join(thread, NULL);
    n = call->n;
    if (n >= 0) {
        *out = call->memory;
        call->memory = NULL;
    } else if (error) {
        *error = call->error;
    }
    *cpu_s += call->cpu_s;
    free_call(call);
    return n;
}
