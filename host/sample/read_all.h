// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file read_all.h  Has QEMU itself read all of guest RAM?
 *
 * A dump, a snapshot, a save: most have a thread with a name of its own (qemu_process_jobs()), but
 * one may be over between two looks, and savevm and a dump that is not detached run in QEMU's main
 * thread. What no such job can hide are two things together: every page reads touched, and QEMU's
 * threads that are no vCPUs used the CPU time that reading takes. Either alone says nothing: a
 * guest may touch all of its memory, and a disk may keep QEMU busy.
 */
#pragma once

#include "sample/tally.h"
#include "sample/target.h"

/** CPU time of QEMU's threads that are no vCPUs, looked at now and then; nothing where it is not
 * known. */
struct own_time {
    uint64_t begun_ns;    /* CPU time, and ... */
    uint64_t begun_at_ns; /* ... clock_ns(), at the begin */
    uint64_t looked_ns;   /* likewise at the last look */
    uint64_t looked_at_ns;
    unsigned periods;  /* between two looks */
    double least_rate; /* of the calmest of them: what QEMU uses anyhow */
};

void own_time_begin(struct own_time *own, const struct target *target);
void own_time_look(struct own_time *own, const struct target *target);

/** CPU time from the begin to the last look that is more than what QEMU uses anyhow. */
uint64_t own_time_excess_ns(const struct own_time *own);

/** Which share of the base pages measured was touched; 0 where they are too few to tell, or pages
 * are larger. */
double read_all_share(const struct tally *tally);

/**
 * @param before  the share of the period before, which shows what the guest does; 0: not known
 * @param own_ns  CPU time within the period
 * @param bytes   that are resident
 */
bool read_all_likely(double before, double share, uint64_t own_ns, uint64_t bytes);
