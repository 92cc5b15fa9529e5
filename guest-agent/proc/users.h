// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file users.h  Names of users, from /etc/passwd only: a static program cannot use the name
 * service (nsswitch.conf), whose modules are shared objects. Users known only elsewhere (LDAP,
 * another container) are shown as numbers.
 */
#pragma once

#include "base/fsroot.h"

#include <stddef.h>
#include <sys/types.h>

#define USER_NAME_MAX 64

struct user {
    uid_t uid;
    char name[USER_NAME_MAX]; /* printable UTF-8 */
};

struct users {
    struct user *user;
    size_t n;
};

/** Reads all users; none if the file does not exist. 0, then call users_free(); or -ENOMEM. */
int users_read(const struct fsroot *root, struct users *users);
void users_free(struct users *users);

/** Writes the user's name, or the number, to @p name and returns it. */
char *users_name(const struct users *users, uid_t uid, char name[USER_NAME_MAX]);
