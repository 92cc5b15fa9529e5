// SPDX-License-Identifier: LGPL-2.1-or-later
#include "history/quarantine.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "history/schema.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define HEADER_BYTES 100
#define HEADER_APPLICATION_ID 68 /* offset of the big-endian 32-bit number */
static const char magic[16] = "SQLite format 3";

static enum file_kind header_kind(const unsigned char *header, ssize_t n)
{
    const unsigned char *id = header + HEADER_APPLICATION_ID;

    if (n == 0)
        return FILE_NEW;
    if (n < HEADER_BYTES || memcmp(header, magic, sizeof(magic)) != 0)
        return FILE_NO_DATABASE;
    return ((uint32_t)id[0] << 24 | (uint32_t)id[1] << 16 | (uint32_t)id[2] << 8 | id[3]) ==
                   SCHEMA_APPLICATION_ID
               ? FILE_OURS
               : FILE_OTHER;
}

bool file_follows_links(void)
{
    return geteuid() != 0;
}

int file_refuse_link(const char *path, struct error *error)
{
    return error_set(error, -ELOOP,
                     "%s: is a symbolic link, which root does not follow: name the file itself",
                     path);
}

int file_identify(const char *path, enum file_kind *kind, struct error *error)
{
    unsigned char header[HEADER_BYTES];
    struct stat st;
    /* O_NONBLOCK, because opening a FIFO would block */
    cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY |
                                          (file_follows_links() ? 0 : O_NOFOLLOW));

    if (fd < 0 && errno == ENOENT) {
        *kind = FILE_NEW;
        return 0;
    }
    if (fd < 0 && errno == ELOOP && !file_follows_links())
        return file_refuse_link(path, error);
    if (fd < 0 && errno == EACCES)
        return error_set(error, -EACCES,
                         "%s: %s: be root, or of the group that may read it "
                         "(usually: group vmwss)",
                         path, strerror(EACCES));
    if (fd < 0 || fstat(fd, &st) < 0)
        return error_set(error, -errno, "%s: %s", path, strerror(errno));
    if (!S_ISREG(st.st_mode))
        return error_set(error, S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL,
                         "%s: is no file: name the history's database file", path);

    ssize_t n = pread(fd, header, sizeof(header), 0);

    if (n < 0)
        return error_set(error, -errno, "%s: %s", path, strerror(errno));
    *kind = header_kind(header, n);
    return 0;
}

/* Finds an unused name: with the time in seconds, and also a number if that name is taken. */
static int free_name(const char *path, char *name, size_t size)
{
    time_t now = time(NULL);
    struct tm utc;
    char stamp[32];

    gmtime_r(&now, &utc);
    strftime(stamp, sizeof(stamp), "%Y%m%dT%H%M%SZ", &utc);
    for (int i = 0; i < 100; i++) {
        int n = i == 0 ? snprintf(name, size, "%s.damaged-%s", path, stamp)
                       : snprintf(name, size, "%s.damaged-%s-%d", path, stamp, i);

        if (n < 0 || (size_t)n >= size)
            return -ENAMETOOLONG;
        if (access(name, F_OK) < 0)
            return errno == ENOENT ? 0 : -errno;
    }
    return -EEXIST;
}

/* Renames the database first: if the process is killed then, SQLite drops a WAL whose database is
 * new and empty. The shared-memory index belongs to the old WAL, so it is renamed, too; SQLite
 * makes a new one from a WAL. */
static int rename_all(const char *path, const char *name)
{
    static const char *const suffixes[] = {"", "-wal", "-shm", "-journal"};
    char from[4096];
    char to[4096];

    for (size_t i = 0; i < COUNT(suffixes); i++) {
        int a = snprintf(from, sizeof(from), "%s%s", path, suffixes[i]);
        int b = snprintf(to, sizeof(to), "%s%s", name, suffixes[i]);

        if (a < 0 || b < 0 || (size_t)a >= sizeof(from) || (size_t)b >= sizeof(to))
            return -ENAMETOOLONG;
        if (rename(from, to) < 0 && !(i > 0 && errno == ENOENT))
            return -errno;
    }
    return 0;
}

int file_quarantine(const char *path, char *name, size_t size, struct error *error)
{
    int rc = free_name(path, name, size);

    if (rc == 0)
        rc = rename_all(path, name);
    return rc < 0 ? error_set(error, rc, "%s: is damaged and cannot be renamed: %s", path,
                              strerror(-rc))
                  : 0;
}
