// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file seen.c  See seen.h. */
#include "cache/seen.h"

#include <errno.h>
#include <search.h>
#include <stdlib.h>

struct identity {
    dev_t device;
    ino_t inode;
};

static int compare_identities(const void *a, const void *b)
{
    const struct identity *x = a;
    const struct identity *y = b;

    if (x->device != y->device)
        return x->device < y->device ? -1 : 1;
    return (x->inode > y->inode) - (x->inode < y->inode);
}

int seen_add(struct seen *seen, dev_t device, ino_t inode)
{
    struct identity *identity = malloc(sizeof(*identity));

    if (!identity)
        return -ENOMEM;
    *identity = (struct identity){device, inode};

    void *node = tsearch(identity, &seen->tree, compare_identities);

    if (!node) {
        free(identity);
        return -ENOMEM;
    }
    if (*(struct identity **)node == identity)
        return 1;
    free(identity);
    return 0;
}

void seen_free(struct seen *seen)
{
    tdestroy(seen->tree, free);
    seen->tree = NULL;
}
