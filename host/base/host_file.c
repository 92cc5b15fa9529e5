// SPDX-License-Identifier: LGPL-2.1-or-later
#include "base/host_file.h"

#include "base/kernel_number.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

/* The descriptor, which stays open for the life of the process, or a negative errno. */
static int kept_fd(struct host_file *file, const struct fsroot *root)
{
    int kept = atomic_load(&file->fd);

    if (kept > 0)
        return kept - 1;

    int fd = fsroot_openf(root, O_RDONLY, "%s", file->path);

    if (fd < 0 || atomic_compare_exchange_strong(&file->fd, &kept, fd + 1))
        return fd;
    close(fd); /* another thread opened it first */
    return kept - 1;
}

static ssize_t read_text(int fd, char *text, size_t size)
{
    ssize_t n;

    do
        n = pread(fd, text, size - 1, 0);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return -errno;
    while (n > 0 && text[n - 1] == '\n')
        n--;
    text[n] = '\0';
    return n;
}

ssize_t host_file_read(struct host_file *file, const struct fsroot *root, char *text, size_t size)
{
    int fd = root->live ? kept_fd(file, root) : fsroot_openf(root, O_RDONLY, "%s", file->path);

    if (fd < 0)
        return fd;

    ssize_t n = read_text(fd, text, size);

    if (!root->live)
        close(fd);
    return n;
}

int host_file_read_u64(struct host_file *file, const struct fsroot *root, uint64_t *value)
{
    char text[32];
    ssize_t n = host_file_read(file, root, text, sizeof(text));

    return n < 0 ? (int)n : kernel_whole_u64(text, value);
}
