// SPDX-License-Identifier: LGPL-2.1-or-later
#include "programs/balloond/recording.h"

#include "base/service/log.h"
#include "decide/control/control_words.h"
#include "programs/balloond/statistics.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void log_not_journalled(const char *what, const char *name, const struct error *error)
{
    log_line(LOG_CLASS_GUEST, LOG_ERR, "%s%s: not journalled: %s", what, name, error->text);
}

/* --- entries ---------------------------------------------------------------------------------- */

struct journal_entry recording_entry(const struct balloond *balloond,
                                     const struct control_host *host, size_t i)
{
    const struct balloon_guest *member = &balloond->members.members[i];
    const struct control_guest *guest = &balloond->members.guests[i];
    const struct decide_input *input = &guest->input;
    struct journal_entry entry = {
        .time_s = balloond_wall_s(),
        .target_bytes = guest->target_bytes,
        .goal_bytes = control_goal(guest),
        .wish_bytes = guest->wish_bytes,
        .assigned_bytes = input->assigned_bytes,
        .actual_bytes = input->actual_bytes,
        .resident_bytes = input->resident_bytes,
        .wss_high_bytes = input->mid_wss.window_s > 0 ? input->mid_wss.high_bytes : DECIDE_UNKNOWN,
        .floor_bytes = guest->decision.floor_bytes,
        .free_bytes = host->free_bytes,
        .asking_bytes = statistics_win(balloond, i),
    };
    char unreported[STATISTICS_TEXT];

    for (size_t a = 0; a < N_ACTUATORS; a++) {
        entry.ordered_bytes[a] = actuators[a]->ordered ? actuators[a]->ordered(guest)
                                                       : DECIDE_UNKNOWN;
        entry.done_bytes[a] = DECIDE_UNKNOWN;
    }
    memcpy(entry.uuid, member->uuid, sizeof(entry.uuid));
    memcpy(entry.name, member->name, sizeof(entry.name));
    snprintf(entry.mode, sizeof(entry.mode), "%s",
             balloond->config->policy.proactive ? "proactive" : "lazy");
    snprintf(entry.level, sizeof(entry.level), "%s", levels_name(host->level));
    snprintf(entry.action, sizeof(entry.action), "%s", control_action_name(guest->action));
    snprintf(entry.hold, sizeof(entry.hold), "%s", control_hold_name(guest->hold));
    control_why(entry.why, &balloond->config->policy, host, guest);
    statistics_explain(unreported, balloond, i);
    if (*unreported)
        snprintf(entry.why + strlen(entry.why), sizeof(entry.why) - strlen(entry.why), "; %s",
                 unreported);
    return entry;
}

/* A working set that needs all assigned memory is not a shortage caused by a balloon, and it lasts.
 */
static bool is_short(const struct control_guest *guest)
{
    const struct decide_decision *decision = &guest->decision;
    unsigned panics = decision->panics | decision->claims;

    if (decide_actual(&guest->input) >= decide_most(&guest->input))
        panics &= ~(unsigned)PANIC_WSS;
    return panics != 0;
}

/* Shortages with less than a minute of calm between them are one shortage. */
static bool begins_to_be_short(struct balloon_guest *member, const struct control_guest *guest,
                               const struct decide_policy *policy)
{
    double now_s = balloond_now_s();
    double last_s = member->recorded.short_s;

    if (!is_short(guest))
        return false;
    member->recorded.short_s = now_s;
    return last_s == 0 || now_s - last_s >= policy->panic_calm_s;
}

/* --- news ------------------------------------------------------------------------------------- */

static bool is_paid_for(struct balloon_guest *member)
{
    double now_s = balloond_now_s();
    double from_s = fmax(member->recorded.paid_until_s, now_s);

    if (from_s - now_s > (RECORDING_BURST - 1) * RECORDING_EVERY_S)
        return false;
    member->recorded.paid_until_s = from_s + RECORDING_EVERY_S;
    return true;
}

/* A goal that changes by less is no news. */
#define GOAL_BYTES (64 * DECIDE_MIB)

static bool is_news(struct balloon_guest *member, const struct control_guest *guest,
                    const struct journal_entry *entry)
{
    char key[sizeof(member->recorded.key)];
    bool always = entry->panic || entry->acted;

    /* The wait for a record after a reclaim belongs to that reclaim. */
    if (!always && guest->reclaim_hold == RECLAIM_SETTLING)
        return false;
    snprintf(key, sizeof(key), "%s %s %s %llu %llu %x %x %u", entry->action, entry->hold,
             entry->level, (unsigned long long)entry->target_bytes,
             (unsigned long long)(entry->goal_bytes / GOAL_BYTES), guest->decision.vetoes,
             guest->decision.panics, (unsigned)guest->reclaim_hold);
    if (!always && (!strcmp(key, member->recorded.key) || !is_paid_for(member)))
        return false;
    memcpy(member->recorded.key, key, sizeof(key));
    return true;
}

/* Returns true if the decision only continues the last row: the guest waits for more memory than
 * there is, and gets a little more of it. */
static bool goes_on(const struct balloon_guest *member, const struct control_guest *guest,
                    const struct journal_entry *entry)
{
    return entry->acted && !entry->panic && member->recorded.id > 0 &&
           (guest->hold == HOLD_ROOM || guest->hold == HOLD_SHARE) &&
           !strncmp(member->recorded.key, entry->action, strlen(entry->action)) &&
           balloond_now_s() < member->recorded.at_s + RECORDING_EVERY_S;
}

static void log_order(const struct journal_entry *entry)
{
    const uint64_t reclaim_bytes = entry->ordered_bytes[ACTUATOR_RECLAIM];
    char goal[48] = "";

    if (reclaim_bytes != DECIDE_UNKNOWN) {
        log_line(LOG_CLASS_GUEST, LOG_INFO, "domain %s: %sreclaim %llu MiB: %s", entry->name,
                 entry->acted ? "" : "would ", reclaim_bytes / DECIDE_MIB, entry->why);
        return;
    }
    if (entry->goal_bytes < entry->target_bytes)
        snprintf(goal, sizeof(goal), ", on the way to %llu", entry->goal_bytes / DECIDE_MIB);
    log_line(LOG_CLASS_GUEST, LOG_INFO, "domain %s: %s%s from %llu to %llu MiB%s: %s", entry->name,
             entry->acted ? "" : "would ", entry->action, entry->actual_bytes / DECIDE_MIB,
             entry->target_bytes / DECIDE_MIB, goal, entry->why);
}

static void begin_after(struct balloon_guest *member, const struct journal_entry *entry)
{
    member->recorded.id = entry->acted ? entry->id : 0;
    member->recorded.at_s = balloond_now_s();
    if (!entry->acted)
        return;
    member->after.id = entry->id;
    member->after.at_s = balloond_now_s();
    member->after.step = 0;
}

void recording_add(struct balloond *balloond, size_t i, struct journal_entry *entry)
{
    struct balloon_guest *member = &balloond->members.members[i];
    const struct control_guest *guest = &balloond->members.guests[i];
    struct error error = {0};
    int rc;

    entry->panic = begins_to_be_short(member, guest, &balloond->config->policy.decide);
    if (goes_on(member, guest, entry)) {
        rc = journal_amend(balloond->journal, member->recorded.id, entry->target_bytes, &error);
    } else {
        if (!is_news(member, guest, entry))
            return;
        if (guest->action != CONTROL_NONE)
            log_order(entry);
        rc = journal_add(balloond->journal, entry, &error);
        if (rc == 0)
            begin_after(member, entry);
    }
    if (rc < 0)
        log_not_journalled("domain ", member->name, &error);
}

/* --- results ---------------------------------------------------------------------------------- */

void recording_after(struct balloond *balloond)
{
    static const double wait_s[] = {5, 30, 60};

    for (size_t i = 0; i < balloond->members.n; i++) {
        struct balloon_guest *member = &balloond->members.members[i];
        const struct decide_input *input = &balloond->members.guests[i].input;
        struct error error = {0};

        if (member->after.id == 0 ||
            balloond_now_s() < member->after.at_s + wait_s[member->after.step])
            continue;
        if (journal_after(balloond->journal, member->after.id, member->after.step,
                          input->actual_bytes, input->resident_bytes, &error) < 0)
            log_not_journalled("domain ", member->name, &error);
        if (++member->after.step == 3)
            member->after.id = 0;
    }
}

void recording_host(struct balloond *balloond, const struct control_host *host)
{
    struct journal_host row = {.time_s = balloond_wall_s(), .free_bytes = host->free_bytes};
    struct error error = {0};

    if (balloond->host_noted_s > 0 && host->level == balloond->noted_level &&
        host->now_s < balloond->host_noted_s + JOURNAL_HOST_S)
        return;
    snprintf(row.level, sizeof(row.level), "%s", levels_name(host->level));
    if (journal_note_host(balloond->journal, &row, &error) < 0) {
        log_not_journalled("host", "", &error);
        return;
    }
    balloond->host_noted_s = host->now_s;
    balloond->noted_level = host->level;
}
