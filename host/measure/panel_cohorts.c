// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file panel_cohorts.c  The cohorts of a panel: draws them one by one, and marks and reads them
 * together. */
#include "measure/panel_private.h"

#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/compare.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

uint64_t panel_pages(const struct panel *panel)
{
    uint64_t n = 0;

    for (size_t c = 0; c < panel->n_cohorts; c++)
        n += panel->cohorts[c].set.n;
    return n;
}

void cohort_close(const struct panel *panel, struct cohort *cohort)
{
    if (cohort->method_state)
        panel->plan.method->close(cohort->method_state);
    page_set_free(&cohort->set);
    free(cohort->last);
    free(cohort->unseen);
    *cohort = (struct cohort){0};
}

/* Draws enough pages that three cohorts together have the wanted number. */
static int cohort_draw(struct panel *panel, struct cohort *cohort)
{
    if (panel->plan.census)
        return page_set_census(&cohort->set, panel->target->ram);

    uint64_t samples = (panel->plan.samples + N_COHORTS - 2) / (N_COHORTS - 1);

    return page_set_panel(&cohort->set, panel->target->ram,
                          page_set_draws(samples, panel->plan.presence), panel->seed++);
}

/* Allocates for the remaining pages, because a method may take fewer than were drawn. */
static int cohort_remember(struct cohort *cohort)
{
    const uint64_t n = cohort->set.n ? cohort->set.n : 1; /* calloc(0) may be NULL */

    cohort->last = calloc(n, sizeof(*cohort->last));
    cohort->unseen = calloc(n, sizeof(*cohort->unseen));
    return cohort->last && cohort->unseen ? 0 : -ENOMEM;
}

/* The positions that the other cohorts watch, in units of the method's reach, ascending. */
static uint64_t *taken_places(const struct panel *panel, const struct cohort *mine, uint64_t *n)
{
    uint64_t *place = calloc(panel_pages(panel) + 1, sizeof(*place));

    *n = 0;
    for (size_t c = 0; place && c < panel->n_cohorts; c++) {
        const struct page_set *set = &panel->cohorts[c].set;

        for (uint64_t i = 0; &panel->cohorts[c] != mine && i < set->n; i++)
            place[(*n)++] = page_set_hva(set, i) / panel->plan.method->reach_bytes;
    }
    if (place)
        qsort(place, *n, sizeof(*place), compare_u64);
    return place;
}

uint64_t panel_layout(const struct panel *panel)
{
    uint64_t sum = 0xcbf29ce484222325ULL; /* FNV-1a, by words */

    for (size_t c = 0; c < panel->n_cohorts; c++) {
        const struct page_set *set = &panel->cohorts[c].set;

        for (uint64_t i = 0; i < set->n; i++)
            sum = (sum ^ (set->page[i] << 1 | (set->order[i] > 0))) * 0x100000001b3ULL;
    }
    return sum;
}

int panel_taken(const struct panel *panel, struct taken *out, bool *huge)
{
    const uint64_t reach = panel->plan.method->reach_bytes ? panel->plan.method->reach_bytes
                                                           : base_page_bytes();
    struct taken_span *spans = calloc(panel_pages(panel) + 1, sizeof(*spans));
    uint64_t n = 0;

    *huge = false;
    if (!spans)
        return -ENOMEM;
    for (size_t c = 0; c < panel->n_cohorts; c++) {
        const struct page_set *set = &panel->cohorts[c].set;

        for (uint64_t i = 0; i < set->n; i++) {
            *huge |= set->order[i] > 0;
            spans[n++] = (struct taken_span){page_set_hva(set, i) / reach * reach, reach};
        }
    }
    *out = (struct taken){.n = taken_sort(spans, n), .spans = spans};
    return 0;
}

/* Drops pages within the reach of another cohort's page: a fault there would also map these pages,
 * and they would seem touched. Without this, a random hot set of 43 % read as 49 %. The places of
 * the other cohorts are random, so the remaining pages are still a random sample. */
static int keep_apart(const struct panel *panel, struct cohort *cohort)
{
    struct page_set *set = &cohort->set;
    uint64_t reach = panel->plan.method->reach_bytes;
    uint64_t kept = 0;
    uint64_t n;

    if (reach == 0)
        return 0;

    cleanup_free uint64_t *taken = taken_places(panel, cohort, &n);

    if (!taken)
        return -ENOMEM;
    for (uint64_t i = 0; i < set->n; i++) {
        uint64_t place = page_set_hva(set, i) / reach;

        if (!bsearch(&place, taken, n, sizeof(*taken), compare_u64))
            set->page[kept++] = set->page[i];
    }
    page_set_keep(set, kept);
    return 0;
}

/* The kernel removes a cohort's descriptor when the method closes it. */
int panel_wake_by(const struct panel *panel, int fd, struct error *error)
{
    struct epoll_event event = {.events = EPOLLIN};

    return epoll_ctl(panel->wake_fd, EPOLL_CTL_ADD, fd, &event) == 0
               ? 0
               : error_set(error, -errno, "epoll: %s", strerror(errno));
}

int cohort_begin(struct panel *panel, struct cohort *cohort, struct error *error)
{
    const struct method *method = panel->plan.method;
    int rc = cohort_draw(panel, cohort);

    if (rc == 0)
        rc = keep_apart(panel, cohort);
    cohort->set.flooded = panel->writes != NULL;
    if (rc < 0)
        error_set(error, rc, "%s: out of memory", method->name);
    else
        rc = method->open(panel->target, &cohort->set, &cohort->method_state, error);
    if (rc == 0 && cohort_remember(cohort) < 0)
        rc = error_set(error, -ENOMEM, "%s: out of memory", method->name);
    if (rc == 0 && method->wake.poll)
        rc = panel_wake_by(panel, method->wake.fd(cohort->method_state), error);
    if (rc == 0)
        rc = method->mark(cohort->method_state, error);
    cohort->born = panel->now;
    if (rc < 0)
        cohort_close(panel, cohort);
    return rc;
}

void cohort_sets(const struct panel *panel, const struct page_set *sets[N_COHORTS])
{
    for (size_t c = 0; c < panel->n_cohorts; c++)
        sets[c] = &panel->cohorts[c].set;
}

int cohorts_put_in_order(struct panel *panel, struct error *error)
{
    const struct page_set *sets[N_COHORTS];

    cohort_sets(panel, sets);
    page_merge_free(&panel->order);
    if (panel->plan.census)
        return 0;

    int rc = page_merge_make(&panel->order, sets, panel->n_cohorts);

    if (rc < 0)
        page_merge_free(&panel->order);
    return rc < 0 ? error_set(error, rc, "%s: out of memory", panel->plan.method->name) : 0;
}

static void method_states(const struct panel *panel, void *states[N_COHORTS])
{
    for (size_t c = 0; c < panel->n_cohorts; c++)
        states[c] = panel->cohorts[c].method_state;
}

/* Collects from all cohorts the pages touched since each was marked. */
static int collect(struct panel *panel, struct tally tallies[N_COHORTS], struct error *error)
{
    const struct method *method = panel->plan.method;
    void *states[N_COHORTS];
    int rc = 0;

    method_states(panel, states);
    if (method->many.collect)
        return method->many.collect(states, panel->n_cohorts, &panel->order, tallies, error);
    for (size_t c = 0; rc == 0 && c < panel->n_cohorts; c++)
        rc = method->collect(states[c], &tallies[c], error);
    return rc;
}

int cohorts_rearm(struct panel *panel, struct error *error)
{
    const struct method *method = panel->plan.method;
    void *states[N_COHORTS];
    int rc = 0;

    method_states(panel, states);
    if (method->many.rearm)
        return method->many.rearm(states, panel->n_cohorts, &panel->order, error);
    for (size_t c = 0; rc == 0 && c < panel->n_cohorts; c++)
        rc = method->rearm(states[c], error);
    return rc;
}

static void note_states(const struct panel *panel, struct cohort *cohort)
{
    for (uint64_t i = 0; i < cohort->set.n; i++) {
        enum page_state state = (enum page_state)cohort->set.state[i];

        if (state == PAGE_TOUCHED || page_is_gone(state))
            cohort->last[i] = (uint32_t)panel->now;
        else if (state == PAGE_UNMEASURABLE)
            cohort->unseen[i] = (uint32_t)panel->now;
    }
}

static uint32_t units32(uint64_t units)
{
    return (uint32_t)smaller(units, UINT32_MAX);
}

static void note_doubts(struct panel *panel, const struct tally *tally)
{
    struct tick *tick = tick_of(panel, panel->now);

    tick->doubts |= (uint16_t)tally->doubts;
    tick->unmeasurable_otherwise |= tally->unmeasurable_otherwise;
    tick->hidden = (uint32_t)larger(tick->hidden, units32(tally->hidden_units));
    tick->younger = (uint32_t)larger(tick->younger, units32(tally->younger_units));
    tick->missed = units32(tick->missed + base_pages(tally->missed_bytes));
}

int cohorts_read(struct panel *panel, struct error *error)
{
    struct tally tallies[N_COHORTS] = {0};
    int rc = collect(panel, tallies, error);
    struct tick *tick = tick_of(panel, panel->now);

    tick->doubts = 0;
    tick->unmeasurable_otherwise = false;
    tick->hidden = tick->younger = tick->missed = 0;
    for (size_t c = 0; c < panel->n_cohorts; c++) {
        note_doubts(panel, &tallies[c]);
        if (rc == 0)
            note_states(panel, &panel->cohorts[c]);
    }
    return rc;
}
