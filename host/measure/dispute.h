// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file dispute.h  Does a witness agree with the accessed bits, and what do the two prove together?
 * Pure functions.
 *
 * An accessed bit says that anyone touched a page; a KVM fault after its mapping was dropped says
 * that a vCPU did (measure/witness.h). The witness watches some pages that the method measures too,
 * so the comparison is of pairs: a page that the bits call touched and that did not fault was
 * touched by somebody else; one that faulted and reads idle had its bit taken. Without disturbance
 * there is next to none of either kind, so a few pairs show a small disturbance, where two separate
 * estimates would need many pages.
 *
 * Devices are an exception: what QEMU reads from a disk into guest RAM belongs to the guest, though
 * no vCPU may have touched it. So as many pages as QEMU's own reads and writes may account for do
 * not count as a dispute. The bounds hold both readings nevertheless.
 */
#pragma once

#include <stdbool.h>

/** What one period showed, in observations: several pages of one huge page are one. */
struct witness_count {
    float n;      /* compared; 0: the witness has nothing to say */
    float both;   /* touched by both accounts */
    float others; /* of these only the accessed bit tells */
    float missed; /* of these only the fault tells */
    float early;  /* touched by anyone before they were dropped, and by no vCPU after: where others
                     are at work, by them. No evidence that they are */
    float noise;  /* share of n that may be others without disturbance: devices, and touches between
                     the marking and the dropping, of which only the bit tells */
};

/** The periods of one window. All zeros: there was no witness. */
struct dispute {
    double periods;
    double n, others, missed;
    double least;       /* a vCPU touched at least this share of the population, in one period */
    double others_high; /* others touched at most this share: the periods' bounds added up */
    bool disputed;      /* in one of them the two differ beyond chance */
};

/** Do the two differ by more than chance and noise explain? */
bool witness_disputes(const struct witness_count *count);

/** Adds a period. One without observations adds nothing. @p disputed: as it was judged. */
void dispute_add(struct dispute *dispute, const struct witness_count *count, bool disputed);

/**
 * So much of the population is to be added to the bounds for others' touches, and for touches that
 * the accessed bits do not show; 0 where none was seen. Periods add up where they are disputed.
 * Else the few pages that differ are the same ones in all of them, rings of devices and what
 * firmware left: one of 64 in two of ten ticks would take 11 % of what is resident off the bound.
 */
double dispute_surplus(const struct dispute *dispute);
double dispute_missing(const struct dispute *dispute);

/** Others' touches, and those that the accessed bits do not show: at most this share, also where
 * none was seen, and whatever the periods have to do with each other. */
double dispute_others_high(const struct dispute *dispute);
double dispute_missed_high(const struct dispute *dispute);

/** P(X >= k) of a binomial variable. */
double binomial_tail(double n, double p, double k);
