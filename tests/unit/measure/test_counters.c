// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_counters.c  Counting threads through perf, by events that every kernel has. */
#include "measure/cache/counters.h"

#include "asleep.h"
#include "fixture.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGES 300
#define PAGE 4096

static const struct counter_event faults[] = {
    {PERF_COUNT_SW_PAGE_FAULTS, PERF_TYPE_SOFTWARE, false},
    {PERF_COUNT_SW_PAGE_FAULTS_MAJ, PERF_TYPE_SOFTWARE, false},
    {PERF_COUNT_SW_PAGE_FAULTS_MIN, PERF_TYPE_SOFTWARE, false},
};

#define EVENTS COUNT(faults)

static const struct counted counted = {faults, EVENTS, "faults"};

static struct fsroot root;

/* Faults of known number. */
static void touch_pages(void)
{
    char *memory = mmap(NULL, (size_t)PAGES * PAGE, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    ck_assert(memory != MAP_FAILED);
    madvise(memory, (size_t)PAGES * PAGE, MADV_NOHUGEPAGE);
    for (size_t i = 0; i < PAGES; i++)
        *(volatile char *)(memory + i * PAGE) = 1;
    munmap(memory, (size_t)PAGES * PAGE);
}

TEST(plain, what_a_thread_does_is_counted)
{
    const pid_t tid = gettid();
    struct counters *counters;
    struct counter_values before, after;

    ck_assert_int_eq(counters_open(&root, &counted, &tid, 1, &counters, NULL), 0);
    ck_assert_int_eq(counters_read(counters, 0, &before), 0);
    touch_pages();
    ck_assert_int_eq(counters_read(counters, 0, &after), 0);
    ck_assert_uint_ge(after.value[0] - before.value[0], PAGES);
    ck_assert_uint_le(after.value[0] - before.value[0], PAGES + 50);
    ck_assert_uint_lt(after.value[1] - before.value[1], PAGES);
    ck_assert_uint_ge(after.value[2] - before.value[2], PAGES);
    ck_assert_uint_gt(after.enabled_ns, before.enabled_ns);
    ck_assert_uint_eq(after.running_ns, after.enabled_ns);
    counters_close(counters);
}

struct sleeper {
    pid_t tid;
    int ready[2], end[2];
};

static void *sleep_on(void *context)
{
    struct sleeper *sleeper = context;
    char word;

    sleeper->tid = gettid();
    ck_assert_int_eq(write(sleeper->ready[1], "r", 1), 1);
    ck_assert_int_eq(read(sleeper->end[0], &word, 1), 1);
    return NULL;
}

/* One that sleeps, and then one that has ended, beside one that works. */
TEST(plain, a_thread_that_does_not_run_counts_nothing)
{
    struct sleeper sleeper;
    struct counters *counters;
    struct counter_values before, after;
    pthread_t thread;
    char word;

    ck_assert(pipe(sleeper.ready) == 0 && pipe(sleeper.end) == 0);
    ck_assert_int_eq(pthread_create(&thread, NULL, sleep_on, &sleeper), 0);
    ck_assert_int_eq(read(sleeper.ready[0], &word, 1), 1);
    await_sleep(sleeper.tid);

    const pid_t tids[] = {sleeper.tid, gettid()};

    ck_assert_int_eq(counters_open(&root, &counted, tids, 2, &counters, NULL), 0);
    ck_assert_int_eq(counters_read(counters, 0, &before), 0);
    touch_pages();
    ck_assert_int_eq(counters_read(counters, 0, &after), 0);
    ck_assert_uint_eq(after.enabled_ns, before.enabled_ns);
    ck_assert_uint_eq(after.value[0], before.value[0]);
    ck_assert_int_eq(counters_read(counters, 1, &after), 0);
    ck_assert_uint_ge(after.value[0], PAGES);
    ck_assert_int_eq(write(sleeper.end[1], "e", 1), 1);
    pthread_join(thread, NULL);
    ck_assert_int_eq(counters_read(counters, 0, &after), 0);
    counters_close(counters);
    /* One that ended before. */
    ck_assert_int_eq(counters_open(&root, &counted, tids, 2, &counters, NULL), 0);
    ck_assert_int_eq(counters_read(counters, 0, &after), 0);
    ck_assert_uint_eq(after.enabled_ns, 0);
    ck_assert_uint_eq(after.value[0], 0);
    counters_close(counters);
}

TEST(plain, what_is_not_there_is_refused_by_name)
{
    static const struct counter_event none = {0, 0x7fffffff, false};
    static const struct counter_event software = {9999, PERF_TYPE_SOFTWARE, false};
    const pid_t tid = gettid();
    struct counters *counters = NULL;
    struct error error = {0};

    ck_assert_int_eq(
        counters_open(&root, &(struct counted){&none, 1, "unicorns"}, &tid, 1, &counters, &error),
        -ENOTSUP);
    ck_assert_msg(strstr(error.text, "unicorns: ") && strstr(error.text, "PMU"), "%s", error.text);
    ck_assert_ptr_null(counters);
    counters_close(NULL);
    /* Software counters of the kernel need no hardware. */
    ck_assert_int_eq(
        counters_open(&root, &(struct counted){&software, 1, "naps"}, &tid, 1, &counters, &error),
        -ENOTSUP);
    ck_assert_msg(strstr(error.text, "naps: ") && !strstr(error.text, "PMU"), "%s", error.text);
}

/* In a process of its own: what was given up does not come back. */
TEST(plain, what_is_not_permitted_says_what_would_be)
{
    static const struct counter_event event = {PERF_COUNT_SW_PAGE_FAULTS, PERF_TYPE_SOFTWARE,
                                               false};
    const pid_t init = 1;
    struct counters *counters = NULL;
    struct error error = {0};

    if (geteuid() != 0 || setuid(65534) < 0)
        return;
    ck_assert_int_eq(
        counters_open(&root, &(struct counted){&event, 1, "faults"}, &init, 1, &counters, &error),
        -EACCES);
    ck_assert_msg(strstr(error.text, "perf_event_paranoid is ") && strstr(error.text, "root"), "%s",
                  error.text);
}

int unit_begin(void)
{
    struct counters *counters;
    const pid_t tid = gettid();

    if (fsroot_open(&root, "/") < 0)
        return 1;
    if (counters_open(&root, &counted, &tid, 1, &counters, NULL) < 0) {
        puts("perf_event_open is not permitted here");
        return 77;
    }
    counters_close(counters);
    return 0;
}
