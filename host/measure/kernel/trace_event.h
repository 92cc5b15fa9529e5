// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file trace_event.h  A tracepoint of the kernel, recorded for one thread through perf.
 *
 * The number and the fields of an event are read from its files in tracefs, because they differ
 * between kernels (Documentation/trace/events.rst). Nothing is written to tracefs, and
 * perf_event_open(2) returns a file descriptor, so recording ends when the process ends or is
 * killed.
 */
#pragma once

#include "base/error.h"
#include "base/fsroot.h"

#include <sys/types.h>

struct trace_event {
    uint64_t id;
    char *format;
};

/**
 * Looks @p name ("kvm/kvm_page_fault") up in tracefs; free with trace_event_free().
 * @param source  how to provide the event, for the message: "load KVM"
 * @return 0; -ENOENT with the remedy.
 */
int trace_event_find(const struct fsroot *root, const char *name, const char *source,
                     struct trace_event *event, struct error *error);
void trace_event_free(struct trace_event *event);

/** Finds the offset of field @p name, of @p bytes bytes, in the raw record. 0; -EBADMSG if there is
 * no such field. */
int trace_event_field(const struct trace_event *event, const char *name, size_t bytes,
                      uint32_t *offset);

/** The tracepoints that are recorded, besides the architecture's of a fault (guest/arch/arch.h). */
#define TRACE_DAMON_AGGREGATED "damon/damon_aggregated"
#define TRACE_KVM_AGE_HVA "kvm/kvm_age_hva"

/** Returns true if @p id is now that of one of these tracepoints. */
bool trace_event_is_recorded(const struct fsroot *root, uint64_t id);

/**
 * Opens tracepoint @p id on thread @p tid, disabled, with each raw record.
 * @param wake_bytes  the descriptor becomes readable when this much was recorded
 * @return its descriptor or a negative errno
 */
int trace_event_open(uint64_t id, pid_t tid, uint32_t wake_bytes);

/** From now on @p open is called in place of trace_event_open(): a process that may open no event
 * has another one do it (programs/vmwssd/scanner/lock_keeper.h). NULL: trace_event_open(). */
void trace_event_keep(int (*open)(uint64_t id, pid_t tid, uint32_t wake_bytes));

/** One thread's records. */
struct trace_ring {
    int fd;
    void *control; /* perf's control page, followed by the data */
    size_t bytes;  /* size of the data */
};

/** The value of a ring that is not open. */
#define TRACE_RING_NONE ((struct trace_ring){.fd = -1})

/** Opens a descriptor that signals rings to drain: it is readable for poll(2) from the time when a
 * ring opened with it is a quarter full until trace_wake_clear(). The caller closes it. Returns a
 * negative errno on failure. */
int trace_wake_open(void);
void trace_wake_clear(int wake_fd);

/**
 * Opens a ring for thread @p tid, which may be a kernel thread; it records only when enabled.
 * @param filter   a tracepoint filter, or NULL
 * @param bytes    size, a power of two; raised to a base page if smaller
 * @param wake_fd  from trace_wake_open(); it outlives the ring
 * @return 0 or a negative errno (-ESRCH: no such thread); close it with trace_ring_close() in
 * either case.
 */
int trace_ring_open(struct trace_ring *ring, uint64_t id, pid_t tid, const char *filter,
                    size_t bytes, int wake_fd);
void trace_ring_close(struct trace_ring *ring);

/** Starts or stops recording. */
int trace_ring_enable(const struct trace_ring *ring, bool on);

/** The largest part of a record that is passed to the caller. */
#define TRACE_RECORD_BYTES 256

/** Calls @p visit for every raw record since the last call, padded with zeros. Records stay
 * readable after their thread has ended. */
void trace_ring_drain(const struct trace_ring *ring,
                      void (*visit)(const void *record, void *context), void *context);

struct trace_ring_sums {
    uint64_t running_ns; /* time that the thread spent on a CPU since the ring was opened */
    /* records lost because the ring was full (PERF_FORMAT_LOST, Linux 6.0). Records of type LOST
     * come only with a later event, which may never happen */
    uint64_t lost;
};

/** The sums so far; zeros for a ring that is not open. */
struct trace_ring_sums trace_ring_sums(const struct trace_ring *ring);
