// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_qemu_process.c  Identity, accelerator and vCPU threads of captured QEMU processes,
 * and of made ones. */
#include "base/proc_pid.h"
#include "fixture.h"
#include "guest/domain/qemu_io.h"
#include "guest/domain/qemu_process.h"
#include "guest/domain/qemu_vcpus.h"
#include "guest/domain/qemu_writers.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static struct qemu_process process;
static struct error error;

static void open_fixture(const char *name, struct fsroot *root)
{
    *root = fixture_open(name);
    ck_assert_msg(qemu_process_open(root, FIXTURE_PID, &process, &error) == 0, "%s", error.text);
    ck_assert_int_eq(process.pidfd, -1);
    ck_assert_int_eq(process.pid, FIXTURE_PID);
    ck_assert_str_eq(process.exe, "/usr/bin/qemu-system-x86_64");
}

/* A copy of a fixture in a directory of its own, which a test may damage. */
static const char *copy;

static struct fsroot copy_fixture(const char *name)
{
    struct fsroot root;

    copy = unit_dir();
    unit_shell("cp -a '%s/%s/.' %s", FIXTURES, name, copy);
    ck_assert_int_eq(fsroot_open(&root, copy), 0);
    return root;
}

static void write_file(const char *path, const char *text)
{
    const char *below = TEXT_OF(128, "proc/%d/%s", FIXTURE_PID, path);

    unit_write(copy, below, text);
}

static void link_exe(const char *target)
{
    const char *path = TEXT_OF(128, "%s/proc/%d/exe", copy, FIXTURE_PID);

    unlink(path);
    ck_assert_int_eq(symlink(target, path), 0);
}

TEST(plain, told_apart_by_their_uuid)
{
    cleanup_root struct fsroot root;
    char uuid[37];

    open_fixture("libvirt", &root);
    snprintf(uuid, sizeof(uuid), "%s", process.config.uuid);
    ck_assert_int_eq(strlen(uuid), 36);
    ck_assert_int_eq(qemu_process_is_of(&root, FIXTURE_PID, uuid, &error), 0);
    uuid[35] ^= 1;
    ck_assert_error(qemu_process_is_of(&root, FIXTURE_PID, uuid, &error), -ENOEXEC,
                    "another guest's");
    ck_assert_int_eq(qemu_process_is_of(&root, FIXTURE_PID, "", NULL), -ENOEXEC);
    ck_assert_int_eq(qemu_process_is_of(&root, FIXTURE_PID + 1, uuid, NULL), -ENOEXEC);
    qemu_process_close(&process);
}

/* -async-teardown: a child with the memory, the program and the command line of its parent. */
TEST(plain, a_forked_process_is_no_guest)
{
    cleanup_root struct fsroot root = copy_fixture("libvirt");
    cleanup_free pid_t *pids = NULL;
    cleanup_free pid_t *others = NULL;

    unit_shell("cp -a '%s/proc/1000' '%s/proc/1001'", copy, copy);
    unit_write(
        copy, "proc/1001/stat",
        "1001 (cleanup/1000) S 1000 1 1 0 -1 4 5 6 7 8 30 12 0 0 20 0 1 0 78 0 0 0 0 0 4096\n");
    write_file("stat", "1000 (q) S 1 1 1 0 -1 4 5 6 7 8 30 12 0 0 20 0 3 0 77 0 0 0 0 0 4096\n");
    ck_assert_int_eq(qemu_process_find_all(&root, false, &pids), 1);
    ck_assert_int_eq(pids[0], FIXTURE_PID);
    ck_assert_error(qemu_process_open(&root, FIXTURE_PID + 1, &process, &error), -ENOEXEC,
                    "process 1000, the guest, has forked it");
    /* a QEMU that another one has started: exec() gives it another stack */
    write_file("stat", "1000 (q) S 1 1 1 0 -1 4 5 6 7 8 30 12 0 0 20 0 3 0 77 0 0 0 0 0 8192\n");
    ck_assert_int_eq(qemu_process_find_all(&root, false, &others), 2);
}

/* It frees the memory of its parent, which has ended: for a large guest that takes long. */
TEST(plain, a_forked_process_is_no_guest_after_its_parent)
{
    cleanup_root struct fsroot root = copy_fixture("libvirt");
    cleanup_free pid_t *pids = NULL;

    unit_shell("mv '%s/proc/1000' '%s/proc/1001'", copy, copy);
    unit_write(copy, "proc/1001/stat",
               "1001 (cleanup/1000) R 1 1 1 0 -1 4 5 6 7 8 30 12 0 0 20 0 1 0 78 0 0 0 0 0 4096\n");
    unit_write(copy, "proc/1001/comm", "cleanup/1000\n");
    ck_assert_int_eq(qemu_process_find_all(&root, false, &pids), 0);
    ck_assert_int_eq(qemu_process_open(&root, FIXTURE_PID + 1, &process, &error), -ENOEXEC);
}

TEST(plain, tcg_with_named_threads)
{
    cleanup_root struct fsroot root;

    open_fixture("libvirt", &root);
    ck_assert_int_eq(process.accel, ACCEL_TCG);
    ck_assert(process.vcpus_known);
    ck_assert_uint_eq(process.n_vcpus, 2);
    ck_assert_int_lt(process.vcpus[0], process.vcpus[1]);
    ck_assert_uint_gt(qemu_process_vcpu_ns(&root, &process), 0);
    ck_assert_str_eq(process.config.name, "sys1");
}

TEST(plain, tcg_without_names_has_all_threads)
{
    cleanup_root struct fsroot root;

    open_fixture("anon-thp", &root);
    ck_assert_int_eq(process.accel, ACCEL_TCG);
    ck_assert(!process.vcpus_known);
    ck_assert_uint_eq(process.n_vcpus, 4); /* main, RCU, two vCPUs */
    ck_assert_int_eq(process.vcpus[0], FIXTURE_PID);
}

TEST(plain, kvm_with_and_without_names_agree)
{
    static const char *const names[] = {"kvm-named", "kvm-unnamed"};

    for (size_t i = 0; i < 2; i++) {
        struct fsroot root;

        open_fixture(names[i], &root);
        ck_assert_int_eq(process.accel, ACCEL_KVM);
        ck_assert(process.vcpus_known);
        ck_assert_uint_eq(process.n_vcpus, 2);
        ck_assert_int_eq(process.vcpus[0], FIXTURE_PID + 2);
        ck_assert_int_eq(process.vcpus[1], FIXTURE_PID + 3);
        ck_assert_uint_gt(qemu_process_vcpu_ns(&root, &process), 1000000000);
        qemu_process_close(&process);
        fsroot_close(&root);
    }
}

TEST(plain, single_threaded_tcg)
{
    cleanup_root struct fsroot root = copy_fixture("libvirt");

    write_file("task/1003/comm", "ALL CPUs/TCG\n");
    write_file("task/1004/comm", "CPU 0/XXX\n");
    ck_assert_int_eq(qemu_process_open(&root, FIXTURE_PID, &process, &error), 0);
    ck_assert_uint_eq(process.n_vcpus, 1);
    ck_assert_int_eq(process.vcpus[0], 1003);
    ck_assert_int_eq(process.accel, ACCEL_TCG);
}

TEST(plain, vcpus_come_and_go)
{
    cleanup_root struct fsroot root = copy_fixture("libvirt");

    ck_assert_int_eq(qemu_process_open(&root, FIXTURE_PID, &process, &error), 0);
    ck_assert_uint_eq(process.n_vcpus, 2);

    pid_t first = process.vcpus[0];
    pid_t last = process.vcpus[1];

    write_file("task/1003/comm", "worker\n");
    ck_assert_int_eq(qemu_vcpus_find(&root, &process), 0);
    ck_assert_uint_eq(process.n_vcpus, 1);
    ck_assert_int_eq(process.vcpus[0], first == 1003 ? last : first);
    write_file("task/1003/comm", "CPU 0/TCG\n");
    ck_assert_int_eq(qemu_vcpus_find(&root, &process), 0);
    ck_assert_uint_eq(process.n_vcpus, 2);
    ck_assert(process.vcpus[0] == first && process.vcpus[1] == last);
}

static const char *name_of(const struct qemu_threads *threads, pid_t tid)
{
    for (size_t i = 0; i < threads->n; i++)
        if (threads->thread[i].tid == tid)
            return threads->thread[i].name;
    return NULL;
}

/* The name of a thread is read until it has had ten seconds to name itself, and again of another
 * one that got its id. */
TEST(plain, names_of_threads_are_read_once)
{
    cleanup_root struct fsroot root = copy_fixture("libvirt");
    struct qemu_threads threads = {0};
    const uint64_t then_ns = 1000000000;

    root.live = true; /* as far as this test goes */
    ck_assert_int_eq(qemu_threads_read(&root, FIXTURE_PID, then_ns, &threads), 0);
    write_file("task/1003/comm", "CPU 7/TCG\n");
    ck_assert_zero(
        qemu_threads_read(&root, FIXTURE_PID, then_ns + QEMU_THREADS_SETTLE_NS, &threads));
    ck_assert_str_eq(name_of(&threads, 1003), "CPU 7/TCG");

    write_file("task/1003/comm", "not read\n");
    ck_assert_zero(
        qemu_threads_read(&root, FIXTURE_PID, then_ns + 2 * QEMU_THREADS_SETTLE_NS, &threads));
    ck_assert_str_eq(name_of(&threads, 1003), "CPU 7/TCG");

    const char *old = TEXT_OF(512, "%s/proc/%d/task/1003", copy, FIXTURE_PID);

    const char *away = TEXT_OF(512, "%s/proc/%d/task/ended", copy, FIXTURE_PID);

    const char *begun = TEXT_OF(512, "%s/proc/%d/task/1009", copy, FIXTURE_PID);

    ck_assert_int_eq(mkdir(begun, 0755), 0);
    write_file("task/1009/comm", "dump_thread\n");
    ck_assert_int_eq(rename(old, away), 0);
    ck_assert_int_eq(rename(begun, old), 0);
    ck_assert_zero(
        qemu_threads_read(&root, FIXTURE_PID, then_ns + 3 * QEMU_THREADS_SETTLE_NS, &threads));
    ck_assert_str_eq(name_of(&threads, 1003), "dump_thread");
    qemu_threads_free(&threads);
}

TEST(plain, jobs_by_their_threads)
{
    cleanup_root struct fsroot root = copy_fixture("libvirt");
    static const struct {
        const char *thread;
        unsigned jobs;
    } cases[] = {
        {"worker\n", 0},
        {"live_migration\n", QEMU_JOB_MIGRATION},
        {"mig/src/main\n", QEMU_JOB_MIGRATION},
        {"multifdrecv_0\n", QEMU_JOB_MIGRATION},
        {"postcopy/listen\n", QEMU_JOB_MIGRATION},
        {"mig/dirtyrate\n", QEMU_JOB_DIRTY_RATE},
        {"get_dirtyrate\n", QEMU_JOB_DIRTY_RATE},
        {"dump_thread\n", QEMU_JOB_DUMP},
    };

    ck_assert_int_eq(qemu_process_open(&root, FIXTURE_PID, &process, &error), 0);
    for (size_t i = 0; i < COUNT(cases); i++) {
        write_file("task/1003/comm", cases[i].thread);
        ck_assert_uint_eq(qemu_process_jobs(&root, &process), cases[i].jobs);
    }
}

/* QEMU's main thread receives RAM, until the vCPUs begin to run. */
TEST(plain, a_migration_that_comes_in)
{
    cleanup_root struct fsroot root = copy_fixture("libvirt");

    ck_assert_int_eq(qemu_process_open(&root, FIXTURE_PID, &process, &error), 0);
    ck_assert_uint_gt(process.n_vcpus, 0);
    for (size_t i = 0; i < process.n_vcpus; i++)
        write_file(TEXT_OF(64, "task/%d/schedstat", (int)process.vcpus[i]), "300000 0 1\n");
    ck_assert_uint_eq(qemu_process_jobs(&root, &process), 0);
    process.config.incoming = true;
    ck_assert_uint_eq(qemu_process_jobs(&root, &process), QEMU_JOB_MIGRATION);
    ck_assert_uint_eq(qemu_process_jobs_found(&root, &process), QEMU_JOB_MIGRATION);
    write_file(TEXT_OF(64, "task/%d/schedstat", (int)process.vcpus[0]), "90000000 0 1\n");
    ck_assert_uint_eq(qemu_process_jobs(&root, &process), 0);
    ck_assert_uint_eq(qemu_process_jobs_found(&root, &process), 0);
}

TEST(plain, what_was_written)
{
    cleanup_root struct fsroot root = copy_fixture("libvirt");

    ck_assert_int_eq(qemu_process_open(&root, FIXTURE_PID, &process, &error), 0);
    ck_assert_uint_eq(qemu_process_transfers(&root, &process).bytes, 0);
    write_file("io", "rchar: 5\nwchar: 1073741825\nsyscr: 7\nsyscw: 11\nwrite_bytes: 3\n");
    ck_assert_uint_eq(qemu_process_transfers(&root, &process).bytes, 1073741825);
    ck_assert_uint_eq(qemu_process_transfers(&root, &process).calls, 11);
    ck_assert_uint_eq(qemu_process_transfers(&root, &process).read, 5);
    write_file("io", "rchar: 5\n");
    ck_assert_uint_eq(qemu_process_transfers(&root, &process).bytes, 0);
    ck_assert_uint_eq(qemu_process_transfers(&root, &process).calls, 0);
}

static void write_io(const char *path, uint64_t bytes, uint64_t calls)
{
    write_file(path, TEXT_OF(128, "rchar: 5\nwchar: %" PRIu64 "\nsyscr: 7\nsyscw: %" PRIu64 "\n",
                             bytes, calls));
}

/* A guest of 96 MiB, whose disk a thread serves, and whose dump is compressed well. */
TEST(plain, who_wrote_a_dump)
{
    cleanup_root struct fsroot root = copy_fixture("libvirt");
    const uint64_t ram_bytes = 96 << 20;
    struct qemu_writers writers = {.begun = false};
    struct qemu_transfers wrote;

    ck_assert_int_eq(qemu_process_open(&root, FIXTURE_PID, &process, &error), 0);

    const char *disk = TEXT_OF(64, "task/%d/io", (int)process.vcpus[0]);

    write_io(disk, 5 << 20, 100);
    write_io("io", 6 << 20, 5000);
    wrote = qemu_writers_read(&writers, &root, &process, 4096);
    ck_assert_uint_eq(wrote.bytes, 0);
    /* by the guest's disk, and a monitor */
    write_io(disk, 9 << 20, 200);
    write_io("io", (10 << 20) + 8000, 6100);
    wrote = qemu_writers_read(&writers, &root, &process, 4096);
    ck_assert_uint_eq(wrote.bytes, 8000);
    ck_assert_uint_eq(wrote.calls, 1000);
    ck_assert(!qemu_wrote_dump(&wrote, ram_bytes));
    /* by a thread that is not there any more */
    write_io("io", (10 << 20) + 608000, 6330);
    wrote = qemu_writers_read(&writers, &root, &process, 600001);
    ck_assert_uint_eq(wrote.bytes, 0);
    wrote = qemu_writers_read(&writers, &root, &process, qemu_dump_least_bytes(ram_bytes));
    ck_assert_uint_eq(wrote.bytes, 600000);
    ck_assert(qemu_wrote_dump(&wrote, ram_bytes));
    ck_assert(!qemu_wrote_dump(&wrote, ram_bytes * 2));
    wrote.calls = 6000;
    ck_assert(!qemu_wrote_dump(&wrote, ram_bytes));
    qemu_writers_free(&writers);
}

/* A disk of 1,000 bytes read, and 300 that a thread of a pool wrote for the guest; pmemsave writes
 * by the main thread. */
TEST(plain, what_devices_moved)
{
    cleanup_root struct fsroot root = copy_fixture("libvirt");

    ck_assert_int_eq(qemu_process_open(&root, FIXTURE_PID, &process, &error), 0);
    write_file("io", "rchar: 5\nwchar: 7\nread_bytes: 0\nwrite_bytes: 3\n");
    write_file("task/1000/io", "rchar: 5\nwchar: 7\nread_bytes: 0\nwrite_bytes: 3\n");

    const struct qemu_io before = qemu_process_io(&root, &process);

    write_file("io", "rchar: 1005\nwchar: 5307\nread_bytes: 0\nwrite_bytes: 4096\n");
    write_file("task/1000/io", "rchar: 5\nwchar: 5007\nread_bytes: 0\nwrite_bytes: 4096\n");

    const struct qemu_io pool = qemu_process_io(&root, &process);

    ck_assert_uint_eq(qemu_io_device_bytes(&before, &pool), 1000 + 300);
    write_file("io", "rchar: 1005\nwchar: 5307\nread_bytes: 8192\nwrite_bytes: 12288\n");

    const struct qemu_io direct = qemu_process_io(&root, &process);

    ck_assert_uint_eq(qemu_io_device_bytes(&pool, &direct), 8192 + 8192);
    ck_assert_uint_eq(qemu_io_device_bytes(&direct, &before), 0);
}

/* A thread of a pool that had nothing to do has ended, and one that has run for 100 s goes on. */
TEST(plain, what_threads_moved_of_which_one_has_ended)
{
    const struct qemu_io before = {.helpers_ns = 105000000000, .others_ns = 110000000000};
    struct qemu_io now = {.helpers_ns = 100000001000, .others_ns = 110000002000};

    ck_assert_uint_eq(qemu_io_device_bytes(&before, &now), 2000 * 8);
    now.others_ns = 0; /* not known */
    ck_assert_uint_eq(qemu_io_device_bytes(&before, &now), 100000001000 * 8);
    now.helpers_ns = 105000003000;
    ck_assert_uint_eq(qemu_io_device_bytes(&before, &now), 3000 * 8);
}

/* io_uring's page cache, sockets and vhost count nowhere: what the threads beside the vCPUs and
 * those of a job could have copied, the main thread within limits. */
TEST(plain, what_helpers_may_have_moved)
{
    cleanup_root struct fsroot root = copy_fixture("kvm-named");
    struct qemu_io before, now;

    ck_assert_int_eq(qemu_process_open(&root, FIXTURE_PID, &process, &error), 0);
    write_file("task/1000/schedstat", "1000 6 7\n");
    write_file("task/1001/schedstat", "5000 6 7\n");
    write_file("task/1002/schedstat", "1000 6 7\n");
    /* They free what QEMU no longer uses, and serve its monitors. */
    write_file("task/1001/comm", "call_rcu\n");
    ck_assert_uint_eq(qemu_process_io(&root, &process).helpers_ns, 0);
    write_file("task/1001/comm", "IO mon_iothread\n");
    ck_assert_uint_eq(qemu_process_io(&root, &process).helpers_ns, 0);
    write_file("task/1001/comm", "worker\n");
    before = qemu_process_io(&root, &process);
    ck_assert_uint_eq(before.helpers_ns, 5000);
    write_file("task/1000/schedstat", "900000 6 7\n");
    write_file("task/1002/schedstat", "900000 6 7\n");
    write_file("task/1004/schedstat", "900000 6 7\n");
    now = qemu_process_io(&root, &process);
    ck_assert_uint_eq(qemu_io_device_bytes(&before, &now), 0);
    write_file("task/1001/schedstat", "6000 6 7\n");
    now = qemu_process_io(&root, &process);
    ck_assert_uint_eq(qemu_io_device_bytes(&before, &now), 8000);
    /* The main thread may have copied 1.6 MB, and waited once; then 8 MB. */
    write_file("task/1000/status", "Name:\tq\nvoluntary_ctxt_switches:\t7\n");
    before = qemu_process_io(&root, &process);
    write_file("task/1000/status", "Name:\tq\nvoluntary_ctxt_switches:\t8\n");
    write_file("task/1000/schedstat", "1100000 6 7\n");
    now = qemu_process_io(&root, &process);
    ck_assert_uint_eq(qemu_io_device_bytes(&before, &now), 0);
    now.has_disk = true;
    ck_assert_uint_eq(qemu_io_device_bytes(&before, &now), 1600000);
    write_file("task/1000/schedstat", "1900000 6 7\n");
    now = qemu_process_io(&root, &process);
    now.has_disk = true;
    ck_assert_uint_eq(qemu_io_device_bytes(&before, &now), 2 << 20);
    now.written = now.main_written = 64 << 20;
    ck_assert_uint_eq(qemu_io_device_bytes(&before, &now), 0);
    write_file("task/1001/comm", "get_dirtyrate\n");
    ck_assert_uint_eq(qemu_process_io(&root, &process).helpers_ns, 0);
}

TEST(plain, cpu_time_without_schedstat)
{
    cleanup_root struct fsroot root = copy_fixture("kvm-named");
    uint64_t tick_ns = 1000000000ULL / (uint64_t)sysconf(_SC_CLK_TCK);

    ck_assert_int_eq(qemu_process_open(&root, FIXTURE_PID, &process, &error), 0);
    write_file("task/1002/schedstat", "12345 6 7\n");
    write_file("task/1003/schedstat", "");
    write_file("task/1003/stat",
               "1003 (a) b (c) S 1 1 1 0 -1 4 0 0 0 0 30 12 0 0 20 0 3 0 999 0 0\n");
    ck_assert_uint_eq(qemu_process_vcpu_ns(&root, &process), 12345 + 42 * tick_ns);
    write_file("task/1003/stat", "garbage\n");
    ck_assert_uint_eq(qemu_process_vcpu_ns(&root, &process), 12345);
}

/* One that is unplugged takes along all the time that it ever ran. */
TEST(plain, a_clock_of_vcpus_that_come_and_go)
{
    cleanup_root struct fsroot root = copy_fixture("libvirt");
    struct vcpu_clock clock = {0};

    ck_assert_int_eq(qemu_process_open(&root, FIXTURE_PID, &process, &error), 0);
    ck_assert_uint_eq(process.n_vcpus, 2);
    write_file("task/1003/schedstat", "7000000 0 0\n");

    pid_t other = process.vcpus[0] == 1003 ? process.vcpus[1] : process.vcpus[0];

    const char *path = TEXT_OF(64, "task/%d/schedstat", (int)other);

    write_file(path, "1000 0 0\n");
    ck_assert_uint_eq(vcpu_clock_read(&clock, &root, &process), 0);
    write_file(path, "1500 0 0\n");
    ck_assert_uint_eq(vcpu_clock_read(&clock, &root, &process), 500);
    write_file("task/1003/comm", "worker\n");
    ck_assert_int_eq(qemu_vcpus_find(&root, &process), 0);
    write_file(path, "1600 0 0\n");
    ck_assert_uint_eq(vcpu_clock_read(&clock, &root, &process), 500);
    write_file(path, "1700 0 0\n");
    ck_assert_uint_eq(vcpu_clock_read(&clock, &root, &process), 600);
}

static void put_guest_ticks(const char *path, unsigned ticks)
{
    char line[256];

    snprintf(line, sizeof(line),
             "1 (CPU 0/KVM) R 1 1 1 0 -1 4 0 0 0 0 900 12 0 0 20 0 3 0 999 "
             "1 2 18446744073709551615 4 5 6 7 8 9 10 11 12 0 0 0 -1 0 0 0 0 %u 0 1 2\n",
             ticks);
    write_file(path, line);
}

TEST(plain, guest_time_of_vcpus_that_have_ended)
{
    cleanup_root struct fsroot root = copy_fixture("kvm-named");

    ck_assert_int_eq(qemu_process_open(&root, FIXTURE_PID, &process, &error), 0);
    ck_assert_uint_eq(qemu_process_ended_guest_ticks(&root, &process), 0);
    ck_assert_uint_eq(process.n_vcpus, 2);
    put_guest_ticks("task/1002/stat", 300);
    put_guest_ticks("task/1003/stat", 100);
    put_guest_ticks("stat", 400);
    ck_assert_uint_eq(qemu_process_ended_guest_ticks(&root, &process), 0);
    put_guest_ticks("stat", 425);
    ck_assert_uint_eq(qemu_process_ended_guest_ticks(&root, &process), 25);
    put_guest_ticks("task/1002/stat", 350); /* it ran while this was read */
    ck_assert_uint_eq(qemu_process_ended_guest_ticks(&root, &process), 0);
}

TEST(plain, vcpus_that_qemu_has_stopped)
{
    cleanup_root struct fsroot root = copy_fixture("kvm-named");

    ck_assert_int_eq(qemu_process_open(&root, FIXTURE_PID, &process, &error), 0);
    ck_assert(!qemu_process_vcpus_stopped(&root, &process)); /* not known */
    write_file("task/1002/syscall", "202 0x7f 0x80 0x0 0x0 0x0 0x0 0x7ff 0x7f1\n");
    write_file("task/1003/syscall", "16 0x1d 0xae80 0x0 0x0 0x0 0x0 0x7ff 0x7f1\n"); /* halted */
    ck_assert(!qemu_process_vcpus_stopped(&root, &process));
    write_file("task/1003/syscall", "running\n");
    ck_assert(!qemu_process_vcpus_stopped(&root, &process));
    write_file("task/1003/syscall", "202 0x7f 0x80 0x0 0x0 0x0 0x0 0x7ff 0x7f1\n");
    ck_assert(qemu_process_vcpus_stopped(&root, &process));
}

TEST(plain, other_executables_are_refused)
{
    cleanup_root struct fsroot root = copy_fixture("anon-thp");
    static const char *const good[] = {
        "/usr/bin/qemu-system-x86_64 (deleted)", "/usr/libexec/qemu-kvm", "/usr/bin/kvm",
        "/opt/x/qemu-system-aarch64", "/nix/store/q/bin/.qemu-system-x86_64-wrapped"};
    static const char *const bad[] = {"/usr/bin/qemu-img",           "/usr/bin/python3",
                                      "/home/qemu-system-x86_64/sh", "/bin/kvm2",
                                      "/bin/qemu-kvm-wrapper",       "/usr/bin/qemu-x86_64"};

    for (size_t i = 0; i < COUNT(good); i++) {
        link_exe(good[i]);
        ck_assert_msg(qemu_process_open(&root, FIXTURE_PID, &process, &error) == 0, "%s", good[i]);
        ck_assert(qemu_process_is_qemu(&root, FIXTURE_PID));
        qemu_process_close(&process);
    }
    for (size_t i = 0; i < COUNT(bad); i++) {
        link_exe(bad[i]);
        ck_assert_msg(qemu_process_open(&root, FIXTURE_PID, &process, &error) == -ENOEXEC, "%s",
                      bad[i]);
        ck_assert_ptr_nonnull(strstr(error.text, bad[i]));
        ck_assert(!qemu_process_is_qemu(&root, FIXTURE_PID));
    }
}

TEST(plain, an_upgrade_is_no_replacement)
{
    cleanup_root struct fsroot root = copy_fixture("anon-thp");

    ck_assert_int_eq(qemu_process_open(&root, FIXTURE_PID, &process, &error), 0);
    link_exe("/usr/bin/qemu-system-x86_64 (deleted)");
    ck_assert_int_eq(qemu_process_verify(&root, &process, &error), 0);
    link_exe("/usr/bin/sleep");
    ck_assert_int_eq(qemu_process_verify(&root, &process, &error), -ESRCH);
}

static void write_stack(unsigned stack)
{
    char stat[256];

    snprintf(stat, sizeof(stat),
             "1000 (q) S 1 1 1 0 -1 4 0 0 0 0 30 12 0 0 20 0 3 0 %llu 0 0 0 1 2 %u 0 0\n",
             (unsigned long long)process.start_ticks, stack);
    write_file("stat", stat);
}

/* A live update of QEMU is an exec(2): the stack is elsewhere, or the program. */
TEST(plain, another_address_space_is_stale)
{
    cleanup_root struct fsroot root = copy_fixture("anon-thp");

    ck_assert_int_eq(qemu_process_open(&root, FIXTURE_PID, &process, &error), 0);
    write_stack(5000);
    qemu_process_close(&process);
    ck_assert_int_eq(qemu_process_open(&root, FIXTURE_PID, &process, &error), 0);
    ck_assert_int_eq(qemu_process_verify(&root, &process, &error), 0);
    write_stack(0); /* not permitted any more */
    ck_assert_int_eq(qemu_process_verify(&root, &process, &error), 0);
    write_stack(6000);
    ck_assert_error(qemu_process_verify(&root, &process, &error), -ESTALE,
                    "replaced its program (exec)");
    write_stack(5000);
    link_exe("/opt/new/qemu-system-x86_64");
    ck_assert_int_eq(qemu_process_verify(&root, &process, &error), -ESTALE);
}

TEST(plain, reused_dead_and_stopped)
{
    cleanup_root struct fsroot root = copy_fixture("anon-thp");
    char stat[256];

    ck_assert_int_eq(qemu_process_open(&root, FIXTURE_PID, &process, &error), 0);
    ck_assert_int_eq(qemu_process_verify(&root, &process, &error), 0);
    ck_assert(!qemu_process_stopped(&root, &process));
    for (const char *state = "TtSZX"; *state; state++) {
        snprintf(stat, sizeof(stat),
                 "1000 (q) %c 1 1 1 0 -1 4 0 0 0 0 30 12 0 0 20 0 3 0 %llu 0 0\n", *state,
                 (unsigned long long)process.start_ticks);
        write_file("stat", stat);
        bool dead = *state == 'Z' || *state == 'X';
        struct qemu_process again = {.pidfd = -1};

        ck_assert_int_eq(qemu_process_verify(&root, &process, &error), dead ? -ESRCH : 0);
        ck_assert_int_eq(qemu_process_stopped(&root, &process), *state == 'T' || *state == 't');
        ck_assert_int_eq(qemu_process_open(&root, FIXTURE_PID, &again, NULL), dead ? -ESRCH : 0);
        qemu_process_close(&again);
    }
    write_file("stat", "1000 (q) S 1 1 1 0 -1 4 0 0 0 0 30 12 0 0 20 0 3 0 1 0 0\n");
    ck_assert_error(qemu_process_verify(&root, &process, &error), -ESRCH, "another");
    write_file("stat", "1000 (q) S 1 1");
    ck_assert_int_eq(qemu_process_verify(&root, &process, &error), -EINVAL);
}

TEST(plain, bad_command_line)
{
    cleanup_root struct fsroot root = copy_fixture("anon-thp");

    write_file("cmdline", "");
    ck_assert_error(qemu_process_open(&root, FIXTURE_PID, &process, &error), -EINVAL,
                    "process 1000");
}

TEST(plain, pids_that_are_none)
{
    static const pid_t none[] = {0, -1, -1000, 7, INT32_MAX};
    cleanup_root struct fsroot root = fixture_open("anon-thp");

    for (size_t i = 0; i < COUNT(none); i++)
        ck_assert_int_eq(qemu_process_open(&root, none[i], &process, &error), -ESRCH);
}

TEST(plain, find_all)
{
    cleanup_root struct fsroot root = copy_fixture("anon-thp");
    pid_t *pids;

    ck_assert_int_eq(qemu_process_find_all(&root, true, &pids), 1);
    ck_assert_int_eq(pids[0], FIXTURE_PID);
    free(pids);
    link_exe("/bin/sh");
    ck_assert_int_eq(qemu_process_find_all(&root, true, &pids), 0);
    free(pids);
}

/* KVM names a virtual machine after the thread that made it. */
TEST(plain, a_machine_whose_maker_has_ended)
{
    cleanup_root struct fsroot root = copy_fixture("anon-thp");
    static const char *const makers[] = {"2000-4", "9999-4", "7-4"};

    unit_shell("cd '%s/proc' && mkdir -p 2000/fd 7/fd && ln -s /bin/sh 2000/exe && "
               "ln -s /bin/sh 7/exe && ln -s anon_inode:kvm-vm 2000/fd/4",
               copy);
    unit_write(copy, "proc/2000/status", "Name:\tsh\nTgid:\t2000\n");
    unit_write(copy, "proc/7/status", "Name:\tsh\nTgid:\t7\n");
    for (size_t i = 0; i < COUNT(makers); i++) {
        cleanup_free pid_t *pids = NULL;

        unit_shell("cd '%s' && rm -rf sys/kernel/debug/kvm && mkdir -p "
                   "sys/kernel/debug/kvm/%s",
                   copy, makers[i]);
        ck_assert_int_eq(qemu_process_find_all(&root, true, &pids), 2);
    }
}

/* Numbers in debugfs are those of the host, which another namespace of processes does not have. */
TEST(plain, a_machine_in_another_namespace)
{
    cleanup_root struct fsroot root = copy_fixture("anon-thp");
    cleanup_free pid_t *pids = NULL;

    unit_shell("cd '%s' && mkdir -p proc/2000/fd proc/self/ns sys/kernel/debug/kvm/1000-4 "
               "&& ln -s /bin/sh proc/2000/exe && ln -s anon_inode:kvm-vm proc/2000/fd/4 "
               "&& ln -s 'pid:[4026532200]' proc/self/ns/pid",
               copy);
    write_file("status", "Name:\tq\nTgid:\t1000\n");
    ck_assert_int_eq(qemu_process_find_all(&root, true, &pids), 2);
}

TEST(plain, stat_lines)
{
    struct proc_stat s;

    ck_assert_zero(
        proc_stat_parse("1 (a) R) (S 2) T 1 1 1 0 -1 4 5 6 7 8 30 12 0 0 20 -5 3 0 77 0 0", &s));
    ck_assert_int_eq(s.state, 'T');
    ck_assert_uint_eq(s.minor_faults, 5);
    ck_assert_uint_eq(s.major_faults, 7);
    ck_assert_uint_eq(s.utime_ticks, 30);
    ck_assert_uint_eq(s.stime_ticks, 12);
    ck_assert_uint_eq(s.start_ticks, 77);
    /* It may end where the field of the stack would begin. */
    ck_assert_zero(
        proc_stat_parse("1 (a) S 1 1 1 0 -1 4 5 6 7 8 30 12 0 0 20 0 3 0 77 0 0 0 0 0 \n", &s));
    ck_assert_uint_eq(s.start_ticks, 77);
    ck_assert_int_eq(proc_stat_parse("", &s), -EINVAL);
    ck_assert_int_eq(proc_stat_parse("1 (a) S", &s), -EINVAL);
    ck_assert_int_eq(proc_stat_parse("1 a S 1 1 1 0 -1 4 5 6 7 8 30 12 0 0 20 0 3 0 77", &s),
                     -EINVAL);
}

/* The running system: this very process is no QEMU, and a child that has ended is none either. */
TEST(plain, live_processes)
{
    cleanup_root struct fsroot root;
    pid_t child = fork();

    if (child == 0)
        _exit(0);
    ck_assert_int_eq(fsroot_open(&root, "/"), 0);
    ck_assert_int_eq(qemu_process_open(&root, getpid(), &process, &error), -ENOEXEC);
    ck_assert_int_eq(process.pidfd, -1); /* closed again */
    siginfo_t info;

    waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT);
    ck_assert_int_eq(qemu_process_open(&root, child, &process, &error), -ESRCH);
    waitpid(child, NULL, 0);
    ck_assert_int_eq(qemu_process_open(&root, child, &process, &error), -ESRCH);
}
