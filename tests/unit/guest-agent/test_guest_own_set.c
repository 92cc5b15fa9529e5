// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_guest_own_set.c  The guest's own working set: what its processes touched, and rounds
 * beside the agent. */
#include "base/text/json.h"
#include "fixture.h"
#include "proc/touched.h"
#include "serve/own_round.h"
#include "serve/own_set.h"
#include "virtual_clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define KIB 1024

static const char *dir;
static struct fsroot root;
static struct own_set *own;
static int complaints;
static char complaint[256];

static void put(const char *path, const char *text)
{
    const char *whole = TEXT_OF(128, "proc/%s", path);

    unit_write(dir, whole, text);
}

static void make_process(int pid, const char *name, const char *smaps)
{
    char path[128], text[256];

    snprintf(path, sizeof(path), "%d/stat", pid);
    snprintf(text, sizeof(text),
             "%d (%s) S 1 1 1 0 -1 4194560 0 0 0 0 1 1 0 0 20 0 1 0 777 1000000 500\n", pid, name);
    put(path, text);
    snprintf(path, sizeof(path), "%d/statm", pid);
    put(path, "5000 500 100 1 0 100 0\n");
    snprintf(path, sizeof(path), "%d/smaps", pid);
    put(path, smaps);
    snprintf(path, sizeof(path), "%d/clear_refs", pid);
    put(path, "");
}

/* One mapping. */
static const char *vma(unsigned long start, const char *file, int rss, int pss, int anon,
                       int referenced)
{
    static char text[512];

    snprintf(text, sizeof(text),
             "%lx-%lx rw-p 00000000 00:00 %d       %s\nRss: %d kB\nPss: %d kB\nReferenced: %d kB\n"
             "Anonymous: %d kB\nSwap: 4 kB\nVmFlags: rd wr\n",
             start, start + 0x1000, *file ? 99 : 0, file, rss, pss, referenced, anon);
    return text;
}

static void complain(const char *why)
{
    complaints++;
    snprintf(complaint, sizeof(complaint), "%s", why);
}

static void setup(void)
{
    char text[2048] = "";

    virtual_clock_start();
    dir = unit_dir();
    put("self/clear_refs", "");
    put("meminfo", "MemTotal: 1000000 kB\nMemFree: 1 kB\n");
    strcat(text, vma(0x1000, "", 1000, 1000, 1000, 600));        /* heap */
    strcat(text, vma(0x4000, "/lib/libc.so", 800, 200, 0, 400)); /* with three others */
    strcat(text, vma(0x8000, "/lib/libc.so", 40, 40, 10, 20));   /* its data, partly written */
    make_process(41, "redis", text);
    make_process(42, "idle", vma(0xa000, "", 5000, 5000, 5000, 4));
    ck_assert_int_eq(fsroot_open(&root, dir), 0);
}

static void teardown(void)
{
    own_set_free(own);
    own = NULL;
    fsroot_close(&root);
}

FIXTURE(cases, .setup = setup, .teardown = teardown, .timeout_s = 60);

TEST(cases, what_was_touched_is_of_two_kinds)
{
    struct touched touched;

    ck_assert_int_eq(touched_read(&root, 41, &touched), 0);
    ck_assert_uint_eq(touched.memory.rss_bytes, 1840 * KIB);
    ck_assert_uint_eq(touched.memory.pss_bytes, 1240 * KIB);
    ck_assert_uint_eq(touched.memory.referenced_bytes, 1020 * KIB);
    ck_assert_uint_eq(touched.memory.swap_bytes, 12 * KIB);
    ck_assert_uint_eq(touched.anon_bytes, (600 + 5) * KIB);
    ck_assert_uint_eq(touched.file_bytes, (100 + 15) * KIB); /* a quarter of the library is its */
    ck_assert_int_eq(touched_read(&root, 43, &touched), -ESRCH);
    put("42/smaps", "");
    ck_assert_int_eq(touched_read(&root, 42, &touched), 0);
    ck_assert_uint_eq(touched.memory.rss_bytes, 0);
    put("42/smaps", "Rss: 4 kB\n");
    ck_assert_int_eq(touched_read(&root, 42, &touched), -EBADMSG);
}

#define MANY 3000

/* So many that they are read in pieces, which end anywhere in them. */
static void put_many_mappings(void)
{
    FILE *file;
    const char *path = TEXT_OF(64, "%s/proc/42/smaps", dir);

    file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    for (int i = 0; i < MANY; i++)
        fputs(vma(0x10000UL + (unsigned long)i * 0x1000, i % 2 ? "/a/f\\012e" : "", 4, 4,
                  i % 2 ? 0 : 4, i % 3 ? 4 : 0),
              file);
    ck_assert_int_eq(fclose(file), 0);
}

TEST(cases, thousands_of_mappings_are_summed_up)
{
    struct touched touched;

    put_many_mappings();
    ck_assert_int_eq(touched_read(&root, 42, &touched), 0);
    ck_assert_uint_eq(touched.memory.rss_bytes, (uint64_t)MANY * 4 * KIB);
    ck_assert_uint_eq(touched.anon_bytes, (uint64_t)MANY / 3 * 4 * KIB);
    ck_assert_uint_eq(touched.file_bytes, (uint64_t)MANY / 3 * 4 * KIB);
}

static json_int_t number(const json_t *told, const char *key)
{
    const json_t *value = json_object_get(json_object_get(told, "working_set"), key);

    ck_assert(json_is_integer(value));
    return json_integer_value(value);
}

TEST(cases, a_round_marks_waits_and_reads)
{
    char text[16];
    cleanup_json json_t *told = own_round(&root, 0.01, NULL);
    const json_t *first = json_array_get(json_object_get(told, "processes"), 0);

    ck_assert_ptr_nonnull(told);
    ck_assert_int_gt(fsroot_read(&root, text, sizeof(text), "proc/41/clear_refs"), 0);
    ck_assert_str_eq(text, "1"); /* not 4, which loses soft-dirty bits */
    ck_assert_int_eq(number(told, "anon_bytes"), (605 + 4) * KIB);
    ck_assert_int_eq(number(told, "file_bytes"), 115 * KIB);
    ck_assert_double_eq_tol(
        json_real_value(json_object_get(json_object_get(told, "working_set"), "window_s")), 0.01,
        1e-6);
    /* The one that touched most, not the largest. */
    ck_assert_int_eq(json_integer_value(json_object_get(first, "pid")), 41);
    ck_assert_int_eq(json_integer_value(json_object_get(first, "referenced_bytes")), 1020 * KIB);
}

TEST(cases, it_is_not_more_than_there_is)
{
    put("meminfo", "MemTotal: 100 kB\nMemFree: 1 kB\n");

    cleanup_json json_t *told = own_round(&root, 0.01, NULL);

    ck_assert_int_eq(number(told, "anon_bytes"), 100 * KIB);
    ck_assert_int_eq(number(told, "file_bytes"), 100 * KIB);
}

TEST(cases, without_clear_refs_it_does_not_begin)
{
    const char *path = TEXT_OF(64, "%s/proc/self/clear_refs", dir);

    unlink(path);
    ck_assert_error(own_set_new(&own, &root, 1, 1, complain, &error), -ENOTSUP,
                    "CONFIG_PROC_PAGE_MONITOR");
}

/* Waits as the agent does. */
static void turn(void)
{
    struct pollfd one;

    own_set_turn(own);
    one = (struct pollfd){.fd = own_set_fd(own), .events = POLLIN};
    poll(&one, 1, own_set_wait_ms(own));
    own_set_turn(own);
}

static json_t *until_told(void)
{
    json_t *report = json_object();

    for (int i = 0; i < 1000 && !json_object_get(report, "working_set"); i++) {
        turn();
        own_set_add(own, report);
    }
    ck_assert_ptr_nonnull(json_object_get(report, "working_set"));
    return report;
}

TEST(cases, rounds_are_told_with_their_age)
{
    json_t *report = json_object();

    ck_assert_int_eq(own_set_new(&own, &root, 0.05, 5, complain, NULL), 0);
    ck_assert(!own_set_add(own, report));
    ck_assert_uint_eq(json_object_size(report), 0);
    json_decref(report);
    report = until_told();
    ck_assert_int_eq(number(report, "anon_bytes"), 609 * KIB);
    ck_assert(json_is_real(json_object_get(json_object_get(report, "working_set"), "age_s")));
    json_decref(report);
    ck_assert_int_eq(complaints, 0);
}

/* A window of a millisecond, and some milliseconds of work: no other round may follow at once. */
TEST(cases, its_share_of_a_cpu_is_small)
{
    put_many_mappings();
    ck_assert_int_eq(own_set_new(&own, &root, 0.001, 60, complain, NULL), 0);
    json_decref(until_told());
    ck_assert_int_lt(own_set_fd(own), 0);
    ck_assert(!own_set_turn(own));
    ck_assert_int_gt(own_set_wait_ms(own), 0);
}

/* Its pid is another's when the window ends: not marked, so not read. */
TEST(cases, who_took_a_pid_meanwhile_is_not_counted)
{
    cleanup_json json_t *report;

    ck_assert_int_eq(own_set_new(&own, &root, 0.5, 5, complain, NULL), 0);
    own_set_turn(own);
    virtual_clock_settle(); /* until all are marked */
    put("41/stat", "41 (redis) S 1 1 1 0 -1 4194560 0 0 0 0 1 1 0 0 20 0 1 0 778 1000000 500\n");
    report = until_told();
    ck_assert_int_eq(number(report, "anon_bytes"), 4 * KIB);
}

static void make_fifo(const char *path)
{
    const char *whole = TEXT_OF(64, "%s/proc/%s", dir, path);

    ck_assert_int_eq(unlink(whole), 0);
    ck_assert_int_eq(mkfifo(whole, 0600), 0);
}

/* Opening a FIFO waits for a writer, as for the lock of a process's mappings. */
TEST(cases, a_round_that_hangs_is_ended)
{
    make_fifo("42/smaps");
    ck_assert_int_eq(own_set_new(&own, &root, 0.01, 0.2, complain, NULL), 0);
    ck_assert(own_set_turn(own));
    ck_assert(!own_set_turn(own)); /* at once */
    for (int i = 0; i < 1000 && complaints == 0; i++)
        turn();
    ck_assert_int_eq(complaints, 1);
    ck_assert_ptr_nonnull(strstr(complaint, "too long"));
}

TEST(cases, why_there_is_none_is_said_once)
{
    char path[64];

    for (int pid = 41; pid <= 42; pid++) {
        snprintf(path, sizeof(path), "%s/proc/%d/clear_refs", dir, pid);
        unlink(path);
    }
    ck_assert_int_eq(own_set_new(&own, &root, 0.001, 5, complain, NULL), 0);
    for (int i = 0; i < 30; i++)
        turn();
    ck_assert_int_eq(complaints, 1);
    ck_assert_str_eq(complaint, "there are no processes");
}

/* Its descriptors of ours would keep the host's port open after our end. */
TEST(cases, the_child_has_none_of_our_files_and_ends_with_us)
{
    int ends[2];
    char byte;

    make_fifo("42/smaps");
    ck_assert_int_eq(pipe(ends), 0);
    ck_assert_int_eq(own_set_new(&own, &root, 0.01, 60, complain, NULL), 0);
    ck_assert(own_set_turn(own));
    close(ends[1]);
    ck_assert_int_eq(read(ends[0], &byte, 1), 0); /* nobody has the other end */
    close(ends[0]);

    cleanup_close int fd = dup(own_set_fd(own));

    own_set_free(own);
    own = NULL;
    fcntl(fd, F_SETFL, 0);
    ck_assert_int_eq(read(fd, &byte, 1), 0);
}

int unit_begin(void)
{
    signal(SIGPIPE, SIG_IGN);
    return 0;
}
