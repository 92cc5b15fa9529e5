// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_memcg_reclaim.c  Which control groups may be reclaimed from, also among hostile ones;
 * and what fits into swap. */
#include "measure/kernel/memcg_reclaim.h"
#include "measure/kernel/swaps.h"

#include "fake_kernel.h"
#include "fixture.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#define MIB (1ULL << 20)
#define SCOPE "machine.slice/machine-qemu\\x2d1\\x2dweb.scope"
#define CGROUP "sys/fs/cgroup/"

static struct fake_kernel fake;
static struct error error;
static struct memcg_reclaim group;

static void in_group(const char *path)
{
    const char *text = TEXT_OF(4096, "0::%s\n", path);

    fake_write(&fake, "proc/4242/cgroup", text);
}

static void make_process(int pid, const char *name, bool has_memory)
{
    const char *path = TEXT_OF(64, "proc/%d/status", pid);
    const char *text = TEXT_OF(128, "Name:\t%s\nUmask:\t0022\n%s", name,
                               has_memory ? "VmRSS:\t  1000 kB\n" : "Threads:\t1\n");

    fake_write(&fake, path, text);
}

static void make_group(const char *path, const char *procs)
{
    static const char *const files[][2] = {
        {"memory.current", "419430400\n"},
        {"memory.reclaim", ""},
        {"memory.stat",
         "anon 400000000\nworkingset_refault_anon 25\nworkingset_refault_anonymous 7\n"},
        {"memory.swap.max", "max\n"},
        {"memory.swap.current", "4096\n"},
        {"memory.pressure", "some avg10=0.00 avg60=0.00 avg300=0.00 total=1500000\n"
                            "full avg10=0.00 avg60=0.00 avg300=0.00 total=9\n"}};
    char name[512];

    for (size_t i = 0; i < COUNT(files); i++) {
        snprintf(name, sizeof(name), CGROUP "%s/%s", path, files[i][0]);
        fake_write(&fake, name, files[i][1]);
    }
    snprintf(name, sizeof(name), CGROUP "%s/cgroup.procs", path);
    fake_write(&fake, name, procs);
}

static void setup(void)
{
    fake_kernel_make(&fake, 1);
    make_process(4242, "qemu-system-x86", true);
    make_group(SCOPE, "");
    fake_write(&fake, CGROUP SCOPE "/libvirt/emulator/cgroup.procs", "4242\n");
    fake_write(&fake, CGROUP SCOPE "/libvirt/cgroup.procs", "");
    in_group("/" SCOPE "/libvirt/emulator");
}

static int open_group(void)
{
    int rc;

    error = (struct error){0};
    rc = memcg_reclaim_open(&fake.root, 4242, &group, &error);
    if (rc == 0)
        memcg_reclaim_close(&group);
    return rc;
}

static void is_refused(int code, const char *why)
{
    int rc = open_group();

    ck_assert_msg(rc == code, "%d: %s", rc, error.text);
    ck_assert_msg(strstr(error.text, why), "%s", error.text);
    ck_assert_int_eq(group.fd, -1);
}

FIXTURE(all, .setup = setup);

TEST(all, the_nearest_group_with_memory_is_the_guests)
{
    ck_assert_int_eq(open_group(), 0);
    ck_assert_str_eq(group.path, "/" SCOPE);
}

TEST(all, its_counters)
{
    struct memcg_counters counters;

    ck_assert_int_eq(memcg_reclaim_open(&fake.root, 4242, &group, &error), 0);
    ck_assert_int_eq(memcg_reclaim_read(&group, &counters, &error), 0);
    ck_assert_uint_eq(counters.current_bytes, 400 * MIB);
    ck_assert_uint_eq(counters.refault_bytes, 25 * (uint64_t)sysconf(_SC_PAGESIZE));
    ck_assert_double_eq(counters.pressure_s, 1.5);
    ck_assert_uint_eq(counters.swap_left_bytes, UINT64_MAX);
    fake_write(&fake, CGROUP SCOPE "/memory.swap.max", "1048576\n");
    ck_assert_int_eq(memcg_reclaim_read(&group, &counters, &error), 0);
    ck_assert_uint_eq(counters.swap_left_bytes, 1048576 - 4096);
    fake_write(&fake, CGROUP SCOPE "/memory.swap.max", "0\n");
    fake_write(&fake, CGROUP SCOPE "/memory.pressure", "");
    ck_assert_int_eq(memcg_reclaim_read(&group, &counters, &error), 0);
    ck_assert_uint_eq(counters.swap_left_bytes, 0);
    ck_assert(isnan(counters.pressure_s)); /* psi=0 */
    fake_write(&fake, CGROUP SCOPE "/memory.pressure", "some avg10=0.00 total=-1\n");
    ck_assert_int_eq(memcg_reclaim_read(&group, &counters, &error), 0);
    ck_assert(isnan(counters.pressure_s));
    memcg_reclaim_close(&group);
}

TEST(all, so_many_bytes_are_written)
{
    char text[32];

    ck_assert_int_eq(memcg_reclaim_open(&fake.root, 4242, &group, &error), 0);
    ck_assert_int_eq(memcg_reclaim_write(&group, 12345678, &error), 0);
    memcg_reclaim_close(&group);
    ck_assert_int_gt(fsroot_read(&fake.root, text, sizeof(text), CGROUP "%s/memory.reclaim", SCOPE),
                     0);
    ck_assert_str_eq(text, "12345678");
}

TEST(all, its_helpers_and_threads_of_the_kernel_may_be_in_it)
{
    fake_write(&fake, CGROUP SCOPE "/libvirt/emulator/cgroup.procs", "4242\n50\n51\n52\n");
    make_process(50, "swtpm", true);
    make_process(51, "vhost-4242", false);
    /* 52 has ended */
    ck_assert_int_eq(open_group(), 0);
}

/* One for each queue of each of its interfaces. */
TEST(all, its_threads_of_the_kernel_are_as_many_as_they_are)
{
    char procs[1024] = "4242\n";
    size_t n = strlen(procs);

    for (int pid = 100; pid < 200; pid++) {
        n += (size_t)snprintf(procs + n, sizeof(procs) - n, "%d\n", pid);
        make_process(pid, "vhost-4242", false);
    }
    fake_write(&fake, CGROUP SCOPE "/libvirt/emulator/cgroup.procs", procs);
    ck_assert_int_eq(open_group(), 0);
    for (int pid = 100; pid < 200; pid++)
        make_process(pid, "swtpm", true);
    is_refused(-EBUSY, "more than 64 other processes");
}

TEST(all, another_process_in_it_is_refused)
{
    fake_write(&fake, CGROUP SCOPE "/libvirt/emulator/cgroup.procs", "50\n4242\n");
    make_process(50, "bash", true);
    is_refused(-EBUSY, "process 50 (bash) is in the group, too");
    make_process(50, "swtpm-of-mine", true); /* begins alike */
    is_refused(-EBUSY, "process 50 (swtpm-of-mine)");
    make_process(50, "qemu-system-x86", true); /* another guest */
    is_refused(-EBUSY, "process 50 (qemu-system-x86)");
    fake_write(&fake, CGROUP SCOPE "/libvirt/emulator/cgroup.procs", "0\n4242\n");
    is_refused(-EBUSY, "another namespace");
}

TEST(all, groups_below_count_whatever_controllers_they_have)
{
    make_group(SCOPE "/nested", "60\n");
    make_process(60, "postgres", true);
    is_refused(-EBUSY, "process 60 (postgres)");
}

TEST(all, a_group_above_with_other_guests_is_refused)
{
    make_group("machine.slice", "");
    fake_write(&fake, CGROUP "machine.slice/other.scope/cgroup.procs", "70\n");
    fake_write(&fake, CGROUP "machine.slice/own.scope/cgroup.procs", "4242\n");
    in_group("/machine.slice/own.scope"); /* without a memory controller */
    is_refused(-EXDEV, "control group /machine.slice, which has the memory controller, is no");
}

TEST(all, a_group_that_it_has_left_is_refused)
{
    fake_write(&fake, CGROUP SCOPE "/libvirt/emulator/cgroup.procs", "");
    is_refused(-ESRCH, "process 4242 is not in control group");
}

TEST(all, paths_that_lead_elsewhere_are_refused)
{
    static const char *const paths[] = {"/../../etc/x.scope", "/" SCOPE "/../../../etc",
                                        "/x.scope/../..", "/../x.scope"};
    char link[256];

    for (size_t i = 0; i < COUNT(paths); i++) {
        in_group(paths[i]);
        ck_assert_msg(open_group() < 0, "%s", paths[i]);
    }
    snprintf(link, sizeof(link), "%s/" CGROUP "link.scope", fake.path);
    ck_assert_int_eq(symlink("machine.slice/a.scope", link), 0); /* to what would be allowed */
    make_group("machine.slice/a.scope", "4242\n");
    in_group("/link.scope");
    is_refused(-EXDEV, "control group /link.scope: ");
}

TEST(all, a_link_among_the_groups_below_is_not_followed)
{
    char link[256];

    make_group("user.slice", "80\n");
    make_process(80, "bash", true);
    snprintf(link, sizeof(link), "%s/" CGROUP SCOPE "/link", fake.path);
    ck_assert_int_eq(symlink("../../user.slice", link), 0);
    ck_assert_int_eq(open_group(), 0);
}

TEST(all, a_link_in_place_of_the_file_is_not_written_to)
{
    char other[256];
    const char *link = TEXT_OF(256, "%s/" CGROUP SCOPE "/memory.reclaim", fake.path);

    snprintf(other, sizeof(other), "%s/other", fake.path);
    fake_write(&fake, "other", "");
    ck_assert_int_eq(unlink(link), 0);
    ck_assert_int_eq(symlink(other, link), 0);
    ck_assert_int_eq(memcg_reclaim_open(&fake.root, 4242, &group, &error), 0);
    ck_assert_int_eq(memcg_reclaim_write(&group, 4096, &error), -ELOOP);
    memcg_reclaim_close(&group);
}

TEST(all, what_is_no_machine_is_refused)
{
    static const char *const paths[] = {"/", "/system.slice/libvirtd.service", "/user.slice",
                                        "/machine.slice/a.scopes", "/kubepods.slice/pod1"};

    for (size_t i = 0; i < COUNT(paths); i++) {
        if (paths[i][1])
            make_group(paths[i] + 1, "4242\n");
        in_group(paths[i]);
        is_refused(-EXDEV, "is no virtual machine's");
    }
    make_group("machine/qemu-1-web.libvirt-qemu", "4242\n"); /* without systemd */
    in_group("/machine/qemu-1-web.libvirt-qemu");
    ck_assert_int_eq(open_group(), 0);
    make_group("machine.slice/machine-qemu-1-a.scopes.scope", "4242\n"); /* of a guest "a.scopes" */
    in_group("/machine.slice/machine-qemu-1-a.scopes.scope");
    ck_assert_int_eq(open_group(), 0);
}

TEST(all, version_1_is_refused_by_name)
{
    fake_write(&fake, "proc/4242/cgroup",
               "5:cpu,memory:/machine.slice\n0::/" SCOPE "/libvirt/emulator\n");
    is_refused(-EOPNOTSUPP, "cgroup v1");
    fake_write(&fake, "proc/4242/cgroup", "4:memory:/machine.slice\n");
    is_refused(-EOPNOTSUPP, "cgroup v1");
    fake_write(&fake, "proc/4242/cgroup", "4:cpu:/machine.slice\n");
    is_refused(-EOPNOTSUPP, "in no control group");
}

TEST(all, an_older_kernel_is_refused_by_name)
{
    char file[256];

    snprintf(file, sizeof(file), "%s/" CGROUP SCOPE "/memory.reclaim", fake.path);
    ck_assert_int_eq(unlink(file), 0);
    is_refused(-EOPNOTSUPP, "Linux 5.19");
    snprintf(file, sizeof(file), "%s/" CGROUP SCOPE "/memory.current", fake.path);
    ck_assert_int_eq(unlink(file), 0);
    is_refused(-EOPNOTSUPP, "has the memory controller");
}

TEST(all, a_process_that_has_ended_is_refused)
{
    ck_assert_int_eq(memcg_reclaim_open(&fake.root, 4243, &group, &error), -ESRCH);
    in_group("/machine.slice/gone.scope");
    is_refused(-ESRCH, "/machine.slice/gone.scope: ");
}

TEST(all, a_path_without_an_end_is_refused)
{
    char path[3000];

    memset(path, 'a', sizeof(path));
    path[0] = '/';
    strcpy(path + sizeof(path) - 8, ".scope");
    in_group(path);
    is_refused(-EXDEV, "too long");
}

/* --- swap ------------------------------------------------------------------------------------- */

#define SWAPS "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n"
#define ZRAM "/dev/zram0                              partition\t1048576\t\t24576\t\t%d\n"
#define DISK "/dev/sda2                               partition\t8388608\t\t0\t\t%d\n"

static uint64_t total_bytes;

static uint64_t room(bool any)
{
    struct swap_room found = {1, 1};

    ck_assert_int_eq(swap_room(&fake.root, any, &found), 0);
    total_bytes = found.total_bytes;
    return found.free_bytes;
}

static void swaps(const char *format, int first, int second)
{
/* Formats of this file. */
#pragma GCC diagnostic ignored "-Wformat-nonliteral"

    const char *text = TEXT_OF(1024, format, first, second);

    fake_write(&fake, "proc/swaps", text);
}

TEST(all, only_zram_that_is_filled_first_has_room)
{
    ck_assert_uint_eq(room(true), 0); /* a kernel without swap */
    fake_write(&fake, "proc/swaps", SWAPS);
    ck_assert_uint_eq(room(true), 0);
    swaps(SWAPS ZRAM DISK, 100, -2);
    ck_assert_uint_eq(room(false), 1000 * MIB);
    ck_assert_uint_eq(total_bytes, 1024 * MIB);
    ck_assert_uint_eq(room(true), 9192 * MIB);
    ck_assert_uint_eq(total_bytes, 9216 * MIB);
    swaps(SWAPS DISK ZRAM, 5, 5); /* in turn */
    ck_assert_uint_eq(room(false), 0);
    ck_assert_uint_eq(total_bytes, 0);
    swaps(SWAPS DISK ZRAM, 10, 5);
    ck_assert_uint_eq(room(false), 0);
    swaps(SWAPS DISK, 10, 0);
    ck_assert_uint_eq(room(false), 0);
    ck_assert_uint_eq(room(true), 8192 * MIB);
    fake_write(&fake, "proc/swaps", SWAPS "/dev/zram0 partition 10 20 1\n/dev/zram1 bad\n");
    ck_assert_uint_eq(room(true), 0);
}

TEST(all, of_zram_what_may_be_used_and_shrinks_counts)
{
    swaps(SWAPS ZRAM, 100, 0);
    fake_write(&fake, "sys/block/zram0/mm_stat", "25165824 6000000 7000000 0 7000000 0 0 0 0\n");
    ck_assert_uint_eq(room(false), 1000 * MIB);
    fake_write(&fake, "sys/block/zram0/mm_stat",
               "25165824 6000000 7340032 17825792 7340032 0 0 0 0\n"); /* 17 MiB, 7 are used */
    ck_assert_uint_eq(room(false), 10 * MIB);
    ck_assert_uint_eq(total_bytes, 17 * MIB);
    fake_write(&fake, "sys/block/zram0/mm_stat", "100000000 90000000 91000000 0 1 0 0 0 0\n");
    ck_assert_uint_eq(room(false), 0);
    ck_assert_uint_eq(room(true), 1000 * MIB);
    fake_write(&fake, "sys/block/zram0/mm_stat", "10000000 9000000 9100000 0 1 0 0 0 0\n");
    ck_assert_uint_eq(room(false), 1000 * MIB); /* too little to judge by */
}
