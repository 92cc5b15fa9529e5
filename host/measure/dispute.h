// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file dispute.h  Compares a witness with the accessed bits, and derives bounds from both. Pure
 * functions.
 *
 * An accessed bit says that the page was touched; a KVM fault after its mapping was dropped says
 * that a vCPU touched it (measure/witness.h). The witness watches some of the pages that the method
 * measures, so the two are compared page by page. A page whose bit is set, but which did not fault,
 * was not touched by a vCPU; a page that faulted, but reads idle, had its bit taken. Without
 * disturbance there are hardly any such pages, so a few pairs suffice to show a small disturbance,
 * for which two separate estimates would need many pages.
 *
 * Devices are an exception: data that QEMU reads from a disk into guest RAM belongs to the guest,
 * although perhaps no vCPU touched it. So the number of pages that QEMU's own reads and writes can
 * explain does not count as a dispute. The bounds still cover both interpretations.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/** The findings of one period, in observations: several pages in one huge page are one. */
struct witness_count {
    float n;      /* number of compared observations; 0: the witness has no result */
    float both;   /* touched according to both */
    float others; /* touched by the accessed bit only */
    float missed; /* touched by the fault only */
    /* touched before the mapping was dropped, but by no vCPU afterwards: by a vCPU, or by another
     * program. So these are no evidence of another program */
    float early;
    /* expected share of n in others without disturbance: touches by devices, and touches between
     * marking and dropping, which only the bit shows */
    float noise;
    /* of n: untouched according to both, but faults were lost, for example because another program
     * dropped all of KVM's mappings, so a vCPU may have touched them */
    float unseen;
    /* the memory that the watched pages were drawn from, when they were: less than what is resident
     * at the end if memory has come since; 0: not known, all of it */
    uint64_t watched_bytes;
};

/** The sum of the periods of one window. All zeros: there was no witness. */
struct dispute {
    double periods;
    double n, others, missed;
    double unseen;      /* pages that count as missed where others take accessed bits */
    double least;       /* lower bound of the share that vCPUs touched in one period ... */
    uint64_t of_bytes;  /* ... of the least memory watched in any period; 0: of all */
    double others_high; /* sum of the periods' upper bounds of the share touched by others */
    bool disputed;      /* in one of the periods the two differ beyond chance */
};

/** The part of @p all_bytes, resident at the end, that came after the pages were drawn: others may
 * have touched all of it. */
uint64_t dispute_unwatched_bytes(const struct dispute *dispute, uint64_t all_bytes);

/** Lower bound of the bytes that vCPUs touched, of @p all_bytes that are resident at the end. */
uint64_t dispute_least_bytes(const struct dispute *dispute, uint64_t all_bytes);

/** Returns true if the two differ by more than chance and noise explain. */
bool witness_disputes(const struct witness_count *count);

/**
 * Compares the share of the watched pages that faulted with the method's share of all pages. KVM's
 * fault clears the idle flag of a page, so a watched page does not lose its touch as others do if
 * another program drops KVM's mappings, with the accessed bits in them (from Linux 6.13 on).
 * @param share  the touched share of the pages that could be measured
 * @return true if the method's share is lower than chance allows; then @p count has the difference
 * in missed
 */
bool witness_misses_share(struct witness_count *count, double share);

/** Adds a period. A period without observations adds nothing. @p disputed: whether the period is
 * disputed. */
void dispute_add(struct dispute *dispute, const struct witness_count *count, bool disputed);

/**
 * The share of the population to add to the bounds for others' touches, and for touches that the
 * accessed bits do not show; 0 if no such touch was seen. Only disputed periods are added up. In
 * others, the few pages that differ are the same in all periods (device rings, firmware leftovers):
 * adding up one of 64 in two of ten ticks would lower the bound by 11 % of resident memory.
 */
double dispute_surplus(const struct dispute *dispute);
double dispute_missing(const struct dispute *dispute);

/** Upper bound of the share of others' touches and of touches that the accessed bits do not show.
 * It holds also if no such touch was seen, and for any dependence between the periods. */
double dispute_others_high(const struct dispute *dispute);
double dispute_missed_high(const struct dispute *dispute);

/** P(X >= k) of a binomial variable. */
double binomial_tail(double n, double p, double k);
