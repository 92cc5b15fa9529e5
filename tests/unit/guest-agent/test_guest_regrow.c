// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_guest_regrow.c  How the page cache comes back: readings, the curve, and who may drop
 * caches. */
#include "fixture.h"
#include "proc/keyed.h"
#include "regrow/curve.h"
#include "regrow/drop.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MIB ((uint64_t)1 << 20)
#define SHMEM (8 * MIB)

/* --- readings --------------------------------------------------------------------------------- */

TEST(plain, shared_memory_is_no_page_cache_of_files)
{
    cleanup_root struct fsroot root = fixture_open("guest-4.19");
    struct regrow_reading reading;

    ck_assert_int_eq(regrow_read(&root, &reading, NULL), 0);
    ck_assert_uint_eq(regrow_cache_bytes(&reading), (uint64_t)(498004 - 6484) * 1024);
    ck_assert_uint_eq(reading.buffers_bytes, (uint64_t)20480 * 1024);
    ck_assert_uint_eq(reading.dirty_bytes, (uint64_t)224 * 1024);
    ck_assert_uint_eq(reading.mapped_bytes, (uint64_t)90112 * 1024);
    ck_assert_uint_eq(reading.disk_read_bytes, (uint64_t)812344 * 1024);
    ck_assert_uint_eq(reading.disk_read_before_bytes, (uint64_t)812344 * 1024);
    ck_assert_uint_eq(reading.refault_pages, 5123);
    ck_assert_uint_eq(reading.scanned_pages, 70012 + 2408);
    ck_assert_uint_eq(reading.swap_in_pages, 311);
    ck_assert_uint_eq(reading.io_wait_us, KEYED_UNKNOWN); /* no PSI */
    reading.shmem_bytes = reading.cached_bytes + 4096;
    ck_assert_uint_eq(regrow_cache_bytes(&reading), 0);
}

TEST(plain, what_the_disks_read_must_be_known)
{
    struct fsroot root = fixture_open("guest-6.12"); /* whose vmstat was cut */
    struct regrow_reading reading;
    struct error error = {0};

    ck_assert_error(regrow_read(&root, &reading, &error), -ENODATA, "pgpgin");
    fsroot_close(&root);
    root = fixture_open("memfd"); /* without a meminfo */
    ck_assert_int_lt(regrow_read(&root, &reading, &error), 0);
    ck_assert_ptr_nonnull(strstr(error.text, "/proc/"));
    fsroot_close(&root);
}

/* --- the curve -------------------------------------------------------------------------------- */

/* A point with so much cache, of which so much was read from disks. */
static void add(struct regrow_curve *curve, double after_s, uint64_t cache_mib, uint64_t read_mib)
{
    struct regrow_point point = {.after_s = after_s,
                                 .reading = {.cached_bytes = cache_mib * MIB + SHMEM,
                                             .shmem_bytes = SHMEM,
                                             .disk_read_bytes = read_mib * MIB,
                                             .disk_read_before_bytes = read_mib * MIB,
                                             .io_wait_us = KEYED_UNKNOWN}};

    ck_assert_int_eq(regrow_curve_add(curve, &point), 0);
}

/* 110 MiB were cached, 1000 had been read; 9 stay, and 1 was read during the drop. */
static struct regrow_curve dropped(void)
{
    struct regrow_curve curve = {.before = {.cached_bytes = 110 * MIB + SHMEM,
                                            .shmem_bytes = SHMEM,
                                            .disk_read_bytes = 1000 * MIB}};

    add(&curve, 0, 10, 1001);
    return curve;
}

TEST(plain, what_comes_back_is_what_was_needed)
{
    struct regrow_curve curve = dropped();

    add(&curve, 1, 25, 1016);
    add(&curve, 2, 34, 1026);

    struct regrow_result result = regrow_result(&curve);

    ck_assert_uint_eq(result.dropped_bytes, 101 * MIB);
    ck_assert_uint_eq(result.kept_bytes, 9 * MIB);
    ck_assert_uint_eq(result.read_in_drop_bytes, 1 * MIB);
    ck_assert_uint_eq(result.back_bytes, 25 * MIB);
    ck_assert_uint_eq(result.need_low_bytes, 24 * MIB);
    ck_assert_uint_eq(result.need_high_bytes, 34 * MIB);
    ck_assert_uint_eq(result.disk_read_bytes, 26 * MIB);
    ck_assert_uint_eq(regrow_back_bytes(&curve, 0), 1 * MIB);
    ck_assert_uint_eq(regrow_back_bytes(&curve, 1), 16 * MIB);
    regrow_curve_free(&curve);
    ck_assert_ptr_null(curve.point);
}

TEST(plain, what_was_read_during_the_drop_has_come_back)
{
    cleanup_regrow_curve struct regrow_curve curve = dropped();
    size_t knee;

    /* More than is there: direct I/O, or dropped again. */
    curve.point[0].reading.disk_read_bytes = 1050 * MIB;
    add(&curve, 1, 12, 1052);
    ck_assert_uint_eq(regrow_result(&curve).kept_bytes, 0);
    ck_assert_uint_eq(regrow_result(&curve).dropped_bytes, 110 * MIB);
    ck_assert_uint_eq(regrow_back_bytes(&curve, 0), 10 * MIB);
    ck_assert_uint_eq(regrow_result(&curve).back_bytes, 12 * MIB);
    ck_assert_uint_eq(regrow_result(&curve).need_low_bytes, 2 * MIB);
    ck_assert_uint_eq(regrow_result(&curve).need_high_bytes, 12 * MIB);
    ck_assert(regrow_knee(&curve, &knee)); /* it was there at once */
    ck_assert_uint_eq(knee, 0);
}

TEST(plain, tmpfs_that_grows_is_not_what_comes_back)
{
    cleanup_regrow_curve struct regrow_curve curve = dropped();

    add(&curve, 1, 20, 1010);
    curve.point[1].reading.cached_bytes += 50 * MIB;
    curve.point[1].reading.shmem_bytes += 50 * MIB;
    ck_assert_uint_eq(regrow_result(&curve).back_bytes, 11 * MIB);
}

TEST(plain, counters_that_fall_or_are_unknown_add_nothing)
{
    cleanup_regrow_curve struct regrow_curve curve = dropped();

    add(&curve, 1, 5, 3); /* less than was kept, and a guest that was restored */
    curve.before.scanned_pages = KEYED_UNKNOWN;
    curve.before.refault_pages = 7;
    curve.before.io_wait_us = KEYED_UNKNOWN;
    curve.point[1].reading.refault_pages = KEYED_UNKNOWN;

    struct regrow_result result = regrow_result(&curve);

    ck_assert_uint_eq(result.back_bytes, 0);
    ck_assert_uint_eq(result.disk_read_bytes, 0);
    ck_assert_uint_eq(result.scanned_pages, KEYED_UNKNOWN);
    ck_assert_uint_eq(regrow_refault_pages(&curve, 1), KEYED_UNKNOWN);
    ck_assert(!result.reclaim && result.reclaim_unknown);
    ck_assert(isnan(regrow_io_wait_s(&curve, 1)));
    curve.before.io_wait_us = 500000;
    curve.point[1].reading.io_wait_us = 2000000;
    ck_assert_double_eq(regrow_io_wait_s(&curve, 1), 1.5);
}

TEST(plain, growth_has_ended_when_nothing_came_for_so_long)
{
    cleanup_regrow_curve struct regrow_curve curve = dropped();

    ck_assert(!regrow_settled(&curve, 5));
    for (unsigned i = 1; i <= 10; i++) {
        add(&curve, i, 10 + 20 * i, 1001);
        ck_assert_msg(!regrow_settled(&curve, 5), "at %u s", i);
    }
    for (unsigned i = 11; i < 15; i++) {
        add(&curve, i, 211, 1001); /* 1 MiB, below 1 % of 200 */
        ck_assert_msg(!regrow_settled(&curve, 5), "at %u s", i);
    }
    add(&curve, 15, 211, 1001);
    ck_assert(regrow_settled(&curve, 5));
    ck_assert(!regrow_settled(&curve, 6));
}

TEST(plain, a_machine_that_needs_nothing_has_settled)
{
    cleanup_regrow_curve struct regrow_curve curve = dropped();

    add(&curve, 4, 10, 1001);
    ck_assert(!regrow_settled(&curve, 5));
    add(&curve, 5, 10, 1001);
    ck_assert(regrow_settled(&curve, 5));
    add(&curve, 6, 8, 1001); /* and what was mapped went */
    ck_assert(regrow_settled(&curve, 5));
}

TEST(plain, a_drop_that_took_long_is_no_time_without_growth)
{
    cleanup_regrow_curve struct regrow_curve curve = dropped();

    curve.point[0].after_s = 40;
    add(&curve, 41, 10, 1001);
    ck_assert(!regrow_settled(&curve, 30));
    add(&curve, 69, 10, 1001);
    ck_assert(!regrow_settled(&curve, 30));
    add(&curve, 70, 10, 1001);
    ck_assert(regrow_settled(&curve, 30));
}

TEST(plain, what_came_back_after_reclaim_says_that_there_was_some)
{
    cleanup_regrow_curve struct regrow_curve curve = dropped();

    add(&curve, 1, 20, 1011);
    ck_assert(!regrow_result(&curve).reclaim);
    curve.point[1].reading.scanned_pages = 1;
    ck_assert(regrow_result(&curve).reclaim);
    /* At the limit of a control group: the machine's counters have none of it. */
    curve.point[1].reading.scanned_pages = 0;
    curve.point[1].reading.refault_pages = 1;
    ck_assert(regrow_result(&curve).reclaim);
    curve.before.refault_pages = 1;
    ck_assert(!regrow_result(&curve).reclaim && !regrow_result(&curve).reclaim_unknown);
    curve.before.refault_pages = curve.before.scanned_pages = KEYED_UNKNOWN;
    ck_assert(!regrow_result(&curve).reclaim && regrow_result(&curve).reclaim_unknown);
    curve.before.scanned_pages = 0;
    curve.point[1].reading.scanned_pages = 1; /* one of the two is enough */
    ck_assert(regrow_result(&curve).reclaim && !regrow_result(&curve).reclaim_unknown);
}

TEST(plain, more_than_was_read_has_been_written)
{
    cleanup_regrow_curve struct regrow_curve curve = dropped();

    add(&curve, 1, 30, 1021); /* 20 MiB, all of them read */
    ck_assert(!regrow_result(&curve).written);
    curve.point[1].reading.disk_read_bytes -= REGROW_SETTLED_BYTES; /* a moment later or earlier */
    ck_assert(!regrow_result(&curve).written);
    curve.point[1].reading.disk_read_bytes -= 4096;
    ck_assert(regrow_result(&curve).written);
    curve.point[1].reading.disk_read_bytes = 1000 * MIB; /* what was read before is not counted */
    ck_assert(regrow_result(&curve).written);
}

TEST(plain, what_is_read_as_the_cache_is_looked_at_is_not_taken_for_written)
{
    cleanup_regrow_curve struct regrow_curve curve = dropped();

    /* 2 MiB between the two readings of the first point: in the later counter, not in the cache. */
    curve.point[0].reading.disk_read_bytes += 2 * MIB;
    add(&curve, 1, 30, 1021);
    ck_assert(!regrow_result(&curve).written);
    curve.point[1].reading.disk_read_bytes -= 2 * REGROW_SETTLED_BYTES;
    ck_assert(regrow_result(&curve).written);
}

TEST(plain, the_knee_is_where_growth_ends)
{
    cleanup_regrow_curve struct regrow_curve curve = dropped();
    size_t knee = 0;

    ck_assert(!regrow_knee(&curve, &knee));
    for (unsigned i = 1; i <= 40; i++)
        add(&curve, i, i < 8 ? 10 + 12 * i : 10 + 12 * 8, 1001);
    ck_assert(regrow_knee(&curve, &knee));
    ck_assert_uint_eq(knee, 8);
    ck_assert_uint_eq(regrow_back_bytes(&curve, knee), 97 * MIB);
}

TEST(plain, an_even_growth_and_none_have_no_knee)
{
    struct regrow_curve even = dropped(), none = dropped();
    size_t knee;

    none.before.disk_read_bytes = 1001 * MIB;

    for (unsigned i = 1; i <= 20; i++) {
        add(&even, i, 10 + 3 * i, 1001);
        add(&none, i, 10, 1001);
    }
    ck_assert(!regrow_knee(&even, &knee));
    ck_assert(!regrow_knee(&none, &knee));
    regrow_curve_free(&even);
    regrow_curve_free(&none);
}

/* --- dropping --------------------------------------------------------------------------------- */

static const char *dir;

static char *path_of(const char *name)
{
    static char path[256];

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    return path;
}

static void make_file(const char *name, const char *data, size_t size)
{
    unit_write_bytes(dir, name, data, size);
}

static void make_link(const char *name, const char *target)
{
    unlink(path_of(name));
    ck_assert_int_eq(symlink(target, path_of(name)), 0);
}

/* A machine of its own, as this one may not be. */
static void setup(void)
{
    static const char *const dirs[] = {"proc",     "proc/1",      "proc/self", "proc/self/ns",
                                       "proc/sys", "proc/sys/vm", "run",       "run/systemd"};

    dir = unit_dir();
    for (size_t i = 0; i < COUNT(dirs); i++)
        ck_assert_int_eq(mkdir(path_of(dirs[i]), 0755), 0);
    make_link("proc/self/ns/pid", "pid:[4026531836]");
    make_link("proc/self/ns/user", "user:[4026531837]");
    make_link("proc/1/root", "../..");
    make_file("proc/1/environ", "HOME=/\0xcontainer=lxc\0container=\0TERM=linux", 44);
    make_file("proc/sys/vm/drop_caches", "", 0);
}

static int allowed(struct error *error)
{
    struct fsroot root;
    int rc;

    ck_assert_int_eq(fsroot_open(&root, dir), 0);
    rc = drop_allowed(&root, error);
    fsroot_close(&root);
    return rc;
}

FIXTURE(drop, .setup = setup);

TEST(drop, a_machine_of_its_own_may)
{
    if (geteuid() != 0)
        return;
    ck_assert_int_eq(allowed(NULL), 0);
    unlink(path_of("proc/self/ns/user")); /* a kernel without them */
    unlink(path_of("proc/1/environ"));
    unlink(path_of("proc/1/root"));
    ck_assert_int_eq(allowed(NULL), 0);
}

TEST(drop, who_is_not_root_may_not)
{
    ck_assert(geteuid() != 0 || seteuid(65534) == 0);
    ck_assert_error(allowed(&error), -EACCES, "run as root");
    ck_assert(getuid() != 0 || seteuid(0) == 0);
}

static void check_container(const char *what)
{
    struct error error = {0};

    ck_assert_msg(allowed(&error) == -ENOTSUP, "%s", what);
    ck_assert_ptr_nonnull(strstr(error.text, "a container"));
}

TEST(drop, a_container_may_not)
{
    static const char *const marks[] = {".dockerenv", "run/.containerenv", "run/systemd/container"};

    if (geteuid() != 0)
        return;
    for (size_t i = 0; i < COUNT(marks); i++) {
        make_file(marks[i], "", 0);
        check_container(marks[i]);
        unlink(path_of(marks[i]));
        ck_assert_int_eq(allowed(NULL), 0);
    }
    make_file("proc/1/environ", "A=b\0container=lxc\0", 19);
    check_container("PID 1's environment");
    make_file("proc/1/environ", "A=b", 3);
    make_link("proc/self/ns/pid", "pid:[4026532301]");
    check_container("a namespace of PIDs");
    make_link("proc/self/ns/pid", "pid:[4026531836]");
    make_link("proc/self/ns/user", "user:[4026532300]");
    check_container("a namespace of users");
    make_link("proc/self/ns/user", "user:[4026531837]");
    ck_assert_int_eq(allowed(NULL), 0);
    make_link("proc/1/root", "../../run"); /* Kubernetes with hostPID: the host's PID 1 */
    check_container("a root of its own");
}

TEST(drop, clean_page_cache_only_is_dropped)
{
    cleanup_root struct fsroot root;
    struct error error = {0};
    char text[16];

    ck_assert_int_eq(fsroot_open(&root, dir), 0);
    ck_assert_int_eq(drop_clean_caches(&root, &error), 0);
    ck_assert_int_eq(fsroot_read(&root, text, sizeof(text), "proc/sys/vm/drop_caches"), 1);
    ck_assert_str_eq(text, "1");
    unlink(path_of("proc/sys/vm/drop_caches"));
    ck_assert_error(drop_clean_caches(&root, &error), -ENOENT, "/proc/sys/vm/drop_caches: ");
}
