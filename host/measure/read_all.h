// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file read_all.h  Has QEMU itself read all of guest RAM?
 *
 * A dump, a snapshot, a save: most have a thread with a name of its own (qemu_process_jobs()), but
 * one may be over between two samples, and savevm and a dump that is not detached run in QEMU's
 * main thread. What no such job can hide are two things together: every page reads touched, and
 * QEMU's threads that are no vCPUs used the CPU time that reading takes. Either alone says nothing:
 * a guest may touch all of its memory, and a disk may keep QEMU busy.
 *
 * Of a job that began before the window, or goes on after it, only a part shows, and one touch of a
 * huge page makes all of it touched. But QEMU stops the vCPUs while it writes a dump or a snapshot
 * (dump_init(), save_snapshot()): what is touched while they do not run, and QEMU works, is its own
 * doing. With TCG it cannot be distinguished whether QEMU stopped the vCPUs or they are halted, and
 * the work may be a monitor's or a screen's: there it must look like reading RAM, see
 * own_work_reads_ram().
 */
#pragma once

#include "guest/domain/qemu_vcpus.h"
#include "guest/ram/target.h"
#include "measure/tally.h"

/** CPU time of QEMU's threads that are no vCPUs, sampled now and then; nothing where it is not
 * known. */
struct own_time {
    uint64_t begun_ns;    /* CPU time, and ... */
    uint64_t begun_at_ns; /* ... clock_ns(), at the begin */
    uint64_t sampled_ns;  /* likewise at the last sample */
    uint64_t sampled_at_ns;
    unsigned periods;  /* between two samples */
    double least_rate; /* of the calmest of them: what QEMU uses anyhow */
    struct own_step {
        uint64_t at_ns;
        uint64_t own_ns, vcpu_ns;    /* 0: a vCPU runs, or they are not known */
        struct qemu_written written; /* likewise, of a TCG guest */
    } step;                          /* as of the last own_time_step() */
    uint64_t alone_ns; /* CPU time in steps in which no vCPU ran, and QEMU may have read RAM */
};

/** What QEMU did in a time in which no vCPU ran. */
struct own_work {
    uint64_t cpu_ns;
    struct qemu_written written;
};

/** Does work look like a dump's or a snapshot's, which write large pieces? A monitor that is asked
 * all the time writes small ones: a line at most, and eventfds. */
bool own_work_reads_ram(const struct own_work *work);

void own_time_begin(struct own_time *own, const struct target *target);
void own_time_sample(struct own_time *own, const struct target *target);

/** Likewise, more often: did QEMU work since the last time while it had all vCPUs stand still? */
void own_time_step(struct own_time *own, const struct target *target);

/** CPU time from the begin to the last sample that is more than what QEMU uses anyhow. */
uint64_t own_time_excess_ns(const struct own_time *own);

/** Which share of what was measured was touched; 0 where the units are too few to tell. */
double read_all_share(const struct tally *tally);

/** Does a share say something with none before to hold it against? Not of huge pages. */
bool read_all_tells_alone(const struct tally *tally);

/** Did QEMU touch what was touched, for no vCPU ran? @p own_ns of CPU time without. */
bool read_without_guest(const struct tally *tally, uint64_t own_ns);

/**
 * @param before  the share of the period before, which shows what the guest does; 0: not known
 * @param own_ns  CPU time within the period
 * @param bytes   that are resident
 */
bool read_all_likely(double before, double share, uint64_t own_ns, uint64_t bytes);
