// SPDX-License-Identifier: LGPL-2.1-or-later
#include "programs/balloond/reclaiming.h"

#include "base/bytes.h"
#include "base/service/log.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define TICK_S 0.2
/* No answer takes this long while the kernel works. */
#define HANGS_S 10

static bool is_on(const struct balloond *balloond)
{
    return balloond->config->policy.reclaim.on && balloond->reclaimer.fd >= 0;
}

int reclaiming_begin(struct balloond *balloond, const struct account *account, struct error *error)
{
    const struct reclaimer_plan plan = {.account = account,
                                        .act = balloond_config_acts_at_all(balloond->config),
                                        .any_swap = balloond->config->reclaim_any_swap};

    balloond->reclaimer = RECLAIMER_NONE;
    return balloond->config->policy.reclaim.on ? reclaimer_start(&balloond->reclaimer, &plan, error)
                                               : 0;
}

/* --- withdrawn orders ------------------------------------------------------------------------- */

/* The journal would show it as done. */
static void withdraw(struct balloond *balloond, struct balloon_guest *member)
{
    struct error error = {0};
    int64_t id = member->reclaim.id;

    if (member->reclaim.order_bytes == 0)
        return;
    member->reclaim.order_bytes = 0;
    member->reclaim.id = 0;
    log_line(LOG_CLASS_GUEST, LOG_INFO,
             "domain %s: the reclaim of before is withdrawn: it had not begun", member->name);
    if (id > 0 && member->after.id == id)
        member->after.id = 0;
    if (id > 0 && journal_withdrawn(balloond->journal, id, &error) < 0)
        log_line(LOG_CLASS_GUEST, LOG_ERR, "domain %s: not journalled: %s", member->name,
                 error.text);
}

static void withdraw_all(struct balloond *balloond)
{
    for (size_t i = 0; i < balloond->members.n; i++)
        withdraw(balloond, &balloond->members.members[i]);
}

/* Withdraws orders of the last decision but one: no decision has been made since, so what is cold
 * now is not known. */
static void withdraw_old(struct balloond *balloond)
{
    const double since_s = balloond_now_s() - 2 * balloond->config->interval_s;

    for (size_t i = 0; i < balloond->members.n; i++)
        if (balloond->members.members[i].reclaim.renewed_s < since_s)
            withdraw(balloond, &balloond->members.members[i]);
}

void reclaiming_end(struct balloond *balloond)
{
    withdraw_all(balloond);
    if (is_on(balloond))
        reclaimer_end(&balloond->reclaimer);
}

/* --- answers ---------------------------------------------------------------------------------- */

static void note_reclaimed(struct balloond *balloond, struct balloon_guest *member,
                           struct control_guest *guest, const struct reclaimer_answer *answer)
{
    struct error error = {0};
    bool failed = guest->group.refused[0] != '\0';

    if (failed && !member->reclaim.failing)
        log_line(LOG_CLASS_GUEST, LOG_ERR, "domain %s: nothing was reclaimed: %s", member->name,
                 guest->group.refused);
    member->reclaim.failing = failed;
    reclaim_answered(&guest->reclaim, &balloond->config->policy.reclaim,
                     failed ? member->reclaim.sent_bytes : answer->asked_bytes, answer->got_bytes,
                     balloond_now_s());
    reclaim_asked(&guest->reclaim, balloond_now_s()); /* the write has just ended */
    member->reclaim.sent_bytes = 0;
    if (member->reclaim.id > 0 && journal_done(balloond->journal, member->reclaim.id,
                                               ACTUATOR_RECLAIM, answer->got_bytes, &error) < 0)
        log_line(LOG_CLASS_GUEST, LOG_ERR, "domain %s: not journalled: %s", member->name,
                 error.text);
    member->reclaim.id = 0;
}

/* The guest may have ended meanwhile. */
static void take_answer(struct balloond *balloond, const struct reclaimer_answer *answer)
{
    ssize_t i = members_find(&balloond->members, answer->uuid);
    struct control_guest *guest;

    balloond->reclaim_hangs = false;
    if (i < 0)
        return;
    guest = &balloond->members.guests[i];
    guest->group = answer->group;
    guest->group.seen_s = balloond_now_s();
    if (balloond->members.members[i].reclaim.sent_bytes > 0)
        note_reclaimed(balloond, &balloond->members.members[i], guest, answer);
}

static void give_up(struct balloond *balloond)
{
    log_line(LOG_CLASS_DAEMON, LOG_ERR,
             "nothing is reclaimed until the next start: the process that does it has ended");
    withdraw_all(balloond);
    reclaimer_end(&balloond->reclaimer);
}

static void note_hang(struct balloond *balloond)
{
    if (balloond->reclaim_hangs || balloond_now_s() < balloond->reclaimer.asked_s + HANGS_S)
        return;
    balloond->reclaim_hangs = true;
    log_line(LOG_CLASS_DAEMON, LOG_WARNING,
             "nothing is reclaimed meanwhile: the kernel has not "
             "answered for %d s",
             HANGS_S);
}

/* --- questions -------------------------------------------------------------------------------- */

/* Returns the order that has waited longest. libvirt knows of a job before a record does. */
static ssize_t next_order(const struct balloond *balloond)
{
    const struct balloon_guest *members = balloond->members.members;
    ssize_t next = -1;

    for (size_t i = 0; i < balloond->members.n; i++)
        if (members[i].reclaim.order_bytes > 0 && !members[i].memory.busy &&
            (next < 0 || members[i].reclaim.ordered_s < members[next].reclaim.ordered_s))
            next = (ssize_t)i;
    return next;
}

/* Returns the guest whose group was read longest ago. */
static ssize_t next_look(const struct balloond *balloond)
{
    const struct balloon_guest *members = balloond->members.members;
    const double due_s = balloond_now_s() - balloond->config->interval_s + 0.05;
    ssize_t next = -1;

    for (size_t i = 0; i < balloond->members.n; i++)
        if (members[i].reclaim.order_bytes == 0 &&
            (members[i].reclaim.asked_s == 0 || members[i].reclaim.asked_s <= due_s) &&
            (next < 0 || members[i].reclaim.asked_s < members[next].reclaim.asked_s))
            next = (ssize_t)i;
    return next;
}

static ssize_t next_to_ask(const struct balloond *balloond)
{
    ssize_t next = next_order(balloond);

    return next < 0 ? next_look(balloond) : next;
}

static int ask_about(struct balloond *balloond, size_t i)
{
    struct balloon_guest *member = &balloond->members.members[i];
    struct reclaimer_request request = {.bytes = member->reclaim.order_bytes};

    memcpy(request.uuid, member->uuid, sizeof(request.uuid));
    member->reclaim.asked_s = balloond_now_s();
    member->reclaim.sent_bytes = member->reclaim.order_bytes;
    member->reclaim.order_bytes = 0;
    if (request.bytes > 0)
        reclaim_asked(&balloond->members.guests[i].reclaim, member->reclaim.asked_s);
    return reclaimer_ask(&balloond->reclaimer, &request, member->reclaim.asked_s);
}

void reclaiming_tick(struct balloond *balloond)
{
    const double until_s = balloond_now_s() + TICK_S;
    struct reclaimer_answer answer;

    withdraw_old(balloond);
    while (is_on(balloond)) {
        double left_s = fmax(until_s - balloond_now_s(), 0);
        int rc = reclaimer_hear(&balloond->reclaimer, (int)(left_s * 1000), &answer);
        ssize_t next = -1;

        if (rc == 1)
            take_answer(balloond, &answer);
        if (rc >= 0 && balloond->reclaimer.waiting)
            return note_hang(balloond);
        if (rc >= 0 && left_s > 0)
            next = next_to_ask(balloond);
        if (rc >= 0 && next < 0)
            return;
        if (rc < 0 || ask_about(balloond, (size_t)next) < 0)
            give_up(balloond);
    }
}

int reclaiming_order(struct balloond *balloond, size_t i, struct error *error)
{
    struct balloon_guest *member = &balloond->members.members[i];
    uint64_t bytes = balloond->members.guests[i].reclaim_bytes;

    if (!is_on(balloond))
        return error_set(error, -EPIPE, "the process that reclaims has ended");
    member->reclaim.renewed_s = balloond_now_s();
    if (member->reclaim.order_bytes > 0) {
        member->reclaim.order_bytes = smaller(member->reclaim.order_bytes, bytes);
        return member->reclaim.id > 0;
    }
    member->reclaim.order_bytes = bytes;
    member->reclaim.ordered_s = member->reclaim.renewed_s;
    return 0;
}

void reclaiming_journalled(struct balloond *balloond, size_t i, int64_t id)
{
    struct balloon_guest *member = &balloond->members.members[i];

    if (balloond->members.guests[i].action != CONTROL_RECLAIM)
        withdraw(balloond, member);
    else if (member->reclaim.order_bytes > 0 && id > 0)
        member->reclaim.id = id;
}
