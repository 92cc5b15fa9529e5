// SPDX-License-Identifier: LGPL-2.1-or-later
#include "programs/vmwss/migrate_at.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "history/writes.h"
#include "programs/vmwss/kept.h"
#include "show/migrate.h"

#include <errno.h>
#include <stdlib.h>

static int see_curve(const struct kept_writes *kept, void *context)
{
    plan_writes_add(context, kept->time_s, &kept->curve);
    return 0;
}

/* Reads what only the last record has, and all curves. */
static int read_guest(struct store *store, const struct history_guest *guest,
                      struct migrate_hours *hours, struct error *error)
{
    const struct history_query always = {.from_s = 0, .to_s = clock_s(CLOCK_REALTIME)};
    cleanup_free struct kept_sample *kept = malloc(sizeof(*kept));
    int rc = kept ? history_latest_of(store, guest->id, kept, error)
                  : error_set(error, -ENOMEM, "out of memory");

    if (rc == 0)
        return error_set(error, -ENODATA, "domain %s: the history has no record of it",
                         guest->name);
    if (rc < 0)
        return rc;
    hours->ram_bytes = kept->record.sample.ram_bytes;
    hours->writes.resident_bytes = kept->record.sample.resident_bytes;
    hours->writes.kvm = kept->record.sample.accel == ACCEL_KVM;
    rc = history_writes(store, guest->id, &always, see_curve, &hours->writes, error);
    if (rc == 0 && plan_writes_count(&hours->writes, PLAN_ANY_HOUR) == 0)
        return error_set(error, -ENODATA,
                         "domain %s: the history has no writes of it; see writes in vmwssd(8)",
                         guest->name);
    return rc;
}

static void foretell(struct migrate_hours *hours)
{
    hours->best = hours->worst = PLAN_ANY_HOUR;
    for (unsigned h = 0; h < PLAN_WEEK_HOURS; h++) {
        struct migrate_forecast *of = &hours->of[h];

        if (!plan_foretell(&hours->writes, (double)hours->ram_bytes, h, hours->terms, of))
            continue;
        if (hours->best == PLAN_ANY_HOUR || plan_is_better(of, &hours->of[hours->best]))
            hours->best = h;
        if (hours->worst == PLAN_ANY_HOUR || plan_is_better(&hours->of[hours->worst], of))
            hours->worst = h;
    }
}

int migrate_at(const char *history, const char *guest, const struct migrate_terms *terms,
               enum show_format format)
{
    cleanup_free struct migrate_hours *hours = calloc(1, sizeof(*hours));
    struct store *store = NULL;
    struct error error = {0};
    int rc = hours ? history_open(history, &store, &error)
                   : error_set(&error, -ENOMEM, "out of memory");

    if (rc == 0)
        rc = history_find(store, guest, &hours->guest, &error);
    if (rc == 0)
        rc = read_guest(store, &hours->guest, hours, &error);
    if (rc == 0)
        rc = history_refresh(store, &error);
    if (rc == 0) {
        hours->terms = terms;
        foretell(hours);
        if (migrate_hours_print(hours, format) < 0)
            rc = error_set(&error, -ENOMEM, "out of memory");
    }
    return kept_end(store, rc, &error);
}
