// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file state_dir.c  See state_dir.h. */
#include "daemon/state_dir.h"

#include "keep/store.h"

#include <errno.h>
#include <grp.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* With the group's bit on a directory, what is made in it is of the group, whoever makes it.
 * Without a group it is root's. */
static int give_to_group(const char *dir)
{
    const struct group *group = getgrnam(STATE_GROUP);

    if (!group)
        return 0;
    return chown(dir, (uid_t)-1, group->gr_gid) < 0 || chmod(dir, 02750) < 0 ? -errno : 0;
}

int state_dir_make(const char *database, struct error *error)
{
    char dir[] = STORE_DEFAULT_PATH;
    int rc;

    if (strcmp(database, STORE_DEFAULT_PATH) != 0)
        return 0;
    *strrchr(dir, '/') = '\0';
    if (mkdir(dir, 0750) < 0)
        return errno == EEXIST ? 0 : error_set(error, -errno, "%s: %s", dir, strerror(errno));
    rc = give_to_group(dir);
    return rc < 0 ? error_set(error, rc, "%s: group %s: %s", dir, STATE_GROUP, strerror(-rc)) : 0;
}
