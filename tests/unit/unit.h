// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file unit.h  Tests that register themselves, for the unit test library Check: TEST(group, name)
 * and a body, and nothing more. Each test is a process.
 *
 * A constructor for each test adds it to a list, which main() (unit_main.c) hands to Check. Groups
 * run in the order of their first tests, and a group's tests in the order of the file.
 */
#pragma once

#include "base/array.h"
#include "base/cleanup.h"

#include <check.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

/** Check calls this for each assertion that holds: a write(2) of its place, which is reported if
 * the test is killed later. Each assertion does so 16 times at most, as a loop has up to a million.
 */
#define _mark_point(file, line)                             \
    ({                                                      \
        static atomic_uint marks;                           \
                                                            \
        if (marks < 16 && atomic_fetch_add(&marks, 1) < 16) \
            (_mark_point)(file, line);                      \
    })

/** Settings that some tests of a file share. Members that are not set: nothing, Check's timeout. */
struct unit_group {
    void (*setup)(void);    /* before each test, in its process */
    void (*teardown)(void); /* after it */
    int timeout_s;
};

struct unit_test {
    const struct unit_group *group;
    const TTest *test;
    int from, to; /* once for each number, which is _i */
    struct unit_test *next;
};

/** Adds a test, which stays the caller's. */
void unit_add(struct unit_test *test);

#define FIXTURE(id, ...) static const struct unit_group id = {__VA_ARGS__}

/** Tests without anything in common. */
__attribute__((unused)) FIXTURE(plain, 0);

#define TEST_EACH(in, name, first, end)                                        \
    static void name##_fn(int _i);                                             \
    static const TTest name##_test = {#name, name##_fn, __FILE__, __LINE__};   \
    __attribute__((constructor)) static void name##_add(void)                  \
    {                                                                          \
        static struct unit_test test = {.group = &(in), .test = &name##_test}; \
                                                                               \
        test.from = (int)(first);                                              \
        test.to = (int)(end);                                                  \
        unit_add(&test);                                                       \
    }                                                                          \
    static void name##_fn(int _i __attribute__((unused)))

#define TEST(in, name) TEST_EACH(in, name, 0, 1)

/** Set by a test: processes that it forks are to go on when it ends. */
extern bool children_outlive;

/** A file may define these: unit_begin() runs before the first test, in main()'s process, and ends
 * it unless it returns 0 (77: skipped); unit_end() runs after the last test. */
int unit_begin(void) __attribute__((weak));
void unit_end(void) __attribute__((weak));

/** Fails the test with the error's text unless @p call, which reports to &error, returns 0. */
#define ck_assert_ok(call)                            \
    do {                                              \
        struct error error = {0};                     \
        ck_assert_msg((call) == 0, "%s", error.text); \
    } while (0)

/** Fails the test unless @p call, which reports to &error, returns @p code with @p part in the
 * error's text. */
#define ck_assert_error(call, code, part)                          \
    do {                                                           \
        struct error error = {0};                                  \
        ck_assert_int_eq(call, code);                              \
        ck_assert_msg(strstr(error.text, part), "%s", error.text); \
    } while (0)

/** Fails the test unless @p call returns 0. */
#define ck_assert_zero(call) ck_assert_int_eq(call, 0)

/** As snprintf(3); returns @p text. */
__attribute__((format(printf, 3, 4))) const char *unit_text(char *text, size_t size,
                                                            const char *format, ...);

/** Returns the formatted text, in @p size bytes that live until the end of the block. */
#define TEXT_OF(size, ...) unit_text((char[size]){""}, size, __VA_ARGS__)

/* Locals that are released at the end of their block, as those of base/cleanup.h. */
#define cleanup_plan_fleet __attribute__((cleanup(plan_fleet_free)))
#define cleanup_plan_result __attribute__((cleanup(plan_result_free)))
#define cleanup_page_set __attribute__((cleanup(page_set_free)))
#define cleanup_processes __attribute__((cleanup(processes_free)))
#define cleanup_ram_config __attribute__((cleanup(ram_config_free)))
#define cleanup_regrow_curve __attribute__((cleanup(regrow_curve_free)))
#define cleanup_run_lock __attribute__((cleanup(run_lock_release)))

/** Makes a directory on a tmpfs, where a busy disk does not delay an fsync(). It is removed, with
 * all in it, when the process ends that made its first one. */
const char *unit_dir(void);

/** Writes a file below @p dir, and makes the directories above it. */
void unit_write_bytes(const char *dir, const char *path, const void *data, size_t size);
void unit_write(const char *dir, const char *path, const char *text);

/** Kills a child of the test, and waits for its end. Returns @p pid. */
pid_t unit_kill(pid_t pid);

/** Runs a command of the shell, which must succeed. */
__attribute__((format(printf, 1, 2))) void unit_shell(const char *format, ...);

/** Runs the cases of a suite that was made by hand; returns the exit status for main(). Each case
 * may fork others. Each of them is killed when its parent ends: ctest may end this process at any
 * time, and some of them block signals or wait for the test. */
int run_suite(Suite *suite);
