// SPDX-License-Identifier: LGPL-2.1-or-later
#include "decide/control/control_words.h"

#include "base/array.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const char *control_action_name(enum control_action action)
{
    static const char *const names[] = {"none",   "shrink",  "grow",   "full",
                                        "settle", "restore", "reclaim"};

    return names[action];
}

const char *control_hold_name(enum control_hold hold)
{
    static const char *const names[] = {"none",      "decision", "unknown", "excluded", "foreign",
                                        "inhibited", "moving",   "waiting", "pause",    "ample",
                                        "others",    "room",     "share",   "block"};

    return names[hold];
}

static void write_waiting(char *text, size_t size, const struct control_policy *policy,
                          const struct control_host *host, const struct control_guest *guest)
{
    const struct decide_pace *pace = &guest->state.pace;
    const struct decide_policy *decide = &policy->decide;
    double turn_s = pace->turned ? pace->turned_at_s + decide->turn_pause_s - host->now_s : 0;
    bool early = decide_is_asked_early(pace, decide, &guest->input, host->now_s);
    double lower_s = host->now_s - (early ? pace->agreed_since_s : pace->lower_since_s);
    double after_s = early ? decide->down_urgent_s : decide->down_after_s;

    if (turn_s > after_s - lower_s && !guest->input.host_short)
        snprintf(text, size, "less is enough, and nothing is taken for %.0f s after it has grown",
                 turn_s);
    else if (lower_s > after_s && pace->n_lower < decide->down_decisions)
        snprintf(text, size, "less is enough, in %u of %u decisions so far", pace->n_lower,
                 decide->down_decisions);
    else
        snprintf(text, size, "less is enough, for %.0f s of %.0f so far", lower_s, after_s);
}

static void write_rival(char *text, size_t size, const struct control_host *host,
                        const struct balloon_state *state)
{
    if (balloon_is_contested(state, host->now_s))
        snprintf(
            text, size,
            "two controllers are at work: another program, as MOM or pvestatd, took back what it "
            "was given %u times in a row, last to %.0f MiB: its panics are not served for %.0f s",
            state->rival.took.n, control_mib(state->seen_bytes), state->rival.hold_s - host->now_s);
    else
        snprintf(text, size, "another program moved its balloon: it is left alone for %.0f s",
                 fmax(state->rival.until_s - host->now_s, 0));
}

static void write_pause(char *text, size_t size, const struct control_host *host,
                        const struct balloon_state *state)
{
    const struct decide_pace *pace = &state->pace;
    double pause_s = pace->paused_until_s - host->now_s;

    if (pace->paused_until_s <= pace->panicked_s + pace->pause_s)
        snprintf(text, size, "nothing is taken for %.0f s after its last panic", pause_s);
    else if (state->rival.back.n == 0)
        snprintf(text, size, "nothing is taken for %.0f s: it was reset", pause_s);
    else
        snprintf(text, size,
                 "nothing is taken for %.0f s: its balloon did not come to what was ordered, or "
                 "not stay there, %u time%s in a row, by another program, the guest itself, or a "
                 "driver that stops",
                 pause_s, state->rival.back.n, state->rival.back.n == 1 ? "" : "s");
}

static void write_hold(char *text, size_t size, const struct control_policy *policy,
                       const struct control_host *host, const struct control_guest *guest)
{
    const struct balloon_state *state = &guest->state;

    switch (guest->hold) {
    case HOLD_NONE:
    case HOLD_DECISION:
        text[0] = 0;
        return;
    case HOLD_UNKNOWN:
        snprintf(text, size, "the size of its balloon is not known");
        return;
    case HOLD_EXCLUDED:
        snprintf(text, size, "it is excluded");
        return;
    case HOLD_FOREIGN:
        return write_rival(text, size, host, state);
    case HOLD_INHIBITED:
        snprintf(text, size, "%s", actuators[control_first(guest)]->trouble(guest));
        return;
    case HOLD_MOVING:
        if (balloon_is_plugging(state))
            snprintf(
                text, size,
                "memory was plugged or unplugged, and the size of its balloon does not fit yet");
        else if (state->rested)
            snprintf(text, size, "its balloon is moving to %.0f MiB",
                     control_mib(state->set_bytes));
        else
            snprintf(text, size, "its balloon has not been seen at rest yet");
        return;
    case HOLD_WAITING:
        return write_waiting(text, size, policy, host, guest);
    case HOLD_PAUSE:
        return write_pause(text, size, host, &guest->state);
    case HOLD_AMPLE:
        snprintf(text, size, "the host has enough: %.0f MiB are free",
                 control_mib(host->free_bytes));
        return;
    case HOLD_OTHERS:
        snprintf(text, size, "other guests give enough");
        return;
    case HOLD_ROOM:
        snprintf(text, size,
                 "it needs %.0f MiB, and the host can give no more until other guests "
                 "have returned memory",
                 control_mib(guest->wish_bytes));
        return;
    case HOLD_SHARE:
        snprintf(text, size, "it claims %.0f MiB, but its share of the host is %.0f",
                 control_mib(guest->wish_bytes), control_mib(guest->share_bytes));
        return;
    case HOLD_BLOCK:
        snprintf(text, size,
                 "a step down is less than a block of its %s, %.0f MiB, and it has no balloon",
                 actuators[control_first(guest)]->name,
                 control_mib(guest->limits[control_first(guest)].block_bytes));
        return;
    }
}

static const char *action_text(const struct control_guest *guest)
{
    if (guest->action == CONTROL_SETTLE)
        return "its balloon has stopped moving: what it has becomes its target";
    if (guest->action == CONTROL_GROW && guest->given_back)
        return "the host has enough, so it gets back in steps what it had";
    return guest->action == CONTROL_RESTORE ? "it gets back what it had" : "";
}

/* Joins the nonempty parts with semicolons. */
static void join(char *text, size_t size, const char *const *parts, size_t n)
{
    size_t used = 0;

    text[0] = 0;
    for (size_t i = 0; i < n && used < size; i++)
        if (parts[i][0])
            used += (size_t)snprintf(text + used, size - used, "%s%s", used > 0 ? "; " : "",
                                     parts[i]);
}

/* Explains the actuators that size the guest, or those that take from it. */
static void write_actuators(char *text, size_t size, bool takes,
                            const struct control_policy *policy, const struct control_host *host,
                            const struct control_guest *guest)
{
    char own[N_ACTUATORS][ACTUATOR_TEXT] = {0};
    const char *parts[N_ACTUATORS];

    for (size_t a = 0; a < N_ACTUATORS; a++) {
        parts[a] = own[a];
        if (actuators[a]->explain && takes == (actuators[a]->offer != NULL))
            actuators[a]->explain(own[a], sizeof(own[a]), policy, host, guest);
    }
    join(text, size, parts, N_ACTUATORS);
}

char *control_why(char *text, const struct control_policy *policy, const struct control_host *host,
                  const struct control_guest *guest)
{
    char sizes[2 * ACTUATOR_TEXT], hold[256], decision[DECIDE_WHY_TEXT], takes[ACTUATOR_TEXT];
    const char *const parts[] = {action_text(guest), sizes, hold, decision, takes};

    write_actuators(sizes, sizeof(sizes), false, policy, host, guest);
    write_hold(hold, sizeof(hold), policy, host, guest);
    decide_why(decision, sizeof(decision), &policy->decide, &guest->input, &guest->decision);
    write_actuators(takes, sizeof(takes), true, policy, host, guest);
    join(text, CONTROL_WHY_TEXT, parts, COUNT(parts));
    return text;
}
