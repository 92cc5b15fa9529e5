// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file control_words.c  See control_words.h. */
#include "decide/control/control_words.h"

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

static double mib(uint64_t bytes)
{
    return (double)bytes / (double)DECIDE_MIB;
}

static const char *trouble_text(const struct balloon_state *state)
{
    if (state->trouble == TROUBLE_NO_RETURN)
        return "inhibited: its balloon inflates, and the host gets nothing back";
    return state->has_driver
               ? "inhibited: its balloon moved before, and did not for three targets: the guest has "
                 "nothing left to give, or its driver is stuck"
               : "inhibited: its balloon does not move, so the guest has no driver for it";
}

static const char *plug_trouble_text(enum balloon_trouble trouble)
{
    return trouble == TROUBLE_NO_DRIVER
               ? "inhibited: the guest unplugs no block of its virtio-mem: it has no driver, or "
                 "what is in them cannot be moved"
               : "inhibited: its virtio-mem is unplugged, and the host gets nothing back";
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
            state->rival.n, mib(state->seen_bytes), state->rival.hold_s - host->now_s);
    else
        snprintf(text, size, "another program moved its balloon: it is left alone for %.0f s",
                 fmax(state->rival.until_s - host->now_s, 0));
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
        snprintf(text, size, "%s",
                 control_has_plug(guest) ? plug_trouble_text(state->trouble) : trouble_text(state));
        return;
    case HOLD_MOVING:
        if (balloon_is_plugging(state))
            snprintf(
                text, size,
                "memory was plugged or unplugged, and the size of its balloon does not fit yet");
        else if (state->rested)
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
    case HOLD_BLOCK:
        snprintf(text, size,
                 "a step down is less than a block of its virtio-mem, %.0f MiB, and it has no "
                 "balloon",
                 mib(guest->plug.block_bytes));
        return;
    }
}

/* --- reclaim ---------------------------------------------------------------------------------- */

static void write_reclaim_pause(char *text, size_t size, const struct control_host *host,
                                const struct reclaim_state *state)
{
    int n = snprintf(text, size,
                     "nothing is reclaimed for %.0f s: ", state->paused_until_s - host->now_s);

    text += n;
    size -= (size_t)n;
    switch (state->pause) {
    case RECLAIM_PAUSE_PANIC:
        snprintf(text, size, "it was short of memory");
        return;
    case RECLAIM_PAUSE_REFAULTS:
        snprintf(text, size, "%.1f MiB of what was taken came back", mib(state->refault_bytes));
        return;
    case RECLAIM_PAUSE_PRESSURE:
        snprintf(text, size, "its control group waited %.2f s for memory", state->waited_s);
        return;
    case RECLAIM_PAUSE_LITTLE:
        snprintf(text, size, "the kernel found little, three times in a row");
        return;
    }
}

static void write_reclaim(char *text, size_t size, const struct control_policy *policy,
                          const struct control_host *host, const struct control_guest *guest)
{
    const struct reclaim_state *state = &guest->reclaim;
    double resident = mib(guest->input.resident_bytes);
    double keep = mib(reclaim_keep(&guest->input, &guest->decision));

    switch (guest->reclaim_hold) {
    case RECLAIM_NONE:
        snprintf(text, size,
                 "memory.reclaim of %.0f MiB: %.0f are resident, %.0f are kept, and %.0f fit into "
                 "swap",
                 mib(guest->reclaim_bytes), resident, keep, mib(guest->group.swap_room_bytes));
        return;
    case RECLAIM_UNKNOWN:
        snprintf(text, size, "its control group has not been read");
        return;
    case RECLAIM_REFUSED:
        snprintf(text, size, "nothing is reclaimed: %s", guest->group.refused);
        return;
    case RECLAIM_PAUSE:
        return write_reclaim_pause(text, size, host, state);
    case RECLAIM_SWAP:
        snprintf(text, size, "nothing is reclaimed: %.0f MiB fit into swap%s",
                 mib(guest->group.swap_room_bytes),
                 reclaim_room(&policy->reclaim, &guest->group) >= DECIDE_MIB
                     ? ", and other guests take what that allows"
                     : "");
        return;
    case RECLAIM_SETTLING:
        snprintf(text, size, "the next reclaim waits for a record that began after the last one");
        return;
    case RECLAIM_WAITING:
        snprintf(text, size, "reclaim: %.0f of %.0f MiB are kept, for %.0f s of %.0f so far", keep,
                 resident, host->now_s - state->lower_since_s, policy->decide.down_after_s);
        return;
    case RECLAIM_ENOUGH:
        snprintf(text, size, "reclaim: of %.0f MiB resident it keeps %.0f", resident, keep);
        return;
    case RECLAIM_BUSY:
        snprintf(text, size,
                 "nothing is reclaimed: a job runs on the domain, or the last reclaim goes on");
        return;
    case RECLAIM_OTHERS:
        snprintf(text, size, "nothing is reclaimed: the host misses nothing");
        return;
    case RECLAIM_OFF:
    case RECLAIM_BALLOON:
    case RECLAIM_VETO:
        text[0] = 0;
    }
}

/* Names the actuator, if there is a choice. */
static void write_plug(char *text, size_t size, const struct control_guest *guest)
{
    text[0] = 0;
    if (guest->plug_refused)
        snprintf(text, size, "its virtio-mem is left alone: %s", guest->plug_refused);
    if (control_has_plug(guest) && guest->action != CONTROL_NONE &&
        guest->action != CONTROL_RECLAIM)
        snprintf(text, size,
                 "of virtio-mem %.0f of %.0f MiB are requested, its balloon leaves %.0f",
                 mib(guest->plug_bytes), mib(guest->plug.most_bytes),
                 mib(guest->target_bytes - guest->plug_bytes));
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

char *control_why(char *text, const struct control_policy *policy, const struct control_host *host,
                  const struct control_guest *guest)
{
    char plug[128], hold[256], decision[DECIDE_WHY_TEXT], reclaim[256];
    const char *const parts[] = {action_text(guest), plug, hold, decision, reclaim};

    write_plug(plug, sizeof(plug), guest);
    write_hold(hold, sizeof(hold), policy, host, guest);
    decide_why(decision, sizeof(decision), &policy->decide, &guest->input, &guest->decision);
    write_reclaim(reclaim, sizeof(reclaim), policy, host, guest);
    join(text, CONTROL_WHY_TEXT, parts, sizeof(parts) / sizeof(parts[0]));
    return text;
}
