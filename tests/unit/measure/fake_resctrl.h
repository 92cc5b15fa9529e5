// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file fake_resctrl.h  A tree of files that behaves as resctrl does: a monitoring group of ours
 * has its files as soon as it is made, and goes with them. Link with --wrap=mkdirat and
 * --wrap=unlinkat.
 */
#pragma once

#include "fake_kernel.h"
#include "fixture.h"
#include "measure/cache/resctrl.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MIB (1ULL << 20)
#define RESCTRL_TREE "sys/fs/resctrl"
#define OUR_NAME "vmwss-cache-4242" /* of FAKE_PID */
#define OUR_GROUP RESCTRL_TREE "/mon_groups/" OUR_NAME

static struct fake_kernel fake;
static int mkdir_errno;                   /* what making a group of ours ends with; 0: success */
static const char *new_occupied = "0";    /* llc_occupancy of a new group */
static const char *new_total = "1000000"; /* and its mbm_total_bytes */

int __real_mkdirat(int dir, const char *path, mode_t mode);
int __real_unlinkat(int dir, const char *path, int flags);
int __wrap_mkdirat(int dir, const char *path, mode_t mode);
int __wrap_unlinkat(int dir, const char *path, int flags);

/* Sets @p counter ("llc_occupancy", ...) of @p group and cache @p cache. */
static inline void set_counter(const char *group, unsigned cache, const char *counter,
                               const char *text)
{
    const char *path = TEXT_OF(512, "%s/mon_data/mon_L3_%02u/%s", group, cache, counter);

    fake_write(&fake, path, text);
}

static inline void set_group(const char *group, const char *tasks)
{
    const char *path = TEXT_OF(512, "%s/tasks", group);

    fake_write(&fake, path, tasks);
    for (unsigned cache = 0; cache < 2; cache++) {
        set_counter(group, cache, "llc_occupancy", cache == 0 ? new_occupied : "0");
        set_counter(group, cache, "mbm_total_bytes", new_total);
        set_counter(group, cache, "mbm_local_bytes", new_total);
    }
}

static inline bool exists(const char *path)
{
    return fsroot_exists(&fake.root, "%s", path);
}

int __wrap_mkdirat(int dir, const char *path, mode_t mode)
{
    if (!strstr(path, "mon_groups/"))
        return __real_mkdirat(dir, path, mode);
    if (mkdir_errno) {
        errno = mkdir_errno;
        return -1;
    }
    if (__real_mkdirat(dir, path, mode) < 0)
        return -1;
    set_group(path, "");
    return 0;
}

static inline int remove_below(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

int __wrap_unlinkat(int dir, const char *path, int flags)
{
    if (!strstr(path, "mon_groups/"))
        return __real_unlinkat(dir, path, flags);
    ck_assert_int_eq(flags, AT_REMOVEDIR);
    if (faccessat(dir, path, F_OK, 0) < 0)
        return -1;

    const char *full = TEXT_OF(1024, "%s/%s", fake.path, path);

    return nftw(full, remove_below, 8, FTW_DEPTH | FTW_PHYS);
}

/* The kernel shows thread @p tid where it is. */
static inline void place_thread(pid_t tid, const char *control, const char *monitor)
{
    const char *path = TEXT_OF(128, "proc/%d/task/%d/cpu_resctrl_groups", FAKE_PID, (int)tid);
    const char *text = TEXT_OF(256, "res:%s\nmon:%s\n", control, monitor);

    fake_write(&fake, path, text);
}

/* An Intel host with two caches of 1 MiB, on which resctrl is mounted. */
static inline void fake_host(void)
{
    fake_kernel_make(&fake, 1);
    fake_write(&fake, "proc/cpuinfo",
               "vendor_id\t: GenuineIntel\nflags\t\t: fpu cqm_occup_llc cqm_mbm_total\n\n");
    fake_write(&fake, "proc/mounts", "resctrl /sys/fs/resctrl resctrl rw 0 0\n");
    fake_write(&fake, RESCTRL_TREE "/info/L3_MON/mon_features",
               "llc_occupancy\nmbm_total_bytes\nmbm_local_bytes\n");
    fake_write(&fake, RESCTRL_TREE "/schemata", "    MB:0=100;1=100\n    L3:0=fff;1=fff\n");
    fake_write(&fake, RESCTRL_TREE "/size", "    MB:0=100;1=100\n    L3:0=1048576;1=1048576\n");
    fake_write(&fake, RESCTRL_TREE "/tasks", "");
    fake_write(&fake, RESCTRL_TREE "/mon_groups/others/tasks", "77\n");
    for (unsigned cpu = 0; cpu < 2; cpu++) {
        static const char *const files[][2] = {
            {"level", "3"}, {"type", "Unified"}, {"size", "1024K"}};
        char path[128];

        for (size_t i = 0; i < 3; i++) {
            snprintf(path, sizeof(path), "sys/devices/system/cpu/cpu%u/cache/index0/%s", cpu,
                     files[i][0]);
            fake_write(&fake, path, files[i][1]);
        }
        snprintf(path, sizeof(path), "sys/devices/system/cpu/cpu%u/cache/index0/id", cpu);
        fake_write(&fake, path, cpu ? "1" : "0");
    }
    mkdir_errno = 0;
    new_occupied = "0";
    new_total = "1000000";
}
