// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_guest_scope.c  The memory that guests share, in made trees. */
#include "measure/kernel/guest_scope.h"

#include "fake_kernel.h"
#include "fixture.h"

#define GIB (UINT64_C(1) << 30)
#define SLICE "sys/fs/cgroup/machine.slice/memory."

static struct fake_kernel fake;
static struct guest_scope scope;

static void setup(void)
{
    fake_kernel_make(&fake, 64);
    fake_write(&fake, "proc/meminfo",
               "MemTotal: 67108864 kB\nMemAvailable: 8388608 kB\nHugetlb: 4194304 kB\n");
}

static void scope_is(const char *group, uint64_t total_bytes, uint64_t available_bytes)
{
    ck_assert_ok(guest_scope_read(&fake.root, &scope, &error));
    ck_assert_pstr_eq(scope.group, group);
    ck_assert_uint_eq(scope.total_bytes, total_bytes);
    ck_assert_uint_eq(scope.available_bytes, available_bytes);
    ck_assert_uint_eq(scope.host_total_bytes, 60 * GIB);
    ck_assert_uint_ge(scope.host_available_bytes, 8 * GIB);
}

FIXTURE(cases, .setup = setup);

TEST(cases, the_host_binds)
{
    scope_is(NULL, 60 * GIB, 8 * GIB);
    fake_write(&fake, "proc/meminfo", "MemAvailable: 1 kB\n");
    ck_assert_int_lt(guest_scope_read(&fake.root, &scope, NULL), 0);
}

TEST(cases, what_the_arc_gives_back_is_available)
{
    fake_write(&fake, "proc/spl/kstat/zfs/arcstats",
               "13 1 0x01 123 33456 1 2\nname type data\nc_min 4 2147483648\nc 4 7\n"
               "compressed_size 4 9\nsize 4 7516192768\n");
    scope_is(NULL, 60 * GIB, 13 * GIB);
    fake_write(&fake, "proc/spl/kstat/zfs/arcstats", "c_min 4 2147483648\nsize 4 1073741824\n");
    scope_is(NULL, 60 * GIB, 8 * GIB);
    fake_write(&fake, "proc/spl/kstat/zfs/arcstats", "size 4 -1\n");
    scope_is(NULL, 60 * GIB, 8 * GIB);
    fake_write(&fake, "proc/spl/kstat/zfs/arcstats", "size 4 9223372036854775807\n");
    scope_is(NULL, 60 * GIB, 60 * GIB); /* no more than there is */
    fake_write(&fake, "proc/spl/kstat/zfs/arcstats", "size\nc_min 4 x\n");
    scope_is(NULL, 60 * GIB, 8 * GIB);
}

/* 35 GiB, of which 32 are used and 3 are cache. */
static void limit(const char *group, const char *max)
{
    char path[256];

    snprintf(path, sizeof(path), "sys/fs/cgroup/%s/memory.max", group);
    fake_write(&fake, path, max);
    snprintf(path, sizeof(path), "sys/fs/cgroup/%s/memory.current", group);
    fake_write(&fake, path, "34359738368\n");
    snprintf(path, sizeof(path), "sys/fs/cgroup/%s/memory.stat", group);
    fake_write(&fake, path, "inactive_file 3221225472\n");
}

#define ALL_GUESTS "machine.slice/machine-production.slice"

TEST(cases, a_group_at_any_level_binds)
{
    limit("machine.slice", "max");
    limit(ALL_GUESTS, "37580963840");
    limit(ALL_GUESTS "/machine-qemu\\x2d1\\x2dweb1.scope", "34359738368"); /* its own */
    scope_is(ALL_GUESTS, 35 * GIB, 6 * GIB);
    limit("machine.slice", "36507222016"); /* 34 GiB */
    scope_is("machine.slice", 34 * GIB, 5 * GIB);
    limit("machine.slice", "max");
    fake_write(&fake, "sys/fs/cgroup/memory.max", "35433480192\n"); /* of a container */
    fake_write(&fake, "sys/fs/cgroup/memory.current", "34359738368\n");
    scope_is("/", 33 * GIB, 1 * GIB);
    fake_write(&fake, "sys/fs/cgroup/memory.max", "max\n");
    limit("machine.slice/machine-test.slice", "1073741824"); /* other guests are not in it */
    scope_is(NULL, 60 * GIB, 8 * GIB);
}

TEST(cases, a_group_of_version_1_binds)
{
    const char *const group = "sys/fs/cgroup/memory/machine/production.partition/memory.";
    char path[256];

    fake_write(&fake, "sys/fs/cgroup/memory/machine/memory.limit_in_bytes",
               "9223372036854771712\n");
    fake_write(&fake, "sys/fs/cgroup/memory/machine/memory.usage_in_bytes", "34359738368\n");
    snprintf(path, sizeof(path), "%slimit_in_bytes", group);
    fake_write(&fake, path, "37580963840\n");
    snprintf(path, sizeof(path), "%susage_in_bytes", group);
    fake_write(&fake, path, "34359738368\n");
    snprintf(path, sizeof(path), "%sstat", group);
    fake_write(&fake, path, "inactive_file 1\ntotal_inactive_file 2147483648\n");
    scope_is("machine/production.partition", 35 * GIB, 5 * GIB);
}

TEST(cases, the_group_of_the_guests_binds)
{
    fake_write(&fake, SLICE "max", "max\n");
    fake_write(&fake, SLICE "current", "34359738368\n");
    fake_write(&fake, SLICE "stat",
               "anon 1\nfile 9663676416\nfile_dirty 1073741824\ninactive_file 2147483648\n"
               "active_file 1073741824\n");
    scope_is(NULL, 60 * GIB, 8 * GIB);
    fake_write(&fake, SLICE "max", "37580963840\n"); /* 35 GiB, of which 32 are used */
    scope_is("machine.slice", 35 * GIB, 5 * GIB);
    fake_write(&fake, SLICE "max", "42949672960\n"); /* the host has less */
    scope_is(NULL, 60 * GIB, 8 * GIB);
    fake_write(&fake, SLICE "max", "21474836480\n"); /* lowered below what is used */
    scope_is("machine.slice", 20 * GIB, 0);
    /* Above memory.high the kernel slows the guests down and swaps. */
    fake_write(&fake, SLICE "max", "max\n");
    fake_write(&fake, SLICE "high", "37580963840\n");
    scope_is("machine.slice", 35 * GIB, 5 * GIB);
    fake_write(&fake, SLICE "max", "21474836480\n");
    scope_is("machine.slice", 20 * GIB, 0);
    fake_write(&fake, "sys/fs/cgroup/machine/memory.max", "1073741824\n");
    fake_write(&fake, "sys/fs/cgroup/machine/memory.current", "18446744073709551615\n");
    scope_is("machine.slice", 20 * GIB, 0);
}

TEST(cases, tasks_that_wait_for_a_cpu)
{
    scope_is(NULL, 60 * GIB, 8 * GIB);
    ck_assert_double_nan(scope.cpu_some);
    fake_write(&fake, "proc/pressure/cpu",
               "some avg10=91.00 avg60=62.50 avg300=9.00 total=1\nfull avg10=0.00 avg60=0.00\n");
    ck_assert_ok(guest_scope_read(&fake.root, &scope, &error));
    ck_assert_double_eq(scope.cpu_some, 0.625);
    fake_write(&fake, "proc/pressure/cpu", "some avg10=nan avg60=-3\n");
    ck_assert_ok(guest_scope_read(&fake.root, &scope, &error));
    ck_assert_double_nan(scope.cpu_some);
}
