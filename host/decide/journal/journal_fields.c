// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file journal_fields.c  The tables of the journal's rows; see journal.h. */
#include "decide/journal/journal_private.h"

#include "base/array.h"

#include <string.h>

#define BALLOON(type, member) \
    type, GROUP_SIZE, .home = JOURNAL_ADDED, .offset = offsetof(struct journal_balloon, member)
#define ENTRY(type, member) \
    type, GROUP_SIZE, .home = JOURNAL_ADDED, .offset = offsetof(struct journal_entry, member)
#define BYTES(member) ENTRY(FIELD_U64, member), .may_lack = true
#define TEXT(member) ENTRY(FIELD_TEXT, member), .size = sizeof(((struct journal_entry *)0)->member)
#define LATER(member)                             \
    FIELD_U64, GROUP_SIZE, .home = JOURNAL_LATER, \
                           .offset = offsetof(struct journal_entry, member), .may_lack = true
#define DECIDED ACTUATOR_DECIDED

static const struct field balloon_fields[] = {
    {BALLOON(FIELD_TEXT, uuid), .size = 37, .column = "uuid"},
    {BALLOON(FIELD_U64, domain_id), .column = "domain_id"},
    {BALLOON(FIELD_U64, before_bytes), .column = "before_bytes"},
    {BALLOON(FIELD_U64, set_bytes), .column = "set_bytes"},
    {BALLOON(FIELD_U64, panic_bytes), .column = "panic_bytes"},
    {BALLOON(FIELD_REAL, panic_s), .column = "panic_s"},
    {BALLOON(FIELD_REAL, panic_clock_s), .column = "panic_clock_s"},
    {BALLOON(FIELD_U64, trouble), .column = "trouble"},
    {BALLOON(FIELD_TEXT, boot_id), .size = JOURNAL_BOOT_ID, .column = "boot_id"},
    {BALLOON(FIELD_REAL, restored_s), .column = "restored_s"},
    {BALLOON(FIELD_U64, assigned_bytes), .column = "assigned_bytes"},
    {BALLOON(FIELD_U64, asked_s), .column = "asked_s"},
};

/* Those before the columns of the actuators, and those behind them, in Prometheus's order. */
static const struct field decision_fields[] = {
    {BYTES(target_bytes), .column = "target_bytes", .metric = "vmwss_balloon_target_bytes",
     .help = DECIDED "what the balloon is to leave the guest; in a dry run what it would be."},
    {BYTES(wish_bytes), .column = "wish_bytes", .metric = "vmwss_balloon_wish_bytes",
     .help = DECIDED "what it would be without the host's limits."},
    {BYTES(floor_bytes), .column = "floor_bytes", .metric = "vmwss_balloon_floor_bytes",
     .help = DECIDED "what the guest cannot drop, and its reserve."},
    {BYTES(actual_bytes), .column = "actual_bytes", .metric = "vmwss_balloon_actual_bytes",
     .help = DECIDED "what the balloon left the guest then."},
};
static const struct field further_fields[] = {
    {ENTRY(FIELD_REAL, time_s), .column = "time_s",
     .metric = "vmwss_balloon_decision_timestamp_seconds",
     .help = DECIDED "when it was another than the one before, Unix time."},
    {ENTRY(FIELD_BOOL, acted), .column = "acted", .metric = "vmwss_balloon_acted",
     .help = DECIDED
     "1 if a balloon was set or memory reclaimed by it; 0 in a dry run, or if there was nothing to do."},
    {TEXT(uuid), .column = "uuid"},
    {TEXT(name), .column = "name"},
    {TEXT(mode), .column = "mode"},
    {TEXT(level), .column = "level"},
    {TEXT(action), .column = "action"},
    {TEXT(hold), .column = "hold"},
    {ENTRY(FIELD_BOOL, panic), .column = "panic"},
    {BYTES(goal_bytes), .column = "goal_bytes"},
    {BYTES(assigned_bytes), .column = "assigned_bytes"},
    {BYTES(resident_bytes), .column = "resident_bytes"},
    {BYTES(wss_high_bytes), .column = "wss_high_bytes"},
    {BYTES(free_bytes), .column = "free_bytes"},
    {BYTES(asking_bytes), .column = "asking_bytes"},
    {LATER(after_actual_bytes[0]), .column = "actual_5s"},
    {LATER(after_actual_bytes[1]), .column = "actual_30s"},
    {LATER(after_actual_bytes[2]), .column = "actual_60s"},
    {LATER(after_resident_bytes[0]), .column = "resident_5s"},
    {LATER(after_resident_bytes[1]), .column = "resident_30s"},
    {LATER(after_resident_bytes[2]), .column = "resident_60s"},
};

static struct field *append(struct field *to, const struct field *from, size_t n)
{
    memcpy(to, from, n * sizeof(*from));
    return to + n;
}

/* @p array: the offset of its member for the first actuator. */
static struct field *append_actuator(struct field *to, const struct actuator_column *column,
                                     enum field_home home, size_t array, size_t actuator)
{
    if (!column->name)
        return to;
    *to = (struct field){.type = FIELD_U64,
                         .group = GROUP_SIZE,
                         .home = home,
                         .offset = array + actuator * sizeof(uint64_t),
                         .may_lack = true,
                         .column = column->name,
                         .metric = column->metric,
                         .help = column->help};
    return to + 1;
}

void journal_balloon_fields(struct field fields[JOURNAL_FIELDS])
{
    struct field *end = append(fields, balloon_fields, COUNT(balloon_fields));

    for (size_t a = 0; a < N_ACTUATORS; a++)
        if (actuators[a]->before_column)
            *end++ = (struct field){BALLOON(FIELD_U64, part_bytes) + a * sizeof(uint64_t),
                                    .column = actuators[a]->before_column};
    *end = (struct field){0};
}

void journal_decision_fields(struct field fields[JOURNAL_FIELDS])
{
    struct field *end = append(fields, decision_fields, COUNT(decision_fields));

    for (size_t a = 0; a < N_ACTUATORS; a++) {
        end = append_actuator(end, &actuators[a]->ordered_column, JOURNAL_ADDED,
                              offsetof(struct journal_entry, ordered_bytes), a);
        end = append_actuator(end, &actuators[a]->done_column, JOURNAL_LATER,
                              offsetof(struct journal_entry, done_bytes), a);
    }
    end = append(end, further_fields, COUNT(further_fields));
    *end = (struct field){0};
}
