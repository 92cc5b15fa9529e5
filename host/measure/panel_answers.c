// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file panel_answers.c  Counts the pages of a panel that were touched within given ages. */
#include "measure/panel.h"

#include "base/bytes.h"
#include "measure/ageing.h"
#include "measure/panel_private.h"
#include "measure/ran.h"

#include <errno.h>
#include <math.h>

#define NEAR_ENOUGH 0.25

static double since_s(const struct panel *panel, uint64_t number)
{
    uint64_t read_ns = tick_of(panel, panel->now)->read_ns;
    uint64_t marked_ns = tick_of(panel, number)->marked_ns;

    return read_ns > marked_ns ? (double)(read_ns - marked_ns) / 1e9 : 0;
}

static uint64_t first_known_tick(const struct panel *panel)
{
    return panel->now < panel->n_ticks ? 0 : panel->now - panel->n_ticks + 1;
}

double panel_elapsed_s(const struct panel *panel)
{
    uint64_t read_ns = tick_of(panel, panel->now)->read_ns;

    return read_ns > panel->began_ns ? (double)(read_ns - panel->began_ns) / 1e9 : 0;
}

bool panel_ticks_answer(double tick_s, double window_s)
{
    const double ticks = fmax(1, round(window_s / tick_s));

    return fabs(ticks * tick_s - window_s) <= NEAR_ENOUGH * window_s;
}

/* Finds the tick whose marking was nearest to @p ago_s before the last reading; 0 is the last tick
 * itself. */
static int tick_before(const struct panel *panel, double ago_s, uint64_t *number)
{
    uint64_t first = first_known_tick(panel);
    uint64_t best = panel->now;
    double off_s = HUGE_VAL;

    if (ago_s == 0) {
        *number = panel->now;
        return 0;
    }
    for (uint64_t k = panel->now; k-- > first;) {
        double next_off_s = fabs(since_s(panel, k) - ago_s);

        /* earlier ticks are further back, so the first one that is no nearer ends the search */
        if (best != panel->now && next_off_s >= off_s)
            break;
        best = k;
        off_s = next_off_s;
    }
    if (best == panel->now || off_s > NEAR_ENOUGH * ago_s)
        return -EAGAIN;
    *number = best;
    return 0;
}

bool panel_answers(const struct panel *panel, double window_s)
{
    uint64_t number;

    return tick_before(panel, window_s, &number) == 0;
}

/* Touches after tick older and up to tick newer; a page that was never touched is older than
 * everything. */
struct tick_range {
    bool any_older;
    uint64_t older;
    uint64_t newer;
};

static enum page_state state_for(const struct cohort *cohort, uint64_t i,
                                 const struct tick_range *range, uint64_t watched_since,
                                 uint64_t newest)
{
    enum page_state now = (enum page_state)cohort->set.state[i];
    uint64_t last = cohort->last[i];
    bool within = last == 0 ? range->any_older
                            : last <= range->newer && (range->any_older || last > range->older);

    if (page_is_missing(now))
        return page_lost(within && !range->any_older ? PAGE_TOUCHED : PAGE_IDLE,
                         page_is_swapped(now) ? PAGE_SWAPPED : PAGE_ABSENT);
    /* for a window that reaches to the present, later touches do not matter */
    if (within && !range->any_older && range->newer == newest)
        return PAGE_TOUCHED;
    if (cohort->unseen[i] > last && cohort->unseen[i] > watched_since)
        return PAGE_UNMEASURABLE;
    return within ? PAGE_TOUCHED : PAGE_IDLE;
}

/* Collects the pages of all cohorts that were watched since that tick; a page drawn twice counts
 * once. */
static void gather(const struct panel *panel, const struct tick_range *range,
                   uint64_t watched_since, struct page_set *view)
{
    uint64_t n = 0;

    for (uint64_t k = 0; k < panel->order.n; k++) {
        const struct page_place place = panel->order.place[k];
        const struct cohort *cohort = &panel->cohorts[place.set];
        const uint64_t page = panel->order.page[k];

        if (cohort->born > watched_since || (n > 0 && view->page[n - 1] == page))
            continue;
        view->page[n] = page;
        view->state[n] = (uint8_t)state_for(cohort, place.i, range, watched_since, panel->now);
        page_set_note_unit(view, n++, cohort->set.order[place.i], cohort->set.unit[place.i]);
    }
    view->n = n;
}

static void view_census(const struct panel *panel, const struct tick_range *range,
                        uint64_t watched_since, struct page_set *view)
{
    const struct cohort *cohort = &panel->cohorts[0];

    for (uint64_t i = 0; i < view->n; i++) {
        view->state[i] = (uint8_t)state_for(cohort, i, range, watched_since, panel->now);
        view->order[i] = cohort->set.order[i];
    }
}

static uint64_t units64(uint32_t units)
{
    return units == UINT32_MAX ? HIDDEN_ANY : units;
}

static uint64_t add_units(uint64_t units, uint32_t more)
{
    return units == HIDDEN_ANY || more == UINT32_MAX ? HIDDEN_ANY : units + more;
}

/* The unresolved doubts about the touches within (older, newer]. */
static struct tally doubts_between(const struct panel *panel, uint64_t older, uint64_t newer)
{
    const struct tick *from = tick_of(panel, older);
    const struct tick *to = tick_of(panel, newer);
    struct tally tally = {0};

    for (uint64_t k = older + 1; k <= newer; k++) {
        const struct tick *tick = tick_of(panel, k);

        tally.doubts |= tick->doubts;
        tally.unmeasurable_otherwise |= tick->unmeasurable_otherwise;
        tally.hidden_units = larger(tally.hidden_units, units64(tick->hidden));
        tally.younger_units = add_units(tally.younger_units, tick->younger);
        tally.missed_bytes += base_page_bytes() *
                              (tick->missed + (uint64_t)(k < newer ? tick->between : 0));
    }
    if (from->odometer != to->odometer)
        ageing_doubt(&tally);
    return tally;
}

/* The witnesses' findings for the touches within (older, newer]. */
static struct dispute dispute_between(const struct panel *panel, uint64_t older, uint64_t newer)
{
    const uint64_t unit_bytes = panel->target->ram->bytes / UINT8_MAX;
    struct dispute dispute = {0};

    for (uint64_t k = older + 1; k <= newer; k++) {
        const struct tick *tick = tick_of(panel, k);
        const struct witness_count count = {.n = tick->witness.n,
                                            .both = tick->witness.both,
                                            .others = tick->witness.others,
                                            .missed = tick->witness.missed,
                                            .unseen = tick->witness.unseen,
                                            .watched_bytes = tick->witness.part * unit_bytes};

        dispute_add(&dispute, &count, tick->disputed);
    }
    return dispute;
}

/* If a page reads idle at a doubtful tick, it may have been touched before that tick, and belong to
 * it instead of to an older one. A page that others touched may belong to an older tick. */
static void doubt(const struct panel *panel, const struct tick_range *range, struct tally *tally)
{
    const struct tally after = doubts_between(panel, range->newer, panel->now);
    struct tally within = {0};

    if (!range->any_older) {
        within = doubts_between(panel, range->older, range->newer);
        tally_doubt(tally, within.doubts, within.hidden_units);
        tally->unmeasurable_otherwise = within.unmeasurable_otherwise;
        tally->missed_bytes = within.missed_bytes;
        tally->within = dispute_between(panel, range->older, range->newer);
    }
    tally->younger = dispute_between(panel, range->newer, panel->now);
    tally->younger_units = larger(within.younger_units, after.hidden_units);
    tally_doubt(tally, 0, after.younger_units);
}

static int tally_range(const struct panel *panel, const struct tick_range *range,
                       uint64_t watched_since, struct tally *tally)
{
    const bool census = panel->plan.census;
    struct page_set view;
    int rc = census ? page_set_census(&view, panel->target->ram)
                    : page_set_blank(&view, panel->target->ram, panel->order.n);

    if (rc == 0) {
        (census ? view_census : gather)(panel, range, watched_since, &view);
        page_set_tally(&view, tally);
    }
    page_set_free(&view);
    return rc;
}

/* If a guest ran and wrote nothing, KVM's count of faults shows whether its mappings were dropped.
 */
static void doubt_blind(const struct panel *panel, const struct tick_range *range,
                        struct tally *tally)
{
    const struct tick *from = tick_of(panel, range->older);
    const struct tick *to = tick_of(panel, range->newer);
    const struct ran ran = {.vcpu_ns = less(to->vcpu_ns, from->vcpu_ns),
                            .time_ns = less(to->read_ns, from->marked_ns)};

    ran_doubt(panel->target, panel->plan.method, from->kvm_faults,
              &(struct ran_window){.inner = ran}, tally);
}

int panel_tally(const struct panel *panel, const struct panel_ages *ages, struct tally *tally,
                double *est_s)
{
    bool older = isinf(ages->to_s);
    struct tick_range range = {.any_older = older};
    uint64_t watched_since;
    int rc = tick_before(panel, ages->watched_s, &watched_since);

    if (rc == 0)
        rc = tick_before(panel, ages->from_s, &range.newer);
    if (rc == 0)
        rc = older ? 0 : tick_before(panel, ages->to_s, &range.older);
    if (rc < 0)
        return rc;
    *est_s = since_s(panel, older ? watched_since : range.older);
    rc = tally_range(panel, &range, watched_since, tally);
    if (rc == 0 && !older && method_sees_writes(panel->plan.method))
        doubt_blind(panel, &range, tally);
    if (rc == 0)
        doubt(panel, &range, tally);
    return rc;
}

bool panel_read_all(const struct panel *panel)
{
    return panel->read_all;
}

double panel_vcpu_s(const struct panel *panel, double window_s)
{
    uint64_t number;

    if (tick_before(panel, window_s, &number) < 0)
        return 0;
    return (double)(tick_of(panel, panel->now)->vcpu_ns - tick_of(panel, number)->vcpu_ns) / 1e9;
}
