// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_open_queue.c  How vmwssd opens a crowd of guests within its budget: who is next, and
 * when. No guest, no clock. */
#include "fixture.h"
#include "programs/vmwssd/scan/deadline.h"
#include "programs/vmwssd/scanner/budget.h"
#include "programs/vmwssd/sources/open_queue.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SECOND 1000000000ULL
#define STEP_NS (SECOND / 500) /* in which less is earned than asking costs */
#define SHARE 0.01
#define OPEN_S 0.004  /* of CPU time, to open a guest ... */
#define FIRST_S 0.006 /* ... for the first scan of it ... */
#define SCAN_S 0.001  /* ... and for each other */
#define STARTING_S 0.06
#define ASK_S 0.00005 /* to wake up, and ask whether there is credit */
#define BEGUN_S \
    0.03 /* beyond the budget: what was begun last, and guests are opened some credit ahead */

/* --- who is next ------------------------------------------------------------------------------ */

static const char *const one = "00000000-0000-0000-0000-000000000001";
static const char *const two = "00000000-0000-0000-0000-000000000002";
static const char *const three = "00000000-0000-0000-0000-000000000003";

TEST(plain, the_newest_is_next)
{
    struct open_queue open_queue = {0};

    ck_assert_ptr_null(open_queue_next(&open_queue, SECOND));
    ck_assert(open_queue_at_ns(&open_queue) == UINT64_MAX);
    ck_assert(open_queue_put(&open_queue, one));
    ck_assert(open_queue_put(&open_queue, two));
    ck_assert(open_queue_put(&open_queue, three));
    ck_assert(open_queue_put(&open_queue, one)); /* once more, and it waits once */
    ck_assert_uint_eq(open_queue_ready(&open_queue, 0), 3);
    ck_assert_str_eq(open_queue_next(&open_queue, 0), three);
    open_queue_drop(&open_queue, three);
    open_queue_drop(&open_queue, three);
    ck_assert_str_eq(open_queue_next(&open_queue, 0), two);
    open_queue_drop(&open_queue, one);
    ck_assert_str_eq(open_queue_next(&open_queue, 0), two);
    open_queue_drop(&open_queue, two);
    ck_assert_ptr_null(open_queue_next(&open_queue, 0));
    open_queue_free(&open_queue);
}

TEST(plain, one_that_cannot_be_opened_holds_nobody_up)
{
    struct open_queue open_queue = {0};

    open_queue_put(&open_queue, one);
    open_queue_put(&open_queue, two);
    open_queue_put_off(&open_queue, two, SECOND);
    ck_assert_uint_eq(open_queue_ready(&open_queue, SECOND), 1);
    ck_assert_str_eq(open_queue_next(&open_queue, SECOND), one);
    open_queue_drop(&open_queue, one);
    ck_assert_ptr_null(open_queue_next(&open_queue, 6 * SECOND - 1));
    ck_assert(open_queue_at_ns(&open_queue) == 6 * SECOND);
    ck_assert_str_eq(open_queue_next(&open_queue, 6 * SECOND), two);
    open_queue_put_off(&open_queue, two, 6 * SECOND);
    ck_assert(open_queue_at_ns(&open_queue) == 16 * SECOND);
    open_queue_put(&open_queue, two); /* something was heard of it */
    ck_assert_str_eq(open_queue_next(&open_queue, 7 * SECOND), two);
    for (int i = 0; i < 10; i++)
        open_queue_put_off(&open_queue, two, 20 * SECOND);
    ck_assert(open_queue_at_ns(&open_queue) == 80 * SECOND);
    open_queue_put_off(&open_queue, three, 20 * SECOND); /* waits not */
    ck_assert_uint_eq(open_queue.n, 1);
    open_queue_free(&open_queue);
}

TEST(plain, a_thousand_may_wait)
{
    struct open_queue open_queue = {0};
    char uuid[37];

    for (int i = 0; i < 1000; i++) {
        snprintf(uuid, sizeof(uuid), "00000000-0000-0000-0000-%012d", i);
        ck_assert(open_queue_put(&open_queue, uuid));
    }
    for (int i = 1000; i-- > 0;) {
        const char *next = open_queue_next(&open_queue, 0);

        ck_assert_int_eq(atoi(next + 24), i);
        memcpy(uuid, next, sizeof(uuid));
        open_queue_drop(&open_queue, uuid);
    }
    open_queue_free(&open_queue);
}

/* --- when ------------------------------------------------------------------------------------- */

TEST(plain, the_ledger_has_all_wait)
{
    struct ledger ledger = ledger_open(SHARE, 0, 5);

    ck_assert(ledger_wait_s(&ledger, 0, 5) == 0);
    ck_assert(ledger_wait_s(&ledger, SECOND, 5 + LEDGER_BURST_S) == 0);
    ck_assert_double_eq_tol(ledger_wait_s(&ledger, SECOND, 5.11 + LEDGER_BURST_S), 10, 0.1);
    ck_assert(ledger_wait_s(&ledger, 12 * SECOND, 5.11 + LEDGER_BURST_S) == 0);
    /* A day of rest earns no more than a full ledger, which is 3 s. */
    ck_assert(ledger_wait_s(&ledger, 86400 * SECOND, 6) == 0);
    ck_assert(ledger_wait_s(&ledger, 86400 * SECOND, 8.9) == 0);
    ck_assert(ledger_wait_s(&ledger, 86400 * SECOND, 9.1) > 0);
}

TEST(plain, another_budget_is_no_new_credit)
{
    struct ledger ledger = ledger_open(SHARE, 0, 0);

    ledger_share(&ledger, 2 * SHARE, 0, 1);
    ck_assert_double_eq_tol(ledger_wait_s(&ledger, 0, 1), (1 - LEDGER_BURST_S) / (2 * SHARE), 1e-6);
    ck_assert(ledger_wait_s(&ledger, 1000 * SECOND, 1) == 0); /* full: 6 s */
    ledger_share(&ledger, SHARE, 1000 * SECOND, 1);
    ck_assert(ledger_wait_s(&ledger, 1000 * SECOND, 4.1) > 0);
}

TEST(plain, looks_that_are_due_longer_go_first)
{
    struct ledger ledger = ledger_open(SHARE, 0, LEDGER_BURST_S - 0.01);
    const struct opening_turn after = {.last_ns = 5, .next_scan_ns = 4};
    const struct opening_turn before = {.last_ns = 5, .next_scan_ns = 6};
    const struct opening_turn alone = {.last_ns = 5, .next_scan_ns = UINT64_MAX};

    ledger.credit_s = 0.01;
    ck_assert(ledger_opening_wait_s(&ledger, &after, 10, ledger.spent_s) > 0);
    ck_assert(ledger_opening_wait_s(&ledger, &before, 10, ledger.spent_s) == 0);
    ck_assert(ledger_opening_wait_s(&ledger, &alone, 10, ledger.spent_s) == 0);
    ck_assert(ledger_opening_wait_s(&ledger, &after, 3, ledger.spent_s) == 0); /* not due yet */
    ledger.credit_s = 1; /* there is enough for all */
    ck_assert(ledger_opening_wait_s(&ledger, &after, 10, ledger.spent_s) == 0);
    ledger.credit_s = -1;
    ck_assert_double_gt(ledger_opening_wait_s(&ledger, &alone, 10, ledger.spent_s), 90);
    ledger.credit_s = -0.01; /* looks wait for it */
    ck_assert(ledger_wait_s(&ledger, 10, ledger.spent_s) > 0);
    ck_assert(ledger_opening_wait_s(&ledger, &after, 10, ledger.spent_s) > 0);
    ck_assert(ledger_opening_wait_s(&ledger, &before, 10, ledger.spent_s) == 0);
}

/* --- a crowd ---------------------------------------------------------------------------------- */

#define CROWD 1000

struct guest_of {
    struct deadline deadline;
    unsigned scans;
    uint64_t opened_ns;
};

/* One host: threads that take no time, only CPU time. */
struct host {
    struct ledger ledger;
    struct deadline_queue queue;
    struct guest_of guests[CROWD];
    size_t n, opened;
    uint64_t now_ns, last_ns, open_at_ns, scan_at_ns;
    double spent_s, worst_s, period_s;
    size_t recorded;
};

static void spend(struct host *host, double cpu_s)
{
    double allowed = LEDGER_BURST_S + SHARE * (double)host->now_ns / 1e9;

    host->spent_s += cpu_s;
    host->worst_s = fmax(host->worst_s, host->spent_s - allowed);
}

static void try_to_open(struct host *host)
{
    const struct deadline *scan = deadline_next(&host->queue);
    const struct opening_turn turn = {host->last_ns, scan ? scan->at_ns : UINT64_MAX};

    if (host->opened == host->n || host->open_at_ns > host->now_ns)
        return;
    spend(host, ASK_S);

    double wait_s = ledger_opening_wait_s(&host->ledger, &turn, host->now_ns, host->spent_s);

    host->open_at_ns = host->now_ns + (uint64_t)(wait_s * 1e9);
    if (wait_s > 0)
        return;
    spend(host, OPEN_S);
    host->guests[host->opened].opened_ns = host->now_ns;
    deadline_put(&host->queue, &host->guests[host->opened++].deadline, host->now_ns);
    host->last_ns = host->now_ns;
}

static void try_to_scan(struct host *host)
{
    struct guest_of *guest = (struct guest_of *)deadline_next(&host->queue);

    if (!guest || guest->deadline.at_ns > host->now_ns || host->scan_at_ns > host->now_ns)
        return;
    spend(host, ASK_S);

    double wait_s = ledger_wait_s(&host->ledger, host->now_ns, host->spent_s);

    host->scan_at_ns = host->now_ns + (uint64_t)(wait_s * 1e9);
    if (wait_s > 0)
        return;
    spend(host, guest->scans ? SCAN_S : FIRST_S);
    host->recorded += guest->scans++ == 1;
    deadline_put(&host->queue, &guest->deadline,
                 host->now_ns + (uint64_t)(guest->scans == 1 ? 5e9 : host->period_s * 1e9));
}

/* @p openers_first: who asks first. */
static void step(struct host *host, bool openers_first)
{
    if (openers_first)
        try_to_open(host);
    for (int i = 0; i < 2; i++)
        try_to_scan(host);
    if (!openers_first)
        try_to_open(host);
    host->now_ns += STEP_NS;
}

static struct host host;

static void begin_crowd(size_t n)
{
    deadline_queue_free(&host.queue);
    host = (struct host){.n = n, .ledger = ledger_open(SHARE, 0, 0)};
    spend(&host, STARTING_S);
    host.period_s = fmax(30, (double)n * SCAN_S / (SHARE * (0.9 - OPENING_SHARE)));
}

/* Until all have a record, or @p most_s. */
static void run_crowd(size_t n, double most_s, bool openers_first)
{
    begin_crowd(n);
    while (host.recorded < n && (double)host.now_ns < most_s * 1e9)
        step(&host, openers_first);
}

TEST_EACH(plain, a_few_guests_do_not_wait, 0, 2)
{
    run_crowd(10, 60, _i);
    ck_assert_uint_eq(host.recorded, 10);
    ck_assert_double_le((double)host.guests[9].opened_ns / 1e9, 0.5);
    ck_assert_double_le((double)host.now_ns / 1e9, 6);
}

/* 11 ms each come to 11 s, and scans at those that are open already take their part of 10 ms a
 * second. */
TEST_EACH(plain, a_crowd_keeps_to_the_budget, 0, 2)
{
    run_crowd(CROWD, 7200, _i);
    ck_assert_uint_eq(host.recorded, CROWD);
    ck_assert_double_le(host.worst_s, BEGUN_S);
    ck_assert_double_le((double)host.now_ns / 1e9, 2500);
}

/* Looks that all the budget does not suffice for: a new guest has its turn none the less. */
TEST_EACH(plain, looks_that_are_late_keep_nobody_out, 0, 2)
{
    size_t before = CROWD / 2;

    run_crowd(before, 7200, _i);
    ck_assert_uint_eq(host.opened, before);
    host.n = CROWD;
    host.period_s = 30; /* 500 ms of scans in which 300 ms are earned */
    host.ledger.credit_s = 0;
    for (size_t i = 0; i < before; i++)
        deadline_put(&host.queue, &host.guests[i].deadline, host.now_ns);
    for (uint64_t end_ns = host.now_ns + 600 * SECOND; host.now_ns < end_ns;)
        step(&host, _i);
    ck_assert_uint_gt(host.opened, before + 5);
    ck_assert_double_le(host.worst_s, BEGUN_S);
}
