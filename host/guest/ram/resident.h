// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file resident.h  How much of guest RAM is mapped and resident now, without walking page tables
 * again.
 *
 * smaps tells it exactly but walks every page table under the mmap lock, so it is read once, when
 * the RAM is located. Afterwards the change of what QEMU maps is followed, by /proc/PID/status
 * (Documentation/filesystems/proc.rst): RssShmem for blocks that are whole shmem files, for others
 * the counters of the kinds of pages that their backing has. What QEMU itself allocates and frees
 * of these kinds, which may be more than a guest's RAM, is looked up in its page tables whenever
 * the counters have moved, and left out (own_memory.h). A block that is a whole shmem file is as
 * resident as its file, whatever is mapped: a panel of the method pageout unmaps pages which are
 * still there; and no more of it can be mapped.
 *
 * From Linux 6.2 to 6.16 the counters lack what each CPU has not handed in yet (mm/percpu counters,
 * f1a7941243c1, until 82241a83cd15): by up to max(32, 2 x CPUs) pages for each, 1 MiB at 8 CPUs,
 * 128 MiB at 128. That is the error; and what the counters have moved by since QEMU's own memory
 * was looked at.
 */
#pragma once

#include "guest/ram/guest_ram.h"
#include "guest/ram/own_memory.h"

struct resident_meter {
    uint64_t ram_bytes;
    const struct guest_ram *ram; /* borrowed */
    int *file_fds;   /* of each block: its file if it is a whole one, else -1; NULL: of none */
    bool has_others; /* blocks that are no whole files */
    /* When located: */
    uint64_t files_mapped_bytes;
    uint64_t others_mapped_bytes;
    uint64_t others_unmapped_bytes; /* of shared files: resident, but in no page table of QEMU */
    uint64_t status_bytes[N_PAGE_KINDS]; /* the counters of all of QEMU */
    uint64_t address_bytes;              /* likewise its address space */
    unsigned others_kinds;               /* of pages, bits */
    uint64_t counter_error_bytes;
    /* The first and the last look at QEMU's own memory; NULL: it cannot be looked at. */
    struct resident_seen *first, *seen;
};

/** Now, in bytes of guest RAM. */
struct resident_now {
    uint64_t mapped_bytes;   /* what QEMU's page tables map */
    uint64_t resident_bytes; /* that, and pages of shared files that are not mapped */
    uint64_t mapped_error_bytes, resident_error_bytes; /* by so much each may be wrong */
    uint64_t
        address_bytes; /* all of QEMU's address space, VmSize: RAM that is plugged adds to it */
};

/** To be called right after guest_ram_locate(). 0; -ESRCH when the process is gone; -ENOMEM. To be
 * freed in either case. Borrows @p ram. */
int resident_meter_init(struct resident_meter *meter, const struct fsroot *root, pid_t pid,
                        const struct guest_ram *ram);
void resident_meter_free(struct resident_meter *meter);

/** By how much a counter of resident pages may be wrong on Linux @p release ("6.12.94+deb13-amd64")
 * with @p cpus. */
uint64_t resident_counter_error(const char *release, unsigned cpus);

/** 0, or -ESRCH when the process is gone. */
int resident_meter_read(const struct resident_meter *meter, const struct fsroot *root, pid_t pid,
                        struct resident_now *now);

/**
 * resident_meter_read() once more, when pages have been read since it set *@p now: that becomes the
 * middle of both readings, and half of what lies between them is in its errors. While memory moves
 * a counter of one moment is of another population than the pages: 62.0 MiB where a panel had found
 * 60.3, of a guest that was being swapped out.
 * @return 0; -ESRCH, and *@p now is not defined
 */
int resident_meter_read_again(const struct resident_meter *meter, const struct fsroot *root,
                              pid_t pid, struct resident_now *now);

/** Windows that were read one after the other: of a guest at rest *@p now stays what it was @p
 * before, for touches add up from window to window, and so must shares of one population. What the
 * meter takes for QEMU's own without looking is no change; it is in the errors. */
void resident_now_settle(const struct resident_now *before, struct resident_now *now);

/** What all of the process @p pid holds, guest RAM and QEMU's own, in bytes: for RAM that was not
 * located. 0 or -ESRCH. */
int resident_of_process(const struct fsroot *root, pid_t pid, uint64_t *bytes);
