// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file panel.c  See panel.h.
 *
 * Theory of operation. Ticks are numbered: 0 is the first marking. At tick k a page that is found
 * touched gets last = k: the touch happened between the marking at tick k - 1 and the reading at
 * tick k. So with now = k, a page was touched since the marking of tick j if and only if last > j,
 * and the est window is the time from that marking to this reading. A cohort first marked at tick b
 * (born) can only answer for j >= b.
 *
 * A tick marks only the touched pages again: its cost is one reading of all pages and one marking
 * of the hot ones. A touch between the reading and the new marking is missed; that gap lasts
 * milliseconds, and concerns only pages that were just found touched.
 */
#include "measure/panel.h"

#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "guest/domain/qemu_io.h"
#include "measure/ageing.h"
#include "measure/kernel/kvm_stats.h"
#include "measure/panel_private.h"
#include "measure/read_all.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

static uint64_t now_ns(const struct panel *panel)
{
    return panel->plan.clock ? panel->plan.clock(panel->plan.clock_context) : clock_ns();
}

/* Reads the vCPU threads once for both clocks. */
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

/* --- life ------------------------------------------------------------------------------------- */

void panel_close(struct panel *panel)
{
    if (!panel)
        return;
    panel_close(panel->writes);
    for (size_t i = 0; i < panel->n_cohorts; i++)
        cohort_close(panel, &panel->cohorts[i]);
    witness_close(panel->witness);
    page_merge_free(&panel->order);
    cleanup_close_at(&panel->wake_fd);
    free(panel->ticks);
    free(panel);
}

void panel_abandon(struct panel *panel)
{
    for (size_t c = 0; c < panel->n_cohorts; c++)
        memset(panel->cohorts[c].set.state, PAGE_ABSENT, panel->cohorts[c].set.n);
}

/* When KVM's mappings are dropped at each tick, all pages fault, and a witness would lose most
 * faults of its own. */
static bool wants_witness(const struct panel *panel)
{
    return panel->plan.witness > 0 && !panel->writes &&
           witness_applies(panel->target, panel->plan.method);
}

static int open_wake_fd(struct panel *panel, struct error *error)
{
    if (!panel->plan.method->wake.poll && !wants_witness(panel) && !panel->writes)
        return 0;
    panel->wake_fd = epoll_create1(EPOLL_CLOEXEC);
    if (panel->wake_fd < 0)
        return error_set(error, -errno, "epoll: %s", strerror(errno));
    return panel->writes ? panel_wake_by(panel, panel->writes->wake_fd, error) : 0;
}

static uint64_t odometer(const struct panel *panel)
{
    return ageing_odometer(panel->target, panel->plan.method->signal);
}

/* A witness that cannot be polled between ticks loses faults, so it is not used. */
static void open_witness(struct panel *panel)
{
    struct epoll_event event = {.events = EPOLLIN};

    if (panel->wake_fd < 0 || !wants_witness(panel) ||
        witness_open(panel->target, panel->plan.method, panel->plan.witness, &panel->witness,
                     NULL) < 0)
        return;
    if (epoll_ctl(panel->wake_fd, EPOLL_CTL_ADD, witness_wake_fd(panel->witness), &event) == 0)
        return;
    witness_close(panel->witness);
    panel->witness = NULL;
}

/* If another guest waits for a witness, this guest has none for a tick. @p since_ns: when the pages
 * were last read or first marked. */
static void begin_witness(struct panel *panel, uint64_t since_ns)
{
    const struct page_set *sets[N_COHORTS];

    if (panel->witness && witness_is_due_elsewhere()) {
        witness_close(panel->witness);
        panel->witness = NULL;
        return;
    }
    if (!panel->witness)
        open_witness(panel);
    if (!panel->witness)
        return;
    cohort_sets(panel, sets);
    witness_watch(panel->witness, sets, panel->n_cohorts, since_ns);
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
    tick->disputed = witness_disputes(&count) ||
                     witness_misses_share(&count, page_sets_share(sets, panel->n_cohorts));
    tick->witness.n = rounded_up(count.n);
    tick->witness.both = (uint8_t)count.both;
    tick->witness.others = rounded_up(count.others + (tick->disputed ? count.early : 0));
    tick->witness.missed = rounded_up(count.missed);
    tick->witness.unseen = rounded_up(count.unseen);
    tick->witness.part = (uint8_t)(count.watched_bytes * UINT8_MAX / panel->target->ram->bytes);
}

static uint64_t kvm_faults(const struct panel *panel)
{
    return method_sees_writes(panel->plan.method) ? kvm_faults_fixed(panel->target) : 0;
}

static int begin(struct panel *panel, struct error *error)
{
    const uint64_t since_ns = clock_ns();
    const uint64_t fixed = kvm_faults(panel);
    uint64_t aged = odometer(panel);
    uint64_t begin_ns = now_ns(panel);
    int rc = open_wake_fd(panel, error);

    own_time_begin(&panel->own, panel->target);
    for (size_t i = 0; rc == 0 && i < panel->n_cohorts; i++)
        rc = cohort_begin(panel, &panel->cohorts[i], error);
    if (rc == 0)
        rc = cohorts_put_in_order(panel, error);
    if (rc < 0)
        return rc;

    uint64_t middle_ns = begin_ns + (now_ns(panel) - begin_ns) / 2;

    *tick_of(panel, 0) = (struct tick){.read_ns = middle_ns,
                                       .marked_ns = middle_ns,
                                       .odometer = aged,
                                       .kvm_faults = fixed,
                                       .presence = (float)panel->plan.presence};
    read_clocks(panel, tick_of(panel, 0));
    panel->began_ns = panel->turned_ns = middle_ns;
    begin_witness(panel, since_ns);
    return 0;
}

/* Its marking drops KVM's mappings, so it comes before that of the panel. */
static int open_writes(struct panel *panel, struct error *error)
{
    struct panel_plan plan = panel->plan;

    plan.method = &method_soft_dirty;
    plan.census = true;
    plan.writes = false;
    plan.witness = 0;
    return panel_open(panel->target, &plan, &panel->writes, error);
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
    panel->n_cohorts = plan->census ? 1 : N_COHORTS;
    panel->n_ticks = (size_t)fmin(ticks, PANEL_MAX_TICKS + 4);
    panel->ticks = calloc(panel->n_ticks, sizeof(*panel->ticks));

    int rc = panel->ticks ? 0 : error_set(error, -ENOMEM, "%s: out of memory", plan->method->name);

    if (rc == 0 && plan->writes)
        rc = open_writes(panel, error);
    if (rc == 0)
        rc = begin(panel, error);
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

    if (panel->witness)
        witness_poll(panel->witness);
    for (size_t i = 0; rc == 0 && panel->plan.method->wake.poll && i < panel->n_cohorts; i++)
        rc = panel->plan.method->wake.poll(panel->cohorts[i].method_state, error);
    return rc == 0 && panel->writes ? panel_poll(panel->writes, error) : rc;
}

static uint64_t faults(const struct panel *panel)
{
    return method_sees_writes(panel->plan.method)
               ? qemu_process_faults(panel->target->root, panel->target->process)
               : 0;
}

static int read_all(struct panel *panel, struct error *error)
{
    uint64_t begin_ns = now_ns(panel);
    int rc = 0;

    panel->faults = faults(panel);
    if (panel->witness)
        witness_stop(panel->witness);
    for (size_t i = 0; rc == 0 && panel->plan.method->stop && i < panel->n_cohorts; i++)
        rc = panel->plan.method->stop(panel->cohorts[i].method_state, error);
    if (rc == 0)
        rc = cohorts_read(panel, error);
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

    for (size_t c = 0; c < panel->n_cohorts; c++) {
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

/* The touched share of the pages that were resident then. */
static double touched_share(const struct panel *panel, uint64_t since)
{
    const struct tally tally = touched_since(panel, since);

    return read_all_share(&tally,
                          read_all_grown(tick_of(panel, since)->presence, panel->plan.presence));
}

void panel_note_own(struct panel *panel, const struct own_time *own)
{
    panel->own = *own;
    panel->has_own = true;
}

static void begin_own(struct panel *panel)
{
    if (panel->plan.method->sees_qemu && !panel->has_own)
        own_time_scan(&panel->own, panel->target);
}

static void end_own(struct panel *panel)
{
    struct tick *now = tick_of(panel, panel->now);

    if (!panel->plan.method->sees_qemu)
        return;
    own_time_end(&panel->own, panel->target);
    if (panel->own.scan.read_bytes > 0)
        own_time_judge_scan(&panel->own, touched_share(panel, panel->now - 1),
                            panel->target->ram->bytes);
    panel->has_own = false;
    now->younger = (uint32_t)smaller(UINT32_MAX,
                                     larger(now->younger, own_time_loaded_units(&panel->own)));
}

/* Returns true if pages were touched in the last tick although no vCPU ran in it, or while QEMU
 * worked and none ran. */
static bool qemu_read_alone(const struct panel *panel)
{
    const struct tick *now = tick_of(panel, panel->now);
    const struct tick *last = tick_of(panel, panel->now - 1);
    struct tally tally = touched_since(panel, panel->now - 1);

    if (read_without_guest(&tally, panel->own.alone_ns))
        return true;
    return panel->target->process && now->vcpu_ns == last->vcpu_ns &&
           read_without_guest(&tally, less(now->own_ns, last->own_ns)) &&
           qemu_process_vcpus_stopped(panel->target->root, panel->target->process);
}

/* Compares the last two ticks with the previous two, because a job may have begun before the last
 * tick. So a job shows at one or two ticks. */
static void note_read_all(struct panel *panel)
{
    if (!panel->plan.method->sees_qemu)
        return;

    uint64_t since = panel->now > 1 ? panel->now - 2 : 0;
    struct tally tally = touched_since(panel, since);
    double share = touched_share(panel, since);
    double before = panel->share[1];
    uint64_t now_ns = tick_of(panel, panel->now)->own_ns;
    uint64_t then_ns = tick_of(panel, since)->own_ns;
    double resident_bytes = panel->plan.presence * (double)panel->target->ram->bytes;

    panel->read_all = qemu_read_alone(panel) ||
                      ((before > 0 || read_all_tells_alone(&tally)) &&
                       read_all_likely(before, share, less(now_ns, then_ns),
                                       (uint64_t)resident_bytes));
    panel->share[1] = panel->share[0];
    panel->share[0] = share;
}

/* Each fault since before the reading may have been the first write to a page of any size. */
static uint32_t pages_between(const struct panel *panel)
{
    const struct page_set *set = &panel->cohorts[0].set;
    const uint64_t n = less(faults(panel), panel->faults);
    unsigned order = 0;

    for (uint64_t i = 0; n > 0 && i < set->n; i++)
        order = set->order[i] > order ? set->order[i] : order;
    return (uint32_t)smaller(UINT32_MAX, smaller(n, UINT32_MAX) << order);
}

static int mark_all(struct panel *panel, struct error *error)
{
    struct tick *tick = tick_of(panel, panel->now);
    uint64_t begin_ns = now_ns(panel);

    tick->kvm_faults = kvm_faults(panel);

    int rc = cohorts_rearm(panel, error);

    tick->marked_ns = begin_ns + (now_ns(panel) - begin_ns) / 2;
    tick->between = pages_between(panel);
    return rc;
}

/* Replaces the oldest cohort after each longest window. A census needs no new draw. */
static int turn(struct panel *panel, struct error *error)
{
    uint64_t marked_ns = tick_of(panel, panel->now)->marked_ns;

    /* a guest's clock may step back a little when it learns of a suspension late */
    if (panel->plan.census ||
        (double)marked_ns < (double)panel->turned_ns + panel->plan.longest_s * 1e9)
        return 0;

    struct cohort *cohort = &panel->cohorts[panel->oldest];

    panel->turned_ns = marked_ns;
    panel->oldest = (panel->oldest + 1) % N_COHORTS;
    page_merge_free(&panel->order);
    cohort_close(panel, cohort);

    int rc = cohort_begin(panel, cohort, error);

    return rc == 0 ? cohorts_put_in_order(panel, error) : rc;
}

static int read_tick(struct panel *panel, double presence, struct resident_now *now,
                     struct error *error)
{
    panel->plan.presence = presence;
    panel->now++;
    tick_of(panel, panel->now)->presence = (float)presence;

    begin_own(panel);

    int rc = read_all(panel, error);

    end_own(panel);
    if (rc == 0 && now)
        rc = target_read_resident(panel->target, now, true, error);
    if (rc == 0)
        note_read_all(panel);
    return rc;
}

/* To clear soft-dirty bits may lose accessed bits: it is done when the panel has been read, and
 * before it is marked. */
int panel_tick(struct panel *panel, double presence, struct resident_now *now, struct error *error)
{
    const uint64_t since_ns = clock_ns();
    int rc = read_tick(panel, presence, now, error);

    if (rc == 0 && panel->writes)
        rc = panel_tick(panel->writes, presence, NULL, error);
    if (rc == 0)
        rc = mark_all(panel, error);
    if (rc == 0)
        rc = turn(panel, error);
    if (rc == 0)
        begin_witness(panel, since_ns);
    return rc;
}

const struct panel *panel_writes(const struct panel *panel)
{
    return panel->writes;
}

void panel_set_samples(struct panel *panel, uint64_t samples)
{
    panel->plan.samples = samples;
}
