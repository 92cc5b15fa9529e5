// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file control.h  The control law of the host: memory given to and requested from all guests, as
 * pure functions over plain structs. No clock, no libvirt, no allocation.
 *
 * Theory of operation. decide/advice/ computes for each guest alone how much memory it should have.
 * Here the host's free memory limits what can be given, and its shortage determines which guests
 * are asked to give:
 *
 *   donors      No guest while the host is ample, unless proactive. Otherwise those with the lowest
 *               rho first (idle memory tax: Waldspurger, OSDI 2002, section 5.1), as much as is
 *               missing: up to the level's end, the room that was requested, or the waiting
 *               growth. Memory that deflating guests will return counts as free.
 *   pace        decide_step(): three decisions and ten minutes, then at most 5 %, 256 MiB and half
 *               of what is available to the guest, each time. Not within an hour of its growth,
 *               unless less than the level soft is free. While less than hard is free, or growth
 *               waited in the last decision, twenty seconds replace the ten minutes (for guests
 *               known for ten minutes), and the hour does not apply.
 *   growth      At once and all of it, but never from the last free memory: the sum of all that is
 *               given now, or was given and is not touched yet, leaves the threshold hard free.
 *               Growth that does not fit waits until free memory shows that the donors' resident
 *               memory has fallen: growth in two phases. Panics first, then the highest rho.
 *               A panic may take what was given to others and is not touched yet, up to a
 *               quarter of its working reserve a decision, as long as low stays free if they do
 *               touch it: otherwise its OOM killer runs while memory is free that another guest
 *               may never use.
 *               Guests that touch memory which they had all the time can take the host below hard;
 *               leaving more than hard free would cost more (tests/bench/results/balloons.md).
 *   give back   While the host is ample, what guests had comes back in steps: giving_back.h.
 *   trust       The host's own measurements (the working set) and the reservation may take free
 *               memory down to hard. Claims of the guest alone (its statistics, its pressure) may
 *               do so up to the guest's share of the memory that guests can have; beyond it only
 *               what is free above 1.25 times high, and nothing while the host is short. So a guest
 *               that lies cannot cause others to be asked. Statistics that contradict the host's
 *               numbers give a guest no more than it had before our first target.
 *   reclaim     If it is on: the part of the missing memory that balloons did not give is requested
 *               from the control groups of guests whose balloons had nothing to give, or do not
 *               work, lowest rho first (reclaim.h). Never from a guest whose balloon is used in
 *               this decision.
 *   virtio-mem  For a guest with such a device that may be used, its requested size is set first,
 *               in whole blocks, and the balloon provides the rest (actuators.h). All of the above
 *               applies to the sum of both: progress, inhibition, the restored size.
 *   never       below the decision's target, its floor and the reservation; above M, and above what
 *               the guest had at the start if its owner does not allow that; a guest that
 *               is excluded, inhibited or moved by another program (balloon_state.h).
 *
 * The caller decides every ten seconds, and at once when a guest panics. It sets what is ordered,
 * and reports that by balloon_issued(); a dry run does not, and the next decision starts from the
 * same state.
 */
#pragma once

#include "decide/control/control_model.h"

/** Sets the defaults: lazy. */
void control_policy_init(struct control_policy *policy);

/** Makes one decision for the whole host. Sets the fields marked out, and advances the states. */
void control_run(const struct control_policy *policy, struct control_host *host,
                 struct control_guest *guests, size_t n);

/** Takes in the sizes of balloons that move, between two decisions: otherwise one that another
 * program sets back at once looks as if it had stopped. Their inputs are of now. */
void control_watch(const struct control_policy *policy, struct control_guest *guests, size_t n,
                   double now_s);

/** Sizes that guests are left with when the controller ends. */
enum control_restore { RESTORE_BEFORE, RESTORE_MAX, RESTORE_HOLD };

/** Orders the final sizes of the balloons whose target we have set, within the host's free memory;
 * call after control_run(). Lowers no balloon: a guest that was given more keeps it. */
void control_restore(const struct control_host *host, enum control_restore restore,
                     struct control_guest *guests, size_t n);
