// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file account.h  The user that a daemon runs as once it has what takes root: the half of vmwssd
 * without privileges (privileges.h), and vmwss-balloond.
 *
 * Found by name before vmwssd's halves part, as the user database may be read by a library; taken
 * on by the rest afterwards, for good.
 */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <sys/types.h>

/** The user of the package, and the group that may read the history; both made by sysusers.d. */
#define ACCOUNT_DEFAULT "vmwss"

/** The group that libvirt's read-write socket belongs to on Debian and its like. */
#define ACCOUNT_PUBLISH_GROUP "libvirt"

#define ACCOUNT_GROUPS 2

struct account {
    char name[64]; /* empty: not started by root */
    bool changes;  /* false: the process keeps its ids and groups */
    uid_t uid;     /* those that it has in the end */
    gid_t gid;
    size_t n_groups; /* supplementary groups */
    gid_t groups[ACCOUNT_GROUPS];
};

/**
 * Finds @p user. Started by another user than root, a daemon stays that user, and "root" stays
 * root: neither changes anything.
 * @param groups  names of at most ACCOUNT_GROUPS supplementary groups, up to a NULL; those that
 *                there are
 * @return 0; -ENOENT there is no such user, -EINVAL it is user 0 by another name; the message says
 *         the remedy
 */
int account_find(struct account *out, const char *user, const char *const *groups,
                 struct error *error);

/** Takes on all ids of the user, and no other supplementary groups. From the only thread; needs
 * CAP_SETUID and CAP_SETGID, and leaves no capability. 0, or -EPERM ... with the message. */
int account_become(const struct account *account, struct error *error);
