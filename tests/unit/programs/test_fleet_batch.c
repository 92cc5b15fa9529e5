// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_fleet_batch.c  Guests that are scanned together. */
#include "made_up_fleet.h"

#include "base/clock.h"

#include "fixture.h"

FIXTURE(cases, .timeout_s = 120);

/* They come one after the other, all over a period, and are soon scanned by few wake-ups. */
TEST(cases, guests_that_are_due_soon_are_asked_for_at_once)
{
    unsigned most = 0;
    unsigned least = UINT32_MAX;

    start(2 * N, 0.4);
    for (int i = 0; i < 2 * N; i++) {
        add(i);
        virtual_clock_pass_ms(25);
    }
    ck_assert(are_scanned(2 * N, -1, 3));
    atomic_store(&batches, 0);
    atomic_store(&guests_sent, 0);
    ck_assert(are_scanned(2 * N, -1, 10));
    ck_assert_uint_ge(atomic_load(&guests_sent), 10 * 2 * N);
    ck_assert_msg(atomic_load(&guests_sent) >= 3 * atomic_load(&batches), "%u guests in %u batches",
                  atomic_load(&guests_sent), atomic_load(&batches));
    for (int i = 0; i < 2 * N; i++) {
        most = scans(i) > most ? scans(i) : most;
        least = scans(i) < least ? scans(i) : least;
    }
    ck_assert_msg(least >= most - most / 3, "from %u to %u scans", least, most);
    fleet_stop(fleet);
}

/* More than one batch has: none is left out. */
TEST(cases, more_than_one_batch_are_all_scanned)
{
    start(3 * SCANNER_BATCH, 0.2);
    add_at_once(3 * SCANNER_BATCH);
    ck_assert(are_scanned(3 * SCANNER_BATCH, -1, 5));
    fleet_stop(fleet);
    for (int i = 0; i < 3 * SCANNER_BATCH; i++)
        ck_assert_uint_eq(atomic_load(&shared->of[i].freed), 1);
}

/* The scanner, which closes the channel of a batch that was cut, has requests left there then. */
TEST(cases, a_scan_that_took_long_is_recorded)
{
    uint64_t records;
    unsigned before[N];
    int hangs;

    start(N, 300);
    add_at_once(N);
    settle(before);
    records = fleet_state(fleet).records;
    atomic_store(&hang_first, true);
    fleet_configure(fleet, &config); /* all are due now */
    ck_assert(has_records(records + N - 1));
    hangs = atomic_load(&hung);
    ck_assert_int_ge(hangs, 0);
    ck_assert_uint_eq(scans(hangs), before[hangs]);
    virtual_clock_clear(&shared->of[hangs].hangs);
    ck_assert(has_records(records + N));
    virtual_clock_pass_ms(3000); /* after two it would be scanned again */
    ck_assert_uint_eq(fleet_state(fleet).records, records + N);
    for (int i = 0; i < N; i++)
        ck_assert_uint_eq(scans(i), before[i] + 1);
    fleet_stop(fleet);
}

/* None hangs, and an answer comes every now and then; but all together they take too long for one
 * thread. */
TEST(cases, a_batch_that_takes_long_is_shared)
{
    pid_t first;
    bool shared_out = false;
    unsigned before[N];
    unsigned n;

    start(N, 300);
    add_at_once(N);
    settle(before);
    n = atomic_load(&shared->n);
    atomic_store(&shared->slow_us, 700000);
    fleet_configure(fleet, &config); /* all are due now */
    for (int i = 0; i < N; i++)
        ck_assert(becomes(&shared->of[i].scans, before[i] + 1));
    ck_assert_uint_eq(atomic_load(&shared->n), n + N);
    first = shared->log[n].thread;
    for (unsigned k = n; k < n + N; k++)
        shared_out |= shared->log[k].thread != first;
    ck_assert(shared_out);
    fleet_stop(fleet);
}

/* A sleeping thread is woken for the guests that are left. */
TEST(cases, nobody_sleeps_while_the_rest_of_a_batch_waits)
{
    unsigned before[N];
    int hangs;

    start(N, 300);
    add_at_once(N);
    settle(before);
    atomic_store(&wakes_late, true);
    atomic_store(&hang_first, true);
    fleet_configure(fleet, &config); /* all are due now, and whoever is woken first has them */
    for (int tries = 0; tries < 3000 && atomic_load(&hung) < 0; tries++)
        virtual_clock_pass_ms(1);
    hangs = atomic_load(&hung);
    ck_assert_int_ge(hangs, 0);
    for (int i = 0; i < N; i++)
        ck_assert(i == hangs || becomes(&shared->of[i].scans, before[i] + 1));
    ck_assert_uint_eq(scans(hangs), before[hangs]);
    virtual_clock_clear(&shared->of[hangs].hangs);
}

/* The second of two waiting guests comes a bit later; a thread that was idle because all guests
 * were being scanned does not. */
TEST(cases, no_deadline_is_overslept_after_a_long_batch)
{
    start(N, 0.8);
    add_at_once(N);
    ck_assert(are_scanned(N, -1, 4)); /* together, by then */
    atomic_store(&overslept, 0);
    atomic_store(&sleeps, 0);
    atomic_store(&shared->slow_us, 50000);
    ck_assert(are_scanned(N, -1, 6));
    ck_assert_uint_ge(atomic_load(&sleeps), 6);
    ck_assert_uint_eq(atomic_load(&overslept), 0);
    fleet_stop(fleet);
}

/* News for a scan that was not made goes to the next one. */
TEST(cases, a_scan_that_others_make_is_the_same)
{
    char uuid[37];
    unsigned before[N];
    struct config other;

    start(N, 300);
    add_at_once(N);
    settle(before); /* else the one that hangs may be of the old rules */
    other = config;
    other.window_s[0] /= 2;
    atomic_store(&hang_first, true);
    for (int i = 0; i < N; i++) {
        uuid_of(i, uuid);
        fleet_note_job(fleet, 0, uuid, FLAG_MIGRATING);
    }
    fleet_configure(fleet, &other); /* all begin anew */
    for (int i = 0; i < N; i++) {
        ck_assert(becomes(&shared->of[i].anew, 1));
        ck_assert(becomes(&shared->of[i].jobs, FLAG_MIGRATING));
    }
    ck_assert_int_ge(atomic_load(&hung), 0);
    virtual_clock_clear(&shared->of[atomic_load(&hung)].hangs);
    fleet_stop(fleet);
}

/* Its panel does not fit them: it is not left for a whole period of the old ones. */
TEST(cases, rules_that_change_during_a_scan_take_effect_after_it)
{
    struct config other;

    start(1, 300);
    atomic_store(&shared->of[0].hangs, true);
    add(0);
    while (atomic_load(&shared->of[0].begun) == 0)
        virtual_clock_pass_ms(1);
    other = config;
    other.window_s[0] /= 2;
    fleet_configure(fleet, &other);
    virtual_clock_clear(&shared->of[0].hangs);
    ck_assert(becomes(&shared->of[0].anew, 1));
    fleet_stop(fleet);
}

static void queue(struct fleet *of, struct fleet_guest *guest, double period_s, uint64_t at_ns)
{
    guest->regular = true;
    guest->pace.period_s = period_s;
    ck_assert_int_eq(deadline_put(&of->table.queue, &guest->deadline, at_ns), 0);
}

/* It would be scanned a bit early each time, and so more often than its period is long. */
TEST(plain, a_guest_of_another_period_is_not_scanned_early)
{
    static struct fleet of = {.spending.plan.period_s = 8}; /* without threads */
    static struct fleet_guest guests[3];
    static struct fleet_batch batch;
    const uint64_t now_ns = clock_ns();

    config_init(&of.config);
    pthread_mutex_init(&of.mutex, NULL);
    pthread_cond_init(&of.changed, NULL);
    queue(&of, &guests[0], 16, now_ns);
    queue(&of, &guests[1], 8, now_ns); /* due as well */
    queue(&of, &guests[2], 8, now_ns + SECOND);
    fleet_batch_take(&of, &batch, &guests[0], now_ns);
    ck_assert_uint_eq(batch.n, 2);
    ck_assert(guests[1].busy && !guests[2].busy);
    queue(&of, &guests[1], 8, now_ns + 2 * SECOND);
    fleet_batch_take(&of, &batch, &guests[2], now_ns + SECOND);
    ck_assert_uint_eq(batch.n, 2); /* they have the same */
    deadline_queue_free(&of.table.queue);
}
