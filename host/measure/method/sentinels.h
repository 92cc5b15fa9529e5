// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file sentinels.h  Does another process clear accessed bits of guest RAM, or set them? For
 * methods that count by smaps, which sees the accessed bits of QEMU's page tables and PG_referenced
 * alike.
 *
 * Theory of operation. The guest's own accesses set the accessed bit of QEMU's page table only. A
 * read through the kernel (process_vm_readv(2), ptrace, /proc/PID/mem) sets PG_referenced of the
 * page (kernel/touch_pages.h), which /proc/kpageflags shows, and whatever clears accessed bits -
 * clear_refs, MADV_COLD, reclaim - clears PG_referenced with them.
 *
 * Taken: once all is marked, up to SENTINELS random pages are read here, which sets their flag. One
 * without its flag at the reading says that bits were taken. Before smaps is read each is read
 * once more: on an inactive page that clears the flag again, so the sentinels do not count as
 * touched. With MGLRU, and of an active page, nothing clears it: where there are no others there
 * are SENTINELS_KEPT such, which stay until the next marking and are in the upper bound only. The
 * pages are active afterwards; the next MADV_COLD undoes that.
 *
 * Read: pages that have the flag, though we did not set it, were read by others, by QEMU for
 * O_DIRECT as well.
 *
 * Neither is known of huge pages that are mapped as such: a read sets their accessed bit. The lower
 * bound takes a base page of each (measure/estimate/least.h); that their bits were taken is not
 * seen.
 *
 * In pairs of neighbours: the panels of a method that unmaps pages take each other's sentinels, but
 * no two of the pages that one fault maps. A pair of which both are taken was unmapped by others.
 *
 * After a kill the flags of the sentinels stay, as after any read.
 */
#pragma once

#include "measure/method/ram_frames.h"

#define SENTINELS 64
#define SENTINELS_MOST 128 /* where they are pairs of SENTINELS */

struct sentinels {
    const struct target *target;
    struct ram_frames frames;
    bool works; /* else none are planted */
    bool pairs; /* each is followed by its neighbour */
    bool large; /* some are in large folios, which one fault may map at once */
    size_t n;
    struct ram_frame at[SENTINELS_MOST];
};

/** Without privileges, or below a root that is not live, there will be none. */
void sentinels_open(const struct target *target, struct sentinels *sentinels);
/** There will be none. */
void sentinels_none(struct sentinels *sentinels);
/** All is marked. */
void sentinels_begin(struct sentinels *sentinels);
/** For a method that does not count by flags: those that have theirs stay. */
void sentinels_renew(struct sentinels *sentinels);
/** After they were taken back, for the next reading. */
void sentinels_plant(struct sentinels *sentinels);

struct sentinels_seen {
    bool taken;          /* bits were taken since they were planted */
    double activated;    /* this share of the sentinels was read once more by others, or unmapped by
                               MADV_PAGEOUT and mapped again, which looks the same */
    uint64_t kept_bytes; /* so much still reads referenced because of them */
};

/** Takes them back. */
void sentinels_take(struct sentinels *sentinels, struct sentinels_seen *seen);

/** For a method that does not count by flags, where they may stay: this share of them is mapped and
 * has lost its flag, and has become active or not. A second read, and MADV_PAGEOUT of what comes
 * back, activate a page; MADV_COLD and clear_refs do not. */
double sentinels_lost(const struct sentinels *sentinels, bool activated);
/** In pairs: were both of one unmapped by others and mapped again, or read by them once more? */
bool sentinels_lost_pair(const struct sentinels *sentinels);
bool sentinels_hold(const struct sentinels *sentinels, uint64_t page);

/** How much of guest RAM has the flag now, in bytes of the present base pages that @p counts says
 * count: of all of it where a sample has any, else 0. */
uint64_t sentinels_flagged_bytes(const struct sentinels *sentinels,
                                 bool (*counts)(const void *context, uint64_t page),
                                 const void *context);

/** Takes back what is planted, as far as that can be. */
void sentinels_end(struct sentinels *sentinels);
void sentinels_close(struct sentinels *sentinels);
