// SPDX-License-Identifier: LGPL-2.1-or-later
#include "programs/balloond/balloond.h"

#include "base/service/log.h"
#include "programs/balloond/adoption.h"
#include "programs/balloond/reclaiming.h"
#include "programs/balloond/recording.h"
#include "programs/balloond/statistics.h"
#include "programs/balloond/unmeasured.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TRIM_S 3600
/* Interval: libvirt asks each QEMU, and vmwssd's stalls are read from a few rows. */
#define FOLLOW_S 2

/* --- the host --------------------------------------------------------------------------------- */

static int read_host(struct guest_scope *scope, struct control_host *host, struct error *error)
{
    cleanup_root struct fsroot root;
    int rc = fsroot_open_host(&root, error);

    if (rc == 0)
        rc = guest_scope_read(&root, scope, error);
    if (rc < 0)
        return rc;
    host->total_bytes = scope->total_bytes;
    host->free_bytes = scope->available_bytes;
    host->group = scope->group;
    host->around = (struct levels_pool){scope->host_total_bytes, scope->host_available_bytes};
    host->cpu_some = scope->cpu_some;
    return 0;
}

/* --- one balloon ------------------------------------------------------------------------------ */

static void count_refusal(struct balloond *balloond, size_t i)
{
    struct balloon_state *state = &balloond->members.guests[i].state;

    state->settled_at_s = balloond_now_s(); /* of the last try */
    if (++state->n_stalls >= balloond->config->policy.balloon.stalls_max &&
        state->trouble == TROUBLE_NONE)
        state->trouble = TROUBLE_NO_DRIVER;
}

/* A libvirtd that ended meanwhile may have passed the order to the guest. */
static bool may_be_set(int rc)
{
    return rc == -EIO || rc == -ENOTCONN;
}

struct reclaim_order {
    struct balloond *balloond;
    size_t i;
};

static int order_reclaim(void *context, struct error *error)
{
    const struct reclaim_order *order = context;

    return reclaiming_order(order->balloond, order->i, error);
}

/* Has each actuator carry out its part, in their order. */
static int order_all(struct balloond *balloond, size_t i, struct error *error)
{
    const struct balloon_guest *member = &balloond->members.members[i];
    struct reclaim_order reclaim = {balloond, i};
    const struct actuator_hands hands = {.libvirt = balloond->libvirt,
                                         .uuid = member->uuid,
                                         .devices = member->devices,
                                         .reclaim = order_reclaim,
                                         .context = &reclaim};
    int rc = 0;

    for (size_t a = 0; rc == 0 && a < N_ACTUATORS; a++)
        rc = actuators[a]->order(&hands, &balloond->members.guests[i], error);
    return rc;
}

/* Writes the journal first: a balloon that it does not know could not be restored after kill -9. A
 * guest that is to grow is set even if this fails. Every failure, except for a missing balloon, is
 * tried again. */
static int set_balloon(struct balloond *balloond, size_t i, struct error *error)
{
    struct balloon_guest *member = &balloond->members.members[i];
    struct control_guest *guest = &balloond->members.guests[i];
    const struct journal_balloon row = adoption_row(balloond, i, guest->target_bytes);
    int rc = journal_own(balloond->journal, &row, error);

    if (rc < 0 && guest->target_bytes < decide_actual(&guest->input))
        return rc;
    member->owned = true;
    adoption_mark(balloond, i, guest->target_bytes);
    rc = order_all(balloond, i, error);
    if (rc == 0 || may_be_set(rc)) {
        for (size_t a = 0; a < N_ACTUATORS; a++)
            member->devices[a].before_bytes = row.part_bytes[a];
        balloon_issued(&guest->state, &guest->input, guest->target_bytes, balloond_now_s());
        guest->state.unsure = rc < 0;
        return rc;
    }
    adoption_renew(balloond, i); /* the row has the new target, ... */
    if (guest->state.before_bytes > 0)
        adoption_mark(balloond, i, guest->state.set_bytes); /* ... and so has its mark */
    if (rc == -EOPNOTSUPP)
        count_refusal(balloond, i);
    return rc;
}

static void log_failure(const struct balloon_guest *member, const char *what,
                        const struct error *error)
{
    log_line(LOG_CLASS_GUEST, LOG_ERR, "domain %s: %s: %s", member->name, what, error->text);
}

/* Returns 0; or negative: an order could not be carried out; this was logged once. */
static int carry_out(struct balloond *balloond, const struct control_host *host, size_t i)
{
    struct balloon_guest *member = &balloond->members.members[i];
    bool orders = balloond->members.guests[i].action != CONTROL_NONE;
    bool is_reclaim = balloond->members.guests[i].action == CONTROL_RECLAIM;
    struct journal_entry entry = recording_entry(balloond, host, i);
    struct error error = {0};
    int rc = 0;

    if (balloond->alive)
        balloond->alive();
    if (orders && balloond->members.guests[i].acts) {
        rc = is_reclaim ? order_all(balloond, i, &error) : set_balloon(balloond, i, &error);
        entry.acted = rc >= 0;
        if (rc < 0 && !member->failing)
            log_failure(member, is_reclaim ? "nothing is reclaimed" : "its balloon was not set",
                        &error);
        member->failing = rc < 0;
    }
    if (rc <= 0) /* otherwise it is the order of an earlier row */
        recording_add(balloond, i, &entry);
    reclaiming_journalled(balloond, i, entry.id);
    return rc < 0 ? rc : 0;
}

/* --- a decision ------------------------------------------------------------------------------- */

/* Without the history there is still libvirt, which shows when a guest has no memory left. */
static void measure_members(struct balloond *balloond)
{
    struct error error = {0};
    int rc = members_measure(&balloond->members, balloond->config, &error);

    if (rc < 0 && !balloond->was_blind)
        log_line(LOG_CLASS_HISTORY, LOG_ERR,
                 "nothing is taken from what is not measured, and panics are known by libvirt "
                 "only: %s",
                 error.text);
    if (rc == 0 && balloond->was_blind)
        log_line(LOG_CLASS_HISTORY, LOG_NOTICE, "measured again");
    balloond->was_blind = rc < 0;
}

/* Checks once: guests may come later. */
static void check_sections(struct balloond *balloond)
{
    const struct balloond_config *config = balloond->config;
    const struct members *members = &balloond->members;

    for (size_t s = 0; !balloond->sections_checked && s < config->n_guests; s++) {
        const struct balloond_guest_config *section = &config->guests[s];
        bool matches = false;

        for (size_t i = 0; i < members->n; i++)
            matches = matches || balloond_config_is_of(section, members->members[i].name,
                                                       members->members[i].uuid);
        if (!matches)
            log_line(LOG_CLASS_DAEMON, LOG_WARNING,
                     "[guest %s]: no running domain has that name or UUID", section->name);
    }
    balloond->sections_checked = true;
}

/* A request can only ask for more memory: if it cannot be read, guests still get what they need. */
static uint64_t read_room(struct balloond *balloond)
{
    struct error error = {0};
    uint64_t bytes = 0;
    int rc = journal_room(balloond->journal, store_clock_now().steady_s, &bytes, &error);

    if (rc < 0 && !balloond->was_roomless)
        log_line(LOG_CLASS_DAEMON, LOG_ERR, "no room is made: %s", error.text);
    balloond->was_roomless = rc < 0;
    return rc < 0 ? 0 : bytes;
}

static int decide_all(struct balloond *balloond, struct control_host *host, struct error *error)
{
    struct members *members = &balloond->members;
    int rc = read_host(&balloond->scope, host, error);

    if (rc == 0) {
        host->room_bytes = read_room(balloond);
        measure_members(balloond);
        rc = adoption_run(balloond, error);
    }
    if (rc < 0)
        return rc;
    joint_growth_step(&balloond->joint, balloond->config->database, balloond_wall_s());
    host->growth_bytes = balloond->joint.bytes;
    host->now_s = balloond_now_s();
    host->level = balloond->level;
    host->ease = balloond->ease;
    /* The value from before an outage does not describe the present. */
    host->waiting_bytes = host->now_s - balloond->decided_s <= 3 * balloond->config->interval_s
                              ? balloond->waiting_bytes
                              : 0;
    control_run(&balloond->config->policy, host, members->guests, members->n);
    if (host->level != balloond->level)
        log_line(LOG_CLASS_DAEMON, LOG_NOTICE, "host: %s, %llu MiB are free%s%s",
                 levels_name(host->level), host->free_bytes / DECIDE_MIB,
                 host->group ? " within the limit of " : "", host->group ? host->group : "");
    balloond->level = host->level;
    balloond->waiting_bytes = host->waiting_bytes;
    balloond->ease = host->ease;
    unmeasured_note(balloond, host);
    balloond->decided_s = host->now_s;
    recording_host(balloond, host);
    return 0;
}

/* Returns true if a decision is needed at once; checked more often than decisions are due. */
static bool panics(const struct balloond *balloond)
{
    for (size_t i = 0; i < balloond->members.n; i++) {
        const struct control_guest *guest = &balloond->members.guests[i];

        if (guest->input.assigned_bytes > 0 && !guest->excluded &&
            !balloon_is_contested(&guest->state, balloond_now_s()) &&
            (balloon_is_unsure(&guest->state) ||
             balloon_given(&guest->state, &guest->input) <
                 balloon_limit(&guest->state, &guest->input, guest->allowed_bytes)) &&
            decide_panics(&balloond->config->policy.decide, &guest->input))
            return true;
    }
    return false;
}

/* Another program moved the balloon; or it is ours again, as its guest was reset. */
static void note_owner(struct balloond *balloond, size_t i)
{
    struct balloon_guest *member = &balloond->members.members[i];
    const struct control_guest *guest = &balloond->members.guests[i];
    bool ours = guest->state.before_bytes > 0;

    if (!guest->acts || member->owned == ours)
        return;
    adoption_renew(balloond, i);
    if (!ours)
        return;
    adoption_mark(balloond, i, guest->state.set_bytes);
    member->owned = true;
}

/* Two controllers that work against each other are an error of the host's configuration. */
static void alert_contest(struct balloond *balloond, size_t i)
{
    struct balloon_guest *member = &balloond->members.members[i];
    const struct balloon_state *state = &balloond->members.guests[i].state;
    bool contested = balloon_is_contested(state, balloond_now_s());

    if (contested && !member->contested)
        log_line(
            LOG_CLASS_GUEST, LOG_ERR,
            "domain %s: two controllers are at work: another program (MOM, vdsmd, pvestatd, or a "
            "script with virsh setmem) took back what this one gave %u times in a row, last to "
            "%llu MiB: end one of them, or exclude the guest",
            member->name, state->rival.took.n, state->seen_bytes / DECIDE_MIB);
    member->contested = contested || (member->contested && state->trouble == TROUBLE_FOREIGN);
}

/* Memory was plugged or unplugged: what is to be restored is another size now. */
static void note_plug(struct balloond *balloond, size_t i)
{
    struct balloon_guest *member = &balloond->members.members[i];
    const struct control_guest *guest = &balloond->members.guests[i];
    const struct balloon_state *state = &guest->state;
    uint64_t was_bytes = member->owned_assigned_bytes;

    member->owned_assigned_bytes = state->plug.assigned_bytes;
    if (!guest->acts || !member->owned || state->before_bytes == 0 || was_bytes == 0 ||
        was_bytes == state->plug.assigned_bytes)
        return;
    log_line(LOG_CLASS_GUEST, LOG_NOTICE,
             "domain %s: assigned were %llu MiB and are %llu now: its balloon will be restored to "
             "%llu",
             member->name, was_bytes / DECIDE_MIB, state->plug.assigned_bytes / DECIDE_MIB,
             state->before_bytes / DECIDE_MIB);
    adoption_renew(balloond, i);
    adoption_mark(balloond, i, state->set_bytes);
}

static int follow(struct balloond *balloond, struct error *error)
{
    int rc = balloond->libvirt
                 ? 0
                 : domain_connect_writable(balloond->config->connect, &balloond->libvirt, error);

    return rc < 0 ? rc
                  : members_follow(&balloond->members, balloond->libvirt, balloond->config, error);
}

static int decide_once(struct balloond *balloond, struct error *error)
{
    struct control_host host = {0};
    int rc;

    balloond->followed_s = balloond_now_s();
    rc = follow(balloond, error);
    if (rc < 0)
        return rc;
    recording_after(balloond);
    control_watch(&balloond->config->policy, balloond->members.guests, balloond->members.n,
                  balloond->followed_s);
    if (balloond_now_s() < balloond->decided_s + balloond->config->interval_s - 0.05 &&
        !panics(balloond))
        return 0;
    check_sections(balloond);
    rc = decide_all(balloond, &host, error);
    for (size_t i = 0; rc == 0 && i < balloond->members.n; i++) {
        carry_out(balloond, &host, i);
        note_owner(balloond, i);
        note_plug(balloond, i);
        alert_contest(balloond, i);
    }
    if (rc == 0)
        statistics_step(balloond);
    if (rc == 0 && balloond_now_s() > balloond->trimmed_s + TRIM_S) {
        rc = journal_trim(balloond->journal, balloond_wall_s(), error);
        balloond->trimmed_s = balloond_now_s();
    }
    return rc;
}

static bool is_due(const struct balloond *balloond)
{
    return balloond_now_s() >=
           balloond->followed_s + fmin(balloond->config->interval_s, FOLLOW_S) - 0.05;
}

void balloond_tick(struct balloond *balloond)
{
    bool stalls = members_hear_stalls(&balloond->members, balloond->config);
    struct error error = {0};
    int rc;

    if (!stalls && !is_due(balloond)) {
        reclaiming_tick(balloond);
        return;
    }
    rc = decide_once(balloond, &error);
    reclaiming_tick(balloond);
    if (rc < 0 && !balloond->was_down)
        log_line(LOG_CLASS_CONNECTION, LOG_ERR, "nothing is decided: %s", error.text);
    if (rc == 0 && balloond->was_down)
        log_line(LOG_CLASS_CONNECTION, LOG_NOTICE, "deciding again");
    balloond->was_down = rc < 0;
    if (rc == -ENOTCONN) {
        domain_disconnect(balloond->libvirt);
        balloond->libvirt = NULL;
    }
}

/* --- the end ---------------------------------------------------------------------------------- */

#define RESTORE_TRIES 3
#define RESTORE_AGAIN_S 2

/* Returns why the guest does not get back all that it had; NULL: it does. */
static const char *obstacle_of(const struct control_guest *guest)
{
    switch (guest->hold) {
    case HOLD_ROOM:
        return "too little memory is free to restore its balloon: the next start, or vmwss balloon "
               "release, restores it";
    case HOLD_EXCLUDED:
        return "it is excluded, and its balloon is still set: vmwss balloon release restores it";
    case HOLD_UNKNOWN:
        return "the size of its balloon is not known: the next start, or vmwss balloon release, "
               "restores it";
    default:
        return NULL;
    }
}

/* A balloon that is not restored stays in the journal. Returns 0; or negative: it failed. */
static int restore_one(struct balloond *balloond, const struct control_host *host, size_t i)
{
    struct balloon_guest *member = &balloond->members.members[i];
    struct control_guest *guest = &balloond->members.guests[i];
    const char *obstacle = obstacle_of(guest);
    struct error error = {0};
    int rc = guest->action == CONTROL_NONE ? 0 : carry_out(balloond, host, i);

    if (rc < 0)
        return rc;
    if (balloond->config->restore == RESTORE_HOLD &&
        guest->state.before_bytes > decide_actual(&guest->input))
        return 0; /* otherwise the next start would take its size for its owner's limit */
    if (obstacle)
        log_line(LOG_CLASS_GUEST, LOG_WARNING, "domain %s: %s", member->name, obstacle);
    else if (adoption_restored(balloond, i, &error) < 0)
        log_failure(member, "not journalled", &error);
    return 0;
}

/* Returns how many failed; a job that blocks a guest may be over a moment later. */
static size_t restore_all(struct balloond *balloond, const struct control_host *host)
{
    struct members *members = &balloond->members;
    size_t failed = 0;

    for (unsigned n = 0; n < RESTORE_TRIES; n++) {
        if (n > 0)
            sleep(RESTORE_AGAIN_S);
        failed = statistics_end(balloond);
        for (size_t i = 0; i < members->n; i++)
            if (members->members[i].owned && members->guests[i].state.before_bytes > 0)
                failed += restore_one(balloond, host, i) < 0;
        if (failed == 0)
            break;
    }
    return failed;
}

/* libvirtd may have been restarted since the last tick. */
static int follow_once_more(struct balloond *balloond, struct error *error)
{
    int rc = -ENOTCONN;

    for (unsigned n = 0; n < 2 && rc < 0; n++) {
        if (balloond->libvirt && n > 0) {
            domain_disconnect(balloond->libvirt);
            balloond->libvirt = NULL;
        }
        *error = (struct error){0};
        rc = follow(balloond, error);
    }
    return rc;
}

static int restore_balloons(struct balloond *balloond)
{
    struct control_host host = {.level = balloond->level, .now_s = balloond_now_s()};
    struct error error = {0};
    ssize_t n = adoption_count(balloond, &error);
    size_t failed;
    int rc;

    if (n == 0)
        return 0;
    rc = n < 0 ? (int)n : read_host(&balloond->scope, &host, &error);
    if (rc == 0)
        rc = follow_once_more(balloond, &error);
    if (rc == 0)
        rc = adoption_run(balloond, &error);
    if (rc < 0) {
        log_line(LOG_CLASS_DAEMON, LOG_ERR, "nothing is restored until the next start: %s",
                 error.text);
        return rc;
    }
    host.levels = levels_within(&balloond->config->policy.levels,
                                &(struct levels_pool){host.total_bytes, host.free_bytes},
                                &host.around, balloond->joint.bytes);
    control_restore(&host, balloond->config->restore, balloond->members.guests,
                    balloond->members.n);
    failed = restore_all(balloond, &host);
    if (failed > 0)
        log_line(LOG_CLASS_DAEMON, LOG_ERR,
                 "%zu of %zd balloons are not restored until the next start", failed, n);
    return failed > 0 ? -EIO : 0;
}

int balloond_end(struct balloond *balloond)
{
    int rc;

    reclaiming_end(balloond); /* reclaimed memory comes back when it is touched */
    rc = balloond_config_acts_at_all(balloond->config) ? restore_balloons(balloond) : 0;
    if (balloond->libvirt)
        domain_disconnect(balloond->libvirt);
    members_free(&balloond->members);
    joint_growth_free(&balloond->joint);
    journal_close(balloond->journal);
    return rc;
}
