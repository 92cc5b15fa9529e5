// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file trace_record.h Converts measurements to the parts of a trace.
 *
 * For each period, call trace_recorder_note() after each reading, then trace_recorder_finish().
 */
#pragma once

#include "history/trace/trace.h"
#include "measure/record/sample_record.h"

struct trace_recorder {
    uint64_t n;       /* number of pages in the set */
    uint8_t *reading; /* reading at which each touched page was first found touched */
};

/** Makes a layout from the regions of @p ram and the pages of @p set. @p gpa: NULL if addresses are
 * not known. Returns 0 or -ENOMEM; free it with trace_layout_free() */
int trace_layout_of(struct trace_layout *layout, const struct page_set *set,
                    const struct gpa_layout *gpa);

/** Notes that reading number @p reading of the period has been done. Returns 0 or -ENOMEM. */
int trace_recorder_note(struct trace_recorder *recorder, const struct page_set *set,
                        size_t reading);

/** Makes the period from @p set after its last reading, and from its @p record. Returns 0 or
 * -ENOMEM; free it with trace_period_free() */
int trace_recorder_finish(const struct trace_recorder *recorder, const struct page_set *set,
                          const struct sample_record *record, struct trace_period *period);

void trace_recorder_free(struct trace_recorder *recorder);
