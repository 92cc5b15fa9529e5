// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file call_filter.h  The system calls that each process of a daemon may make (seccomp(2)).
 *
 * One table of allowed calls serves all of them (call_filter_table.c). A call that is not in the
 * table fails with EPERM. A call that is newer than the table fails with ENOSYS, and so does
 * clone3(2), because the C library then uses the older call. No call ends the process.
 *
 * A child has the filter of its parent, with the parent's pid in it, which may be another process's
 * when the parent has ended. So a process that may make others signals none, not even itself:
 * abort(3) then ends it by SIGSEGV.
 *
 * A filter sees numbers and arguments, but no memory that arguments point to. So the table allows
 * a call by the values of its arguments where these decide: ioctl(2) by request, fcntl(2) and
 * prctl(2) by command, process_madvise(2) by advice, open(2) by flags, socket(2) by family. A call
 * whose arguments are in memory (openat2(2), clone3(2), sched_setattr(2)) is allowed as a whole or
 * not at all.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** The processes; bits, because a line of the table may serve several. */
enum call_filter_role {
    CALLS_SCANNER = 1,   /* measures guests: opens nothing for writing */
    CALLS_AGENTS = 2,    /* the same, and connects to guests' agents */
    CALLS_REST = 4,      /* speaks with libvirt, and writes a database of its own */
    CALLS_RECLAIMER = 8, /* writes to memory.reclaim */
    CALLS_KEEPER = 16,   /* opens the scanner's locks and events */
    CALLS_EXPORTER = 32, /* answers HTTP requests */
    CALLS_ALL = 63,
};

/** A condition on an argument: its bits in @p mask have the value @p bits. */
struct call_condition {
    unsigned argument;
    uint64_t mask; /* 0: no condition */
    uint64_t bits; /* CALL_FILTER_OWN_PID stands for this process's pid */
};
#define CALL_FILTER_OWN_PID UINT64_MAX

/** A line of the table: both conditions must hold. Several lines may name the same call. */
struct call_line {
    int call; /* negative: this architecture does not have it */
    unsigned roles;
    struct call_condition when[2];
};

/** The whole table. */
const struct call_line *call_filter_table(size_t *n);

/** Returns the errno of a call that the table does not allow. */
int call_filter_errno(int call);

/** Filters this thread, and threads and processes that it makes later, permanently. Returns 0 or a
 * negative errno. */
int call_filter_load(enum call_filter_role role);
