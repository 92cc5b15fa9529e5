// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_fleet_hangs.c  Guests that are scanned together with one that hangs, or are let go
 * meanwhile; and the end. */
#include "made_up_fleet.h"

#include "base/clock.h"

#include "fixture.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

FIXTURE(cases, .timeout_s = 120);

/* The thread of the scanner that had it scans nobody of that batch after it. */
TEST(cases, a_scan_that_hangs_stops_only_its_guest)
{
    pid_t thread = 0;
    unsigned n;
    int i;

    start(N, 0.2);
    add_at_once(N);
    i = have_one_hang(N);
    ck_assert(are_scanned(N, i, 5)); /* fleet_relieve() was not needed */
    ck_assert_uint_eq(hanging(), 1);
    n = atomic_load(&shared->n);
    for (unsigned k = 0; k < n; k++)
        if (shared->log[k].guest == i)
            thread = shared->log[k].thread;
    virtual_clock_clear(&shared->of[i].hangs);
    ck_assert(are_scanned(N, -1, 3));
    for (unsigned k = n; k < atomic_load(&shared->n); k++)
        ck_assert_int_ne(shared->log[k].thread, thread);
    ck_assert_uint_eq(hanging(), 0);
    fleet_stop(fleet);
}

/* A sleeping thread believes that nothing is due until all guests of the batch come back. */
TEST(cases, nobody_sleeps_while_the_last_of_a_batch_hangs)
{
    start(N, 0.8);
    atomic_store(&wakes_late, true); /* also who is asleep when it hangs */
    add_at_once(N);
    ck_assert(are_scanned(N, -1, 4)); /* together, by then */
    atomic_store(&hang_last, true);
    for (int tries = 0; tries < 3000 && atomic_load(&hung) < 0; tries++)
        virtual_clock_pass_ms(10);
    ck_assert_int_ge(atomic_load(&hung), 0);
    ck_assert(are_scanned(N, atomic_load(&hung), 3));
    virtual_clock_clear(&shared->of[atomic_load(&hung)].hangs);
}

/* Those that wait in the batch of one that hangs, and the one itself. */
TEST(cases, guests_may_go_while_a_worker_has_them)
{
    int i;
    int other;
    int third;
    unsigned begun;

    start(N, 0.2);
    add_at_once(N);
    i = have_one_hang(N);
    other = (i + 1) % N;
    third = (i + 2) % N;
    let_go(i);
    let_go(other);
    let_go(third);
    begun = atomic_load(&shared->of[other].begun) + atomic_load(&shared->of[third].begun);
    ck_assert(becomes(&shared->of[other].freed, 1) && becomes(&shared->of[third].freed, 1));
    ck_assert_uint_eq(atomic_load(&shared->of[other].begun) + atomic_load(&shared->of[third].begun),
                      begun); /* not scanned once more for that */
    ck_assert_uint_eq(atomic_load(&shared->of[i].freed), 0);
    ck_assert_uint_eq(fleet_state(fleet).guests, N - 3);
    virtual_clock_clear(&shared->of[i].hangs);
    ck_assert(becomes(&shared->of[i].freed, 1));
    fleet_stop(fleet);
    for (int k = 0; k < N; k++)
        ck_assert_uint_eq(atomic_load(&shared->of[k].freed), 1);
}

/* The thread that restores a released guest hangs, which is noticed; another thread takes its
 * place. */
TEST(cases, a_restoring_that_hangs_is_seen)
{
    int i;

    start(N, 0.2);
    add_at_once(N);
    i = have_one_hang(N);
    let_go(i);
    atomic_store(&shared->of[i].restore_hangs, true);
    virtual_clock_clear(&shared->of[i].hangs);
    virtual_clock_pass_ms(100);
    ck_assert_uint_eq(atomic_load(&shared->of[i].freed), 0);
    ck_assert_uint_eq(hanging(), 1);
    ck_assert(are_scanned(N, i, 3));
    ck_assert_uint_eq(hanging(), 1);
    fleet_relieve(fleet, clock_ns() + 20 * SECOND);
    ck_assert_uint_ge(fleet->threads.n, FLEET_WORKERS + 1);
    virtual_clock_clear(&shared->of[i].restore_hangs);
    ck_assert(becomes(&shared->of[i].freed, 1));
    fleet_stop(fleet);
}

/* When it began with its guest was long ago then. */
static void stop_clock(void)
{
    pthread_mutex_lock(&fleet->mutex);
    fleet->threads.relieved_ns -= 20 * SECOND;
    for (size_t i = 0; i < fleet->threads.n; i++)
        fleet->threads.worker[i].seen_ns -= 20 * SECOND;
    pthread_mutex_unlock(&fleet->mutex);
}

/* A freezer that stops both halves makes no scan hang: a batch is not given to others while the
 * scanner goes on with it. */
TEST(cases, nobody_hangs_for_having_been_stopped)
{
    unsigned before[N];
    unsigned n;

    start(N, 300);
    add_at_once(N);
    settle(before);
    n = atomic_load(&shared->n);
    fleet_relieve(fleet, clock_ns());
    atomic_store(&shared->slow_us, 60000);
    fleet_configure(fleet, &config); /* all are due now */
    while (atomic_load(&shared->n) == n)
        virtual_clock_pass_ms(1);
    stop_clock();
    for (int i = 0; i < 2; i++)
        fleet_relieve(fleet, clock_ns());
    for (int i = 0; i < N; i++)
        ck_assert(becomes(&shared->of[i].scans, before[i] + 1));
    virtual_clock_pass_ms(500);
    for (int i = 0; i < N; i++)
        ck_assert_uint_eq(scans(i), before[i] + 1);
    ck_assert_uint_eq(fleet->threads.n, FLEET_WORKERS);
    fleet_stop(fleet);
}

/* A guest that is set apart for having hung does not come again at once for that. */
TEST(cases, rules_that_change_while_a_scan_hangs_wait_for_its_guest)
{
    struct config other;
    uint64_t at_ns = 0;

    start(1, 300);
    atomic_store(&shared->of[0].hangs, true);
    add(0);
    while (atomic_load(&shared->of[0].begun) == 0)
        virtual_clock_pass_ms(1);
    other = config;
    other.window_s[0] /= 2;
    fleet_configure(fleet, &other);
    stop_clock();
    virtual_clock_clear(&shared->of[0].hangs);
    for (int tries = 0; tries < 3000 && at_ns == 0; tries++) {
        virtual_clock_pass_ms(10);
        pthread_mutex_lock(&fleet->mutex);
        if (fleet->records > 0 && !fleet->table.guests->busy)
            at_ns = fleet->table.guests->deadline.at_ns;
        pthread_mutex_unlock(&fleet->mutex);
    }
    ck_assert_uint_gt(at_ns, clock_ns() + 30 * SECOND);
    ck_assert_uint_eq(atomic_load(&shared->of[0].anew), 0);
    fleet_stop(fleet);
}

/* No further guest of a batch is scanned, and all are restored. */
TEST(cases, the_end_does_not_wait_for_a_whole_batch)
{
    unsigned begun;

    start(2 * N, 0.2);
    add_at_once(2 * N);
    ck_assert(are_scanned(2 * N, -1, 4));
    atomic_store(&shared->slow_us, 300000);
    begun = atomic_load(&shared->n);
    while (atomic_load(&shared->n) < begun + 4)
        virtual_clock_pass_ms(1);
    begun = atomic_load(&shared->n);
    fleet_stop(fleet);
    ck_assert_uint_le(atomic_load(&shared->n), begun + 2 * FLEET_WORKERS + 1);
    for (int i = 0; i < 2 * N; i++)
        ck_assert_uint_eq(atomic_load(&shared->of[i].freed), 1);
}

/* By other threads, though those guests were asked for together with it. */
TEST(cases, the_end_leaves_only_the_guest_that_hangs)
{
    int hangs;

    start(N, 0.2);
    add_at_once(N);
    hangs = have_one_hang(N);
    fleet_stop(fleet);
    for (int i = 0; i < N; i++)
        ck_assert_uint_eq(atomic_load(&shared->of[i].freed), i != hangs);
    ck_assert_uint_eq(fleet_state(fleet).guests, N); /* as they were before */
    kill(scanner_pid, SIGKILL);
}

/* The scanner, which ends with us, waits for it. */
TEST(cases, the_end_leaves_a_restoring_that_hangs)
{
    int hangs;

    start(N, 0.2);
    add_at_once(N);
    hangs = have_one_hang(N);
    let_go(hangs);
    atomic_store(&shared->of[hangs].restore_hangs, true);
    virtual_clock_clear(&shared->of[hangs].hangs);
    virtual_clock_pass_ms(100);
    ck_assert_uint_eq(hanging(), 1);
    fleet_stop(fleet);
    for (int i = 0; i < N; i++)
        ck_assert_uint_eq(atomic_load(&shared->of[i].freed), i != hangs);
    scanner_leave(scanner);
    virtual_clock_clear(&shared->of[hangs].restore_hangs);
    ck_assert(becomes(&shared->of[hangs].freed, 1));
}

TEST(cases, guests_stay_when_the_scanner_is_killed)
{
    start(N, 0.2);
    add_at_once(N);
    ck_assert(are_scanned(N, -1, 3));
    atomic_store(&shared->slow_us, 20000);
    virtual_clock_pass_ms(50);
    kill(scanner_pid, SIGKILL);
    virtual_clock_pass_ms(300);
    ck_assert_uint_eq(fleet_state(fleet).guests, N);
    ck_assert_uint_eq(fleet_state(fleet).refused, 0);
    fleet_stop(fleet);
}

/* The other half, with a scan that hangs. */
static void __attribute__((noreturn)) be_the_other_half(void)
{
    children_outlive = true;
    start(2, 300);
    atomic_store(&shared->of[0].hangs, true);
    add(0);
    add(1);
    pause();
    _exit(1);
}

/* The scanner holds marks on guests, and no other process may be left to end it. It must notice
 * that its channel was closed, and wait for the scan as long as at any other end. */
TEST(cases, the_scanner_ends_when_the_other_half_is_killed)
{
    struct pollfd alive = {.events = POLLIN};
    int ends[2]; /* which both halves have open as long as they live */
    char byte;
    pid_t other;

    virtual_clock_start();
    make_processes(2);
    ck_assert_int_eq(pipe(ends), 0);
    other = fork();
    if (other == 0)
        be_the_other_half();
    close(ends[1]);
    alive.fd = ends[0];
    virtual_clock_pass_ms(1000);
    ck_assert_int_eq(unit_kill(other), other);
    virtual_clock_pass_ms(3000);
    ck_assert_int_eq(poll(&alive, 1, 0), 0);
    virtual_clock_pass_ms(2000);
    ck_assert_int_eq(read(ends[0], &byte, 1), 0);
    close(ends[0]);
}
