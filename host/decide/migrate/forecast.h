// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file forecast.h  Foretells a live migration by QEMU: whether it converges, how long it takes,
 * and how long the guest stands still.
 *
 * Theory of operation. Pre-copy sends all of RAM, then, in rounds, what was written meanwhile
 * (C. Clark et al., Live Migration of Virtual Machines, NSDI 2005). What QEMU does, from 2.5 on
 * (migration/migration.c, migration_iteration_run(); migration/ram.c, ram_state_pending_exact()):
 * - It sends at most bandwidth / 10 in each 100 ms, and sleeps for the rest of them.
 * - When less is left than threshold = the speed of the last 100 ms * allowed downtime, it asks for
 *   the pages written since it last asked, which are added to what is left: a round. If that is
 *   still less than the threshold, the guest is stopped and the rest is sent, otherwise it goes on.
 *   So a round begins with pages of the round before, which may have been written again.
 * - The rest is sent without a limit of bandwidth, at the speed of the connection, and with it the
 *   state of the devices.
 * - A page costs 4096 + 8 bytes, one that is zero 9 bytes, but both sides have to read it.
 * - With KVM pages are protected in pieces of 1 GiB when the first page of the piece is sent, so
 *   that of a guest of n GiB a round sees the writes of (n + 1) / 2n of its time.
 *
 * The forecast goes through these rounds with the guest's write curve, three times: with the
 * numbers, and with the bounds of all of them that are best and worst for the migration. Pure
 * functions.
 */
#pragma once

#include "measure/estimate/dirty.h"

#include <stdbool.h>

/** The page of QEMU's stream, whatever the host's is: TARGET_PAGE_SIZE of x86-64 and arm64. */
#define MIGRATE_PAGE_BYTES 4096.0
/** QEMU's own default of max-bandwidth; libvirt's is no limit. */
#define MIGRATE_BANDWIDTH_DEFAULT (128U << 20)
#define MIGRATE_DOWNTIME_DEFAULT_S 0.3
/** The longest downtime that QEMU allows. */
#define MIGRATE_DOWNTIME_MAX_S 2000

/** A number with its bounds; NAN: not known, or there is none. */
struct migrate_range {
    double value, low, high;
};

/** The guest's memory. */
struct migrate_memory {
    double ram_bytes;
    /* Pages that hold something; all others are zero, or absent and read as zero. See
     * migrate_filled(). */
    struct migrate_range filled_bytes;
    double wss_bytes; /* what it works on, for post-copy; NAN: not known */
    const struct write_curve *writes;
    /* NULL, or of several markings the least that one of them saw: QEMU goes on until a round falls
     * into a quiet time. */
    const struct write_curve *quiet;
};

/** Parameters of auto-converge, which slows a guest down: shares of its CPU time. */
struct migrate_throttle {
    double first, step, most;
    double trigger; /* it begins when the guest writes more than this share of what is sent */
};

/** QEMU's own: cpu-throttle-initial, -increment, max-cpu-throttle, throttle-trigger-threshold. */
#define MIGRATE_THROTTLE_DEFAULT \
    {                            \
        0.2, 0.1, 0.99, 0.5      \
    }

/** A migration may do more than is foretold, which opens a bound of the forecast. */
enum migrate_unforetold {
    MIGRATE_SENDS_LESS_MEMORY = 1 << 0, /* than guest RAM holds */
    MIGRATE_SENDS_LESS_WRITES = 1 << 1, /* than the guest writes */
    MIGRATE_TAKES_LONGER = 1 << 2,      /* by more than any bound */
};

/** The way to the other host, and what is allowed there. */
struct migrate_path {
    struct migrate_range bandwidth_bytes_s; /* the limit of the rounds */
    struct migrate_range link_bytes_s;      /* the connection without that limit */
    double switchover_bytes_s;     /* QEMU's avail-switchover-bandwidth; 0: the speed it measured */
    double downtime_s;             /* allowed */
    struct migrate_range device_s; /* standstill for all but RAM */
    struct migrate_range zero_page_s; /* time to find a page of zeroes on either side */
    bool tracks_pieces;               /* KVM: see above */
    bool auto_converge;               /* QEMU slows the guest down until it converges */
    struct migrate_throttle throttle; /* and how */
    unsigned unforetold;              /* enum migrate_unforetold */
};

enum migrate_verdict {
    MIGRATE_CONVERGES,
    MIGRATE_MAY_CONVERGE, /* by some of the bounds it does, by others it does not */
    MIGRATE_DIVERGES,
};

/** A round: what was sent until the pages written meanwhile were asked for. */
struct migrate_round {
    double begin_s, seconds;
    double sent_bytes; /* on the wire */
    double left_bytes; /* of guest RAM, with what was written meanwhile */
};

/** Rounds that a forecast keeps; later ones are only counted. */
#define MIGRATE_ROUNDS_KEPT 12

struct migrate_forecast {
    enum migrate_verdict verdict;
    struct migrate_range total_s;    /* including the downtime; .value NAN: it does not converge */
    struct migrate_range downtime_s; /* .value NAN: as above */
    struct migrate_range sent_bytes; /* on the wire */
    unsigned n_rounds;               /* until it converges, or until nothing changes any more */
    struct migrate_round rounds[MIGRATE_ROUNDS_KEPT];
    double throttle; /* with auto-converge: the share of time that the guest loses in the end */
    /* The least that converge with the other number as given. NAN: none does. */
    struct migrate_range enough_bandwidth_bytes_s;
    struct migrate_range enough_downtime_s;
    /* Post-copy after the first round: what comes later, and the time until the guest has all that
     * it works on. */
    struct migrate_range postcopy_bytes, postcopy_s;
};

/** SeaBIOS 1.16 and QEMU's loader leave so many pages of 4 KiB resident that hold only zeroes, in a
 * PC of any size; 180 of them are below 1 MiB. */
#define MIGRATE_FIRMWARE_ZEROES 218
/** The share of such pages in the rest: none in a guest that has filled all of it, 0.12 to 0.14 in
 * Linux 6.12 shortly after its boot (idle, redis, compile; 136 MiB resident of 256). */
#define MIGRATE_ZEROES_SHARE 0.06
#define MIGRATE_ZEROES_SHARE_MOST 0.2
/** With huge pages 0.16 to 0.19; one that was touched once is resident as a whole. */
#define MIGRATE_HUGE_ZEROES_SHARE_MOST 0.33

/** Returns how much may be left when QEMU stops the guest: what it could send within the downtime.
 */
double migrate_threshold_bytes(const struct migrate_path *path);

/** Where a larger share of RAM is resident, that may be due to QEMU or the guest's kernel. */
#define MIGRATE_RESIDENT_MOST 0.95

/** Returns how much of guest RAM is not zero, where @p resident_bytes are resident. Some of those
 * pages hold only zeroes, and vmwss never reads pages. The estimate subtracts what firmware leaves;
 * the upper bound is all that is resident, or, with FLAG_SWAP, all of RAM. The lower bound also
 * subtracts the largest share of zero pages seen in guests or, if the guest itself @p arrived by a
 * migration or has nearly all of its RAM resident (preallocated, locked, or zeroed by its kernel),
 * all that it did not write. */
struct migrate_range migrate_filled(double ram_bytes, double resident_bytes,
                                    const struct write_curve *writes, bool arrived);

/** @p memory->writes has at least one window. */
void migrate_foretell(const struct migrate_memory *memory, const struct migrate_path *path,
                      struct migrate_forecast *forecast);

/** The same without what would be enough, post-copy, and the bounds that depend on where a slice
 * ends: enough to compare many forecasts, with a hundredth of the work. */
void migrate_judge(const struct migrate_memory *memory, const struct migrate_path *path,
                   struct migrate_forecast *forecast);

/** Returns true if that share of RAM is resident. */
bool migrate_is_populated(double ram_bytes, double resident_bytes);

/** "converges", "may-converge", "diverges" */
const char *migrate_verdict_name(enum migrate_verdict verdict);
