// SPDX-License-Identifier: LGPL-2.1-or-later
#include "proc/stall.h"

#include "base/parse.h"
#include "proc/pressure.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define WINDOW_MIN_US 500000
#define WINDOW_MAX_US 10000000

static bool is_resource(const char *name)
{
    for (size_t i = 0; pressure_resources[i]; i++)
        if (!strcmp(name, pressure_resources[i]))
            return true;
    return false;
}

int stall_trigger_parse(const char *text, struct stall_trigger *trigger)
{
    struct stall_trigger t;
    char threshold[24], window[24], rest;

    if (sscanf(text, "%7[a-z]:%7[a-z]:%23[0-9]:%23[0-9]%c", t.resource, t.kind, threshold, window,
               &rest) != 4 ||
        !is_resource(t.resource) || (strcmp(t.kind, "some") != 0 && strcmp(t.kind, "full") != 0))
        return -EINVAL;
    if (parse_u64(window, WINDOW_MIN_US, WINDOW_MAX_US, &t.window_us) < 0 ||
        parse_u64(threshold, 1, t.window_us, &t.threshold_us) < 0)
        return -EINVAL;
    *trigger = t;
    return 0;
}

static const char *remedy(int rc, const struct stall_trigger *trigger)
{
    if (rc == -EPERM || rc == -EACCES)
        return " (needs CAP_SYS_RESOURCE)";
    if (rc == -EINVAL && trigger->window_us % 2000000 != 0)
        return " (without CAP_SYS_RESOURCE a window is a multiple of 2000000; Linux 5.2 at least)";
    if (rc == -EINVAL || rc == -EIO)
        return " (Linux 5.2 at least)";
    return "";
}

static int arm(int fd, const struct stall_trigger *trigger)
{
    char text[64];
    /* The kernel overwrites the last byte with a NUL. */
    int length = snprintf(text, sizeof(text), "%s %" PRIu64 " %" PRIu64, trigger->kind,
                          trigger->threshold_us, trigger->window_us) +
                 1;

    return write(fd, text, (size_t)length) == length ? 0 : -errno;
}

int stall_trigger_open(const struct fsroot *root, const char *cgroup,
                       const struct stall_trigger *trigger, struct error *error)
{
    char path[PRESSURE_PATH];
    int fd, rc;

    pressure_path(path, cgroup, trigger->resource);
    fd = fsroot_openf(root, O_RDWR | O_NONBLOCK, "%s", path);
    if (fd == -ENOENT || fd == -EOPNOTSUPP || fd == -ENODEV || (fd == -EACCES && cgroup))
        return pressure_why_not(root, cgroup, fd, path, error);
    rc = fd < 0 ? fd : arm(fd, trigger);
    if (rc == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    if (rc == -EOPNOTSUPP) /* some kernels have the files nevertheless */
        return pressure_why_not(root, cgroup, rc, path, error);
    return error_set(error, rc, "/%s: trigger %s %" PRIu64 " %" PRIu64 ": %s%s", path,
                     trigger->kind, trigger->threshold_us, trigger->window_us, strerror(-rc),
                     remedy(rc, trigger));
}
