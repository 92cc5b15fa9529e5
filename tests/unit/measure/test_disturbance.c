// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_disturbance.c  Who else is found to change what is sampled, in made trees. */
#include "base/host_file.h"
#include "fixture.h"
#include "guest/domain/qemu_vcpus.h"
#include "measure/kernel/damon_others.h"
#include "measure/kernel/numa_balancing.h"
#include "measure/record/disturbance.h"

#include <errno.h>
#include <unistd.h>

#define KDAMONDS "sys/kernel/mm/damon/admin/kdamonds"

static const char *dir;
static struct fsroot root;

static void setup(void)
{
    dir = unit_dir();
    ck_assert_int_eq(fsroot_open(&root, dir), 0);
}

static void teardown(void)
{
    fsroot_close(&root);
}

/* Writes a file and the directories above it. */
static void put(const char *path, const char *text)
{
    unit_write(dir, path, text);
}

FIXTURE(cases, .setup = setup, .teardown = teardown);

TEST(cases, nobody_in_an_empty_tree)
{
    ck_assert(!disturbance_damon(&root));
    ck_assert(!numa_balancing_on(&root));
    ck_assert(!disturbance_ksm(&root));
    ck_assert(!disturbance_merged(&root, 7));
    ck_assert(!disturbance_swap(&root));
}

TEST(cases, merged_pages_stay_so)
{
    put("proc/7/ksm_merging_pages", "0\n");
    ck_assert(!disturbance_merged(&root, 7));
    put("proc/7/ksm_merging_pages", "12\n");
    ck_assert(disturbance_merged(&root, 7));
    put("sys/kernel/mm/ksm/pages_shared", "1\n");
    ck_assert(disturbance_merged(&root, 7));
    put("sys/kernel/mm/ksm/pages_shared", "0\n"); /* of the whole host */
    ck_assert(!disturbance_merged(&root, 7));
}

/* A file that stays open is read again from its beginning each time. */
TEST(cases, a_file_that_stays_open)
{
    struct host_file file = {.path = "sys/number"};
    uint64_t number = 0;

    root.live = true; /* as far as this test goes */
    ck_assert_int_eq(host_file_read_u64(&file, &root, &number), -ENOENT);
    put("sys/number", "12345\n");
    ck_assert_int_eq(host_file_read_u64(&file, &root, &number), 0);
    ck_assert_uint_eq(number, 12345);
    put("sys/number", "7\n");
    ck_assert_int_eq(host_file_read_u64(&file, &root, &number), 0);
    ck_assert_uint_eq(number, 7);
    put("sys/number", "none\n");
    ck_assert_int_eq(host_file_read_u64(&file, &root, &number), -EINVAL);
    close(atomic_load(&file.fd) - 1);
    root.live = false;
}

/* "/dev/kvm" is none, and a group that is open is one. */
TEST(cases, assigned_devices)
{
    const struct qemu_process process = {.pid = 7, .pidfd = -1};

    put("proc/7/fd/.keep", "");
    ck_assert_int_eq(symlinkat("/dev/kvm", root.dirfd, "proc/7/fd/3"), 0);
    ck_assert_int_eq(symlinkat("anon_inode:kvm-vm", root.dirfd, "proc/7/fd/4"), 0);
    ck_assert(!qemu_process_has_vfio(&root, &process));
    ck_assert_int_eq(symlinkat("/dev/vfio/42", root.dirfd, "proc/7/fd/5"), 0);
    ck_assert(qemu_process_has_vfio(&root, &process));
}

TEST(cases, swap)
{
    put("proc/swaps", "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n");
    ck_assert(!disturbance_swap(&root));
    put("proc/swaps",
        "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n/dev/zram0 partition 9 0 1\n");
    ck_assert(disturbance_swap(&root));
}

TEST(cases, damon)
{
    put(KDAMONDS "/nr_kdamonds", "2\n");
    put(KDAMONDS "/0/state", "off\n");
    put(KDAMONDS "/1/state", "off\n");
    put("sys/module/damon_stat/parameters/enabled", "N\n");
    ck_assert(!disturbance_damon(&root));
    put(KDAMONDS "/1/state", "on\n");
    ck_assert(disturbance_damon(&root));
    put(KDAMONDS "/1/state", "off\n");
    put("sys/module/damon_stat/parameters/enabled", "Y\n");
    ck_assert(disturbance_damon(&root));
    put("sys/module/damon_stat/parameters/enabled", "N\n");
    put("sys/module/damon_reclaim/parameters/enabled", "N\n");
    put("sys/module/damon_lru_sort/parameters/enabled", "N\n");
    ck_assert(!disturbance_damon(&root));
    put("sys/module/damon_reclaim/parameters/enabled", "Y\n");
    ck_assert(disturbance_damon(&root));
    put("sys/module/damon_reclaim/parameters/enabled", "N\n");
    put("sys/module/damon_lru_sort/parameters/enabled", "Y\n");
    ck_assert(disturbance_damon(&root));
}

/* It acts on nothing that it finds. */
TEST(cases, damon_stat_alone)
{
    put(KDAMONDS "/nr_kdamonds", "1\n");
    put(KDAMONDS "/0/state", "off\n");
    ck_assert(!damon_only_looks(&root));
    put("sys/module/damon_stat/parameters/enabled", "Y\n");
    ck_assert(damon_only_looks(&root));
    ck_assert_uint_eq(damon_others_on(&root), 1);
    put("sys/module/damon_lru_sort/parameters/enabled", "Y\n");
    ck_assert(!damon_only_looks(&root));
    ck_assert_uint_eq(damon_others_on(&root), 2);
    put("sys/module/damon_lru_sort/parameters/enabled", "N\n");
    put(KDAMONDS "/0/state", "on\n");
    ck_assert(!damon_only_looks(&root));
    ck_assert_uint_eq(damon_others_on(&root), 2);
}

TEST(cases, numa_balancing_needs_two_nodes)
{
    put("sys/devices/system/node/node0/cpulist", "0\n");
    put("proc/sys/kernel/numa_balancing", "1\n");
    ck_assert(!numa_balancing_on(&root));
    put("sys/devices/system/node/node1/cpulist", "1\n");
    ck_assert(numa_balancing_on(&root));
    put("proc/sys/kernel/numa_balancing", "0\n");
    ck_assert(!numa_balancing_on(&root));
}

TEST(cases, ksm)
{
    put("sys/kernel/mm/ksm/run", "1\n");
    ck_assert(disturbance_ksm(&root));
    put("sys/kernel/mm/ksm/run", "2\n"); /* stopped, and everything unmerged */
    ck_assert(!disturbance_ksm(&root));
}

/* They stay dropped when it does so no more. */
TEST(cases, ksm_drops_zeros)
{
    ck_assert(!disturbance_ksm_drops_zeros(&root));
    put("sys/kernel/mm/ksm/use_zero_pages", "0\n");
    put("sys/kernel/mm/ksm/ksm_zero_pages", "0\n");
    ck_assert(!disturbance_ksm_drops_zeros(&root));
    put("sys/kernel/mm/ksm/ksm_zero_pages", "7\n");
    ck_assert(disturbance_ksm_drops_zeros(&root));
    put("sys/kernel/mm/ksm/ksm_zero_pages", "0\n");
    put("sys/kernel/mm/ksm/use_zero_pages", "1\n");
    ck_assert(disturbance_ksm_drops_zeros(&root));
}
