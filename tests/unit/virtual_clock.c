// SPDX-License-Identifier: LGPL-2.1-or-later
#include "virtual_clock.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define SECOND_NS 1000000000ULL
#define NEVER UINT64_MAX
#define MAX_WAITS 256
#define MAX_PROCESSES 64
#define WAKE SIGUSR2 /* a thread in poll(2) */

/* A thread that waits. */
struct wait {
    bool taken;
    const void *what; /* a condition variable, or a flag; NULL: just for the time */
    pid_t pid;        /* whose condition variable it is; 0: it is in shared memory */
    uint64_t until_ns;
    uint64_t turn; /* who has waited longest is signalled first */
    bool woken;
    bool late; /* by the time */
    pid_t tid; /* 0: it waits for go */
    sem_t go;
};

struct virtual_clock {
    pthread_mutex_t mutex; /* of the rest; taken after any other */
    _Atomic uint64_t now_ns;
    _Atomic uint64_t cpu_ns;
    uint64_t turns;
    struct wait waits[MAX_WAITS];
    atomic_uint n_processes;
    pid_t processes[MAX_PROCESSES];
};

static struct virtual_clock *shared_clock; /* in memory that all processes share; NULL: not begun */

static __thread bool drives;

void (*virtual_clock_on_wait)(const pthread_cond_t *cond, uint64_t *until_ns);

/* NOLINTBEGIN(bugprone-reserved-identifier): the linker's names */
int __real_clock_gettime(clockid_t id, struct timespec *time);
int __wrap_clock_gettime(clockid_t id, struct timespec *time);
int __real_getrusage(int who, struct rusage *usage);
int __wrap_getrusage(int who, struct rusage *usage);
int __real_usleep(useconds_t us);
int __wrap_usleep(useconds_t us);
int __real_clock_nanosleep(clockid_t id, int flags, const struct timespec *time,
                           struct timespec *left);
int __wrap_clock_nanosleep(clockid_t id, int flags, const struct timespec *time,
                           struct timespec *left);
int __real_poll(struct pollfd *fds, nfds_t n, int timeout_ms);
int __wrap_poll(struct pollfd *fds, nfds_t n, int timeout_ms);
int __real_pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex);
int __wrap_pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex);
int __real_pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex,
                                  const struct timespec *until);
int __wrap_pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex,
                                  const struct timespec *until);
int __real_pthread_cond_signal(pthread_cond_t *cond);
int __wrap_pthread_cond_signal(pthread_cond_t *cond);
int __real_pthread_cond_broadcast(pthread_cond_t *cond);
int __wrap_pthread_cond_broadcast(pthread_cond_t *cond);
int __real_pthread_clockjoin_np(pthread_t thread, void **result, clockid_t id,
                                const struct timespec *until);
int __wrap_pthread_clockjoin_np(pthread_t thread, void **result, clockid_t id,
                                const struct timespec *until);
pid_t __real_fork(void);
pid_t __wrap_fork(void);

/* --- are all at rest -------------------------------------------------------------------------- */

/* A thread that waits, or is stopped, or has ended, adds how often it was switched out to *sum;
 * false: it runs, or waits for a disk. */
static bool rests(pid_t pid, const char *tid, uint64_t *sum)
{
    char path[64];
    char text[4096];
    const char *state;
    const char *switches;

    snprintf(path, sizeof(path), "/proc/%d/task/%.16s/status", pid, tid);

    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

    if (fd >= 0)
        close(fd);
    if (length <= 0)
        return true; /* gone */
    text[length] = '\0';
    state = strstr(text, "\nState:\t");
    switches = strstr(text, "\nvoluntary_ctxt_switches:");
    if (!state || !switches)
        abort();
    for (; *switches; switches++)
        *sum = (*sum ^ (uint8_t)*switches) * 1099511628211ULL; /* FNV-1a */
    return !strchr("RD", state[8]);
}

static bool process_rests(pid_t pid, uint64_t *sum)
{
    char path[32];
    bool all = true;

    snprintf(path, sizeof(path), "/proc/%d/task", pid);

    DIR *threads = opendir(path);

    if (!threads && errno != ENOENT)
        abort();
    if (!threads)
        return true; /* it has ended */
    for (const struct dirent *one = readdir(threads); one && all; one = readdir(threads))
        if (one->d_name[0] != '.' && atoi(one->d_name) != gettid())
            all = rests(pid, one->d_name, sum);
    closedir(threads);
    return all;
}

static bool all_rest(uint64_t *sum)
{
    *sum = 14695981039346656037ULL;
    for (unsigned i = 0; i < atomic_load(&shared_clock->n_processes); i++)
        if (!process_rests(shared_clock->processes[i], sum))
            return false;
    return true;
}

/* Threads are looked at one after the other, and one may wake another that was seen asleep. If each
 * is seen asleep twice, and has not been switched out again in between, then all slept at the
 * moment between the two rounds, and nobody was left to wake any. */
void virtual_clock_settle(void)
{
    const struct timespec shortly = {.tv_nsec = 50000};
    uint64_t before;
    uint64_t after;

    while (!all_rest(&before) || !all_rest(&after) || before != after)
        nanosleep(&shortly, NULL);
}

/* --- those that wait -------------------------------------------------------------------------- */

/* ThreadSanitizer's, which is not in other builds. This file is compiled without it, and here it is
 * told that what the clock does orders nothing: else it would take it that threads which wait for
 * the same clock have synchronised their own data by that. */
void AnnotateIgnoreSyncBegin(const char *file, int line) __attribute__((weak));
void AnnotateIgnoreSyncEnd(const char *file, int line) __attribute__((weak));
const char *__tsan_default_options(void); /* NOLINT(bugprone-reserved-identifier) */

/* It would sleep for a second at the end of each process, which would seem to be at rest. */
const char *__tsan_default_options(void)
{
    return "atexit_sleep_ms=0";
}

static void begin_ignored(void)
{
    if (AnnotateIgnoreSyncBegin)
        AnnotateIgnoreSyncBegin(__FILE__, __LINE__);
}

static void end_ignored(void)
{
    if (AnnotateIgnoreSyncEnd)
        AnnotateIgnoreSyncEnd(__FILE__, __LINE__);
}

static void lock_clock(void)
{
    begin_ignored();
    pthread_mutex_lock(&shared_clock->mutex);
}

static void unlock_clock(void)
{
    pthread_mutex_unlock(&shared_clock->mutex);
    end_ignored();
}

/* The mutex is held. */
static void wake(struct wait *one, bool late)
{
    one->woken = true;
    one->late = late;
    if (one->tid)
        tgkill(one->pid, one->tid, WAKE);
    else
        sem_post(&one->go);
}

static struct wait *begin_wait(const void *what, pid_t pid, uint64_t until_ns, pid_t tid)
{
    struct wait *one = shared_clock->waits;

    lock_clock();
    while (one->taken)
        if (++one == shared_clock->waits + MAX_WAITS)
            abort();
    one->taken = true;
    one->what = what;
    one->pid = pid;
    one->until_ns = until_ns;
    one->turn = shared_clock->turns++;
    one->woken = one->late = false;
    one->tid = tid;
    sem_init(&one->go, 1, 0);
    if (until_ns <= atomic_load(&shared_clock->now_ns))
        wake(one, true);
    unlock_clock();
    return one;
}

/* True: the time has come. */
static bool end_wait(struct wait *one)
{
    lock_clock();

    bool late = one->late;

    one->taken = false;
    sem_destroy(&one->go);
    unlock_clock();
    return late;
}

static bool is_woken(struct wait *one)
{
    lock_clock();

    bool woken = one->woken;

    unlock_clock();
    return woken;
}

/* Those that wait for @p what, or only the first; the mutex is held. */
static void wake_waiting(const void *what, pid_t pid, bool all)
{
    struct wait *first;

    do {
        first = NULL;
        for (struct wait *one = shared_clock->waits; one < shared_clock->waits + MAX_WAITS; one++)
            if (one->taken && !one->woken && one->what == what && one->pid == pid &&
                (!first || one->turn < first->turn))
                first = one;
        if (first)
            wake(first, false);
    } while (all && first);
}

/* To the next moment that anyone waits for, or to @p most_ns, and until all that this wakes is
 * done: what the driving thread waits for may be there then, before more time passes. */
static void step(uint64_t most_ns)
{
    uint64_t next_ns = most_ns;

    lock_clock();
    for (const struct wait *one = shared_clock->waits; one < shared_clock->waits + MAX_WAITS; one++)
        if (one->taken && !one->woken && one->until_ns < next_ns)
            next_ns = one->until_ns;
    if (next_ns != NEVER && next_ns > atomic_load(&shared_clock->now_ns))
        atomic_store(&shared_clock->now_ns, next_ns);
    for (struct wait *one = shared_clock->waits; one < shared_clock->waits + MAX_WAITS; one++)
        if (one->taken && !one->woken && one->until_ns <= atomic_load(&shared_clock->now_ns))
            wake(one, true);
    unlock_clock();
    virtual_clock_settle();
}

static void pass_until(uint64_t until_ns)
{
    virtual_clock_settle();
    while (atomic_load(&shared_clock->now_ns) < until_ns)
        step(until_ns);
}

static void await(struct wait *one)
{
    begin_ignored();
    if (drives) {
        virtual_clock_settle();
        while (sem_trywait(&one->go) < 0)
            step(NEVER);
    } else {
        while (sem_wait(&one->go) < 0)
            ;
    }
    end_ignored();
}

static int sleep_until(uint64_t until_ns)
{
    if (drives) {
        pass_until(until_ns);
        return 0;
    }

    struct wait *one = begin_wait(NULL, 0, until_ns, 0);

    await(one);
    end_wait(one);
    return 0;
}

static uint64_t ns_of(const struct timespec *time)
{
    return (uint64_t)time->tv_sec * SECOND_NS + (uint64_t)time->tv_nsec;
}

static void put_ns(struct timespec *time, uint64_t ns)
{
    *time = (struct timespec){.tv_sec = (time_t)(ns / SECOND_NS),
                              .tv_nsec = (long)(ns % SECOND_NS)};
}

/* --- what a test calls ------------------------------------------------------------------------ */

static void do_nothing(int signal)
{
    (void)signal;
}

static void block_wake(void)
{
    const struct sigaction action = {.sa_handler = do_nothing};
    sigset_t set;

    sigaction(WAKE, &action, NULL);
    sigemptyset(&set);
    sigaddset(&set, WAKE);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
}

static void add_process(pid_t pid)
{
    lock_clock();

    unsigned n = atomic_load(&shared_clock->n_processes);

    if (n == MAX_PROCESSES)
        abort();
    shared_clock->processes[n] = pid;
    atomic_store(&shared_clock->n_processes, n + 1);
    unlock_clock();
}

/* From the real time on: Check, which notes how long a test takes, is among what is linked. */
void virtual_clock_start(void)
{
    pthread_mutexattr_t attributes;
    struct timespec now;

    if (shared_clock)
        return;
    shared_clock = mmap(NULL, sizeof(*shared_clock), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared_clock == MAP_FAILED)
        abort();
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(&shared_clock->mutex, &attributes);
    pthread_mutexattr_destroy(&attributes);
    __real_clock_gettime(CLOCK_MONOTONIC, &now);
    atomic_store(&shared_clock->now_ns, ns_of(&now));
    add_process(getpid());
    block_wake();
    drives = true;
}

void virtual_clock_pass_ms(uint64_t ms)
{
    sleep_until(atomic_load(&shared_clock->now_ns) + ms * 1000000);
}

void virtual_clock_use_cpu_s(double seconds)
{
    atomic_fetch_add(&shared_clock->cpu_ns, (uint64_t)(seconds * 1e9));
}

void virtual_clock_wait_while(atomic_bool *flag)
{
    while (atomic_load(flag)) {
        struct wait *one = begin_wait(flag, 0, NEVER, 0);

        if (atomic_load(flag))
            await(one);
        end_wait(one);
    }
}

void virtual_clock_clear(atomic_bool *flag)
{
    lock_clock();
    atomic_store(flag, false);
    wake_waiting(flag, 0, true);
    unlock_clock();
}

uint64_t virtual_clock_wakes_ns(const pthread_cond_t *cond)
{
    uint64_t first_ns = NEVER;

    lock_clock();
    for (const struct wait *one = shared_clock->waits; one < shared_clock->waits + MAX_WAITS; one++)
        if (one->taken && one->what == cond && one->pid == getpid() && one->until_ns < first_ns)
            first_ns = one->until_ns;
    unlock_clock();
    return first_ns;
}

/* --- what ld --wrap puts in between ----------------------------------------------------------- */

int __wrap_clock_gettime(clockid_t id, struct timespec *time)
{
    if (!shared_clock || id == CLOCK_REALTIME || id == CLOCK_BOOTTIME)
        return __real_clock_gettime(id, time);
    put_ns(time,
           atomic_load(id == CLOCK_MONOTONIC ? &shared_clock->now_ns : &shared_clock->cpu_ns));
    return 0;
}

int __wrap_getrusage(int who, struct rusage *usage)
{
    int rc = __real_getrusage(who, usage);

    if (shared_clock) {
        const uint64_t us = atomic_load(&shared_clock->cpu_ns) / 1000;

        usage->ru_utime = (struct timeval){.tv_sec = (time_t)(us / 1000000),
                                           .tv_usec = (suseconds_t)(us % 1000000)};
        usage->ru_stime = (struct timeval){0};
    }
    return rc;
}

int __wrap_usleep(useconds_t us)
{
    if (!shared_clock)
        return __real_usleep(us);
    return sleep_until(atomic_load(&shared_clock->now_ns) + us * 1000ULL);
}

int __wrap_clock_nanosleep(clockid_t id, int flags, const struct timespec *time,
                           struct timespec *left)
{
    if (!shared_clock || id != CLOCK_MONOTONIC || flags != TIMER_ABSTIME)
        return __real_clock_nanosleep(id, flags, time, left);
    return sleep_until(ns_of(time));
}

static uint64_t in_ms(int timeout_ms)
{
    return timeout_ms < 0 ? NEVER
                          : atomic_load(&shared_clock->now_ns) + (uint64_t)timeout_ms * 1000000;
}

/* The driving thread asks anew after each step. */
static int poll_and_drive(struct pollfd *fds, nfds_t n, uint64_t until_ns)
{
    int rc;

    virtual_clock_settle();
    while ((rc = __real_poll(fds, n, 0)) == 0 && atomic_load(&shared_clock->now_ns) < until_ns)
        step(until_ns);
    return rc;
}

int __wrap_poll(struct pollfd *fds, nfds_t n, int timeout_ms)
{
    sigset_t set;
    int rc;

    if (!shared_clock || timeout_ms == 0 || (timeout_ms < 0 && !drives))
        return __real_poll(fds, n, timeout_ms);
    if (drives)
        return poll_and_drive(fds, n, in_ms(timeout_ms));

    struct wait *one = begin_wait(NULL, getpid(), in_ms(timeout_ms), gettid());

    pthread_sigmask(SIG_SETMASK, NULL, &set);
    sigdelset(&set, WAKE); /* which may have come already, or be left from the last time */
    do
        rc = ppoll(fds, n, NULL, &set);
    while (rc < 0 && errno == EINTR && !is_woken(one));
    end_wait(one);
    if (rc >= 0 || errno != EINTR)
        return rc;
    for (nfds_t i = 0; i < n; i++)
        fds[i].revents = 0;
    return 0;
}

/* The thread counts as waiting until it has the mutex again: whoever is woken has not come to do
 * anything yet. */
static int wait_for(pthread_cond_t *cond, pthread_mutex_t *mutex, uint64_t until_ns)
{
    if (virtual_clock_on_wait)
        virtual_clock_on_wait(cond, &until_ns);

    struct wait *one = begin_wait(cond, getpid(), until_ns, 0);

    pthread_mutex_unlock(mutex);
    await(one);
    pthread_mutex_lock(mutex);
    return end_wait(one) ? ETIMEDOUT : 0;
}

int __wrap_pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex)
{
    return shared_clock ? wait_for(cond, mutex, NEVER) : __real_pthread_cond_wait(cond, mutex);
}

/* All of the host's condition variables are by CLOCK_MONOTONIC: base/cond.h. */
int __wrap_pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex,
                                  const struct timespec *until)
{
    return shared_clock ? wait_for(cond, mutex, ns_of(until))
                        : __real_pthread_cond_timedwait(cond, mutex, until);
}

static int wake_cond(pthread_cond_t *cond, bool all)
{
    lock_clock();
    wake_waiting(cond, getpid(), all);
    unlock_clock();
    return 0;
}

int __wrap_pthread_cond_signal(pthread_cond_t *cond)
{
    return shared_clock ? wake_cond(cond, false) : __real_pthread_cond_signal(cond);
}

int __wrap_pthread_cond_broadcast(pthread_cond_t *cond)
{
    return shared_clock ? wake_cond(cond, true) : __real_pthread_cond_broadcast(cond);
}

int __wrap_pthread_clockjoin_np(pthread_t thread, void **result, clockid_t id,
                                const struct timespec *until)
{
    int rc;

    if (!shared_clock || !drives)
        return __real_pthread_clockjoin_np(thread, result, id, until);
    virtual_clock_settle();
    while ((rc = pthread_tryjoin_np(thread, result)) == EBUSY) {
        if (atomic_load(&shared_clock->now_ns) >= ns_of(until))
            return ETIMEDOUT;
        step(ns_of(until));
    }
    return rc;
}

/* Known to this process before it goes on: the clock stands until the child has come to rest, too.
 */
pid_t __wrap_fork(void)
{
    pid_t pid = __real_fork();

    if (pid > 0 && shared_clock)
        add_process(pid);
    drives = drives && pid != 0;
    return pid;
}
/* NOLINTEND(bugprone-reserved-identifier) */
