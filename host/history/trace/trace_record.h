// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file trace_record.h  From measurements to the parts of a trace.
 *
 * For each period: trace_recorder_note() after each of its readings, then trace_recorder_finish().
 */
#pragma once

#include "history/trace/trace.h"
#include "measure/record/sample_record.h"

struct trace_recorder {
    uint64_t n;       /* pages of the set */
    uint8_t *reading; /* at which each was first found touched, of those that were */
};

/** The regions of @p ram, and the pages of @p set. @p gpa: NULL where addresses are not known. 0 or
 * -ENOMEM; trace_layout_free() */
int trace_layout_of(struct trace_layout *layout, const struct page_set *set,
                    const struct gpa_layout *gpa);

/** Reading number @p reading of the period has been done. 0 or -ENOMEM */
int trace_recorder_note(struct trace_recorder *recorder, const struct page_set *set,
                        size_t reading);

/** The period, whose last reading left @p set as it is, and whose record is @p record. 0 or
 * -ENOMEM; trace_period_free() */
int trace_recorder_finish(const struct trace_recorder *recorder, const struct page_set *set,
                          const struct sample_record *record, struct trace_period *period);

void trace_recorder_free(struct trace_recorder *recorder);
