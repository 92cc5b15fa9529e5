// SPDX-License-Identifier: LGPL-2.1-or-later
#include "guest/domain/guest_choice.h"

#include "guest/domain/inquiry.h"
#include "guest/domain/pods.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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
    if (domain_is_pods(choice->uri))
        return pods_open(root, choice->domain, guest, error);

    int rc = guest_choice_connect(choice, root, &chosen, error);

    if (rc < 0)
        return rc;
    rc = guest_open_domain(chosen.connection, root, chosen.name, guest, error);
    domain_disconnect(chosen.connection);
    return rc;
}

/* The choice is a copy: the thread may outlive it. */
struct opening {
    struct guest_choice choice;
    char *domain, *uri;
    struct guest guest;
};

static void opening_free(struct opening *opening)
{
    free(opening->domain);
    free(opening->uri);
    free(opening);
}

static void opening_discard(void *context, int rc)
{
    struct opening *opening = context;

    if (rc == 0)
        guest_close(&opening->guest);
    opening_free(opening);
}

static struct opening *opening_new(const struct guest_choice *choice)
{
    struct opening *opening = calloc(1, sizeof(*opening));

    if (!opening)
        return NULL;
    opening->domain = choice->domain ? strdup(choice->domain) : NULL;
    opening->uri = choice->uri ? strdup(choice->uri) : NULL;
    opening->choice = (struct guest_choice){opening->uri, opening->domain, choice->pid};
    return opening;
}

static int opening_ask(void *context, struct error *error)
{
    struct opening *opening = context;
    cleanup_root struct fsroot root;
    int rc = fsroot_open_host(&root, error);

    return rc < 0 ? rc : guest_choice_open(&opening->choice, &root, &opening->guest, error);
}

int guest_choice_open_unhurried(const struct guest_choice *choice, const volatile int *interrupted,
                                struct guest *guest, struct error *error)
{
    struct opening *opening = opening_new(choice);
    bool answered;

    if (!opening)
        return error_set(error, -ENOMEM, "out of memory");

    const struct inquiry inquiry = {.ask = opening_ask,
                                    .discard = opening_discard,
                                    .context = opening,
                                    .interrupted = interrupted};
    int rc = inquiry_make(&inquiry, &answered, error);

    if (rc == 0)
        guest_move(guest, &opening->guest);
    if (answered)
        opening_free(opening);
    return rc;
}
