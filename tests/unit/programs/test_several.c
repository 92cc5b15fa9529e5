// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_several.c  Several guests at once: all at the same time, the exit code of all, and
 * what ends one of them. */
#include "base/command.h"
#include "base/interrupt.h"
#include "programs/vmwss/several.h"

#include "fixture.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* State that the processes share. */
struct shared {
    int begun, ended;
};

static struct shared *shared;

static void setup(void)
{
    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(shared, MAP_FAILED);
    interrupted = 0;
}

static void pause_shortly(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
}

static int number_of(const int *at)
{
    return __atomic_load_n(at, __ATOMIC_SEQ_CST);
}

/* Its name is its exit code. */
static int by_name(const char *name, void *context)
{
    (void)context;
    __atomic_add_fetch(&shared->begun, 1, __ATOMIC_SEQ_CST);
    return atoi(name);
}

static int run(bool in_turn, size_t n, char **names)
{
    return several_run(names, n, in_turn, by_name, NULL);
}

#define RUN(in_turn, ...) \
    run(in_turn, sizeof((char *[]){__VA_ARGS__}) / sizeof(char *), (char *[]){__VA_ARGS__})

FIXTURE(cases, .setup = setup, .timeout_s = 60);

TEST_EACH(cases, the_code_of_all, 0, 2)
{
    ck_assert_int_eq(RUN(_i, "0", "0", "0"), EXIT_DONE);
    ck_assert_int_eq(number_of(&shared->begun), 3);
    ck_assert_int_eq(RUN(_i, "0", "3", "0"), EXIT_VANISHED);
    ck_assert_int_eq(RUN(_i, "3", "2", "0"), EXIT_CANNOT);
    ck_assert_int_eq(RUN(_i, "0", "130", "2"), EXIT_INTERRUPTED);
}

TEST(cases, more_than_at_once)
{
    char *names[3 * SEVERAL_AT_ONCE + 1];

    for (size_t i = 0; i < COUNT(names); i++)
        names[i] = i == 100 ? "3" : "0";
    ck_assert_int_eq(run(false, COUNT(names), names), EXIT_VANISHED);
    ck_assert_int_eq(number_of(&shared->begun), 3 * SEVERAL_AT_ONCE + 1);
}

/* Comes to its end when all of them have begun. */
static int with_all(const char *name, void *context)
{
    (void)name;
    __atomic_add_fetch(&shared->begun, 1, __ATOMIC_SEQ_CST);
    while (number_of(&shared->begun) < *(int *)context)
        pause_shortly();
    return EXIT_DONE;
}

TEST(cases, at_the_same_time)
{
    char *names[] = {"a", "b", "c", "d"};
    int n = 4;

    ck_assert_int_eq(several_run(names, 4, false, with_all, &n), EXIT_DONE);
}

/* Until a signal comes, which the first of them sends. */
static int until_interrupted(const char *name, void *context)
{
    interrupt_catch();
    __atomic_add_fetch(&shared->begun, 1, __ATOMIC_SEQ_CST);
    while (*name == 'a' && number_of(&shared->begun) < 3)
        pause_shortly();
    if (*name == 'a')
        kill(*(pid_t *)context, SIGTERM);
    while (!interrupted)
        pause_shortly();
    __atomic_add_fetch(&shared->ended, 1, __ATOMIC_SEQ_CST); /* what it touched is restored */
    return EXIT_INTERRUPTED;
}

TEST(cases, a_signal_goes_to_all)
{
    char *names[] = {"a", "b", "c"};
    pid_t self = getpid();

    ck_assert_int_eq(several_run(names, 3, false, until_interrupted, &self), EXIT_INTERRUPTED);
    ck_assert_int_eq(number_of(&shared->ended), 3);
}

static int killed(const char *name, void *context)
{
    (void)context;
    if (*name == 'a')
        kill(getpid(), SIGKILL);
    return EXIT_DONE;
}

TEST(cases, one_that_is_killed_cannot)
{
    char *names[] = {"b", "a"};

    ck_assert_int_eq(several_run(names, 2, false, killed, NULL), EXIT_CANNOT);
}

/* kill -9 of the command: nobody goes on measuring. */
TEST(cases, they_end_with_it)
{
    char *names[] = {"b", "c", "d"};
    pid_t none = 0;
    pid_t pid = fork();

    if (pid == 0)
        _exit(several_run(names, 3, false, until_interrupted, &none));
    while (number_of(&shared->begun) < 3)
        pause_shortly();
    unit_kill(pid);
    while (number_of(&shared->ended) < 3)
        pause_shortly();
}
