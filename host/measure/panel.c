// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file panel.c  See panel.h.
 *
 * Theory of operation. Ticks are numbered: 0 is the first marking. At tick k a page that is found
 * touched gets last = k: the touch happened between the marking at tick k - 1 and the reading at
 * tick k. So with now = k, a page was touched since the marking of tick j exactly when last > j,
 * and the time from that marking to this reading is the est window. A cohort that was marked first
 * at tick b (born) can answer for j >= b only.
 *
 * A tick marks only the touched pages again: its cost is one reading of all pages and one marking
 * of the hot ones. A touch between the reading and the new marking is missed; that gap lasts
 * milliseconds, and concerns only pages that were just found touched.
 */
#include "measure/panel.h"

#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/compare.h"
#include "guest/domain/qemu_vcpus.h"
#include "measure/ageing.h"
#include "measure/page_merge.h"
#include "measure/read_all.h"
#include "measure/witness.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#define N_COHORTS 4
#define NEAR_ENOUGH 0.25

struct cohort {
    struct page_set set;
    void *method_state; /* NULL: closed */
    uint64_t born;      /* the tick at which it was first marked */
    uint32_t *last;     /* the tick at which each page was last found touched; 0: never */
    uint32_t *unseen;   /* the tick at which it was last found unmeasurable; 0: never */
};

struct tick {
    uint64_t read_ns;         /* midpoint of reading; at tick 0: of marking */
    uint64_t marked_ns;       /* midpoint of marking again */
    uint64_t vcpu_ns;         /* vCPU time since the first marking */
    uint64_t own_ns;          /* CPU time of QEMU's own threads */
    uint64_t odometer;        /* the ageing odometer, read between reading and marking */
    uint32_t hidden, younger; /* units of the tally; UINT32_MAX: any number */
    uint16_t doubts;          /* the method's doubts in this reading */
    struct {
        uint8_t n, both, others, missed;
    } witness; /* struct witness_count of this tick; there may be thousands of ticks */
    bool disputed;
};

struct panel {
    const struct target *target;
    struct panel_plan plan;
    uint64_t seed;
    uint64_t now; /* the number of the last tick */
    size_t n_ticks;
    struct tick *ticks; /* a ring: tick k is ticks[k % n_ticks] */
    uint64_t began_ns;  /* midpoint of the first marking */
    uint64_t turned_ns; /* time at which a cohort was last replaced */
    size_t oldest;
    /* touched share of all base pages within two ticks: up to the last tick, and up to the one
     * before */
    double share[2];
    bool read_all;           /* QEMU seems to have read all */
    struct witness *witness; /* NULL: no witness */
    struct vcpu_clock vcpus;
    int wake_fd; /* readable when a cohort's is; -1: the method has no such descriptor */
    struct cohort cohorts[N_COHORTS];
    struct page_merge order; /* order of all their pages */
};

static uint64_t now_ns(const struct panel *panel)
{
    return panel->plan.clock ? panel->plan.clock(panel->plan.clock_context) : clock_ns();
}

/* The threads of the vCPUs are read once for both clocks. */
static void read_clocks(struct panel *panel, struct tick *tick)
{
    const struct target *target = panel->target;

    tick->vcpu_ns = target->process ? vcpu_clock_read(&panel->vcpus, target->root, target->process)
                                    : 0;
    if (panel->plan.own_ns)
        tick->own_ns = panel->plan.own_ns(panel->plan.clock_context);
    else
        tick->own_ns = target->process ? qemu_process_own_ns_beside(target->root, target->process,
                                                                    panel->vcpus.read_ns)
                                       : 0;
}

static struct tick *tick_of(const struct panel *panel, uint64_t number)
{
    return &panel->ticks[number % panel->n_ticks];
}

uint64_t panel_pages(const struct panel *panel)
{
    uint64_t n = 0;

    for (size_t c = 0; c < N_COHORTS; c++)
        n += panel->cohorts[c].set.n;
    return n;
}

/* --- cohorts ---------------------------------------------------------------------------------- */

static void cohort_close(const struct panel *panel, struct cohort *cohort)
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
    uint64_t samples = (panel->plan.samples + N_COHORTS - 2) / (N_COHORTS - 1);

    return page_set_panel(&cohort->set, panel->target->ram,
                          page_set_draws(samples, panel->plan.presence), panel->seed++);
}

/* Allocates for the pages that are left of those drawn: a method may take fewer. */
static int cohort_remember(struct cohort *cohort)
{
    const uint64_t n = cohort->set.n ? cohort->set.n : 1; /* calloc(0) may be NULL */

    cohort->last = calloc(n, sizeof(*cohort->last));
    cohort->unseen = calloc(n, sizeof(*cohort->unseen));
    return cohort->last && cohort->unseen ? 0 : -ENOMEM;
}

/* The places that the other cohorts watch, in units of the method's reach, ascending. */
static uint64_t *taken_places(const struct panel *panel, const struct cohort *mine, uint64_t *n)
{
    uint64_t *place = calloc(panel_pages(panel) + 1, sizeof(*place));

    *n = 0;
    for (size_t c = 0; place && c < N_COHORTS; c++) {
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

    for (size_t c = 0; c < N_COHORTS; c++) {
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
    for (size_t c = 0; c < N_COHORTS; c++) {
        const struct page_set *set = &panel->cohorts[c].set;

        for (uint64_t i = 0; i < set->n; i++) {
            *huge |= set->order[i] > 0;
            spans[n++] = (struct taken_span){page_set_hva(set, i) / reach * reach, reach};
        }
    }
    *out = (struct taken){.n = taken_sort(spans, n), .spans = spans};
    return 0;
}

/* Drops pages within the reach of another cohort's page: a fault there would map them too, and an
 * idle page would seem touched. With a random hot set of 43 %, the result was 49 % without this.
 * The places of the other cohorts are random, so the remaining pages are still a random sample. */
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
static int wake_by(const struct panel *panel, int fd, struct error *error)
{
    struct epoll_event event = {.events = EPOLLIN};

    return epoll_ctl(panel->wake_fd, EPOLL_CTL_ADD, fd, &event) == 0
               ? 0
               : error_set(error, -errno, "epoll: %s", strerror(errno));
}

/* Opens a cohort whose first period begins at the current tick. */
static int cohort_begin(struct panel *panel, struct cohort *cohort, struct error *error)
{
    const struct method *method = panel->plan.method;
    int rc = cohort_draw(panel, cohort);

    if (rc == 0)
        rc = keep_apart(panel, cohort);
    if (rc < 0)
        error_set(error, rc, "%s: out of memory", method->name);
    else
        rc = method->open(panel->target, &cohort->set, &cohort->method_state, error);
    if (rc == 0 && cohort_remember(cohort) < 0)
        rc = error_set(error, -ENOMEM, "%s: out of memory", method->name);
    if (rc == 0 && method->poll)
        rc = wake_by(panel, method->wake_fd(cohort->method_state), error);
    if (rc == 0)
        rc = method->mark(cohort->method_state, error);
    cohort->born = panel->now;
    if (rc < 0)
        cohort_close(panel, cohort);
    return rc;
}

static void cohort_sets(const struct panel *panel, const struct page_set *sets[N_COHORTS])
{
    for (size_t c = 0; c < N_COHORTS; c++)
        sets[c] = &panel->cohorts[c].set;
}

/* Call it after a cohort was begun, or failed to begin: its pages have changed. */
static int put_in_order(struct panel *panel, struct error *error)
{
    const struct page_set *sets[N_COHORTS];

    cohort_sets(panel, sets);
    page_merge_free(&panel->order);

    int rc = page_merge_make(&panel->order, sets, N_COHORTS);

    if (rc < 0)
        page_merge_free(&panel->order);
    return rc < 0 ? error_set(error, rc, "%s: out of memory", panel->plan.method->name) : 0;
}

static void method_states(const struct panel *panel, void *states[N_COHORTS])
{
    for (size_t c = 0; c < N_COHORTS; c++)
        states[c] = panel->cohorts[c].method_state;
}

/* Collects from all cohorts the pages touched since each was marked. */
static int collect(struct panel *panel, struct tally tallies[N_COHORTS], struct error *error)
{
    const struct method *method = panel->plan.method;
    void *states[N_COHORTS];
    int rc = 0;

    method_states(panel, states);
    if (method->collect_many)
        return method->collect_many(states, N_COHORTS, &panel->order, tallies, error);
    for (size_t c = 0; rc == 0 && c < N_COHORTS; c++)
        rc = method->collect(states[c], &tallies[c], error);
    return rc;
}

/* Marks the touched pages of all cohorts again. */
static int rearm(struct panel *panel, struct error *error)
{
    const struct method *method = panel->plan.method;
    void *states[N_COHORTS];
    int rc = 0;

    method_states(panel, states);
    if (method->rearm_many)
        return method->rearm_many(states, N_COHORTS, &panel->order, error);
    for (size_t c = 0; rc == 0 && c < N_COHORTS; c++)
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
    tick->hidden = (uint32_t)larger(tick->hidden, units32(tally->hidden_units));
    tick->younger = (uint32_t)larger(tick->younger, units32(tally->younger_units));
}

static int read_cohorts(struct panel *panel, struct error *error)
{
    struct tally tallies[N_COHORTS] = {0};
    int rc = collect(panel, tallies, error);
    struct tick *tick = tick_of(panel, panel->now);

    tick->doubts = 0;
    tick->hidden = tick->younger = 0;
    for (size_t c = 0; c < N_COHORTS; c++) {
        note_doubts(panel, &tallies[c]);
        if (rc == 0)
            note_states(panel, &panel->cohorts[c]);
    }
    return rc;
}

/* --- life ------------------------------------------------------------------------------------- */

void panel_close(struct panel *panel)
{
    if (!panel)
        return;
    for (size_t i = 0; i < N_COHORTS; i++)
        cohort_close(panel, &panel->cohorts[i]);
    witness_close(panel->witness);
    page_merge_free(&panel->order);
    cleanup_close_at(&panel->wake_fd);
    free(panel->ticks);
    free(panel);
}

void panel_abandon(struct panel *panel)
{
    for (size_t c = 0; c < N_COHORTS; c++)
        memset(panel->cohorts[c].set.state, PAGE_ABSENT, panel->cohorts[c].set.n);
}

static int open_wake_fd(struct panel *panel, struct error *error)
{
    if (!panel->plan.method->poll)
        return 0;
    panel->wake_fd = epoll_create1(EPOLL_CLOEXEC);
    return panel->wake_fd < 0 ? error_set(error, -errno, "epoll: %s", strerror(errno)) : 0;
}

static uint64_t odometer(const struct panel *panel)
{
    return ageing_odometer(panel->target, panel->plan.method->signal);
}

/* If another guest waits for a witness, this one goes without for a tick. @p since_ns: when the
 * pages were last read or first marked. */
static void begin_witness(struct panel *panel, uint64_t since_ns)
{
    const struct page_set *sets[N_COHORTS];

    if (panel->witness && witness_is_due_elsewhere()) {
        witness_close(panel->witness);
        panel->witness = NULL;
        return;
    }
    if (!panel->witness && panel->plan.witness > 0 &&
        witness_applies(panel->target, panel->plan.method))
        witness_open(panel->target, panel->plan.witness, &panel->witness, NULL);
    if (!panel->witness)
        return;
    cohort_sets(panel, sets);
    witness_watch(panel->witness, sets, N_COHORTS, since_ns);
}

static uint8_t rounded_up(float count)
{
    return (uint8_t)fminf(ceilf(count), WITNESS_MAX_PAGES);
}

static void end_witness(struct panel *panel)
{
    const struct page_set *sets[N_COHORTS];
    struct tick *tick = tick_of(panel, panel->now);
    struct witness_count count;

    tick->witness = (__typeof__(tick->witness)){0};
    tick->disputed = false;
    if (!panel->witness)
        return;
    cohort_sets(panel, sets);
    witness_compare(panel->witness, sets, &count);
    tick->witness.n = rounded_up(count.n);
    tick->witness.both = (uint8_t)count.both;
    tick->disputed = witness_disputes(&count);
    tick->witness.others = rounded_up(count.others + (tick->disputed ? count.early : 0));
    tick->witness.missed = rounded_up(count.missed);
}

static int begin(struct panel *panel, struct error *error)
{
    const uint64_t since_ns = clock_ns();
    uint64_t aged = odometer(panel);
    uint64_t begin_ns = now_ns(panel);
    int rc = open_wake_fd(panel, error);

    for (size_t i = 0; rc == 0 && i < N_COHORTS; i++)
        rc = cohort_begin(panel, &panel->cohorts[i], error);
    if (rc == 0)
        rc = put_in_order(panel, error);
    if (rc < 0)
        return rc;

    uint64_t middle_ns = begin_ns + (now_ns(panel) - begin_ns) / 2;

    *tick_of(panel,
             0) = (struct tick){.read_ns = middle_ns, .marked_ns = middle_ns, .odometer = aged};
    read_clocks(panel, tick_of(panel, 0));
    panel->began_ns = panel->turned_ns = middle_ns;
    begin_witness(panel, since_ns);
    return 0;
}

int panel_open(const struct target *target, const struct panel_plan *plan, struct panel **out,
               struct error *error)
{
    struct panel *panel = calloc(1, sizeof(*panel));
    double ticks = ceil(plan->longest_s / plan->tick_s) + 4;

    if (!panel)
        return error_set(error, -ENOMEM, "%s: out of memory", plan->method->name);
    panel->target = target;
    panel->plan = *plan;
    panel->seed = plan->seed;
    panel->wake_fd = -1;
    panel->n_ticks = (size_t)fmin(ticks, PANEL_MAX_TICKS + 4);
    panel->ticks = calloc(panel->n_ticks, sizeof(*panel->ticks));

    int rc = panel->ticks ? begin(panel, error)
                          : error_set(error, -ENOMEM, "%s: out of memory", plan->method->name);

    if (rc < 0)
        panel_close(panel);
    else
        *out = panel;
    return rc;
}

int panel_wake_fd(const struct panel *panel)
{
    return panel->wake_fd;
}

int panel_poll(struct panel *panel, struct error *error)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && panel->plan.method->poll && i < N_COHORTS; i++)
        rc = panel->plan.method->poll(panel->cohorts[i].method_state, error);
    return rc;
}

static int read_all(struct panel *panel, struct error *error)
{
    uint64_t begin_ns = now_ns(panel);
    int rc = 0;

    if (panel->witness)
        witness_stop(panel->witness);
    for (size_t i = 0; rc == 0 && panel->plan.method->stop && i < N_COHORTS; i++)
        rc = panel->plan.method->stop(panel->cohorts[i].method_state, error);
    if (rc == 0)
        rc = read_cohorts(panel, error);
    if (rc == 0)
        end_witness(panel);
    read_clocks(panel, tick_of(panel, panel->now));
    tick_of(panel, panel->now)->odometer = odometer(panel);
    tick_of(panel, panel->now)->read_ns = begin_ns + (now_ns(panel) - begin_ns) / 2;
    return rc;
}

/* Tallies the pages watched since that tick. */
static struct tally touched_since(const struct panel *panel, uint64_t since)
{
    struct tally tally = {0};

    for (size_t c = 0; c < N_COHORTS; c++) {
        const struct cohort *cohort = &panel->cohorts[c];

        for (uint64_t i = 0; cohort->born <= since && i < cohort->set.n; i++) {
            enum page_state state = (enum page_state)cohort->set.state[i];
            struct stratum *units = NULL;

            /* an absent page keeps its last order */
            if (state == PAGE_TOUCHED || state == PAGE_IDLE)
                units = tally_stratum(&tally, base_page_bytes() << cohort->set.order[i]);
            if (!units)
                continue;
            units->draws++;
            units->units++;
            units->touched_units += cohort->last[i] > since;
        }
    }
    return tally;
}

/* Returns true if pages were touched in the last tick although no vCPU ran in it. */
static bool qemu_read_alone(const struct panel *panel)
{
    const struct tick *now = tick_of(panel, panel->now);
    const struct tick *last = tick_of(panel, panel->now - 1);
    struct tally tally = touched_since(panel, panel->now - 1);

    return panel->target->process && now->vcpu_ns == last->vcpu_ns &&
           read_without_guest(&tally, less(now->own_ns, last->own_ns)) &&
           qemu_process_vcpus_stopped(panel->target->root, panel->target->process);
}

/* Uses two ticks, because a job may have begun before the last one, and compares them with the two
 * before. So a job shows at one or two ticks. */
static void note_read_all(struct panel *panel)
{
    uint64_t since = panel->now > 1 ? panel->now - 2 : 0;
    struct tally tally = touched_since(panel, since);
    double share = read_all_share(&tally);
    double before = panel->share[1];
    uint64_t now_ns = tick_of(panel, panel->now)->own_ns;
    uint64_t then_ns = tick_of(panel, since)->own_ns;
    double resident_bytes = panel->plan.presence * (double)panel->target->ram->bytes;

    panel->read_all =
        panel->plan.method->sees_qemu &&
        (qemu_read_alone(panel) ||
         ((before > 0 || read_all_tells_alone(&tally)) &&
          read_all_likely(before, share, less(now_ns, then_ns), (uint64_t)resident_bytes)));
    panel->share[1] = panel->share[0];
    panel->share[0] = share;
}

static int mark_all(struct panel *panel, struct error *error)
{
    uint64_t begin_ns = now_ns(panel);
    int rc = rearm(panel, error);

    tick_of(panel, panel->now)->marked_ns = begin_ns + (now_ns(panel) - begin_ns) / 2;
    return rc;
}

/* Replaces the oldest cohort after each longest window. */
static int turn(struct panel *panel, struct error *error)
{
    uint64_t marked_ns = tick_of(panel, panel->now)->marked_ns;

    /* a guest's clock may step back a little, because it learns of a suspension afterwards */
    if ((double)marked_ns < (double)panel->turned_ns + panel->plan.longest_s * 1e9)
        return 0;

    struct cohort *cohort = &panel->cohorts[panel->oldest];

    panel->turned_ns = marked_ns;
    panel->oldest = (panel->oldest + 1) % N_COHORTS;
    page_merge_free(&panel->order);
    cohort_close(panel, cohort);

    int rc = cohort_begin(panel, cohort, error);

    return rc == 0 ? put_in_order(panel, error) : rc;
}

int panel_tick(struct panel *panel, double presence, struct resident_now *now, struct error *error)
{
    const uint64_t since_ns = clock_ns();

    panel->plan.presence = presence;
    panel->now++;

    int rc = read_all(panel, error);

    if (rc == 0 && now)
        rc = target_read_resident(panel->target, now, true, error);
    if (rc == 0)
        note_read_all(panel);
    if (rc == 0)
        rc = mark_all(panel, error);
    if (rc == 0)
        rc = turn(panel, error);
    if (rc == 0)
        begin_witness(panel, since_ns);
    return rc;
}

void panel_set_samples(struct panel *panel, uint64_t samples)
{
    panel->plan.samples = samples;
}

/* --- answers ---------------------------------------------------------------------------------- */

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

/* Touches within the ages (older, newer], as tick numbers; a page that was never touched is older
 * than everything. */
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

/* Gathers the pages of all cohorts that were watched since that tick; a page drawn twice counts
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

static uint64_t units64(uint32_t units)
{
    return units == UINT32_MAX ? HIDDEN_ANY : units;
}

/* The doubts about the touches within (older, newer] that were not resolved at once. */
static struct tally doubts_between(const struct panel *panel, uint64_t older, uint64_t newer)
{
    const struct tick *from = tick_of(panel, older);
    const struct tick *to = tick_of(panel, newer);
    struct tally tally = {0};

    for (uint64_t k = older + 1; k <= newer; k++) {
        const struct tick *tick = tick_of(panel, k);

        tally.doubts |= tick->doubts;
        tally.hidden_units = larger(tally.hidden_units, units64(tick->hidden));
        tally.younger_units = larger(tally.younger_units, units64(tick->younger));
    }
    if (from->odometer != to->odometer)
        ageing_doubt(&tally);
    return tally;
}

/* The witnesses' findings for the touches within (older, newer]. */
static struct dispute dispute_between(const struct panel *panel, uint64_t older, uint64_t newer)
{
    struct dispute dispute = {0};

    for (uint64_t k = older + 1; k <= newer; k++) {
        const struct tick *tick = tick_of(panel, k);
        const struct witness_count count = {.n = tick->witness.n,
                                            .both = tick->witness.both,
                                            .others = tick->witness.others,
                                            .missed = tick->witness.missed};

        dispute_add(&dispute, &count, tick->disputed);
    }
    return dispute;
}

/* A page that reads idle at a doubtful tick may have been touched before it; then it belongs to
 * that tick instead of an older one. A page that others touched may belong to an older tick. */
static void doubt(const struct panel *panel, const struct tick_range *range, struct tally *tally)
{
    const struct tally after = doubts_between(panel, range->newer, panel->now);
    struct tally within = {0};

    if (!range->any_older) {
        within = doubts_between(panel, range->older, range->newer);
        tally_doubt(tally, within.doubts, within.hidden_units);
        tally->within = dispute_between(panel, range->older, range->newer);
    }
    tally->younger = dispute_between(panel, range->newer, panel->now);
    tally->younger_units = larger(within.younger_units, after.hidden_units);
    tally_doubt(tally, 0, after.younger_units);
}

static int tally_range(const struct panel *panel, const struct tick_range *range,
                       uint64_t watched_since, struct tally *tally)
{
    struct page_set view;
    int rc = page_set_blank(&view, panel->target->ram, panel->order.n);

    if (rc == 0) {
        gather(panel, range, watched_since, &view);
        page_set_tally(&view, tally);
    }
    page_set_free(&view);
    return rc;
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
