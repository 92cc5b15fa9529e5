// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file users.c  See users.h. */
#include "proc/users.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/utf8.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>

static FILE *open_passwd(const struct fsroot *root)
{
    int fd = fsroot_openf(root, O_RDONLY, "etc/passwd");
    FILE *file = fd >= 0 ? fdopen(fd, "r") : NULL;

    if (!file && fd >= 0)
        close(fd);
    return file;
}

static int append_user(struct users *users, const struct passwd *entry)
{
    struct user *grown = array_grow(users->user, users->n, sizeof(*grown));

    if (!grown)
        return -ENOMEM;
    users->user = grown;

    struct user *user = &users->user[users->n++];

    user->uid = entry->pw_uid;
    snprintf(user->name, sizeof(user->name), "%s", entry->pw_name);
    utf8_printable(user->name);
    return 0;
}

int users_read(const struct fsroot *root, struct users *users)
{
    cleanup_file FILE *file = open_passwd(root);
    int rc = 0;

    *users = (struct users){0};
    while (file && rc == 0) {
        const struct passwd *entry = fgetpwent(file);

        if (!entry)
            break;
        rc = append_user(users, entry);
    }
    if (rc < 0)
        users_free(users);
    return rc;
}

void users_free(struct users *users)
{
    free(users->user);
    *users = (struct users){0};
}

char *users_name(const struct users *users, uid_t uid, char name[USER_NAME_MAX])
{
    snprintf(name, USER_NAME_MAX, "%u", (unsigned)uid);
    for (size_t i = 0; i < users->n; i++)
        if (users->user[i].uid == uid) {
            snprintf(name, USER_NAME_MAX, "%s", users->user[i].name);
            break;
        }
    return name;
}
