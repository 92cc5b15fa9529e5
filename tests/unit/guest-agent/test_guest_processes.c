// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_guest_processes.c  What vmwss-guest reads of processes: other kernels' files, hostile
 * names, processes that end or
 *  may not be looked at. */
#include "base/text/json.h"
#include "proc/keyed.h"
#include "proc/process_groups.h"
#include "proc/touched.h"

#include "base/proc_pid.h"
#include "fixture.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define KIB 1024ULL

static const char *dir;
static struct fsroot root;

static void write_file(int pid, const char *name, const char *text)
{
    const char *path = TEXT_OF(160, "proc/%d/%s", pid, name);

    unit_write(dir, path, text);
}

static void write_thread_file(int pid, int tid, const char *name, const char *text)
{
    const char *file = TEXT_OF(64, "task/%d/%s", tid, name);

    write_file(pid, file, text);
}

/* A process of @p rss_kib by statm; @p pss_kib by smaps_rollup, which is not there for a negative
 * one. */
static void make_process(int pid, const char *name, unsigned rss_kib, int pss_kib)
{
    char text[512];

    snprintf(text, sizeof(text),
             "%d (%s) S 1 1 1 0 -1 4194560 5 6 7 8 30 12 0 0 20 0 3 0 %d 1000 2", pid, name,
             pid * 10);
    write_file(pid, "stat", text);
    snprintf(text, sizeof(text), "%u %u 1 1 0 1 0\n", rss_kib / 4 + 10, rss_kib / 4);
    write_file(pid, "statm", text);
    if (pss_kib < 0)
        return;
    snprintf(text, sizeof(text),
             "559-7ff ---p 00000000 00:00 0    [rollup]\nRss: %u kB\nPss: %d kB\nPss_Dirty: 1 kB\n"
             "Referenced: 3 kB\nSwap: 2 kB\nSwapPss: 1 kB\n",
             rss_kib, pss_kib);
    write_file(pid, "smaps_rollup", text);
}

static void make_root(void)
{
    dir = unit_dir();

    const char *path = TEXT_OF(80, "%s/proc", dir);

    mkdir(path, 0755);
    ck_assert_int_eq(fsroot_open(&root, dir), 0);
}

static void remove_root(void)
{
    fsroot_close(&root);
}

static const struct {
    const char *stat, *name;
} names[] = {
    {"1 (bash) S 1", "bash"},
    {"1 (a) R (S 2) S 1", "a) R (S 2"},
    {"1 () S 1", ""},
    {"1 ( x\ty ) S 1", " x?y "},
    {"1 (two\nlines\\n) S 1", "two?lines\\n"},
    {"1 (\xff\xc3\xa9\x1b[2J\xc2\x9b) S 1", "?\xc3\xa9?[2J??"},
    {"1 (cut \xe2\x82) S 1", "cut ??"},
};

TEST_EACH(plain, a_name_is_what_stands_between_the_outermost_parentheses, 0, COUNT(names))
{
    char name[PROCESS_NAME_MAX];

    ck_assert_int_eq(proc_stat_name(names[_i].stat, name, sizeof(name)), 0);
    ck_assert_str_eq(name, names[_i].name);
}

TEST(plain, a_line_without_a_name_is_refused)
{
    char name[PROCESS_NAME_MAX];

    ck_assert_int_eq(proc_stat_name("", name, sizeof(name)), -EINVAL);
    ck_assert_int_eq(proc_stat_name("1 )x( S", name, sizeof(name)), -EINVAL);
    ck_assert_int_eq(proc_stat_name("1 (x S", name, sizeof(name)), -EINVAL);
}

FIXTURE(made, .setup = make_root, .teardown = remove_root);

TEST(made, processes_are_listed_with_what_is_known_cheaply)
{
    cleanup_processes struct processes processes;

    make_process(20, "b) (c", 400, 100);
    make_process(3, "a", 40, 40);
    write_file(5, "stat", "5 (kthreadd) S 0 0 0 0 -1 4 5 6 7 8 30 12 0 0 20 0 3 0 7 0 0");
    write_file(5, "statm", "0 0 0 0 0 0 0\n");
    write_file(6, "cmdline", "ended while the directory was read");
    ck_assert_int_eq(processes_list(&root, &processes, NULL), 0);
    ck_assert_uint_eq(processes.n, 2);
    ck_assert_int_eq(processes.process[0].pid, 3);
    ck_assert_str_eq(processes.process[1].name, "b) (c");
    ck_assert_uint_eq(processes.process[1].start_ticks, 200);
    ck_assert_uint_eq(processes.process[1].memory.rss_bytes, 400 * KIB);
    ck_assert_uint_eq(processes.process[1].memory.pss_bytes, KEYED_UNKNOWN);
}

/* The first thread of process 8 has ended, and so has its second; the third has the memory. */
static void make_zombie_leader(void)
{
    write_file(8, "stat", "8 (held) Z 1 1 1 0 -1 4194560 5 6 7 8 30 12 0 0 20 0 3 0 80 0 0");
    write_file(8, "statm", "0 0 0 0 0 0 0\n");
    write_file(8, "smaps_rollup", "");
    write_file(8, "smaps", "");
    write_file(8, "status", "Name:\theld\nUid:\t0\t0\t0\t0\n");
    write_thread_file(8, 8, "statm", "0 0 0 0 0 0 0\n");
    write_thread_file(8, 9, "statm", "0 0 0 0 0 0 0\n");
    write_thread_file(8, 12, "statm", "17000 16384 1 1 0 1 0\n");
    write_thread_file(8, 12, "status", "Name:\theld\nVmSwap:\t24 kB\n");
    write_thread_file(8, 12, "smaps_rollup",
                      "559-7ff ---p 00000000 00:00 0    [rollup]\nRss: 65536 kB\nPss: 65000 kB\n"
                      "Referenced: 3 kB\nSwap: 24 kB\n");
    write_thread_file(8, 12, "smaps",
                      "1000-2000 rw-p 00000000 00:00 0\nRss: 65536 kB\nPss: 65536 kB\n"
                      "Referenced: 32768 kB\nAnonymous: 65536 kB\n");
}

TEST(made, a_process_whose_first_thread_has_ended_has_the_memory_of_another)
{
    struct process_memory memory;
    cleanup_processes struct processes processes;
    struct touched touched;

    make_zombie_leader();
    ck_assert_int_eq(process_thread(&root, 8), 12);
    ck_assert_int_eq(process_memory_read(&root, 8, &memory), 0);
    ck_assert_uint_eq(memory.rss_bytes, 65536 * KIB);
    ck_assert_uint_eq(memory.pss_bytes, 65000 * KIB);
    ck_assert_uint_eq(process_swap_bytes(&root, 8), 24 * KIB);
    ck_assert_int_eq(touched_read(&root, 8, &touched), 0);
    ck_assert_uint_eq(touched.anon_bytes, 32768 * KIB);
    ck_assert_int_eq(processes_list(&root, &processes, NULL), 0);
    ck_assert_uint_eq(processes.n, 1);
    ck_assert_uint_eq(processes.process[0].memory.rss_bytes, 65536 * KIB);
    ck_assert_uint_eq(processes.process[0].start_ticks, 80);
}

/* The first segment of System V shared memory has inode 0; anonymous memory has no device either.
 */
TEST(made, a_mapping_with_inode_0_may_be_of_a_file)
{
    struct touched touched;

    make_process(7, "x", 4000, -1);
    write_file(7, "smaps",
               "1000-2000 rw-s 00000000 00:01 0    /SYSV00000000 (deleted)\nRss: 8 kB\nPss: 8 kB\n"
               "Referenced: 8 kB\nAnonymous: 0 kB\n"
               "3000-4000 rw-p 00000000 00:00 0\nRss: 4 kB\nPss: 4 kB\nReferenced: 4 kB\n"
               "Anonymous: 4 kB\n");
    ck_assert_int_eq(touched_read(&root, 7, &touched), 0);
    ck_assert_uint_eq(touched.file_bytes, 8 * KIB);
    ck_assert_uint_eq(touched.anon_bytes, 4 * KIB);
}

/* The mount that lies on top counts; a mount point may have any name. */
TEST(made, a_proc_that_hides_processes_is_found_out)
{
    static const struct {
        const char *mounts;
        bool hidden;
    } of[] = {
        {"22 27 0:21 / /proc rw,relatime - proc proc rw\n", false},
        {"22 27 0:21 / /proc rw,relatime - proc proc rw,hidepid=1\n", false},
        {"22 27 0:21 / /proc rw,relatime - proc proc rw,hidepid=noaccess\n", false},
        {"22 27 0:21 / /proc rw,relatime - proc proc rw,hidepid=2\n", true},
        {"22 27 0:21 / /proc rw,relatime shared:5 - proc proc rw,gid=9,hidepid=invisible\n", true},
        {"22 27 0:21 / /proc rw,relatime - proc none rw,hidepid=4,subset=pid\n", true},
        {"22 27 0:21 / /proc rw,relatime - proc proc rw,hidepid=ptraceable\n", true},
        {"22 27 0:21 / /proc rw - proc proc rw\n30 22 0:22 / /proc rw - proc proc rw,hidepid=2\n",
         true},
        {"22 27 0:21 / /proc rw - proc proc rw,hidepid=2\n30 22 0:22 / /proc rw - proc proc rw\n",
         false},
        {"22 27 0:21 / /srv/proc rw - proc proc rw,hidepid=2\n", false},
        {"22 27 0:21 / /a\\040/proc rw - proc proc rw,hidepid=2\n", false},
        {"22 27 0:21 / /proc/x rw - tmpfs hidepid=2 rw,hidepid=2\n", false},
        {"", false},
    };
    struct processes processes;

    make_process(7, "x", 40, 40);
    for (size_t i = 0; i < COUNT(of); i++) {
        char path[96];

        snprintf(path, sizeof(path), "%s/proc/self", dir);
        mkdir(path, 0755);
        snprintf(path, sizeof(path), "%s/proc/self/mountinfo", dir);

        FILE *file = fopen(path, "w");

        ck_assert_ptr_nonnull(file);
        fputs(of[i].mounts, file);
        fclose(file);
        ck_assert_int_eq(processes_list(&root, &processes, NULL), 0);
        ck_assert_msg(processes.hidden == of[i].hidden, "%s", of[i].mounts);
        ck_assert_uint_eq(processes.n, 1);
        processes_free(&processes);
    }
}

/* It waits for its parent, and has no memory. */
TEST(made, a_zombie_without_threads_has_none)
{
    struct process_memory memory;
    cleanup_processes struct processes processes;

    make_zombie_leader();
    write_thread_file(8, 12, "statm", "0 0 0 0 0 0 0\n");
    ck_assert_int_eq(process_thread(&root, 8), 8);
    ck_assert_int_eq(process_memory_read(&root, 8, &memory), 0);
    ck_assert_uint_eq(memory.rss_bytes, 0);
    ck_assert_int_eq(processes_list(&root, &processes, NULL), 0);
    ck_assert_uint_eq(processes.n, 0);
}

TEST(made, memory_is_summed_up_from_smaps_where_there_is_no_rollup)
{
    struct process_memory memory;
    char *text = malloc(200000);
    size_t at = 0;

    /* More than one chunk, and a path in which a field seems to stand. */
    for (unsigned i = 0; i < 1000; i++)
        at += (size_t)sprintf(
            text + at,
            "%x000-%x000 rw-p 00000000 00:00 0    /tmp/x\\012Rss: 5 kB\nSize: 8 kB\n"
            "Rss: 4 kB\nPss: 2 kB\nReferenced: 1 kB\nSwap: 3 kB\nVmFlags: rd\n",
            i + 1, i + 2);
    make_process(7, "x", 4000, -1);
    write_file(7, "smaps", text);
    free(text);
    ck_assert_int_eq(process_memory_read(&root, 7, &memory), 0);
    ck_assert_uint_eq(memory.rss_bytes, 4000 * KIB);
    ck_assert_uint_eq(memory.pss_bytes, 2000 * KIB);
    ck_assert_uint_eq(memory.referenced_bytes, 1000 * KIB);
    ck_assert_uint_eq(memory.swap_bytes, 3000 * KIB);
}

TEST(made, what_cannot_be_read_says_why)
{
    struct process_memory memory;
    cleanup_processes struct processes processes;

    ck_assert_int_eq(process_memory_read(&root, 7, &memory), -ESRCH);
    make_process(7, "x", 4, -1);
    ck_assert_int_eq(process_memory_read(&root, 7, &memory), -ENOTSUP);
    ck_assert_uint_eq(memory.rss_bytes, KEYED_UNKNOWN);
    write_file(7, "smaps_rollup", "not a smaps\n");
    ck_assert_int_eq(process_memory_read(&root, 7, &memory), -ENODATA);
    write_file(8, "smaps_rollup", "");
    write_file(8, "statm", "0 0 0 0 0 0 0\n");
    ck_assert_int_eq(process_memory_read(&root, 8, &memory), 0);
    ck_assert_uint_eq(memory.rss_bytes, 0);
    make_process(9, "y", 4, -1);
    ck_assert_int_eq(processes_list(&root, &processes, NULL), 0);
    ck_assert_error(processes_read(&root, &processes, &error), -ENOTSUP,
                    "CONFIG_PROC_PAGE_MONITOR");
}

/* A directory opens for reading and cannot be read, for root too: it stands for a file that may not
 * be opened. */
static void make_unreadable(int pid)
{
    const char *path = TEXT_OF(160, "%s/proc/%d/smaps_rollup", dir, pid);

    ck_assert_int_eq(mkdir(path, 0755), 0);
}

static void remove_process(int pid)
{
    unit_shell("rm -r %s/proc/%d", dir, pid);
}

TEST(made, one_that_cannot_be_read_keeps_its_rss_and_one_that_ended_is_dropped)
{
    cleanup_processes struct processes processes;

    make_process(1, "fine", 40, 20);
    make_process(2, "broken", 80, -1);
    make_unreadable(2);
    make_process(3, "ends", 120, 1);
    ck_assert_int_eq(processes_list(&root, &processes, NULL), 0);
    remove_process(3);
    ck_assert_int_eq(processes_read(&root, &processes, NULL), 0);
    ck_assert_uint_eq(processes.n, 2);
    ck_assert_uint_eq(processes.ended, 1);
    ck_assert_uint_eq(processes.refused, 0);
    ck_assert_uint_eq(processes.failed, 1);
    ck_assert_str_eq(processes.failure.text, "process 2: Is a directory");
    ck_assert_uint_eq(processes.process[0].memory.pss_bytes, 20 * KIB);
    ck_assert_uint_eq(processes.process[1].memory.rss_bytes, 80 * KIB);
    ck_assert_uint_eq(processes.process[1].memory.pss_bytes, KEYED_UNKNOWN);
    processes_sort(&processes, PROCESS_PSS);
    ck_assert_str_eq(processes.process[0].name, "broken"); /* it may be the largest, and is shown */
    processes_sort(&processes, PROCESS_SWAP);
    ck_assert_str_eq(processes.process[0].name, "fine"); /* by RSS nothing is known of the swap */
    processes_sort(&processes, PROCESS_RSS);
    ck_assert_str_eq(processes.process[0].name, "broken");
}

/* As somebody who is not root, for whom a file may be closed. */
TEST(made, what_is_refused_is_told_from_what_has_ended)
{
    cleanup_processes struct processes processes;
    char path[160];

    make_process(1, "fine", 40, 20);
    make_process(2, "its page tables are not ours to see", 80, 30);
    write_file(2, "status", "Name:\tx\nVmSwap:\t     900 kB\n");
    make_process(3, "nor is anything of it", 120, 1);
    write_file(4, "cmdline", "ended");
    ck_assert_int_eq(chmod(dir, 0755), 0);
    snprintf(path, sizeof(path), "%s/proc/2/smaps_rollup", dir);
    ck_assert_int_eq(chmod(path, 0), 0);
    snprintf(path, sizeof(path), "%s/proc/3/stat", dir);
    ck_assert_int_eq(chmod(path, 0), 0);
    ck_assert(geteuid() != 0 || seteuid(65534) == 0);
    ck_assert_int_eq(processes_list(&root, &processes, NULL), 0);
    ck_assert_int_eq(processes_read(&root, &processes, NULL), 0);
    ck_assert(getuid() != 0 || seteuid(0) == 0);
    ck_assert_uint_eq(processes.n, 2);
    ck_assert_uint_eq(processes.ended, 1);
    ck_assert_uint_eq(processes.refused, 2);
    ck_assert_uint_eq(processes.failed, 0);
    ck_assert_uint_eq(processes.process[1].memory.rss_bytes, 80 * KIB);
    ck_assert_uint_eq(processes.process[1].memory.pss_bytes, KEYED_UNKNOWN);
    ck_assert_uint_eq(processes.process[1].memory.swap_bytes, 900 * KIB);
}

static void set_user(int pid, unsigned effective)
{
    const char *text = TEXT_OF(64, "Name:\tx\nUid:\t0\t%u\t0\t0\n", effective);

    write_file(pid, "status", text);
}

static void write_passwd(const char *text)
{
    char path[160];

    snprintf(path, sizeof(path), "%s/etc", dir);
    ck_assert_int_eq(mkdir(path, 0755), 0);
    snprintf(path, sizeof(path), "%s/etc/passwd", dir);

    cleanup_file FILE *file = fopen(path, "w");

    ck_assert_ptr_nonnull(file);
    fputs(text, file);
}

static void expect_group(const struct process_group *group, const char *name, size_t n,
                         uint64_t rss_kib, uint64_t pss_kib)
{
    ck_assert_str_eq(group->name, name);
    ck_assert_uint_eq(group->n, n);
    ck_assert_uint_eq(group->memory.rss_bytes, rss_kib * KIB);
    ck_assert_uint_eq(group->memory.pss_bytes, pss_kib * KIB);
}

TEST(made, programs_and_users_are_summed_up)
{
    cleanup_processes struct processes processes;
    struct process_groups groups;

    make_process(1, "web", 100, 60);
    make_process(2, "db", 100, 90);
    make_process(3, "web", 80, 40);
    make_process(4, "db", 400, -1);
    make_unreadable(4);
    make_process(5, "shell", 40, 20);
    for (int pid = 1; pid < 5; pid++)
        set_user(pid, pid % 2 ? 33 : 4000);
    write_passwd("root:x:0:0::/:/bin/sh\nbroken\nwww\033:x:33:33::/:/bin/sh\n");
    ck_assert_int_eq(processes_list(&root, &processes, NULL), 0);
    ck_assert_int_eq(processes_read(&root, &processes, NULL), 0);

    ck_assert_zero(process_groups_make(&root, &processes, GROUP_PROGRAM, PROCESS_PSS, &groups));
    ck_assert_uint_eq(groups.n, 3);
    expect_group(&groups.group[0], "db", 2, 500, 90);
    ck_assert_uint_eq(groups.group[0].unread, 1);
    expect_group(&groups.group[1], "web", 2, 180, 100);
    ck_assert_uint_eq(groups.group[1].unread, 0);
    expect_group(&groups.group[2], "shell", 1, 40, 20);
    process_groups_free(&groups);

    ck_assert_int_eq(process_groups_make(&root, &processes, GROUP_USER, PROCESS_RSS, &groups), 0);
    ck_assert_uint_eq(groups.n, 3);
    expect_group(&groups.group[0], "4000", 2, 500, 90);
    expect_group(&groups.group[1], "www?", 2, 180, 100);
    expect_group(&groups.group[2], "(ended)", 1, 40, 20); /* it has no status */
    process_groups_free(&groups);
}

static void expect_largest(size_t n, uint64_t walk_bytes, const char *expected)
{
    cleanup_processes struct processes processes;
    char text[64] = "";

    ck_assert_int_eq(processes_largest(&root, n, walk_bytes, &processes, NULL), 0);
    for (size_t i = 0; i < processes.n; i++)
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%d", i ? " " : "",
                 processes.process[i].pid);
    ck_assert_str_eq(text, expected);
}

TEST(made, the_largest_by_pss_are_found)
{
    make_process(1, "large rss, small pss", 1000, 10);
    make_process(2, "second", 500, 300);
    make_process(3, "third", 400, 100);
    make_process(4, "first", 350, 350);
    make_process(5, "small", 90, 90);
    expect_largest(3, UINT64_MAX, "4 2 3");
    expect_largest(1, UINT64_MAX, "4");
    expect_largest(0, UINT64_MAX, "");
    expect_largest(99, UINT64_MAX, "4 2 3 5 1");
    /* The first may not be walked: its RSS counts. */
    expect_largest(3, 999 * KIB, "1 4 2");
    expect_largest(2, 0, "1 2");
}

/* 1000 kB are walked for 100 kB in memory when 900 more are swapped out. */
TEST(made, what_is_swapped_out_is_walked_too)
{
    struct processes processes;

    make_process(1, "swapped out", 100, 50);
    write_file(1, "status", "Name:\tswapped out\nVmRSS:\t     100 kB\nVmSwap:\t     900 kB\n");
    make_process(2, "small", 90, 80);
    ck_assert_int_eq(processes_largest(&root, 2, 999 * KIB, &processes, NULL), 0);
    ck_assert_uint_eq(processes.n, 2);
    ck_assert_int_eq(processes.process[0].pid, 1);
    ck_assert_uint_eq(processes.process[0].memory.pss_bytes, KEYED_UNKNOWN);
    ck_assert_uint_eq(processes.process[0].memory.rss_bytes, 100 * KIB);
    ck_assert_uint_eq(processes.process[0].memory.swap_bytes, 900 * KIB);
    ck_assert_uint_eq(processes.process[1].memory.pss_bytes, 80 * KIB);
    processes_free(&processes);
    ck_assert_int_eq(processes_largest(&root, 2, 1090 * KIB, &processes, NULL), 0);
    ck_assert_int_eq(processes.process[1].pid, 1);
    ck_assert_uint_eq(processes.process[1].memory.pss_bytes, 50 * KIB);
    ck_assert_uint_eq(processes.process[1].memory.swap_bytes, 2 * KIB); /* as smaps_rollup says */
    processes_free(&processes);
}

TEST(made, page_tables_are_walked_only_where_it_can_matter)
{
    make_process(1, "a", 1000, 500);
    make_process(2, "b", 400, 900); /* which cannot be: so that it shows if it was read */
    expect_largest(1, UINT64_MAX, "1");
    expect_largest(2, UINT64_MAX, "2 1");
}

/* 6.18 is captured; the others are written as those kernels' fs/proc/task_mmu.c prints them. */
static const struct {
    const char *tree;
    pid_t pid;
    const char *name;
    uint64_t rss_kib, pss_kib, referenced_kib, swap_kib, uss_kib;
    bool split; /* PSS, since Linux 5.3 */
} trees[] = {
    {"guest-processes-4.19", 1, "systemd", 8836, 3071, 8724, 64, 2528, false},
    {"guest-processes-6.18", 42, "sleep", 1748, 180, 1748, 0, 112, true},
    {"guest-processes-no-rollup", 314, "my) R (prog", 148, 124, 52, 28, 100, false},
};

TEST_EACH(plain, other_kernels_are_understood, 0, COUNT(trees))
{
    cleanup_root struct fsroot tree = fixture_open(trees[_i].tree);
    cleanup_processes struct processes processes;

    ck_assert_int_eq(processes_list(&tree, &processes, NULL), 0);
    ck_assert_int_eq(processes_read(&tree, &processes, NULL), 0);
    ck_assert_uint_eq(processes.n, 1); /* kernel threads are not among them */
    ck_assert_int_eq(processes.process[0].pid, trees[_i].pid);
    ck_assert_str_eq(processes.process[0].name, trees[_i].name);
    ck_assert_uint_eq(processes.process[0].memory.rss_bytes, trees[_i].rss_kib * KIB);
    ck_assert_uint_eq(processes.process[0].memory.pss_bytes, trees[_i].pss_kib * KIB);
    ck_assert_uint_eq(processes.process[0].memory.referenced_bytes, trees[_i].referenced_kib * KIB);
    ck_assert_uint_eq(processes.process[0].memory.swap_bytes, trees[_i].swap_kib * KIB);
    ck_assert_uint_eq(processes.process[0].memory.uss_bytes, trees[_i].uss_kib * KIB);
    ck_assert_uint_eq(processes.process[0].memory.pss_anon_bytes,
                      trees[_i].split ? 112 * KIB : KEYED_UNKNOWN);
    ck_assert_uint_eq(processes.process[0].memory.pss_file_bytes,
                      trees[_i].split ? 68 * KIB : KEYED_UNKNOWN);
    ck_assert_uint_eq(processes.process[0].memory.pss_shmem_bytes,
                      trees[_i].split ? 0 : KEYED_UNKNOWN);
}

TEST(plain, json_is_as_on_the_wire)
{
    struct process process = {.pid = 7, .name = "a) \"b\\n", .memory = {8, 4, 3, KEYED_UNKNOWN}};
    struct processes processes = {.process = &process, .n = 1};
    cleanup_json json_t *array = processes_json(&processes, true);
    cleanup_free char *text = json_dumps(array, JSON_COMPACT);

    ck_assert_str_eq(text, "[{\"pid\":7,\"name\":\"a) \\\"b\\\\n\",\"rss_bytes\":8,\"pss_bytes\":4,"
                           "\"referenced_bytes\":3}]");
}

TEST(plain, this_process_is_as_large_as_the_kernel_says)
{
    cleanup_root struct fsroot live;
    struct process process;
    struct process_memory memory;

    ck_assert_int_eq(fsroot_open(&live, "/"), 0);
    ck_assert_int_eq(process_identify(&live, getpid(), &process), 0);
    ck_assert_int_eq(process_memory_read(&live, getpid(), &memory), 0);
    ck_assert_str_eq(process.name, "test_guest_proc"); /* the first 15 bytes */
    ck_assert_uint_gt(memory.rss_bytes, 100 * KIB);
    ck_assert_uint_le(memory.pss_bytes, memory.rss_bytes);
    ck_assert_uint_le(memory.referenced_bytes, memory.rss_bytes);
}
