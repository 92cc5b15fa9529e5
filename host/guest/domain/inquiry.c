// SPDX-License-Identifier: LGPL-2.1-or-later
#include "guest/domain/inquiry.h"

#include "base/cond.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* The interval at which an interruption is noticed. */
#define CHECK_S 0.05

/* The last user frees it: the thread, if it was left behind. */
struct asking {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool done, left_behind;
    uint64_t until_ns;
    struct inquiry inquiry;
    struct error error;
    int rc;
};

static void asking_free(struct asking *asking)
{
    pthread_cond_destroy(&asking->changed);
    pthread_mutex_destroy(&asking->mutex);
    free(asking);
}

static void *ask(void *context)
{
    struct asking *asking = context;
    int rc = asking->inquiry.ask(asking->inquiry.context, &asking->error);

    pthread_mutex_lock(&asking->mutex);
    asking->rc = rc;
    asking->done = true;
    pthread_cond_signal(&asking->changed);

    bool alone = asking->left_behind;

    pthread_mutex_unlock(&asking->mutex);
    if (alone) {
        asking->inquiry.discard(asking->inquiry.context, rc);
        asking_free(asking);
    }
    return NULL;
}

/* Signals must reach the thread that can handle them. */
static int start_thread(struct asking *asking)
{
    pthread_t thread;
    sigset_t all;
    sigset_t before;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);

    int rc = -pthread_create(&thread, NULL, ask, asking);

    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (rc == 0)
        pthread_detach(thread);
    return rc;
}

static bool is_interrupted(const struct inquiry *inquiry)
{
    return inquiry->interrupted && *inquiry->interrupted;
}

/* Returns 0, or why the thread is left behind. */
static int wait_for(struct asking *asking)
{
    const struct inquiry *inquiry = &asking->inquiry;
    int rc = 0;

    HOLD(&asking->mutex);
    while (!asking->done && rc == 0) {
        cond_wait_until(&asking->changed, &asking->mutex,
                        inquiry->interrupted ? cond_in_s(CHECK_S) : asking->until_ns);
        if (!asking->done && is_interrupted(inquiry))
            rc = -EINTR;
        else if (!asking->done && clock_ns() >= asking->until_ns)
            rc = -ETIMEDOUT;
    }
    asking->left_behind = rc < 0;
    return rc;
}

struct asking *inquiry_begin(const struct inquiry *inquiry, struct error *error)
{
    struct asking *asking = calloc(1, sizeof(*asking));
    int rc = -ENOMEM;

    if (asking) {
        pthread_mutex_init(&asking->mutex, NULL);
        cond_init(&asking->changed);
        asking->inquiry = *inquiry;
        asking->until_ns = inquiry->limit_s > 0 ? cond_in_s(inquiry->limit_s) : UINT64_MAX;
        rc = start_thread(asking);
    }
    if (rc == 0)
        return asking;
    if (asking)
        asking_free(asking);
    error_set(error, rc, "libvirt cannot be asked: %s", strerror(-rc));
    return NULL;
}

int inquiry_end(struct asking *asking, bool *answered, struct error *error)
{
    int rc = wait_for(asking);

    *answered = rc == 0;
    if (rc < 0)
        return error_set(error, rc, rc == -EINTR ? "interrupted" : "it does not answer");
    rc = asking->rc;
    if (rc < 0 && error)
        *error = asking->error;
    asking_free(asking);
    return rc;
}

int inquiry_make(const struct inquiry *inquiry, bool *answered, struct error *error)
{
    struct error failed = {0};
    struct asking *asking = inquiry_begin(inquiry, &failed);

    *answered = true;
    return asking ? inquiry_end(asking, answered, error)
                  : error_set(error, failed.code, "%s", failed.text);
}
