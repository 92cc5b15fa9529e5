// SPDX-License-Identifier: LGPL-2.1-or-later
#include "programs/vmwssd/agents/balloon_stats.h"

#include "base/clock.h"
#include "guest/domain/inquiry.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#define MAX_LEFT 16

struct call {
    struct domain_connection *libvirt;
    struct domain_memory *memory;
    ssize_t n;
    double cpu_s;
};

static atomic_uint n_left;

static void free_call(struct call *call)
{
    free(call->memory);
    free(call);
}

static int ask(void *context, struct error *error)
{
    struct call *call = context;

    call->n = domain_memory_all(call->libvirt, &call->memory, error);
    call->cpu_s = thread_cpu_s();
    return call->n < 0 ? (int)call->n : 0;
}

static void discard(void *context, int rc)
{
    struct call *call = context;

    (void)rc;
    domain_disconnect(call->libvirt);
    free_call(call);
    atomic_fetch_sub(&n_left, 1);
}

ssize_t balloon_stats_fetch(struct domain_connection **libvirt, double patience_s,
                            struct domain_memory **out, double *cpu_s, struct error *error)
{
    struct inquiry inquiry = {.ask = ask, .discard = discard, .limit_s = patience_s};
    struct call *call;
    bool answered;
    ssize_t n;

    if (atomic_load(&n_left) >= MAX_LEFT)
        return error_set(error, -EBUSY, "%d calls of libvirt hang with guests that do not answer",
                         MAX_LEFT);
    call = calloc(1, sizeof(*call));
    if (!call)
        return error_set(error, -ENOMEM, "out of memory");
    call->libvirt = *libvirt;
    inquiry.context = call;
    n = inquiry_make(&inquiry, &answered, error);
    if (!answered) {
        atomic_fetch_add(&n_left, 1);
        *libvirt = NULL;
        return error_set(error, -ETIMEDOUT,
                         "libvirt does not answer, or waits for a guest that does not");
    }
    if (n == 0) {
        n = call->n;
        *out = call->memory;
        call->memory = NULL;
    }
    *cpu_s += call->cpu_s;
    free_call(call);
    return n;
}
