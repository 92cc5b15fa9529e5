// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file sentinels.h  Detects that another process clears or sets accessed bits of guest RAM. For
 * methods that count by smaps, which sees the accessed bits of QEMU's page tables and PG_referenced
 * alike.
 *
 * Theory of operation. The guest's own accesses set the accessed bit of QEMU's page table only. A
 * read through the kernel (process_vm_readv(2), ptrace, /proc/PID/mem) sets PG_referenced of the
 * page (kernel/touch_pages.h), which /proc/kpageflags shows. Everything that clears accessed bits -
 * clear_refs, MADV_COLD, reclaim - also clears PG_referenced.
 *
 * Taken bits: once all pages are marked, up to SENTINELS random pages are read here, which sets
 * their flag. A sentinel without its flag at the reading shows that bits were taken. Before smaps
 * is read, each sentinel is read once more: on an inactive page that clears the flag again, so the
 * sentinels do not count as touched. With MGLRU, or on an active or locked page, nothing clears the
 * flag: if only such pages exist, SENTINELS_KEPT of them are used, which stay until the next
 * marking and are in the upper bound only. The pages are active afterwards; the next MADV_COLD
 * undoes that. With MGLRU a read does not set the flag of a locked page (mm/swap.c,
 * lru_gen_inc_refs()).
 *
 * Reads: pages that have the flag, though this process did not set it, were read by others,
 * including QEMU for O_DIRECT.
 *
 * Neither can be detected on huge pages that are mapped as such: a read sets their accessed bit.
 * The lower bound counts one base page of each (measure/estimate/least.h); taken bits of huge pages
 * show by counts within the window (referenced_count_between()).
 *
 * Pairs of neighbours: the panels of a method that unmaps pages take each other's sentinels, but
 * never two of the pages that one fault maps. If both pages of a pair are taken, others unmapped
 * them. Pairs are planted again where they were: if other pages were drawn instead, few sentinels
 * would be left in a part of RAM that another process unmaps again and again, and 5 of 25 such
 * events went unseen.
 *
 * After a kill the flags of the sentinels stay, as after any read.
 */
#pragma once

#include "measure/method/ram_frames.h"

#define SENTINELS 64
#define SENTINELS_FEWEST 16 /* the least number in pairs of a small set of pages */
#define SENTINELS_MOST 128  /* the number if they are pairs: twice SENTINELS */

struct sentinels {
    const struct target *target;
    struct ram_frames frames;
    bool works;   /* false: no sentinels are planted */
    size_t pairs; /* pairs of neighbours, so many at most; 0: single pages */
    bool large;   /* some are in large folios, which one fault may map at once */
    size_t turn;  /* which pairs the next renewal checks for their place */
    size_t n;
    struct ram_frame at[SENTINELS_MOST];
};

/** Opens the files. Without privileges, or below a root that is not live, no sentinels will be
 * planted. */
void sentinels_open(const struct target *target, struct sentinels *sentinels);
/** No sentinels will be planted. */
void sentinels_none(struct sentinels *sentinels);
/** Call it when all pages are marked. */
void sentinels_begin(struct sentinels *sentinels);
/** For a method that does not count by flags: sentinels stay where they are. */
void sentinels_renew(struct sentinels *sentinels);
/** Plants sentinels after they were taken back, for the next reading. */
void sentinels_plant(struct sentinels *sentinels);

struct sentinels_seen {
    bool taken; /* bits were taken since they were planted */
    /* this share of the sentinels was read once more by others, or unmapped by MADV_PAGEOUT and
     * mapped again, which looks the same */
    double activated;
    uint64_t kept_bytes; /* bytes that still read referenced because of the sentinels */
};

/** Bytes that read referenced because of the sentinels. */
uint64_t sentinels_bytes(const struct sentinels *sentinels);

/** Takes the sentinels back. */
void sentinels_take(struct sentinels *sentinels, struct sentinels_seen *seen);

/** For a method that does not count by flags, where sentinels may stay: the share of them that is
 * mapped and has lost its flag, and that has become active if @p activated, else has not. A second
 * read, and MADV_PAGEOUT of a page that comes back, activate it; MADV_COLD and clear_refs do
 * not. */
double sentinels_lost(const struct sentinels *sentinels, bool activated);
/** For pairs: returns true if others unmapped both pages of a pair and they were mapped again, or
 * if others read both once more. */
bool sentinels_lost_pair(const struct sentinels *sentinels);
bool sentinels_hold(const struct sentinels *sentinels, uint64_t page);

/** Bytes of guest RAM that have the flag now, in present base pages for which @p counts returns
 * true: of all of guest RAM if a sample has any such page, else 0. @p anonymous: the page is not
 * one of a file or of shared memory. */
uint64_t sentinels_flagged_bytes(const struct sentinels *sentinels,
                                 bool (*counts)(const void *context, uint64_t page, bool anonymous),
                                 const void *context);

/** Takes back the planted sentinels, as far as that is possible. */
void sentinels_end(struct sentinels *sentinels);
void sentinels_close(struct sentinels *sentinels);
