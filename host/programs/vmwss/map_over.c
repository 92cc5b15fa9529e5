// SPDX-License-Identifier: LGPL-2.1-or-later
#include "programs/vmwss/map_over.h"

#include "base/clock.h"
#include "base/interrupt.h"

#include <errno.h>

struct following {
    struct map_over *over;
    struct page_set set; /* the same in all periods */
    uint64_t periods;
    uint64_t began_ns;
};

static double elapsed_s(const struct following *following)
{
    return (double)(clock_ns() - following->began_ns) / 1e9;
}

/* If the RAM has changed, a new map begins. */
static int prepare(struct following *following, struct resident_now *now, struct error *error)
{
    struct session *session = following->over->session;
    bool relocated;
    int rc = session_ready(session, now, &relocated, error);

    if (rc == 0 && relocated && following->set.state)
        return error_set(error, -ENOTSUP,
                         "guest RAM was plugged: the map ends before that; begin a new one");
    if (rc == 0 && !following->set.state)
        rc = session_draw(session, now, &following->set, error);
    return rc;
}

static int keep(struct following *following, struct ram_map *map,
                const struct sample_record *record, struct error *error)
{
    struct map_series *series = following->over->series;
    int rc = series ? map_series_add(series, map, record) : 0;

    if (rc == -E2BIG)
        return error_set(error, rc, "more than %u cells: choose a larger --chunk or --window",
                         MAP_SERIES_MAX_CELLS);
    return rc < 0 ? error_set(error, rc, "out of memory") : 0;
}

static int take_period(struct following *following, const struct sample_record *record,
                       struct error *error)
{
    struct map_over *over = following->over;
    struct ram_map map = {0};
    int rc = over->take(over->context, &map, error);
    int shown = rc == 0 ? over->show(over->context, &map, record, error) : 0;

    /* A picture gets the period even if the reader of the lines has gone. */
    if (rc == 0)
        rc = keep(following, &map, record, shown < 0 ? NULL : error);
    ram_map_free(&map);
    return shown < 0 ? shown : rc;
}

/* Returns true if the next period may succeed where this one failed. The method's own -ENODATA
 * comes before there is a record. */
static bool is_passing(int rc, const struct sample_record *record)
{
    return rc == -ENOMSG || (rc == -ENODATA && record->n_windows > 0);
}

static int follow_period(struct following *following, struct error *error)
{
    struct session *session = following->over->session;
    struct sample_record record = {0};
    struct resident_now now = {0};
    int rc = prepare(following, &now, error);

    if (rc == 0)
        rc = session_measure_pages(session, &following->set, &now, &record, error);
    if (is_passing(rc, &record)) {
        command_error("a period is left out: %s", error->text);
        return 0;
    }
    if (rc == 0)
        rc = take_period(following, &record, error);
    following->periods += rc == 0;
    return rc;
}

int map_over_run(struct map_over *over, struct error *error)
{
    struct following following = {.over = over, .began_ns = clock_ns()};
    struct progress progress;
    int rc = 0;

    progress_init(&progress, "following the guest");
    do {
        rc = follow_period(&following, error);
        if (rc == 0 && interrupted)
            rc = error_set(error, -EINTR, "interrupted");
        progress_draw(elapsed_s(&following), over->over_s, &progress);
    } while (rc == 0 && elapsed_s(&following) < over->over_s);
    progress_clear(&progress);
    page_set_free(&following.set);
    if (rc == 0 && following.periods == 0)
        return error_set(error, -ENODATA, "nothing could be measured in any period");
    return rc;
}
