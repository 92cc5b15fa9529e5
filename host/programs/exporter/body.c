// SPDX-License-Identifier: LGPL-2.1-or-later
#include "programs/exporter/body.h"

#include <stdlib.h>

struct body *body_new(char *text, size_t size)
{
    struct body *body = malloc(sizeof(*body));

    if (!body) {
        free(text);
        return NULL;
    }
    *body = (struct body){.text = text, .size = size, .holders = 1};
    return body;
}

struct body *body_hold(struct body *body)
{
    __atomic_add_fetch(&body->holders, 1, __ATOMIC_RELAXED);
    return body;
}

void body_release(struct body *body)
{
    if (!body || __atomic_sub_fetch(&body->holders, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    free(body->text);
    free(body);
}
