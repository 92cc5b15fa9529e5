// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file guest_scope.c  See guest_scope.h. */
#include "measure/kernel/guest_scope.h"

#include "base/bytes.h"
#include "base/meminfo.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define MAX_TEXT 16384

/* Reads the number after a name at the beginning of a line; 0 if there is no such line, or no
 * amount in it.
 */
static uint64_t number_of(const char *text, const char *format, const char *name)
{
    int64_t number = 0;

    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (!strncmp(line, name, strlen(name)) && sscanf(line + strlen(name), format, &number) == 1)
            return number > 0 ? (uint64_t)number : 0;
    }
    return 0;
}

/* Lines of arcstats: name, type, value. */
static uint64_t arc_shrinks_by(const struct fsroot *root)
{
    static const char value[] = " %*u %" SCNd64;
    char text[MAX_TEXT];

    if (fsroot_read(root, text, sizeof(text), "proc/spl/kstat/zfs/arcstats") < 0)
        return 0;
    return less(number_of(text, value, "size "), number_of(text, value, "c_min "));
}

static uint64_t cached_in(const struct fsroot *root, const char *group)
{
    static const char value[] = " %" SCNd64;
    char text[MAX_TEXT];

    if (fsroot_read(root, text, sizeof(text), "sys/fs/cgroup/%s/memory.stat", group) < 0)
        return 0;
    return less(number_of(text, value, "inactive_file ") + number_of(text, value, "active_file "),
                number_of(text, value, "file_dirty "));
}

/* "max" is not a number: there is no such limit. Above memory.high the kernel slows the group's
 * tasks down while it swaps them out, so memory ends there. */
static uint64_t limit_of(const struct fsroot *root, const char *group)
{
    static const char *const names[] = {"max", "high"};
    uint64_t least = UINT64_MAX;
    uint64_t limit;

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (fsroot_read_u64(root, &limit, "sys/fs/cgroup/%s/memory.%s", group, names[i]) == 0)
            least = smaller(least, limit);
    return least;
}

static void bind_group(const struct fsroot *root, const char *group, struct guest_scope *scope)
{
    const uint64_t limit = limit_of(root, group);
    uint64_t current, available;

    if (limit == UINT64_MAX ||
        fsroot_read_u64(root, &current, "sys/fs/cgroup/%s/memory.current", group) < 0)
        return;
    available = smaller(less(limit, less(current, cached_in(root, group))), limit);
    if (available >= scope->available_bytes)
        return;
    scope->group = group;
    scope->total_bytes = smaller(limit, scope->total_bytes);
    scope->available_bytes = available;
}

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
    bind_group(root, "machine.slice", scope);
    bind_group(root, "machine", scope);
    return 0;
}
