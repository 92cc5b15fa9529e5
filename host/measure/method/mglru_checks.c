// SPDX-License-Identifier: LGPL-2.1-or-later
#include "measure/method/mglru_checks.h"

#include "base/cleanup.h"
#include "measure/kernel/lru_gen.h"

#include <errno.h>
#include <string.h>

/* The limit for other processes in the group: a share of the resident guest RAM. */
#define OTHERS_SHARE 8

int mglru_host(const struct fsroot *root, struct error *why)
{
    unsigned enabled = lru_gen_enabled(root);

    if (!fsroot_exists(root, "sys/kernel/mm/lru_gen/enabled"))
        return error_set(why, -ENOENT,
                         "the kernel has no MGLRU: it needs Linux 6.1 and CONFIG_LRU_GEN=y");
    if (!(enabled & LRU_GEN_ON))
        return error_set(why, -ENOTSUP, "MGLRU is off: echo y >/sys/kernel/mm/lru_gen/enabled");
    if (!(enabled & LRU_GEN_WALKS))
        return error_set(
            why, -ENOTSUP,
            "/sys/kernel/mm/lru_gen/enabled lacks 0x2, so MGLRU walks no page tables: echo y into "
            "it; if it stays so, the CPU does not set accessed bits (on arm64: it has no hardware "
            "access flag), and mglru would count nothing; use zap");
    if (!fsroot_exists(root, "sys/kernel/debug/lru_gen"))
        return error_set(
            why, -ENOENT,
            "/sys/kernel/debug/lru_gen is missing: mount -t debugfs none /sys/kernel/debug");
    return 0;
}

bool mglru_lists(const struct ram_block *block)
{
    return !block->locked &&
           (block->backing == RAM_BACKING_ANON || block->backing == RAM_BACKING_SHMEM);
}

/* Some RAM must be on the lists; a file's pages are counted with the page cache. */
int mglru_check_ram(const struct guest_ram *ram, struct error *why)
{
    bool listed = false;

    for (size_t b = 0; b < ram->n_blocks; b++) {
        listed |= mglru_lists(&ram->blocks[b]);
        if (ram->blocks[b].backing == RAM_BACKING_FILE)
            return error_set(
                why, -ENOTSUP,
                "guest RAM is in a file on a disk (%s), which MGLRU counts with the page cache",
                ram->blocks[b].path);
    }
    return listed
               ? 0
               : error_set(
                     why, -ENOTSUP,
                     "all of guest RAM is hugetlb or locked, and on none of MGLRU's lists; use zap");
}

static int check_others(const struct target *target, const struct memcg *group, struct error *why)
{
    char name[32] = "?";
    struct memcg_process largest;
    int64_t bytes = memcg_others(target->root, group, target->process->pid, &largest);

    if (bytes < 0)
        return error_set(why, (int)bytes, "control group %s: %s", group->path,
                         strerror((int)-bytes));
    if ((uint64_t)bytes <= guest_ram_resident_bytes(target->ram) / OTHERS_SHARE)
        return 0;
    fsroot_read(target->root, name, sizeof(name), "proc/%d/comm", (int)largest.pid);
    return error_set(
        why, -ENOTSUP,
        "other processes share its control group %s and have %llu MiB (most of it pid %d, %s): "
        "the guest needs a group of its own, as libvirt makes one",
        group->path, (unsigned long long)bytes >> 20, (int)largest.pid, name);
}

/* The root group has everything that is in no other group. */
int mglru_find_group(const struct target *target, struct memcg *group, struct error *why)
{
    if (!memcg_find(target->root, target->process->pid, group))
        return error_set(
            why, -ENOTSUP,
            "the guest has no memory control group: the controller is off, or not mounted below "
            "/sys/fs/cgroup");
    if (!group->path[1])
        return error_set(
            why, -ENOTSUP,
            "the guest is in the root control group, with the rest of the host: it needs one of "
            "its own with the memory controller, as libvirt makes one");

    cleanup_free struct lru_gen *gens = malloc(sizeof(*gens));
    int rc = gens ? lru_gen_read(target->root, group->path, false, gens, why)
                  : error_set(why, -ENOMEM, "out of memory");

    return rc < 0 ? rc : check_others(target, group, why);
}
