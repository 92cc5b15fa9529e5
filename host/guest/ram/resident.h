// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file resident.h  How much of guest RAM is mapped and resident now, without walking page tables
 * again.
 *
 * smaps gives the exact number but walks every page table under the mmap lock, so it is read once,
 * when the RAM is located. Afterwards /proc/PID/status shows the changes
 * (Documentation/filesystems/proc.rst): RssShmem for blocks that are whole shmem files, and for
 * other blocks the counters of the page kinds that their backing has. QEMU's own allocations of
 * these kinds may be larger than a guest's RAM; they are counted in its page tables whenever the
 * counters have moved, and left out (own_memory.h). The resident size of a block that is a whole
 * shmem file is that of its file, however much of it is mapped: a panel of the method pageout
 * unmaps pages that stay in memory. The file's size also limits what can be mapped.
 *
 * From Linux 6.2 to 6.16 the counters lack the pages that each CPU has not handed in yet (mm/percpu
 * counters, f1a7941243c1, until 82241a83cd15): up to max(32, 2 x CPUs) pages for each CPU, 1 MiB at
 * 8 CPUs, 128 MiB at 128. The error is this amount plus the movement of the counters since QEMU's
 * own memory was last counted.
 */
#pragma once

#include "guest/ram/guest_ram.h"
#include "guest/ram/own_memory.h"

struct resident_meter {
    uint64_t ram_bytes;
    const struct guest_ram *ram; /* borrowed */
    /* for each block: its file if the block is a whole file, else -1; NULL: no block is */
    int *file_fds;
    bool has_others; /* some blocks are not whole files */
    /* When located: */
    uint64_t files_mapped_bytes;
    uint64_t others_mapped_bytes;
    /* pages of shared files that are resident, but in no page table of QEMU */
    uint64_t others_unmapped_bytes;
    uint64_t status_bytes[N_PAGE_KINDS]; /* the counters of all of QEMU */
    uint64_t address_bytes;              /* address space of all of QEMU */
    unsigned others_kinds;               /* kinds of pages (bits) of the other blocks */
    uint64_t counter_error_bytes;
    /* The first and the last count of QEMU's own memory; NULL: it cannot be counted. */
    struct resident_seen *first, *seen;
};

/** Now, in bytes of guest RAM. */
struct resident_now {
    uint64_t mapped_bytes;   /* mapped by QEMU's page tables */
    uint64_t resident_bytes; /* mapped_bytes plus the pages of shared files that are not mapped */
    uint64_t mapped_error_bytes, resident_error_bytes; /* error bounds of the two above */
    uint64_t
        address_bytes; /* all of QEMU's address space, VmSize: RAM that is plugged adds to it */
};

/** Call it right after guest_ram_locate(). Borrows @p ram. Returns 0; -ESRCH when the process is
 * gone; -ENOMEM. Free the meter in every case. */
int resident_meter_init(struct resident_meter *meter, const struct fsroot *root, pid_t pid,
                        const struct guest_ram *ram);
void resident_meter_free(struct resident_meter *meter);

/** The possible error of a counter of resident pages on Linux @p release ("6.12.94+deb13-amd64")
 * with @p cpus. */
uint64_t resident_counter_error(const char *release, unsigned cpus);

/** 0, or -ESRCH when the process is gone. */
int resident_meter_read(const struct resident_meter *meter, const struct fsroot *root, pid_t pid,
                        struct resident_now *now);

/**
 * Reads the meter again after the pages have been read, since it set *@p now. *@p now becomes the
 * mean of both readings, and half of their difference is added to its errors. While memory moves, a
 * single reading describes another population than the pages: it gave 62.0 MiB where a panel had
 * found 60.3, in a guest that was being swapped out.
 * @return 0; -ESRCH, and *@p now is not defined
 */
int resident_meter_read_again(const struct resident_meter *meter, const struct fsroot *root,
                              pid_t pid, struct resident_now *now);

/** For windows that are read one after the other: sets *@p now to @p before if the guest is at
 * rest. Touches add up from window to window, so their shares must refer to one population. Changes
 * that the meter attributes to QEMU itself without having counted them do not count as changes;
 * they are in the errors. */
void resident_now_settle(const struct resident_now *before, struct resident_now *now);

/** All memory that process @p pid holds, guest RAM and QEMU's own, in bytes; used if the RAM was
 * not located. 0 or -ESRCH. */
int resident_of_process(const struct fsroot *root, pid_t pid, uint64_t *bytes);
