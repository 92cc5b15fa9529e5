// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_main_loop.c  The main loop of the daemons: what ends it, and when it calls again. */
#include "base/clock.h"
#include "base/service/main_loop.h"

#include "fixture.h"

#include <signal.h>
#include <time.h>

static sd_event *loop;
static struct error error;
static unsigned n_hangups;

static void setup(void)
{
    signal(SIGHUP, SIG_DFL); /* nohup(1) of the whole run has it ignored */
    ck_assert_int_eq(main_loop_open(&loop, &error), 0);
}

static int end(sd_event_source *source, void *context)
{
    (void)context;
    return sd_event_exit(sd_event_source_get_event(source), 1);
}

/* The end comes when there is nothing else to do: after the signal, if that is taken. */
static int hang_up(sd_event_source *timer, uint64_t now_us, void *context)
{
    sd_event_source *idle;

    (void)timer, (void)now_us, (void)context;
    raise(SIGHUP);
    ck_assert_int_ge(sd_event_add_defer(loop, &idle, end, NULL), 0);
    return sd_event_source_set_priority(idle, SD_EVENT_PRIORITY_IDLE);
}

static int on_hangup(sd_event_source *source, const struct signalfd_siginfo *signal, void *context)
{
    (void)source, (void)signal, (void)context;
    n_hangups++;
    return raise(SIGTERM);
}

/* 0: a signal ended it; 1: it was none. */
static int run_until_signal(void)
{
    ck_assert_int_eq(main_loop_add(loop, hang_up, NULL, &error), 0);

    int rc = main_loop_run(loop, &error);
    int code = -1;

    ck_assert_int_eq(rc, 0);
    ck_assert_int_eq(sd_event_get_exit_code(loop, &code), 0);
    return code;
}

FIXTURE(all, .setup = setup);

/* As a terminal does that is closed: a daemon that was started there would go on unseen. */
TEST(all, a_hangup_ends_who_has_no_handler_for_it)
{
    ck_assert_int_eq(run_until_signal(), 0);
}

TEST(all, a_hangup_that_is_ignored_ends_nothing)
{
    signal(SIGHUP, SIG_IGN);
    ck_assert_int_eq(run_until_signal(), 1);
}

TEST(all, a_daemon_may_take_a_hangup_itself)
{
    ck_assert_int_ge(sd_event_add_signal(loop, NULL, SIGHUP, on_hangup, NULL), 0);
    ck_assert_int_eq(run_until_signal(), 0);
    ck_assert_uint_eq(n_hangups, 1);
}

/* It takes longer than it is often. */
static int be_slow(sd_event_source *timer, uint64_t now_us, void *context)
{
    const struct timespec slow = {.tv_nsec = 20000000};
    uint64_t *due_us = context;
    uint64_t ended_us;

    (void)now_us;
    nanosleep(&slow, NULL);
    ended_us = clock_ns() / 1000;
    ck_assert_int_eq(main_loop_again(timer, 0.01), 0);
    ck_assert_int_eq(sd_event_source_get_time(timer, due_us), 0);
    ck_assert_uint_ge(*due_us, ended_us + 10000);
    return sd_event_exit(sd_event_source_get_event(timer), 0);
}

TEST(all, a_slow_handler_is_called_again_after_a_pause)
{
    uint64_t due_us = 0;

    ck_assert_int_eq(main_loop_add(loop, be_slow, &due_us, &error), 0);
    ck_assert_int_eq(main_loop_run(loop, &error), 0);
    ck_assert_uint_gt(due_us, 0);
}
