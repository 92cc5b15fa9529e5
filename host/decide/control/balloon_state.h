// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file balloon_state.h  Follows a balloon after it was given a target. Pure functions.
 *
 * Theory of operation. A target is a wish: the guest's driver follows it, slowly, in part, or not
 * at all, and even a balloon that inflates may return nothing to the host (VFIO, locked memory, a
 * background snapshot). So each balloon is followed:
 *   - while it moves to its target it gets no other, except on a panic;
 *   - after five seconds without progress, or a minute in all, its current size becomes its target:
 *     a Linux driver otherwise retries for ever. If it did not move a single byte three times in a
 *     row, there is no driver, and the guest is inhibited. An order that failed, but may have
 *     reached the guest, counts as a target that is set, but proves nothing about the driver;
 *   - 30 s after it has shrunk the resident memory must be at most its size plus 64 MiB. If it is
 *     more, the host got nothing: the guest is inhibited, and gets back what it had. Until the
 *     result is known nothing more is taken;
 *   - only statistics made while the balloon was at rest show what a guest uses: older ones are not
 *     compared with its current size;
 *   - a driver that reports in time, but always the same, would make each step down look as if the
 *     guest used less: 3 GiB used in 4 went to 1 GiB. So statistics in which what is available has
 *     not changed by a byte while the balloon took 16 MiB or more are none;
 *   - a balloon that rises by itself to no more than what the guest had is deflated by the guest,
 *     which had no other memory left (deflate-on-oom), or another program gives that back, which
 *     looks the same: its current size becomes its target, and nothing is taken for ten minutes,
 *     and twice as long each time that it happens again within four hours, up to four hours. A
 *     balloon that stops on its way down may be set back between two looks at it: from the second
 *     time on it counts as one that rose. One that is slow has not stopped;
 *   - a balloon that moves in any other way without a target of ours is moved by another program
 *     (MOM, virsh setmem): it is left alone for an hour after the last such move, except on a
 *     panic, and is no longer ours to restore. If it takes back what it was given three times in a
 *     row, two controllers are at work: panics are served after twenty minutes then, after forty,
 *     up to three hours, and all else waits for twice as long. A balloon that was moving when first
 *     seen was set before, for instance by a controller that has just ended. This does not count as
 *     a move until the balloon has come to rest, and until then nothing is done except on a panic:
 *     its size on the way is not its original size;
 *   - where memory is plugged or unplugged (a DIMM, virtio-mem), M and B change alike and the
 *     balloon, M - B, does not: all sizes that are remembered change with them. libvirt may know M
 *     before B, so nothing is concluded from B until both fit, or for a minute. An order that is
 *     under way keeps its balloon, too: QEMU counts the pages to take, not those to leave.
 *
 * A guest's owner may give it less than M at the start, by <currentMemory>, and libvirt inflates
 * the balloon by the rest as soon as the guest has loaded its driver. So the limit up to which it
 * may grow is its size when it was first at rest, or before the first target of an earlier
 * controller; another program may raise it. A balloon that inflates from all of M within the
 * guest's first ten minutes, or within its first hour and ten minutes of its driver's first report,
 * is on the way to that size. A guest that is reset has all of M until its driver has loaded again:
 * if its balloon comes back to the size that it had within an hour, nothing has changed.
 *
 * Growing resident memory is to be expected after a guest grew: memory that it was given and has
 * not touched yet is pending, and is subtracted from the host's free memory.
 */
#pragma once

#include "decide/advice/step.h"

enum balloon_trouble {
    TROUBLE_NONE,
    TROUBLE_NO_DRIVER, /* three targets did not move it: no driver, or one that is stuck
                        */
    TROUBLE_NO_RETURN, /* it inflates, and the host gets nothing: inhibited */
    TROUBLE_FOREIGN,   /* another program moves it */
};

/** Orders of ours in a row that another program undid. */
struct balloon_row {
    unsigned n;
    double at_s; /* the last time */
};

struct balloon_policy {
    double progress_s;     /* 5 */
    double move_s;         /* 60, for a whole move */
    unsigned stalls_max;   /* 3 */
    double return_s;       /* 30 */
    uint64_t return_bytes; /* 64 MiB */
    double foreign_s;      /* 3600 */
    unsigned contests_max; /* panics in a row that are served against another program: 3 */
    /* pause after what was ordered was undone, and twice as long each time that follows: 600 */
    double undone_pause_s;
    uint64_t still_bytes;  /* a smaller change is no move: 1 MiB */
    uint64_t frozen_bytes; /* taken without a change of what is available: 16 MiB */
    /* until this uptime a balloon that inflates from all of M does so for libvirt: 600 */
    double start_s;
};
extern const struct balloon_policy balloon_policy_default;

/** Starts as all zero. Times are of a clock that is never set back. */
struct balloon_state {
    struct decide_pace pace;
    uint64_t before_bytes; /* its size before our first target; 0: we have set none */
    /* its size when it was first at rest, or what another program has raised it to; 0: not known */
    uint64_t limit_bytes;
    uint64_t seen_bytes; /* its last known size; 0: not seen yet */
    struct {
        uint64_t assigned_bytes; /* M to which all sizes here belong; 0: not known yet */
        uint64_t last_bytes;     /* M when it was last seen; 0: not yet */
        double moved_s;          /* when M changed last; 0: never */
        double since_s; /* M has changed, and nothing is concluded from B since; 0: it is */
    } plug;
    bool rested;  /* at rest at least once since it was first seen, or set by us */
    bool moving;  /* from from_bytes to set_bytes */
    bool unsure;  /* the order of set_bytes failed: the guest may not have received it */
    bool stalled; /* its current size is to become its target */
    /* its current size became its target a moment ago: a late movement is the end of that move */
    bool quiet;
    bool proving; /* it has shrunk to set_bytes; resident memory has yet to confirm it */
    uint64_t set_bytes, from_bytes;
    uint64_t mark_bytes; /* its size at progress_at_s */
    double issued_at_s, progress_at_s, settled_at_s;
    uint64_t rest_bytes; /* its size since rest_since_s, within still_bytes */
    double rest_since_s;
    struct {
        uint64_t used_bytes; /* from the last one made with the balloon at rest; 0: none */
        /* what it showed as available, and the guest's size when it first did */
        uint64_t available_bytes, actual_bytes;
        bool frozen; /* the balloon has taken memory since, and that did not change */
    } report;
    unsigned n_stalls; /* stalls in a row */
    bool has_driver;   /* its balloon has moved to a target of ours, or as far as it could */
    enum balloon_trouble trouble;
    struct {
        double until_s;          /* end of TROUBLE_FOREIGN */
        bool raised;             /* we ordered growth since its last move */
        double hold_s;           /* no panic is served before this */
        struct balloon_row took; /* what it was given did not stay */
        struct balloon_row back; /* what was taken from it did not stay, or did not come */
        struct {
            uint64_t before_bytes; /* 0: we had set none */
            uint64_t limit_bytes;  /* 0: nothing is lost */
            uint64_t set_bytes;
            double until_s;
        } lost; /* of a balloon that rose above what the guest had: as before if it comes back */
    } rival;    /* another program that moves the balloon */
    uint64_t pending_bytes; /* given and not touched yet */
};

/** Takes in the guest's current size; call for every guest at each decision. */
void balloon_observe(struct balloon_state *state, const struct balloon_policy *policy,
                     const struct decide_input *input, double now_s);

/** Sets used_bytes in the input, and whether its statistics are too old; what a frozen report shows
 * as available is not known. Call after balloon_observe(). */
void balloon_date(struct balloon_state *state, const struct balloon_policy *policy,
                  struct decide_input *input, double now_s);

/** Returns true if a record or a report of that age was made after @p then_s. One that seems to be
 * from later than now was made before the host's clock was set back. */
bool balloon_made_after(double age_s, double then_s, double now_s);

/** Takes over a balloon that an earlier controller has set; its size before that was @p
 * before_bytes. The balloon may still be moving. */
void balloon_adopt(struct balloon_state *state, const struct balloon_policy *policy,
                   const struct decide_input *input, uint64_t before_bytes, uint64_t set_bytes,
                   double now_s);

/** Notes that a target has been set; if it may only have been set, the caller also sets unsure. @p
 * input: the one passed to balloon_observe(). */
void balloon_issued(struct balloon_state *state, const struct decide_input *input,
                    uint64_t target_bytes, double now_s);

/** Returns the size to restore in the end. A balloon that was not yet seen at rest may be moving up
 * to more than it has: then this is all that is assigned. */
uint64_t balloon_before(const struct balloon_state *state, const struct decide_input *input);

/** Returns the most that the guest may be given: what it had at the start, or @p allowed_bytes if
 * that is more. Of a balloon that has not been seen at rest it is what the guest has: five seconds
 * later more is known. */
uint64_t balloon_limit(const struct balloon_state *state, const struct decide_input *input,
                       uint64_t allowed_bytes);

/** Returns its size, or the size that it will have once it has moved up. */
uint64_t balloon_given(const struct balloon_state *state, const struct decide_input *input);

/** Another program takes back what panics are given: they are not served for now. */
static inline bool balloon_is_contested(const struct balloon_state *state, double now_s)
{
    return state->trouble == TROUBLE_FOREIGN && now_s < state->rival.hold_s;
}

/** Memory was plugged or unplugged, and the balloon's size is not known to follow yet. */
static inline bool balloon_is_plugging(const struct balloon_state *state)
{
    return state->plug.since_s > 0;
}

/** Shifts all sizes of the state by a change of M to @p assigned_bytes, whether B has followed or
 * not. */
void balloon_shift(struct balloon_state *state, uint64_t assigned_bytes);

/** Shifts by a change of M a size that was noted with the balloon at @p set_bytes and M at @p
 * from_bytes, if B has followed; unchanged if not, or if from_bytes is 0: not known. */
uint64_t balloon_shifted(uint64_t bytes, uint64_t set_bytes, uint64_t from_bytes,
                         const struct decide_input *input);

/** The balloon may be moving, or its order may not have arrived: the order is repeated if it is
 * needed. */
static inline bool balloon_is_unsure(const struct balloon_state *state)
{
    return state->moving && state->unsure;
}

/** There is no driver, or the host gets nothing back: no further targets are set. */
static inline bool balloon_is_inhibited(const struct balloon_state *state)
{
    return state->trouble == TROUBLE_NO_DRIVER || state->trouble == TROUBLE_NO_RETURN;
}
