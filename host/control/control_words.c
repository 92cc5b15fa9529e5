// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file control_words.c  See control_words.h. */
#include "control/control_words.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const char *control_action_name(enum control_action action)
{
    static const char *const names[] = {"none", "shrink", "grow", "full", "settle", "restore"};

    return names[action];
}

const char *control_hold_name(enum control_hold hold)
{
    static const char *const names[] = {"none",      "decision", "unknown", "excluded", "foreign",
                                        "inhibited", "moving",   "waiting", "pause",    "ample",
                                        "others",    "room",     "share"};

    return names[hold];
}

static double mib(uint64_t bytes)
{
    return (double)bytes / (double)DECIDE_MIB;
}

static const char *trouble_text(enum balloon_trouble trouble)
{
    return trouble == TROUBLE_NO_DRIVER
               ? "inhibited: its balloon does not move, so the guest has no driver for it"
               : "inhibited: its balloon inflates, and the host gets nothing back";
}

static void write_waiting(char *text, size_t size, const struct control_policy *policy,
                          const struct control_host *host, const struct control_guest *guest)
{
    const struct decide_pace *pace = &guest->state.pace;

    snprintf(text, size, "less is enough, for %.0f s of %.0f so far",
             host->now_s - pace->lower_since_s, policy->decide.down_after_s);
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
        snprintf(text, size, "another program moved its balloon: it is left alone for %.0f s",
                 fmax(state->trouble_until_s - host->now_s, 0));
        return;
    case HOLD_INHIBITED:
        snprintf(text, size, "%s", trouble_text(state->trouble));
        return;
    case HOLD_MOVING:
        if (state->rested)
            snprintf(text, size, "its balloon is moving to %.0f MiB", mib(state->set_bytes));
        else
            snprintf(text, size, "its balloon has not been seen at rest yet");
        return;
    case HOLD_WAITING:
        return write_waiting(text, size, policy, host, guest);
    case HOLD_PAUSE:
        snprintf(text, size, "nothing is taken for %.0f s after its last panic",
                 state->pace.paused_until_s - host->now_s);
        return;
    case HOLD_AMPLE:
        snprintf(text, size, "the host has enough: %.0f MiB are free", mib(host->free_bytes));
        return;
    case HOLD_OTHERS:
        snprintf(text, size, "other guests give enough");
        return;
    case HOLD_ROOM:
        snprintf(text, size,
                 "it needs %.0f MiB, and the host can give no more until other guests "
                 "have returned memory",
                 mib(guest->wish_bytes));
        return;
    case HOLD_SHARE:
        snprintf(text, size, "it claims %.0f MiB, but its share of the short host is %.0f",
                 mib(guest->wish_bytes), mib(guest->share_bytes));
        return;
    }
}

static const char *action_text(const struct control_guest *guest)
{
    if (guest->action == CONTROL_SETTLE)
        return "its balloon has stopped moving: what it has becomes its target";
    return guest->action == CONTROL_RESTORE ? "it gets back what it had" : "";
}

char *control_why(char *text, const struct control_policy *policy, const struct control_host *host,
                  const struct control_guest *guest)
{
    char hold[256], decision[DECIDE_WHY_TEXT];
    const char *first = action_text(guest);

    write_hold(hold, sizeof(hold), policy, host, guest);
    decide_why(decision, sizeof(decision), &policy->decide, &guest->input, &guest->decision);
    snprintf(text, CONTROL_WHY_TEXT, "%s%s%s%s%s", first, first[0] && hold[0] ? "; " : "", hold,
             (first[0] || hold[0]) && decision[0] ? "; " : "", decision);
    return text;
}
