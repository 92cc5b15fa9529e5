// SPDX-License-Identifier: LGPL-2.1-or-later
#include "programs/vmwss/guest_kept.h"

#include "base/clock.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define PERIODS 5
#define AT_LEAST_S 300.0

static int read_last_report(struct store *store, const struct history_guest *guest,
                            uint64_t ram_bytes, struct guest_kept *kept, struct error *error)
{
    char lines[AGENT_LAST_REPORT_MAX];
    double time_s;
    int rc = history_last_report(store, guest->id, lines, &time_s, error);

    if (rc <= 0)
        return rc;
    rc = agent_last_report_parse(lines, ram_bytes, &kept->last_report, error);
    kept->has_report = rc == 0;
    kept->report_age_s = fmax(store_clock_now().wall_s - time_s, 0);
    return rc;
}

static int read_all(struct store *store, const char *uuid, uint64_t ram_bytes,
                    struct guest_kept *kept, struct error *error)
{
    struct history_guest guest;
    int rc = history_find(store, uuid, &guest, error);

    if (rc < 0)
        return rc == -ENOENT ? 0 : rc;
    rc = history_latest_of(store, guest.id, &kept->sample, error);
    if (rc <= 0)
        return rc;
    kept->has_record = true;
    kept->record_age_s = fmax(
        store_clock_now().wall_s - timespec_s(&kept->sample.record.sample.time), 0);
    return read_last_report(store, &guest, ram_bytes, kept, error);
}

int guest_kept_read(const char *database, const char *uuid, uint64_t ram_bytes,
                    struct guest_kept *kept, struct error *error)
{
    struct store *store;
    double old_s;
    int rc;

    memset(kept, 0, sizeof(*kept));
    rc = history_open(database, &store, error);
    if (rc < 0)
        return rc;
    rc = read_all(store, uuid, ram_bytes, kept, error);
    store_close(store);
    old_s = fmax(PERIODS * kept->sample.period_s, AT_LEAST_S);
    kept->has_record = kept->has_record && rc == 0 && kept->record_age_s <= old_s;
    kept->has_report = kept->has_record && kept->has_report && kept->report_age_s <= old_s;
    return rc;
}
