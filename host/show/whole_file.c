// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file whole_file.c  See whole_file.h. */
#include "show/whole_file.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

int whole_file_write(const char *path, const void *bytes, size_t size)
{
    FILE *file = fopen(path, "we");

    if (!file)
        return -errno;

    struct stat status;
    bool removable = fstat(fileno(file), &status) == 0 && S_ISREG(status.st_mode);
    int rc = fwrite(bytes, 1, size, file) == size ? 0 : -errno;

    if (fclose(file) != 0 && rc == 0)
        rc = -errno;
    if (rc < 0 && removable)
        unlink(path);
    return rc;
}
