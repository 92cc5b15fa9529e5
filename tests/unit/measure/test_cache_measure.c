// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_cache_measure.c  A whole measurement: this thread is the vCPU, which perf really
 * follows, and resctrl is a tree of files. */
#include "asleep.h"
#include "fake_resctrl.h"
#include "measure/cache/counters.h"
#include "measure/cache/measure.h"
#include "virtual_clock.h"

#include "base/array.h"

#include <linux/perf_event.h>
#include <math.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

static struct qemu_process process;
static pid_t vcpus[1];
static struct cache_result result;
static struct error error;
static volatile int interrupted;
static unsigned ticks;

/* CPU time in clock ticks, of which @p guest in guest mode: fields 14 and 43. */
static void write_stat(const char *path, unsigned all, unsigned guest)
{
    char text[512];
    size_t used = (size_t)snprintf(text, sizeof(text),
                                   "1 (x) R 1 1 1 0 -1 0 0 0 0 0 %u 0 0 0 20 0 1 0 5", all);

    for (unsigned field = 23; field <= 52; field++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, " %u", field == 43 ? guest : 0);
    fake_write(&fake, path, text);
}

static void write_thread(pid_t tid, const char *name)
{
    char path[128];

    snprintf(path, sizeof(path), "proc/%d/task/%d/comm", FAKE_PID, (int)tid);
    fake_write(&fake, path, name);
    place_thread(tid, "/", "");
    snprintf(path, sizeof(path), "proc/%d/task/%d/stat", FAKE_PID, (int)tid);
    write_stat(path, 0, 0);
}

/* The vCPU's time. */
static void set_ticks(unsigned all, unsigned guest)
{
    const char *path = TEXT_OF(128, "proc/%d/task/%d/stat", FAKE_PID, (int)vcpus[0]);

    write_stat(path, all, guest);
}

static void begin_case(void)
{
    char path[512];

    virtual_clock_start();
    fake_host();
    vcpus[0] = gettid();
    interrupted = 0;
    ticks = 0;
    memset(&error, 0, sizeof(error));
    fake_write(&fake, "run/x", "");
    write_stat("proc/4242/stat", 0, 0);
    write_thread(vcpus[0], "CPU 0/KVM\n");
    write_thread(7777, "qemu\n");
    snprintf(path, sizeof(path), "%s/proc/4242/exe", fake.path);
    ck_assert_int_eq(symlink("/usr/bin/qemu-system-x86_64", path), 0);
    process = (struct qemu_process){
        .pid = FAKE_PID,
        .pidfd = -1,
        .start_ticks = 5,
        .exe = "/usr/bin/qemu-system-x86_64",
        .accel = ACCEL_KVM,
        .vcpus_known = true,
        .n_vcpus = 1,
        .vcpus = vcpus,
    };
}

static void end_case(void)
{
    ck_assert(!exists(OUR_GROUP));
    ck_assert(!exists("run/vmwss/cache-4242.lock"));
    ck_assert_int_eq(waitpid(-1, NULL, 0), -1); /* no guardian */
}

/* By real CPU time, which perf counts: the kernel's, unlike that of the virtual clock. */
static void work(unsigned ms)
{
    const clock_t until = clock() + (clock_t)(ms * (CLOCKS_PER_SEC / 1000));

    while (clock() < until)
        ;
}

static int measure(double window_s, void (*tick)(double elapsed_s, void *context))
{
    const struct cache_plan plan = {
        .window_s = window_s, .interrupted = &interrupted, .tick = tick};

    return cache_measure(&fake.root, &process, &plan, &result, &error);
}

/* The kernel shows the vCPU where it was put. */
static void follow(void)
{
    place_thread(vcpus[0], "/", OUR_NAME);
}

static void tick_fits(double elapsed_s, void *context)
{
    (void)elapsed_s;
    (void)context;
    follow();
    work(5);
    set_ticks(100, 98);
    set_counter(OUR_GROUP, 0, "mbm_total_bytes", "1020000");
}

FIXTURE(cases, .setup = begin_case, .teardown = end_case);

TEST(cases, a_guest_that_loads_little_fits)
{
    ck_assert_msg(measure(1.5, tick_fits) == 0, "%s", error.text);
    ck_assert_msg(result.verdict.answer == CACHE_ANSWER_FITS, "%s, flags %x", result.verdict.reason,
                  result.seen.flags);
    ck_assert_uint_eq(result.seen.caches[0].loaded_bytes, 20000);
    ck_assert_uint_eq(result.seen.n_ran, 1);
    ck_assert(result.seen.ran_s > 0.05);
    ck_assert(fabs(result.seen.guest_share - 0.98) < 1e-9);
    ck_assert_uint_eq(result.seen.flags & ~(unsigned)CACHE_MULTIPLEXED, 0);
    ck_assert_int_eq(result.no_monitor.code, 0);
    ck_assert(result.seen.counts.known == (result.no_counters.code == 0));
}

/* Both are rounded, each for itself. */
static void tick_rounds_up(double elapsed_s, void *context)
{
    tick_fits(elapsed_s, context);
    set_ticks(100, 101);
}

TEST(cases, no_more_than_all_time_is_the_guests)
{
    ck_assert_msg(measure(0.3, tick_rounds_up) == 0, "%s", error.text);
    ck_assert_double_eq(result.seen.guest_share, 1);
}

static void tick_larger(double elapsed_s, void *context)
{
    (void)elapsed_s;
    (void)context;
    follow();
    work(5);
    set_ticks(100, 98);
    ticks++;

    const char *total = TEXT_OF(32, "%llu", 1000000 + 8 * MIB * ticks);

    set_counter(OUR_GROUP, 0, "mbm_total_bytes", total);
    set_counter(OUR_GROUP, 0, "llc_occupancy", "1040000");
}

TEST(cases, one_that_fills_it_again_and_again_does_not)
{
    ck_assert_msg(measure(1.5, tick_larger) == 0, "%s", error.text);
    ck_assert_msg(result.verdict.answer == CACHE_ANSWER_LARGER, "%s, flags %x",
                  result.verdict.reason, result.seen.flags);
}

/* --- answers that would be wrong -------------------------------------------------------------- */

static void tick_plugs(double elapsed_s, void *context)
{
    tick_fits(elapsed_s, context);
    write_thread(7778, "CPU 1/KVM\n");
}

static void tick_unplugs(double elapsed_s, void *context)
{
    char path[512];

    tick_fits(elapsed_s, context);
    snprintf(path, sizeof(path), "%s/proc/4242/task/7777", fake.path);
    nftw(path, remove_below, 8, FTW_DEPTH | FTW_PHYS);
    /* It was a vCPU in its time: the process knows it, no thread does. */
    write_stat("proc/4242/stat", 500, 500);
}

TEST_EACH(cases, vcpus_that_come_or_go_leave_no_answer, 0, 2)
{
    ck_assert_int_eq(measure(1.5, _i == 0 ? tick_plugs : tick_unplugs), 0);
    ck_assert(result.seen.flags & CACHE_VCPUS_CHANGED);
    ck_assert_int_eq(result.verdict.answer, CACHE_ANSWER_UNKNOWN);
}

static void tick_idle(double elapsed_s, void *context)
{
    (void)elapsed_s;
    (void)context;
    place_thread(7777, "/", OUR_NAME);
}

/* The vCPU is a process that sleeps: it is not this thread. */
TEST(cases, one_that_does_not_run_leaves_no_answer)
{
    pid_t sleeper = fork();

    if (sleeper == 0) {
        pause();
        _exit(0);
    }
    await_sleep(sleeper);
    vcpus[0] = sleeper;
    write_thread(sleeper, "CPU 0/KVM\n");
    ck_assert_int_eq(measure(0.2, tick_idle), 0);
    ck_assert_uint_eq(result.seen.n_ran, 0);
    ck_assert(result.seen.flags & CACHE_IDLE_VCPUS);
    ck_assert_int_eq(result.verdict.answer, CACHE_ANSWER_UNKNOWN);
    unit_kill(sleeper);
}

static void make_nested(void)
{
    fake_write(&fake, "proc/cpuinfo",
               "vendor_id\t: GenuineIntel\nflags\t\t: hypervisor cqm_occup_llc cqm_mbm_total\n\n");
}

static void give_device(void)
{
    char path[512];

    fake_write(&fake, "proc/4242/fd/x", "");
    snprintf(path, sizeof(path), "%s/proc/4242/fd/9", fake.path);
    ck_assert_int_eq(symlink("/dev/vfio/42", path), 0);
}

static const struct {
    void (*prepare)(void);
    void (*tick)(double elapsed_s, void *context);
    unsigned flag;
} doubts[] = {
    {make_nested, tick_fits, CACHE_NESTED},
    {make_nested, tick_larger, CACHE_NESTED},
    {give_device, tick_fits, CACHE_VFIO},
    {give_device, tick_larger, CACHE_VFIO},
};

TEST_EACH(cases, a_doubt_is_flagged_and_leaves_no_answer, 0, COUNT(doubts))
{
    doubts[_i].prepare();
    ck_assert_int_eq(measure(1.5, doubts[_i].tick), 0);
    ck_assert(result.seen.flags & doubts[_i].flag);
    ck_assert_int_eq(result.verdict.answer, CACHE_ANSWER_UNKNOWN);
}

/* --- refusals --------------------------------------------------------------------------------- */

static bool has_pmu(void)
{
    struct error counters = {0};
    struct error monitor = {0};

    cache_check_host(&fake.root, &counters, &monitor);
    return counters.code == 0;
}

TEST(cases, guests_that_cannot_be_seen_are_refused)
{
    process.accel = ACCEL_TCG;
    ck_assert_int_eq(measure(0.1, NULL), -ENOTSUP);
    ck_assert_msg(strstr(error.text, "TCG") != NULL, "%s", error.text);
    process.accel = ACCEL_KVM;
    process.vcpus_known = false;
    ck_assert_int_eq(measure(0.1, NULL), -ENOTSUP);
    ck_assert_msg(strstr(error.text, "debug-threads=on") != NULL, "%s", error.text);
    process.vcpus_known = true;
    process.start_ticks = 6; /* another one */
    ck_assert_int_eq(measure(0.1, NULL), -ESRCH);
}

TEST(cases, without_pmu_and_resctrl_both_reasons_are_given)
{
    fake_write(&fake, "proc/cpuinfo", "vendor_id\t: GenuineIntel\nflags\t\t: fpu\n");
    fake_write(&fake, RESCTRL_TREE "/info/L3_MON/mon_features", "");
    if (has_pmu()) {
        ck_assert_int_eq(measure(0.1, NULL), 0);
        ck_assert_int_eq(result.verdict.answer, CACHE_ANSWER_UNKNOWN);
    } else {
        ck_assert_int_eq(measure(0.1, NULL), -ENOTSUP);
        ck_assert_msg(strstr(error.text, "PMU") && strstr(error.text, "resctrl: "), "%s",
                      error.text);
    }
}

TEST(cases, a_group_that_cannot_be_made_is_a_reason)
{
    mkdir_errno = ENOSPC;

    int rc = measure(0.1, NULL);

    ck_assert_int_eq(rc, has_pmu() ? 0 : -ENOTSUP);
    ck_assert_msg(strstr(rc ? error.text : result.no_monitor.text, "RMID") != NULL, "%s",
                  error.text);
}

static void tick_interrupts(double elapsed_s, void *context)
{
    (void)elapsed_s;
    (void)context;
    ck_assert(exists(OUR_GROUP));
    interrupted = 1;
}

TEST(cases, an_interrupted_one_leaves_nothing)
{
    ck_assert_int_eq(measure(30, tick_interrupts), -EINTR);
}

int unit_begin(void)
{
    static const struct counter_event event = {PERF_COUNT_SW_PAGE_FAULTS, PERF_TYPE_SOFTWARE,
                                               false};
    struct fsroot root;
    struct counters *counters;
    const pid_t tid = gettid();

    if (fsroot_open(&root, "/") < 0)
        return 1;
    if (counters_open(&root, &(struct counted){&event, 1, "faults"}, &tid, 1, &counters, NULL) <
        0) {
        puts("perf_event_open is not permitted here");
        return 77;
    }
    counters_close(counters);
    fsroot_close(&root);
    return 0;
}
