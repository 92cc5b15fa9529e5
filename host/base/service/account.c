// SPDX-License-Identifier: LGPL-2.1-or-later
#include "base/service/account.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void add_group(struct account *account, const char *name)
{
    const struct group *group = getgrnam(name);

    if (group && account->n_groups < ACCOUNT_GROUPS)
        account->groups[account->n_groups++] = group->gr_gid;
}

static int find_user(struct account *out, const char *user, struct error *error)
{
    errno = 0;

    const struct passwd *passwd = getpwnam(user);

    if (!passwd && errno != 0 && errno != ENOENT && errno != ESRCH)
        return error_set(error, -errno, "user %s: %s", user, strerror(errno));
    if (!passwd)
        return error_set(error, -ENOENT,
                         "user %s does not exist: make it, by systemd-sysusers where vmwss is "
                         "installed, else \"useradd --system %s\"; or name another with --user "
                         "(--user root leaves the process that speaks with libvirt root's files)",
                         user, user);
    if (passwd->pw_uid == 0)
        return error_set(error, -EINVAL, "user %s: is root by another name: write --user root",
                         user);
    out->uid = passwd->pw_uid;
    out->gid = passwd->pw_gid;
    return 0;
}

int account_find(struct account *out, const char *user, const char *const *groups,
                 struct error *error)
{
    *out = (struct account){.uid = geteuid(), .gid = getegid()};
    if (geteuid() != 0)
        return 0;
    snprintf(out->name, sizeof(out->name), "%s", user);
    if (!strcmp(user, "root"))
        return 0;

    int rc = find_user(out, user, error);

    if (rc < 0)
        return rc;
    for (; *groups; groups++)
        add_group(out, *groups);
    out->changes = true;
    return 0;
}

/* Sets the groups first: without CAP_SETGID they could not be dropped. When a process changes from
 * user 0 to another, the kernel drops all its capabilities (capabilities(7)). */
int account_become(const struct account *account, struct error *error)
{
    const uid_t uid = account->uid;
    const gid_t gid = account->gid;

    if (!account->changes)
        return 0;
    if (setgroups(account->n_groups, account->groups) < 0 || setresgid(gid, gid, gid) < 0 ||
        setresuid(uid, uid, uid) < 0)
        return error_set(error, -errno, "user %s: %s", account->name, strerror(errno));
    return 0;
}
