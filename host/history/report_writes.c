// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file report_writes.c  The read-mostly part of each guest's working set in a report. */
#include "history/report_private.h"

#include "history/writes.h"
#include "measure/estimate/dirty.h"

/* The bytes that one guest wrote within the report's window, over all curves. */
struct written {
    double window_s, ram_bytes;
    double least, most;
};

static int see_curve(const struct kept_writes *kept, void *context)
{
    struct written *written = context;
    const struct write_curve *curve = &kept->curve;

    if (curve->n == 0)
        return 0;
    written->least = fmin(written->least,
                          dirty_bytes(curve, DIRTY_LOW, written->window_s, written->ram_bytes));
    written->most = fmax(written->most,
                         dirty_bytes(curve, DIRTY_HIGH, written->window_s, written->ram_bytes));
    return 0;
}

int report_read_writes(struct report *report, struct store *store, struct error *error)
{
    const struct history_query query = {.from_s = report->from_s, .to_s = report->options.to_s};
    int rc = 0;

    for (size_t g = 0; rc == 0 && g < report->n_guests; g++) {
        struct report_guest *guest = &report->guests[g];
        struct written written = {report->options.window_s, (double)guest->ram_bytes, NAN, NAN};

        rc = history_writes(store, guest->guest.id, &query, see_curve, &written, error);
        guest->read_mostly_low = fmax(0, guest->wss_p50 - written.most);
        guest->read_mostly_high = fmax(0, guest->wss_p50 - written.least);
        if (isnan(written.most) || guest->records == 0)
            guest->read_mostly_low = guest->read_mostly_high = NAN;
    }
    return rc;
}
