// SPDX-License-Identifier: LGPL-2.1-or-later
#include "programs/balloond/adoption.h"

#include "base/service/log.h"
#include "guest/domain/domain_mark.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <string.h>

struct journal_balloon adoption_row(const struct balloond *balloond, size_t i, uint64_t set_bytes)
{
    const struct balloon_guest *member = &balloond->members.members[i];
    const struct control_guest *guest = &balloond->members.guests[i];
    const struct balloon_state *state = &guest->state;
    struct journal_balloon row = {
        .domain_id = (uint64_t)member->domain_id,
        .before_bytes = balloon_before(state, &guest->input),
        .set_bytes = set_bytes,
        .assigned_bytes = guest->input.assigned_bytes,
        .panic_bytes = state->pace.panic_bytes,
        .panic_s = balloond_wall_s() - (balloond_now_s() - state->pace.panic_at_s),
        .panic_clock_s = state->pace.panic_at_s,
        .trouble = state->trouble,
        .asked_s = member->report.asking.period_s,
    };

    for (size_t a = 0; a < N_ACTUATORS; a++)
        if (actuators[a]->before_column)
            row.part_bytes[a] = guest->limits[a].most_bytes;
    memcpy(row.uuid, member->uuid, sizeof(row.uuid));
    memcpy(row.name, member->name, sizeof(row.name));
    journal_boot_id(row.boot_id);
    return row;
}

/* A panic of another boot has a time by the wall clock only, which may have been set back: one in
 * the future counts as just now. */
static void learn(struct decide_pace *pace, const struct journal_balloon *row)
{
    const double now_s = balloond_now_s();
    char boot_id[JOURNAL_BOOT_ID];

    if (row->panic_bytes == 0)
        return;
    pace->panic_bytes = row->panic_bytes;
    journal_boot_id(boot_id);
    if (journal_balloon_is_of_boot(row, boot_id) && row->panic_clock_s > 0 &&
        row->panic_clock_s <= now_s)
        pace->panic_at_s = row->panic_clock_s;
    else
        pace->panic_at_s = now_s - fmax(balloond_wall_s() - row->panic_s, 0);
}

/* Its total size changes once the sizes to restore of its devices are known. */
static void take_over(struct balloond *balloond, size_t i, const struct journal_balloon *row)
{
    struct balloon_guest *member = &balloond->members.members[i];
    struct control_guest *guest = &balloond->members.guests[i];
    const struct decide_input *input = &guest->input;
    uint64_t before_bytes, set_bytes;

    for (size_t a = 0; a < N_ACTUATORS; a++)
        if (member->devices[a].found.n == 1 &&
            row->part_bytes[a] <= member->devices[a].found.size_bytes)
            member->devices[a].before_bytes = row->part_bytes[a];
    members_take_sizes(member, guest, &member->memory, balloond->config);
    /* Memory may have been plugged or unplugged meanwhile. */
    before_bytes = balloon_shifted(row->before_bytes, row->set_bytes, row->assigned_bytes, input);
    set_bytes = balloon_shifted(row->set_bytes, row->set_bytes, row->assigned_bytes, input);
    balloon_adopt(&guest->state, &balloond->config->policy.balloon, input, before_bytes, set_bytes,
                  balloond_now_s());
    guest->state.trouble = row->trouble == TROUBLE_FOREIGN ? TROUBLE_NONE
                                                           : (enum balloon_trouble)row->trouble;
    log_line(LOG_CLASS_GUEST, LOG_NOTICE, "domain %s: its balloon is adopted, it had %llu MiB%s",
             row->name, before_bytes / DECIDE_MIB,
             row->restored_s > 0 ? ", and is on its way there" : "");
}

/* The balloon has the size to which the last controller restored it: nothing is left to restore. */
static bool is_there(const struct journal_balloon *row, uint64_t current_bytes)
{
    return row->restored_s > 0 &&
           current_bytes + balloon_policy_default.still_bytes >= row->set_bytes;
}

/* @p saved: the run continues under another ID, with its balloon as it was. */
static struct journal_run run_of(const struct domain_memory *memory, bool saved,
                                 char boot_id[JOURNAL_BOOT_ID])
{
    journal_boot_id(boot_id);
    return (struct journal_run){.boot_id = boot_id,
                                .domain_id = memory->id,
                                .saved = saved,
                                .current_bytes = memory->current_bytes};
}

static bool is_of(const struct journal_balloon *row, const struct domain_memory *memory, bool saved)
{
    char boot_id[JOURNAL_BOOT_ID];
    const struct journal_run run = run_of(memory, saved, boot_id);

    return journal_balloon_is_of(row, &run, balloond_wall_s());
}

static bool asks(const struct journal_balloon *row, const struct domain_memory *memory)
{
    char boot_id[JOURNAL_BOOT_ID];
    const struct journal_run run = run_of(memory, memory->saved || memory->migrated, boot_id);

    return journal_asks(row, &run);
}

/* The size of its balloon is not known until the guest has arrived. */
static bool is_to_look_up(const struct balloon_guest *member)
{
    return member->fresh && !member->memory.arriving;
}

static int adopt(const struct journal_balloon *row, void *context)
{
    struct balloond *balloond = context;
    ssize_t i = members_find(&balloond->members, row->uuid);

    if (i < 0 || !is_to_look_up(&balloond->members.members[i]))
        return 0;

    struct balloon_guest *member = &balloond->members.members[i];
    struct control_guest *guest = &balloond->members.guests[i];

    learn(&guest->state.pace, row);
    member->owned = true;
    if (guest->acts && asks(row, &member->memory))
        member->report.asking.period_s = row->asked_s;
    if (is_there(row, member->memory.current_bytes) ||
        !is_of(row, &member->memory, member->memory.saved))
        return 0;
    if (guest->acts)
        take_over(balloond, (size_t)i, row);
    else if (row->restored_s == 0)
        log_line(LOG_CLASS_GUEST, LOG_WARNING,
                 "domain %s: its balloon is still set by an earlier run, and this is a dry run: "
                 "vmwss balloon release %s restores it",
                 row->name, row->name);
    return 0;
}

int adoption_write(struct balloond *balloond, size_t i, struct error *error)
{
    const struct balloon_state *state = &balloond->members.guests[i].state;
    const struct journal_balloon row = adoption_row(balloond, i, state->set_bytes);

    return state->before_bytes > 0 ? journal_own(balloond->journal, &row, error)
                                   : adoption_give_up(balloond, i, error);
}

void adoption_renew(struct balloond *balloond, size_t i)
{
    struct error error = {0};

    if (adoption_write(balloond, i, &error) < 0)
        log_line(LOG_CLASS_GUEST, LOG_ERR, "domain %s: not journalled: %s",
                 balloond->members.members[i].name, error.text);
}

/* --- marks ------------------------------------------------------------------------------------ */

static_assert((int)N_ACTUATORS <= DOMAIN_MARK_PARTS, "a mark has a part for each actuator");

static void name_parts(struct domain_mark *mark)
{
    for (size_t a = 0; a < N_ACTUATORS; a++)
        mark->parts[a].name = actuators[a]->before_column;
}

void adoption_mark(struct balloond *balloond, size_t i, uint64_t set_bytes)
{
    struct balloon_guest *member = &balloond->members.members[i];
    const struct control_guest *guest = &balloond->members.guests[i];
    struct domain_mark mark = {.before_bytes = balloon_before(&guest->state, &guest->input),
                               .set_bytes = set_bytes};
    struct error error = {0};
    int rc;

    name_parts(&mark);
    for (size_t a = 0; a < N_ACTUATORS; a++)
        if (mark.parts[a].name)
            mark.parts[a].bytes = guest->limits[a].most_bytes;
    rc = domain_mark_set(balloond->libvirt, member->uuid, &mark, &error);

    if (rc == -EBUSY) /* the balloon is not set in that case */
        return;
    if (rc < 0 && !member->unmarked)
        log_line(
            LOG_CLASS_GUEST, LOG_WARNING,
            "domain %s: its former size is not in its metadata, for another host to restore: %s",
            member->name, error.text);
    member->unmarked = rc < 0;
}

static void remove_mark(const struct balloond *balloond, const struct balloon_guest *member)
{
    const struct domain_mark none = {0};
    struct error error = {0};

    if (domain_mark_set(balloond->libvirt, member->uuid, &none, &error) < 0)
        log_line(LOG_CLASS_GUEST, LOG_WARNING,
                 "domain %s: its former size stays in its metadata: %s", member->name, error.text);
}

/* Checks that the mark is possible: any program that may write the domain may have written it. */
static bool can_be(const struct domain_mark *mark, const struct domain_memory *memory)
{
    return mark->before_bytes <= memory->maximum_bytes && mark->set_bytes <= memory->maximum_bytes;
}

/* Adopts a guest from another host, whose journal knows it. If its balloon was moving when it came,
 * any size between the mark's two belongs to that move. Negative: the mark must be read again. */
static int adopt_by_mark(struct balloond *balloond, size_t i, struct error *error)
{
    struct balloon_guest *member = &balloond->members.members[i];
    const struct domain_memory *memory = &member->memory;
    struct journal_balloon row = {0};
    struct domain_mark mark = {0};
    struct error failed = {0};
    int rc;

    name_parts(&mark);
    rc = domain_mark_get(balloond->libvirt, member->uuid, &mark, &failed);
    if (rc == -ENOTCONN)
        return error_set(error, rc, "%s", failed.text);
    if (rc < 0)
        log_line(LOG_CLASS_GUEST, LOG_WARNING,
                 "domain %s: its former size on another host is not known: %s", member->name,
                 failed.text);
    if (rc < 0 || mark.before_bytes == 0)
        return 0;
    memcpy(row.name, member->name, sizeof(row.name));
    row.before_bytes = mark.before_bytes;
    row.set_bytes = mark.set_bytes;
    for (size_t a = 0; a < N_ACTUATORS; a++)
        row.part_bytes[a] = mark.parts[a].bytes;
    member->owned = true; /* if not, it is given up with its mark */
    if (can_be(&mark, memory) && is_of(&row, memory, memory->saved || memory->migrated))
        take_over(balloond, i, &row);
    return 0;
}

/* --- a guest that is new ---------------------------------------------------------------------- */

static void refuse_two_sections(const struct balloon_guest *member)
{
    if (member->ambiguous)
        log_line(LOG_CLASS_GUEST, LOG_ERR,
                 "domain %s: it has two sections, [guest %s] and [guest %s]: its balloon is left "
                 "alone until there is one",
                 member->name, member->name, member->uuid);
}

/* Call it after the journal has been searched. */
static int look_up_mark(struct balloond *balloond, size_t i, struct error *error)
{
    struct balloon_guest *member = &balloond->members.members[i];
    const struct control_guest *guest = &balloond->members.guests[i];
    int rc = guest->acts && guest->state.before_bytes == 0 ? adopt_by_mark(balloond, i, error) : 0;

    if (rc < 0)
        return rc;
    member->fresh = false;
    refuse_two_sections(member);
    if (member->owned && guest->acts)
        adoption_renew(balloond, i);
    return 0;
}

int adoption_run(struct balloond *balloond, struct error *error)
{
    struct members *members = &balloond->members;
    bool fresh = false;
    int rc = 0;

    for (size_t i = 0; i < members->n; i++)
        fresh = fresh || is_to_look_up(&members->members[i]);
    if (fresh)
        rc = journal_balloons(balloond->journal, adopt, balloond, error);
    for (size_t i = 0; rc == 0 && i < members->n; i++)
        if (is_to_look_up(&members->members[i]))
            rc = look_up_mark(balloond, i, error);
    return rc;
}

int adoption_give_up(struct balloond *balloond, size_t i, struct error *error)
{
    struct balloon_guest *member = &balloond->members.members[i];
    struct journal_balloon row = adoption_row(balloond, i, 0);
    int rc;

    row.before_bytes = 0;
    rc = row.panic_bytes > 0 || row.asked_s > 0
             ? journal_own(balloond->journal, &row, error)
             : journal_disown(balloond->journal, row.uuid, error);
    if (member->owned)
        remove_mark(balloond, member);
    if (rc == 0)
        member->owned = false;
    return rc;
}

int adoption_restored(struct balloond *balloond, size_t i, struct error *error)
{
    const struct control_guest *guest = &balloond->members.guests[i];
    struct journal_balloon row = adoption_row(balloond, i, guest->target_bytes);
    int rc;

    if (guest->action != CONTROL_RESTORE)
        return adoption_give_up(balloond, i, error);
    journal_balloon_restored(&row, guest->target_bytes, balloond_wall_s());
    rc = journal_own(balloond->journal, &row, error);
    remove_mark(balloond, &balloond->members.members[i]);
    if (rc == 0)
        balloond->members.members[i].owned = false; /* otherwise the next try would set it again */
    return rc;
}

static int count_balloon(const struct journal_balloon *row, void *context)
{
    *(ssize_t *)context += (row->before_bytes > 0 && row->restored_s == 0) || row->asked_s > 0;
    return 0;
}

ssize_t adoption_count(struct balloond *balloond, struct error *error)
{
    ssize_t n = 0;
    int rc = journal_balloons(balloond->journal, count_balloon, &n, error);

    return rc < 0 ? rc : n;
}
