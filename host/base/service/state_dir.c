// SPDX-License-Identifier: LGPL-2.1-or-later
#include "base/service/state_dir.h"

#include "base/cleanup.h"
#include "base/service/reader_group.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The setgid bit on a directory gives its group to files that any user creates in it; without the
 * bit they get their creator's group. */
static int give_to_group(int dir_fd)
{
    const struct group *group = getgrnam(READER_GROUP);

    if (!group)
        return 0;
    return fchown(dir_fd, (uid_t)-1, group->gr_gid) < 0 || fchmod(dir_fd, 02750) < 0 ? -errno : 0;
}

/* Changes the owner of one file if it belonged to the directory's previous owner, so a user who
 * could write in the directory gives away only their own files. A file with a second link, which
 * could be anywhere, is refused. Other users' access is removed, because older versions allowed
 * it. */
static int give_file(int dir_fd, const char *name, uid_t from, uid_t to)
{
    cleanup_close int fd = openat(dir_fd, name,
                                  O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0)
        return 0; /* a symbolic link, a socket, or gone: not part of the history */
    if (!S_ISREG(st.st_mode) || st.st_uid != from || st.st_nlink != 1)
        return 0;
    return fchmod(fd, st.st_mode & 0660) < 0 || fchown(fd, to, (gid_t)-1) < 0 ? -errno : 0;
}

/* Changes the directory last: if this process is killed in between, the next start continues. */
static int give_files(int dir_fd, uid_t from, uid_t to)
{
    int copy = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = copy < 0 ? NULL : fdopendir(copy);
    const struct dirent *entry;
    int rc = 0;

    if (!dir) {
        rc = -errno;
        cleanup_close_at(&copy);
        return rc;
    }
    while (rc == 0 && (entry = readdir(dir)))
        rc = give_file(dir_fd, entry->d_name, from, to);
    closedir(dir);
    if (rc == 0 && fchown(dir_fd, to, (gid_t)-1) < 0)
        rc = -errno;
    return rc;
}

static int give(int dir_fd, bool made, const struct account *account)
{
    struct stat st;
    int rc = made ? give_to_group(dir_fd) : 0;

    if (rc < 0)
        return rc;
    if (fstat(dir_fd, &st) < 0)
        return -errno;
    if (!*account->name || st.st_uid == account->uid)
        return 0;
    return give_files(dir_fd, st.st_uid, account->uid);
}

/* "/var/lib/vmwss" for its history; "." for a path without a directory. */
static void directory_of(const char *database, char *dir, size_t size)
{
    char *slash;

    snprintf(dir, size, "%s", database);
    slash = strrchr(dir, '/');
    if (!slash)
        snprintf(dir, size, ".");
    else
        slash[slash == dir] = '\0';
}

int state_dir_make(const char *database, const char *standard, const struct account *account,
                   struct error *error)
{
    char dir[256];
    bool made;
    int rc;

    if (strcmp(database, standard) != 0)
        return 0;
    directory_of(database, dir, sizeof(dir));
    made = mkdir(dir, 0750) == 0;
    if (!made && errno != EEXIST)
        return error_set(error, -errno, "%s: %s", dir, strerror(errno));

    cleanup_close int dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    rc = dir_fd < 0 ? -errno : give(dir_fd, made, account);
    return rc < 0
               ? error_set(error, rc,
                           "%s: cannot be given to user %s (a unit must have the same User=): %s",
                           dir, account->name, strerror(-rc))
               : 0;
}

int state_dir_check(const char *database, const struct account *account, struct error *error)
{
    char dir[4096];

    directory_of(database, dir, sizeof(dir));
    if (!*account->name)
        return 0;
    if (faccessat(AT_FDCWD, dir, W_OK | X_OK, AT_EACCESS) < 0 && errno == EACCES)
        return error_set(error, -EACCES,
                         "%s: user %s cannot write in the directory of %s: give it to that user "
                         "(chown %s %s), or name another user with --user",
                         dir, account->name, database, account->name, dir);
    if (faccessat(AT_FDCWD, database, R_OK | W_OK, AT_EACCESS) < 0 && errno == EACCES)
        return error_set(error, -EACCES,
                         "%s: user %s cannot write it: give it to that user (chown %s %s*), or "
                         "name another user with --user",
                         database, account->name, account->name, database);
    return 0;
}
