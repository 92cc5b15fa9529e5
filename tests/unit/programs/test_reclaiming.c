// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_reclaiming.c  Whom vmwss-balloond has looked at and reclaimed from, and what becomes
 * of the answers; the test is the process that reclaims. */
#include "programs/balloond/reclaiming.h"

#include "kept.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static struct kept_dir dir;
static struct balloond_config config;
static struct balloond balloond;
static struct error error;
static int peer;

static void setup(void)
{
    static const char *const uuids[] = {UUID_1, UUID_2};
    int fds[2];

    dir = kept_dir_make();
    balloond_config_init(&config);
    config.policy.reclaim.on = true;
    balloond = (struct balloond){.config = &config};
    ck_assert_int_eq(journal_open(dir.path, &balloond.journal, &error), 0);
    balloond.members.members = calloc(2, sizeof(*balloond.members.members));
    balloond.members.guests = calloc(2, sizeof(*balloond.members.guests));
    balloond.members.n = 2;
    for (size_t i = 0; i < 2; i++)
        strcpy(balloond.members.members[i].uuid, uuids[i]);
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, fds), 0);
    balloond.reclaimer = (struct reclaimer){.fd = fds[0], .pid = -1};
    peer = fds[1];
}

static void teardown(void)
{
    if (balloond.reclaimer.fd >= 0)
        close(balloond.reclaimer.fd);
    if (peer >= 0)
        close(peer);
    members_free(&balloond.members);
    journal_close(balloond.journal);
}

static struct reclaimer_request asked(void)
{
    struct reclaimer_request request = {0};

    if (recv(peer, &request, sizeof(request), MSG_DONTWAIT) != (ssize_t)sizeof(request))
        strcpy(request.uuid, "none");
    return request;
}

static void answer(const char *uuid, uint64_t asked_bytes, uint64_t got_bytes, const char *refused)
{
    struct reclaimer_answer answer = {
        .group = {.swap_room_bytes = 7 * MIB}, .asked_bytes = asked_bytes, .got_bytes = got_bytes};

    strcpy(answer.uuid, uuid);
    strcpy(answer.group.refused, refused);
    ck_assert_int_eq(send(peer, &answer, sizeof(answer), 0), (ssize_t)sizeof(answer));
}

FIXTURE(all, .setup = setup, .teardown = teardown);

TEST(all, each_group_is_looked_at_once_an_interval)
{
    reclaiming_tick(&balloond);
    ck_assert_str_eq(asked().uuid, UUID_1);
    reclaiming_tick(&balloond); /* one at a time */
    ck_assert_str_eq(asked().uuid, "none");
    answer(UUID_1, 0, 0, "");
    reclaiming_tick(&balloond);
    ck_assert_double_gt(balloond.members.guests[0].group.seen_s, 0);
    ck_assert_uint_eq(balloond.members.guests[0].group.swap_room_bytes, 7 * MIB);
    ck_assert_str_eq(asked().uuid, UUID_2);
    answer(UUID_2, 0, 0, "why not");
    reclaiming_tick(&balloond);
    ck_assert_str_eq(balloond.members.guests[1].group.refused, "why not");
    ck_assert_str_eq(asked().uuid, "none"); /* until the next interval */
    balloond.members.members[1].reclaim.asked_s -= config.interval_s;
    reclaiming_tick(&balloond);
    ck_assert_str_eq(asked().uuid, UUID_2);
}

static int64_t order(size_t i)
{
    struct journal_entry entry = {
        .name = "web1", .acted = true, .ordered_bytes[ACTUATOR_RECLAIM] = 20 * MIB};

    balloond.members.guests[i].action = CONTROL_RECLAIM;
    balloond.members.guests[i].reclaim_bytes = 20 * MIB;
    ck_assert_int_eq(reclaiming_order(&balloond, i, &error), 0);
    ck_assert_int_eq(journal_add(balloond.journal, &entry, &error), 0);
    reclaiming_journalled(&balloond, i, entry.id);
    return entry.id;
}

static uint64_t reclaimed;
static bool acted;

static int see(const struct journal_entry *entry, void *context)
{
    (void)context;
    reclaimed = entry->done_bytes[ACTUATOR_RECLAIM];
    acted = entry->acted;
    return 0;
}

TEST(all, an_order_comes_first_and_its_answer_into_the_journal)
{
    struct reclaimer_request request;

    order(1);
    reclaiming_tick(&balloond);
    request = asked();
    ck_assert_str_eq(request.uuid, UUID_2);
    ck_assert_uint_eq(request.bytes, 20 * MIB);
    answer(UUID_2, 20 * MIB, 9 * MIB, "");
    reclaiming_tick(&balloond);
    ck_assert_int_eq(journal_latest(balloond.journal, see, NULL, &error), 0);
    ck_assert_uint_eq(reclaimed, 9 * MIB);
    ck_assert_uint_eq(balloond.members.guests[1].reclaim.n_little, 1);
    request = asked();
    ck_assert_str_eq(request.uuid, UUID_1);
    ck_assert_uint_eq(request.bytes, 0);
}

TEST(all, no_time_for_more_is_not_little)
{
    order(1);
    reclaiming_tick(&balloond);
    answer(UUID_2, 2 * MIB, 2 * MIB, "");
    reclaiming_tick(&balloond);
    ck_assert_uint_eq(balloond.members.guests[1].reclaim.n_little, 0);
    order(1);
    asked();
    asked();
    answer(UUID_1, 0, 0, "");
    reclaiming_tick(&balloond);
    answer(UUID_2, 0, 0, "may not be written");
    reclaiming_tick(&balloond);
    ck_assert_uint_eq(balloond.members.guests[1].reclaim.n_little, 1); /* it failed */
}

static bool is_journalled_as_done(void)
{
    ck_assert_int_eq(journal_latest(balloond.journal, see, NULL, &error), 0);
    return acted;
}

TEST(all, what_another_decision_does_not_want_is_withdrawn)
{
    order(1);
    ck_assert(is_journalled_as_done());
    balloond.members.guests[1].action = CONTROL_FULL;
    reclaiming_journalled(&balloond, 1, 7);
    ck_assert(!is_journalled_as_done());
    reclaiming_tick(&balloond);
    ck_assert_uint_eq(asked().bytes, 0);
}

/* Else the next decision would wait for a record of after it, and withdraw it. */
TEST(all, an_order_that_was_not_sent_was_not_asked)
{
    const struct reclaim_state *state = &balloond.members.guests[1].reclaim;
    double asked_at_s;

    order(1);
    ck_assert_double_eq(state->asked_at_s, 0);
    reclaiming_tick(&balloond);
    asked();
    ck_assert_double_gt(state->asked_at_s, 0);
    asked_at_s = state->asked_at_s;
    answer(UUID_2, 20 * MIB, 20 * MIB, "");
    reclaiming_tick(&balloond);
    ck_assert_double_gt(state->asked_at_s, asked_at_s); /* the write has ended just now */
}

TEST(all, the_oldest_order_comes_first)
{
    order(1);
    order(0);
    reclaiming_tick(&balloond);
    ck_assert_str_eq(asked().uuid, UUID_2);
}

TEST(all, an_order_that_was_not_sent_stays_in_its_place)
{
    struct reclaimer_request request;

    order(1);
    order(0);
    balloond.members.guests[1].reclaim_bytes = 7 * MIB;
    ck_assert_int_eq(reclaiming_order(&balloond, 1, &error), 1); /* it is journalled already */
    reclaiming_journalled(&balloond, 1, 0);
    reclaiming_tick(&balloond);
    request = asked();
    ck_assert_str_eq(request.uuid, UUID_2);
    ck_assert_uint_eq(request.bytes, 7 * MIB);
    answer(UUID_2, 7 * MIB, 6 * MIB, "");
    reclaiming_tick(&balloond);
    balloond.members.guests[0].action = CONTROL_NONE;
    ck_assert_str_eq(asked().uuid, UUID_1);
}

TEST(all, an_order_that_no_decision_renews_is_dropped)
{
    order(1);
    balloond.members.members[1].reclaim.renewed_s -= 2 * config.interval_s + 1;
    reclaiming_tick(&balloond);
    ck_assert_uint_eq(asked().bytes, 0);
    ck_assert(!is_journalled_as_done());
}

TEST(all, an_end_withdraws_what_was_not_sent)
{
    order(1);
    balloond.reclaimer.pid = 0; /* no child is waited for */
    reclaiming_end(&balloond);
    ck_assert(!is_journalled_as_done());
}

TEST(all, no_order_is_sent_while_a_job_runs)
{
    order(1);
    balloond.members.members[1].memory.busy = true;
    reclaiming_tick(&balloond);
    ck_assert_str_eq(asked().uuid, UUID_1);
    answer(UUID_1, 0, 0, "");
    balloond.members.members[1].memory.busy = false;
    reclaiming_tick(&balloond);
    ck_assert_uint_eq(asked().bytes, 20 * MIB);
}

TEST(all, who_has_ended_meanwhile_is_forgotten)
{
    order(1);
    reclaiming_tick(&balloond);
    balloond.members.n = 1;
    answer(UUID_2, 20 * MIB, 20 * MIB, "");
    reclaiming_tick(&balloond);
    ck_assert_double_eq(balloond.members.guests[0].group.seen_s, 0);
}

TEST(all, without_its_process_nothing_is_reclaimed)
{
    close(peer);
    peer = -1;
    reclaiming_tick(&balloond);
    ck_assert_int_eq(balloond.reclaimer.fd, -1);
    balloond.members.guests[0].reclaim_bytes = 20 * MIB;
    ck_assert_int_eq(reclaiming_order(&balloond, 0, &error), -EPIPE);
    reclaiming_tick(&balloond);
}

TEST(all, that_it_has_ended_is_noticed_without_a_guest)
{
    balloond.members.n = 0;
    reclaiming_tick(&balloond);
    ck_assert_int_ge(balloond.reclaimer.fd, 0);
    close(peer);
    peer = -1;
    reclaiming_tick(&balloond);
    ck_assert_int_eq(balloond.reclaimer.fd, -1);
}

TEST(all, texts_without_an_end_end_it)
{
    struct reclaimer_answer answer = {.uuid = UUID_1};

    memset(answer.group.refused, 'x', sizeof(answer.group.refused));
    reclaiming_tick(&balloond);
    ck_assert_int_eq(send(peer, &answer, sizeof(answer), 0), (ssize_t)sizeof(answer));
    reclaiming_tick(&balloond);
    ck_assert_int_eq(balloond.reclaimer.fd, -1);
}

TEST(all, what_is_no_answer_ends_it)
{
    reclaiming_tick(&balloond);
    ck_assert_int_eq(send(peer, "nonsense", 8, 0), 8);
    reclaiming_tick(&balloond);
    ck_assert_int_eq(balloond.reclaimer.fd, -1);
}

TEST(all, one_that_hangs_is_logged_once_and_waited_for)
{
    reclaiming_tick(&balloond);
    ck_assert(!balloond.reclaim_hangs);
    balloond.reclaimer.asked_s -= 11;
    reclaiming_tick(&balloond);
    ck_assert(balloond.reclaim_hangs);
    answer(UUID_1, 0, 0, "");
    reclaiming_tick(&balloond);
    ck_assert(!balloond.reclaim_hangs);
}
