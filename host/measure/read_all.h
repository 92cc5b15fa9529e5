// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file read_all.h  Detects that QEMU itself has read all of guest RAM.
 *
 * Dumps, snapshots and saves read all RAM. Most have a thread with a name of its own
 * (qemu_process_jobs()), but a job may be over between two samples, and savevm and a dump that is
 * not detached run in QEMU's main thread. Every such job shows two signs together: every page reads
 * touched, and QEMU's threads other than vCPUs used the CPU time that reading takes. Either sign
 * alone proves nothing: a guest may touch all of its memory, and a disk may keep QEMU busy.
 *
 * A job that began before the window, or goes on after it, shows only in part, and one touch of a
 * huge page makes all of it touched. But QEMU stops the vCPUs while it writes a dump or a snapshot
 * (dump_init(), save_snapshot()): touches while no vCPU runs and QEMU works are QEMU's own. Under
 * TCG, stopped vCPUs cannot be distinguished from halted ones, and QEMU may work for a monitor or a
 * screen. So its work must also look like reading RAM, see own_work_reads_ram(), or like loading a
 * snapshot: a guest that waits for its disk runs again after a few requests.
 */
#pragma once

#include "guest/domain/qemu_io.h"
#include "guest/domain/qemu_vcpus.h"
#include "guest/ram/target.h"
#include "measure/tally.h"

/** CPU time of QEMU's threads other than vCPUs, sampled repeatedly; all zero if it is not known. */
struct own_time {
    uint64_t begun_ns;    /* CPU time, and ... */
    uint64_t begun_at_ns; /* ... clock_ns(), at the begin */
    uint64_t sampled_ns;  /* CPU time at the last sample */
    uint64_t sampled_at_ns;
    unsigned periods;  /* number of periods between two samples */
    double least_rate; /* rate of the calmest period, as QEMU's usual consumption */
    struct own_step {
        uint64_t at_ns;
        uint64_t own_ns, vcpu_ns; /* 0: a vCPU runs, or the vCPUs are not known */
        struct qemu_transfers transfers;
    } step;                /* state at the last own_time_step() */
    uint64_t loaded_bytes; /* read by QEMU in the last steps, since a vCPU ran */
    uint64_t alone_ns;     /* CPU time of steps in which no vCPU ran, and QEMU may have read RAM */
    uint64_t entering_bytes;   /* read by QEMU in the last step if the vCPUs stopped in it */
    bool loads;                /* in the last step, no vCPU ran, and QEMU read and worked */
    uint64_t loaded_ram_bytes; /* the most RAM that QEMU can have loaded in all such steps */
    struct own_scan {
        uint64_t read_bytes;   /* read by QEMU since the last scan; 0: already judged */
        struct own_step began; /* state when this scan began */
        bool loaded;           /* QEMU was loading at the end of the last scan */
    } scan;
};

/** QEMU's work during a time in which no vCPU ran. */
struct own_work {
    uint64_t cpu_ns;
    struct qemu_transfers transfers;
};

/** Returns true if the work looks like that of a dump or a snapshot, which write large pieces, or
 * like loading one. A constantly queried monitor writes small pieces: a line at most, and eventfds.
 */
bool own_work_reads_ram(const struct own_work *work);

void own_time_begin(struct own_time *own, const struct target *target);
void own_time_sample(struct own_time *own, const struct target *target);

/** As own_time_step(), for a state that was read. @p tells_jobs: bytes written tell whether QEMU
 * reads RAM, because stopped vCPUs may be halted ones. */
void own_time_add(struct own_time *own, const struct own_step *now, bool tells_jobs);

/** Call it between samples: notes the work that QEMU did since the last step while no vCPU ran. */
void own_time_step(struct own_time *own, const struct target *target);

/**
 * As own_time_step(), once in each period instead of several times, before the pages are read. Call
 * own_time_judge_scan() when they are.
 */
void own_time_scan(struct own_time *own, const struct target *target);
/** As own_time_add(). */
void own_time_add_scan(struct own_time *own, const struct own_step *now, bool tells_jobs);

/**
 * Decides whether the bytes that a TCG guest's QEMU has read since the last scan may be a snapshot;
 * else they are the guest's disk's. A snapshot loaded between two scans touches every page. One
 * that is being loaded at a scan stops the vCPUs, and QEMU keeps reading.
 * @param share  the share of the pages touched since the last scan; 0: not known
 * @param bytes  guest RAM
 */
void own_time_judge_scan(struct own_time *own, double share, uint64_t bytes);

/** As own_time_step(), after the pages were read. If the vCPUs have stopped meanwhile, there is no
 * later step that would show whether QEMU works: what it has read counts. */
void own_time_end(struct own_time *own, const struct target *target);

/** The most base pages that QEMU can have loaded from a snapshot while no vCPU ran. */
uint64_t own_time_loaded_units(const struct own_time *own);

/** CPU time from the begin to the last sample in excess of QEMU's usual consumption. */
uint64_t own_time_excess_ns(const struct own_time *own);

/** The part of @p now_bytes, resident now, that is new since @p before_bytes were resident. */
double read_all_grown(double before_bytes, double now_bytes);

/**
 * The touched share of the measured units that were resident before; 0 if there are too few.
 *
 * @param grown  read_all_grown(): new memory reads touched, also if the guest took it. In a guest
 *               that was nearly empty and boots, it is nearly all of the memory.
 */
double read_all_share(const struct tally *tally, double grown);

/** Returns true if a share is meaningful without an earlier share for comparison. False for huge
 * pages. */
bool read_all_tells_alone(const struct tally *tally);

/** Returns true if QEMU touched the touched pages, because no vCPU ran while QEMU used @p own_ns of
 * CPU time. */
bool read_without_guest(const struct tally *tally, uint64_t own_ns);

/**
 * @param before  the share of the previous period, which shows the guest's own activity; 0: not
 *                known
 * @param own_ns  CPU time within the period
 * @param bytes   resident bytes
 */
bool read_all_likely(double before, double share, uint64_t own_ns, uint64_t bytes);
