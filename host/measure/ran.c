// SPDX-License-Identifier: LGPL-2.1-or-later
#include "measure/ran.h"

#include "guest/domain/qemu_vcpus.h"
#include "measure/kernel/kvm_stats.h"

/* A vCPU that ran this long in a window touched some page; a census that saw no touch was blind. */
#define RAN_NS 20000000ULL

/* Whether the vCPUs ran evenly is not judged for shorter times, in which scheduler ticks matter too
 * much. */
#define EVEN_NS 100000000ULL

/* Returns true if the guest ran mostly while pages were marked and read, and hardly in between: no
 * reading shows touches before a page was marked. */
static bool ran_at_edges(const struct ran *inner, const struct ran *edges)
{
    return inner->time_ns >= EVEN_NS && edges->vcpu_ns > inner->vcpu_ns &&
           2.0 * (double)inner->vcpu_ns / (double)inner->time_ns <
               (double)edges->vcpu_ns / (double)edges->time_ns;
}

/* If the host took the bits, or moved most pages, a method that sees nothing need not be blind. */
static bool saw_nothing(const struct tally *tally)
{
    return tally->census && tally->touched_bytes == 0 && tally->missed_bytes == 0 &&
           tally->unmeasurable_bytes <= tally->resident_bytes / 2 &&
           !(tally->doubts & (DOUBT_AGEING | DOUBT_BITS_TAKEN));
}

/* Doubts that follow from a reading in which a guest that ran touched nothing. A vCPU of KVM's that
 * runs at least fetches its code from guest RAM. One of TCG's runs a translation of it, in QEMU's
 * own memory, and need not touch guest RAM at all: such a guest spins. A guest need not write, but
 * if KVM has resolved no fault since the marking, it did not drop its mappings. */
static void doubt_blind(const struct target *target, const struct method *method,
                        uint64_t kvm_faults, struct tally *tally)
{
    if (target->process->accel == ACCEL_TCG)
        tally_doubt(tally, method_sees_writes(method) ? 0 : DOUBT_IDLE, 0);
    else if (!method_sees_writes(method) || kvm_faults_fixed(target) == kvm_faults)
        tally_doubt(tally, DOUBT_BLIND, HIDDEN_ANY);
}

/* Returns true if the guest did something that a reading could show. */
static bool ran_long(const struct ran *inner, const struct ran *edges)
{
    const bool is_short = inner->time_ns < EVEN_NS;

    return (is_short ? inner->vcpu_ns + edges->vcpu_ns : inner->vcpu_ns) > RAN_NS;
}

void ran_doubt_idle(const struct method *method, double vcpu_s, double time_s, struct tally *tally)
{
    if (!vcpus_hardly_ran(vcpu_s, time_s))
        return;
    tally_doubt(tally, DOUBT_IDLE, vcpu_s > 0 || method_sees_writes(method) ? 0 : HIDDEN_ANY);
    if (vcpu_s == 0 && method->sees_qemu)
        tally->younger_units = HIDDEN_ANY;
}

static void doubt_vcpus(const struct method *method, const struct ran *inner,
                        const struct ran *edges, struct tally *tally)
{
    if (ran_at_edges(inner, edges))
        tally_doubt(tally, DOUBT_IDLE, HIDDEN_ANY);
    else
        ran_doubt_idle(method, (double)inner->vcpu_ns / 1e9, (double)inner->time_ns / 1e9, tally);
}

void ran_doubt(const struct target *target, const struct method *method, uint64_t kvm_faults,
               const struct ran_window *ran, struct tally *tally)
{
    /* A guest that did not run for long may indeed have touched nothing. Then the number is right,
     * but says little about what the guest needs. */
    if (saw_nothing(tally) && ran_long(&ran->inner, &ran->edges))
        doubt_blind(target, method, kvm_faults, tally);
    else if (saw_nothing(tally) && !method_sees_writes(method))
        tally_doubt(tally, DOUBT_IDLE, 0);
    doubt_vcpus(method, &ran->inner, &ran->edges, tally);
}
