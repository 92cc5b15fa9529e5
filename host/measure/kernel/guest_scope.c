// SPDX-License-Identifier: LGPL-2.1-or-later
#include "measure/kernel/guest_scope.h"

#include "base/array.h"
#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/kernel_number.h"
#include "base/meminfo.h"
#include "base/open_dir.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define MAX_TEXT 16384

/* A line of arcstats: name, type, value. */
static uint64_t arc_bytes(const char *text, const char *name)
{
    uint64_t type, bytes = 0;

    kernel_u64(kernel_u64(kernel_line(text, name), &type), &bytes);
    return bytes;
}

static uint64_t arc_shrinks_by(const struct fsroot *root)
{
    char text[MAX_TEXT];

    if (fsroot_read(root, text, sizeof(text), "proc/spl/kstat/zfs/arcstats") < 0)
        return 0;
    return less(arc_bytes(text, "size"), arc_bytes(text, "c_min"));
}

/* --- control groups --------------------------------------------------------------------------- */

/* Above memory.high the kernel slows the group's tasks down while it swaps them out, so memory ends
 * there. */
static const struct version {
    const char *mount, *limits[2], *current, *caches[2], *dirty;
} versions[] = {
    {"sys/fs/cgroup",
     {"memory.max", "memory.high"},
     "memory.current",
     {"inactive_file", "active_file"},
     "file_dirty"},
    {"sys/fs/cgroup/memory",
     {"memory.limit_in_bytes"},
     "memory.usage_in_bytes",
     {"total_inactive_file", "total_active_file"},
     "total_dirty"},
};

static uint64_t cached_in(const struct fsroot *root, const struct version *version,
                          const char *group)
{
    char text[MAX_TEXT];

    if (fsroot_read(root, text, sizeof(text), "%s/%s/memory.stat", version->mount, group) < 0)
        return 0;
    return less(kernel_line_u64(text, version->caches[0]) +
                    kernel_line_u64(text, version->caches[1]),
                kernel_line_u64(text, version->dirty));
}

/* "max" is not a number: there is no such limit. */
static uint64_t limit_of(const struct fsroot *root, const struct version *version,
                         const char *group)
{
    uint64_t least = UINT64_MAX;
    uint64_t limit;

    for (size_t i = 0; i < 2 && version->limits[i]; i++)
        if (fsroot_read_u64(root, &limit, "%s/%s/%s", version->mount, group, version->limits[i]) ==
            0)
            least = smaller(least, limit);
    return least;
}

static void bind_group(const struct fsroot *root, const struct version *version, const char *group,
                       struct guest_scope *scope)
{
    const uint64_t limit = limit_of(root, version, group);
    uint64_t current, available;

    if (limit == UINT64_MAX ||
        fsroot_read_u64(root, &current, "%s/%s/%s", version->mount, group, version->current) < 0)
        return;
    available = smaller(less(limit, less(current, cached_in(root, version, group))), limit);
    if (available >= scope->available_bytes)
        return;
    snprintf(scope->group_path, sizeof(scope->group_path), "%s", *group ? group : "/");
    scope->group = scope->group_path;
    scope->total_bytes = smaller(limit, scope->total_bytes);
    scope->available_bytes = available;
}

static bool ends_with(const char *name, const char *end)
{
    size_t length = strlen(name);

    return length > strlen(end) && !strcmp(name + length - strlen(end), end);
}

/* Appends the only group below if it is a slice, or a partition of libvirt without systemd, and so
 * contains all guests. Returns false if there is no such group: the name of a guest's own group
 * ends in another way. */
static bool descend(const struct fsroot *root, const struct version *version,
                    char group[GUEST_SCOPE_PATH])
{
    cleanup_dir DIR *directory = NULL;
    char only[NAME_MAX + 1] = "";
    const struct dirent *entry;
    size_t n = 0;

    if (fsroot_opendir(root, &directory, "%s/%s", version->mount, group) < 0)
        return false;
    while (n < 2 && (entry = readdir(directory)))
        if (entry->d_type == DT_DIR && *entry->d_name != '.') {
            n++;
            snprintf(only, sizeof(only), "%s", entry->d_name);
        }
    if (n != 1 || !(ends_with(only, ".slice") || ends_with(only, ".partition")) ||
        strlen(group) + strlen(only) + 2 > GUEST_SCOPE_PATH)
        return false;
    strcat(strcat(group, "/"), only);
    return true;
}

static void bind_all(const struct fsroot *root, const char *top, struct guest_scope *scope)
{
    for (size_t v = 0; v < COUNT(versions); v++) {
        char group[GUEST_SCOPE_PATH];

        snprintf(group, sizeof(group), "%s", top);
        do
            bind_group(root, &versions[v], group, scope);
        while (*top && descend(root, &versions[v], group));
    }
}

/* --- together --------------------------------------------------------------------------------- */

static double cpu_pressure(const struct fsroot *root)
{
    char text[256];
    double percent;

    return fsroot_read(root, text, sizeof(text), "proc/pressure/cpu") > 0 &&
                   sscanf(text, "some avg10=%*f avg60=%lf", &percent) == 1 && percent >= 0
               ? fmin(percent / 100, 1)
               : NAN;
}

int guest_scope_read(const struct fsroot *root, struct guest_scope *scope, struct error *error)
{
    struct host_memory memory;
    int rc = meminfo_read(root, &memory, error);

    if (rc < 0)
        return rc;
    scope->group = NULL;
    scope->cpu_some = cpu_pressure(root);
    scope->total_bytes = less(memory.total_bytes, memory.hugetlb_bytes);
    scope->available_bytes = smaller(memory.available_bytes + arc_shrinks_by(root),
                                     scope->total_bytes);
    scope->host_total_bytes = scope->total_bytes;
    scope->host_available_bytes = scope->available_bytes;
    bind_all(root, "", scope); /* the limit of a container that all of this runs in */
    bind_all(root, "machine.slice", scope);
    bind_all(root, "machine", scope);
    return 0;
}
