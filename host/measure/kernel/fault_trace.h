// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file fault_trace.h  Records the guest-physical addresses at which a KVM guest faults, through
 * perf.
 *
 * It opens the architecture's tracepoint (guest/arch/arch.h: kvm:kvm_page_fault on x86-64) with
 * perf_event_open(2) on each vCPU thread. The position of the address field differs between kernels
 * and is read from the event's format file. Nothing is written to tracefs, and the events are file
 * descriptors, so they end when the process ends or is killed. Under two-dimensional paging the
 * address is a GPA; with shadow paging (ept=N, npt=N) it would be a guest-virtual address, so that
 * is refused.
 */
#pragma once

#include "base/error.h"
#include "guest/arch/arch.h"
#include "guest/ram/target.h"

struct fault_trace; /* opaque */

/** Checks that the tracepoint exists. -ENOENT with the remedy. */
int fault_trace_host(const struct fsroot *root, struct error *error);

#define FAULT_FILTER_BYTES 192

/** Writes a filter (Documentation/trace/events.rst) that passes only faults on RAM, because a
 * device register may be read a hundred thousand times a second. @p size: FAULT_FILTER_BYTES
 * suffice. */
void fault_filter(const struct arch *arch, const struct gpa_layout *layout, char *text,
                  size_t size);

/**
 * Opens one event and ring buffer per vCPU thread, disabled. Free with fault_trace_free().
 * @param filter      from fault_filter(), so that the kernel drops device accesses before they cost
 *                    anything
 * @param ring_bytes  size of each ring, a power of two; a KiB holds about 15 faults
 * @param wake_fd     from trace_wake_open(); readable when fault_trace_drain() should be called
 */
int fault_trace_open(const struct target *target, const char *filter, size_t ring_bytes,
                     int wake_fd, struct fault_trace **out, struct error *error);
void fault_trace_free(struct fault_trace *trace);

/**
 * Finds vCPUs that were plugged since the last call, and records their faults from now on.
 * @param grown  set to true if there are new vCPUs, or if one ran and ended: their earlier faults
 * are not known
 * @return 0; -ESRCH the guest vanished; as fault_trace_open()
 */
int fault_trace_follow(struct fault_trace *trace, const struct target *target, bool *grown,
                       struct error *error);

/** Starts or stops recording. */
int fault_trace_enable(struct fault_trace *trace, bool on, struct error *error);

/** Calls @p visit for every address recorded since the last call. */
void fault_trace_drain(struct fault_trace *trace, void (*visit)(uint64_t gpa, void *context),
                       void *context);

/** Number of faults lost since the trace was opened because a ring was full (PERF_FORMAT_LOST,
 * Linux 6.0). Records of type LOST cannot be used: they come only with a later fault, which may
 * never happen. */
uint64_t fault_trace_lost(const struct fault_trace *trace);
