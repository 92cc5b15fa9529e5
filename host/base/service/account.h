// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file account.h  The user that a daemon becomes once it has the resources that need root: the
 * half of vmwssd without privileges (privileges.h), and vmwss-balloond.
 *
 * The user is looked up before vmwssd forks into its halves, because a library may read the user
 * database. After the fork the unprivileged half becomes that user permanently.
 */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <sys/types.h>

/** The package's user, and the group that may read the history; sysusers.d makes both. */
#define ACCOUNT_DEFAULT "vmwss"

/** The group of libvirt's read-write socket on Debian and its derivatives. */
#define ACCOUNT_PUBLISH_GROUP "libvirt"

#define ACCOUNT_GROUPS 2

struct account {
    char name[64]; /* empty: not started by root */
    bool changes;  /* false: the process keeps its user and groups */
    uid_t uid;     /* the final ids */
    gid_t gid;
    size_t n_groups; /* supplementary groups */
    gid_t groups[ACCOUNT_GROUPS];
};

/**
 * Finds @p user. Nothing changes if the daemon was not started by root, or if @p user is "root".
 * @param groups  names of at most ACCOUNT_GROUPS supplementary groups, ending with NULL; groups
 *                that do not exist are ignored
 * @return 0; -ENOENT there is no such user, -EINVAL it is user 0 by another name; the message has
 *         the remedy
 */
int account_find(struct account *out, const char *user, const char *const *groups,
                 struct error *error);

/** Sets all ids to those of the user, with no other supplementary groups. Call it from the only
 * thread; it needs CAP_SETUID and CAP_SETGID, and drops all capabilities. Returns 0, or -EPERM ...
 * with the message. */
int account_become(const struct account *account, struct error *error);
