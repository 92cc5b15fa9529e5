// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file balloond.c  See balloond.h. */
#include "balloond/balloond.h"

#include "base/bytes.h"
#include "base/clock.h"
#include "control/control_words.h"
#include "daemon/log.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TRIM_S 3600

static double now_s(void)
{
    return (double)clock_ns() / 1e9;
}

static double wall_s(void)
{
    return store_clock_now().wall_s;
}

/* --- the host --------------------------------------------------------------------------------- */

static uint64_t meminfo(const char *text, const char *key)
{
    const char *line = strstr(text, key);

    return line ? strtoull(line + strlen(key), NULL, 10) * 1024 : 0;
}

static int read_host(struct control_host *host, struct error *error)
{
    struct fsroot root;
    char text[8192];

    if (fsroot_open(&root, "/") < 0 || fsroot_read(&root, text, sizeof(text), "proc/meminfo") < 0)
        return error_set(error, -errno, "/proc/meminfo: %s", strerror(errno));
    host->total_bytes = meminfo(text, "MemTotal:");
    host->free_bytes = meminfo(text, "MemAvailable:");
    return host->total_bytes > 0 ? 0 : error_set(error, -EINVAL, "/proc/meminfo: no MemTotal");
}

/* --- one balloon ------------------------------------------------------------------------------ */

static struct journal_balloon owned(const struct member *member, const struct control_guest *guest)
{
    const struct balloon_state *state = &guest->state;
    struct journal_balloon balloon = {
        .domain_id = member->domain_id,
        .before_bytes = state->before_bytes ? state->before_bytes : decide_actual(&guest->input),
        .set_bytes = guest->target_bytes,
        .panic_bytes = state->pace.panic_bytes,
        .panic_s = wall_s() - (now_s() - state->pace.panic_at_s),
        .trouble = state->trouble,
    };

    memcpy(balloon.uuid, member->uuid, sizeof(balloon.uuid));
    memcpy(balloon.name, member->name, sizeof(balloon.name));
    return balloon;
}

/* The journal first: what it does not know could not be restored after kill -9. A guest that is to
 * get more gets it all the same. */
static int set_balloon(struct balloond *balloond, size_t i, struct error *error)
{
    struct member *member = &balloond->members.members[i];
    struct control_guest *guest = &balloond->members.guests[i];
    const struct journal_balloon balloon = owned(member, guest);
    int rc = journal_own(balloond->journal, &balloon, error);

    if (rc < 0 && guest->target_bytes < decide_actual(&guest->input))
        return rc;
    rc = domain_memory_set(balloond->libvirt, member->uuid, guest->target_bytes, error);
    if (rc == 0)
        balloon_issued(&guest->state, &guest->input, guest->target_bytes, now_s());
    else if (++guest->state.n_stalls >= balloond->config->policy.balloon.stalls_max &&
             guest->state.trouble == TROUBLE_NONE)
        guest->state.trouble = TROUBLE_NO_DRIVER;
    return rc;
}

/* --- the journal ------------------------------------------------------------------------------ */

static struct journal_entry entry_of(const struct balloond *balloond,
                                     const struct control_host *host, size_t i)
{
    const struct member *member = &balloond->members.members[i];
    const struct control_guest *guest = &balloond->members.guests[i];
    const struct decide_input *input = &guest->input;
    struct journal_entry entry = {
        .time_s = wall_s(),
        .target_bytes = guest->target_bytes,
        .wish_bytes = guest->wish_bytes,
        .assigned_bytes = input->assigned_bytes,
        .actual_bytes = input->actual_bytes,
        .resident_bytes = input->resident_bytes,
        .wss_high_bytes = input->mid_wss.window_s > 0 ? input->mid_wss.high_bytes : DECIDE_UNKNOWN,
        .floor_bytes = guest->decision.floor_bytes,
        .free_bytes = host->free_bytes,
    };

    memcpy(entry.uuid, member->uuid, sizeof(entry.uuid));
    memcpy(entry.name, member->name, sizeof(entry.name));
    snprintf(entry.mode, sizeof(entry.mode), "%s",
             balloond->config->policy.proactive ? "proactive" : "lazy");
    snprintf(entry.level, sizeof(entry.level), "%s", levels_name(host->level));
    snprintf(entry.action, sizeof(entry.action), "%s", control_action_name(guest->action));
    snprintf(entry.hold, sizeof(entry.hold), "%s", control_hold_name(guest->hold));
    control_why(entry.why, &balloond->config->policy, host, guest);
    return entry;
}

/* One that is the same as the last one is not added again. */
static bool is_news(struct member *member, const struct control_guest *guest,
                    const struct journal_entry *entry)
{
    char now[sizeof(member->last)];

    snprintf(now, sizeof(now), "%s %s %s %llu %x %x", entry->action, entry->hold, entry->level,
             (unsigned long long)entry->target_bytes, guest->decision.vetoes,
             guest->decision.panics);
    if (!strcmp(now, member->last))
        return false;
    memcpy(member->last, now, sizeof(now));
    return true;
}

static void log_failure(const struct member *member, const char *what, const struct error *error)
{
    log_line(LOG_CLASS_GUEST, LOG_ERR, "domain %s: %s: %s", member->name, what, error->text);
}

static void carry_out(struct balloond *balloond, const struct control_host *host, size_t i)
{
    struct member *member = &balloond->members.members[i];
    struct control_guest *guest = &balloond->members.guests[i];
    struct journal_entry entry = entry_of(balloond, host, i);
    struct error error = {0};
    bool orders = guest->action != CONTROL_NONE;
    bool news = is_news(member, guest, &entry);

    if (orders && balloond->config->act) {
        entry.acted = set_balloon(balloond, i, &error) == 0;
        if (!entry.acted)
            log_failure(member, "its balloon was not set", &error);
    }
    if (!news && !entry.acted)
        return;
    if (orders)
        log_line(LOG_CLASS_GUEST, LOG_INFO, "domain %s: %s%s from %llu to %llu MiB: %s",
                 member->name, entry.acted ? "" : "would ", entry.action,
                 (unsigned long long)(entry.actual_bytes / DECIDE_MIB),
                 (unsigned long long)(entry.target_bytes / DECIDE_MIB), entry.why);
    error = (struct error){0};
    if (journal_add(balloond->journal, &entry, &error) < 0)
        log_failure(member, "not journalled", &error);
    else if (entry.acted) {
        member->after.id = entry.id;
        member->after.at_s = now_s();
        member->after.step = 0;
    }
}

/* What became of the last target. */
static void note_after(struct balloond *balloond)
{
    static const double wait_s[] = {5, 30, 60};

    for (size_t i = 0; i < balloond->members.n; i++) {
        struct member *member = &balloond->members.members[i];
        const struct decide_input *input = &balloond->members.guests[i].input;
        struct error error = {0};

        if (member->after.id == 0 || now_s() < member->after.at_s + wait_s[member->after.step])
            continue;
        if (journal_after(balloond->journal, member->after.id, member->after.step,
                          input->actual_bytes, input->resident_bytes, &error) < 0)
            log_failure(member, "not journalled", &error);
        if (++member->after.step == 3)
            member->after.id = 0;
    }
}

/* --- what an earlier controller left -----------------------------------------------------------
 */

static int adopt(const struct journal_balloon *balloon, void *context)
{
    struct balloond *balloond = context;
    ssize_t i = members_find(&balloond->members, balloon->uuid);
    struct balloon_state *state;

    if (i < 0 || balloond->members.members[i].domain_id != balloon->domain_id)
        return 0; /* that run has ended, and its balloon with it */
    if (!balloond->config->act) {
        log_line(LOG_CLASS_GUEST, LOG_WARNING,
                 "domain %s: its balloon is still set by an earlier run, and this is a dry run: "
                 "vmwss balloon release %s restores it",
                 balloon->name, balloon->name);
        return 0;
    }
    state = &balloond->members.guests[i].state;
    state->before_bytes = balloon->before_bytes;
    state->trouble = balloon->trouble == TROUBLE_FOREIGN ? TROUBLE_NONE : balloon->trouble;
    state->set_bytes = balloon->set_bytes;
    state->pace.panic_bytes = balloon->panic_bytes;
    state->pace.panic_at_s = now_s() - fmax(wall_s() - balloon->panic_s, 0);
    log_line(LOG_CLASS_GUEST, LOG_NOTICE, "domain %s: its balloon is adopted, it had %llu MiB",
             balloon->name, (unsigned long long)(balloon->before_bytes / DECIDE_MIB));
    return 0;
}

/* --- a decision ------------------------------------------------------------------------------- */

static int decide_all(struct balloond *balloond, struct control_host *host, struct error *error)
{
    struct members *members = &balloond->members;
    int rc = read_host(host, error);

    if (rc == 0)
        rc = members_measure(members, balloond->config, error);
    if (rc == 0 && !balloond->adopted)
        rc = journal_balloons(balloond->journal, adopt, balloond, error);
    if (rc < 0)
        return rc;
    balloond->adopted = true;
    host->now_s = now_s();
    host->level = balloond->level;
    control_run(&balloond->config->policy, host, members->guests, members->n);
    if (host->level != balloond->level)
        log_line(LOG_CLASS_DAEMON, LOG_NOTICE, "host: %s, %llu MiB are free",
                 levels_name(host->level), (unsigned long long)(host->free_bytes / DECIDE_MIB));
    balloond->level = host->level;
    balloond->decided_s = host->now_s;
    return 0;
}

/* More often than decisions are due: is one needed at once? */
static bool panics(const struct balloond *balloond)
{
    for (size_t i = 0; i < balloond->members.n; i++) {
        const struct control_guest *guest = &balloond->members.guests[i];

        if (guest->input.assigned_bytes > 0 && !guest->excluded &&
            balloon_given(&guest->state, &guest->input) < guest->input.assigned_bytes &&
            decide_panics(&balloond->config->policy.decide, &guest->input))
            return true;
    }
    return false;
}

static int tick(struct balloond *balloond, struct error *error)
{
    struct control_host host = {0};
    int rc = balloond->libvirt
                 ? 0
                 : domain_connect_writable(balloond->config->connect, &balloond->libvirt, error);

    if (rc == 0)
        rc = members_follow(&balloond->members, balloond->libvirt, balloond->config, error);
    if (rc < 0)
        return rc;
    note_after(balloond);
    if (now_s() < balloond->decided_s + balloond->config->interval_s - 0.05 && !panics(balloond))
        return 0;
    rc = decide_all(balloond, &host, error);
    for (size_t i = 0; rc == 0 && i < balloond->members.n; i++)
        carry_out(balloond, &host, i);
    if (rc == 0 && now_s() > balloond->trimmed_s + TRIM_S) {
        rc = journal_trim(balloond->journal, wall_s(), error);
        balloond->trimmed_s = now_s();
    }
    return rc;
}

void balloond_tick(struct balloond *balloond)
{
    struct error error = {0};
    int rc = tick(balloond, &error);

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

/* What could not be given back, for the host has too little, stays in the journal. */
static void restore_one(struct balloond *balloond, const struct control_host *host, size_t i)
{
    struct member *member = &balloond->members.members[i];
    struct control_guest *guest = &balloond->members.guests[i];
    struct error error = {0};

    if (guest->state.before_bytes == 0)
        return;
    if (guest->action != CONTROL_NONE)
        carry_out(balloond, host, i);
    if (guest->hold != HOLD_ROOM &&
        (guest->action == CONTROL_NONE || guest->state.set_bytes == guest->target_bytes) &&
        journal_disown(balloond->journal, member->uuid, &error) < 0)
        log_failure(member, "not journalled", &error);
}

void balloond_end(struct balloond *balloond)
{
    struct control_host host = {.level = balloond->level, .now_s = now_s()};
    struct members *members = &balloond->members;
    struct error error = {0};

    if (balloond->config->act && balloond->libvirt && balloond->adopted) {
        int rc = read_host(&host, &error);

        host.levels = levels_of(&balloond->config->policy.levels, host.total_bytes, 0);
        if (rc == 0)
            rc = members_follow(members, balloond->libvirt, balloond->config, &error);
        if (rc < 0)
            log_line(LOG_CLASS_DAEMON, LOG_ERR, "nothing is restored until the next start: %s",
                     error.text);
        else
            control_restore(&host, balloond->config->restore, members->guests, members->n);
        for (size_t i = 0; rc == 0 && i < members->n; i++)
            restore_one(balloond, &host, i);
    }
    if (balloond->libvirt)
        domain_disconnect(balloond->libvirt);
    members_free(members);
    journal_close(balloond->journal);
}
