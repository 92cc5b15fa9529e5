// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file guest_choice.c  See guest_choice.h. */
#include "guest/domain/guest_choice.h"

#include "base/cond.h"
#include "guest/domain/pods.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* The interval at which a signal is noticed. */
#define CHECK_S 0.05

int guest_choice_connect(const struct guest_choice *choice, const struct fsroot *root,
                         struct chosen_domain *out, struct error *error)
{
    out->name = choice->domain;
    if (!domain_is_pods(choice->uri))
        return domain_connect(choice->uri, &out->connection, error);
    out->name = out->uuid;
    return pods_connect_to(root, choice->domain, out->uuid, &out->connection, error);
}

int guest_choice_open(const struct guest_choice *choice, const struct fsroot *root,
                      struct guest *guest, struct error *error)
{
    struct chosen_domain chosen;

    if (choice->pid)
        return guest_open_pid(root, choice->pid, guest, error);

    int rc = guest_choice_connect(choice, root, &chosen, error);

    if (rc < 0)
        return rc;
    rc = guest_open_domain(chosen.connection, root, chosen.name, guest, error);
    domain_disconnect(chosen.connection);
    return rc;
}

/* The last user frees it: the thread, if it was left behind. */
struct inquiry {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool done, left_behind;
    struct guest_choice choice;
    char *domain, *uri; /* copied from the choice */
    struct guest guest;
    struct error error;
    int rc;
};

static void inquiry_free(struct inquiry *inquiry)
{
    pthread_cond_destroy(&inquiry->changed);
    pthread_mutex_destroy(&inquiry->mutex);
    free(inquiry->domain);
    free(inquiry->uri);
    free(inquiry);
}

static struct inquiry *inquiry_new(const struct guest_choice *choice)
{
    struct inquiry *inquiry = calloc(1, sizeof(*inquiry));

    if (!inquiry)
        return NULL;
    pthread_mutex_init(&inquiry->mutex, NULL);
    cond_init(&inquiry->changed);
    inquiry->domain = choice->domain ? strdup(choice->domain) : NULL;
    inquiry->uri = choice->uri ? strdup(choice->uri) : NULL;
    inquiry->choice = (struct guest_choice){inquiry->uri, inquiry->domain, choice->pid};
    return inquiry;
}

static void *unhurried_ask(void *context)
{
    struct inquiry *inquiry = context;
    struct fsroot root;
    int rc = fsroot_open(&root, "/");

    if (rc == 0) {
        rc = guest_choice_open(&inquiry->choice, &root, &inquiry->guest, &inquiry->error);
        fsroot_close(&root);
    }
    pthread_mutex_lock(&inquiry->mutex);
    inquiry->rc = rc;
    inquiry->done = true;
    pthread_cond_signal(&inquiry->changed);

    bool alone = inquiry->left_behind;

    pthread_mutex_unlock(&inquiry->mutex);
    if (alone && rc == 0)
        guest_close(&inquiry->guest);
    if (alone)
        inquiry_free(inquiry);
    return NULL;
}

/* Signals must reach the thread that can handle them. */
static int begin_inquiry(struct inquiry *inquiry)
{
    pthread_t thread;
    sigset_t all;
    sigset_t before;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);

    int rc = -pthread_create(&thread, NULL, unhurried_ask, inquiry);

    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (rc == 0)
        pthread_detach(thread);
    return rc;
}

/* False: the thread is left behind. */
static bool wait_for(struct inquiry *inquiry, const volatile int *interrupted)
{
    pthread_mutex_lock(&inquiry->mutex);
    while (!inquiry->done && !*interrupted)
        cond_wait_until(&inquiry->changed, &inquiry->mutex, cond_in_s(CHECK_S));
    inquiry->left_behind = !inquiry->done;

    bool done = inquiry->done;

    pthread_mutex_unlock(&inquiry->mutex);
    return done;
}

int guest_choice_open_unhurried(const struct guest_choice *choice, const volatile int *interrupted,
                                struct guest *guest, struct error *error)
{
    struct inquiry *inquiry = inquiry_new(choice);
    int rc = inquiry ? begin_inquiry(inquiry) : -ENOMEM;

    if (rc < 0) {
        if (inquiry)
            inquiry_free(inquiry);
        return error_set(error, rc, "libvirt cannot be asked: %s", strerror(-rc));
    }
    if (!wait_for(inquiry, interrupted))
        return error_set(error, -EINTR, "interrupted");
    rc = inquiry->rc;
    if (rc == 0)
        guest_move(guest, &inquiry->guest);
    else if (error)
        *error = inquiry->error;
    inquiry_free(inquiry);
    return rc;
}
