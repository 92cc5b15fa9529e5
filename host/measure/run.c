// SPDX-License-Identifier: LGPL-2.1-or-later
#include "measure/run.h"

#include "base/bytes.h"
#include "base/clock.h"
#include "base/debug.h"
#include "guest/domain/qemu_vcpus.h"
#include "measure/ageing.h"
#include "measure/kernel/kvm_stats.h"
#include "measure/ran.h"
#include "measure/read_all.h"
#include "measure/wait.h"
#include "measure/witness.h"
#include "measure/witness_alone.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Replaces an error by "vanished" if the guest has ended. */
static int explain(const struct target *target, int rc, struct error *error)
{
    struct error gone = {0};

    if (rc == 0 || rc == -EINTR || qemu_process_verify(target->root, target->process, &gone) == 0)
        return rc;
    if (gone.code == -ESTALE)
        return error_set(error, -ESTALE, "%s", gone.text);
    return error_set(error, -ESRCH, "the guest vanished while it was measured (%s)", gone.text);
}

struct span {
    uint64_t begin_ns, end_ns;
};

/* A running measurement: the method with its pages, and the witness that watches some of them. */
struct running {
    const struct target *target;
    const struct sample_plan *plan;
    struct sample_result *result;
    void *state; /* the method's */
    const struct page_set *set;
    struct witness *witness; /* NULL: no witness */
    struct page_set alone;   /* its own pages, if the method has none */
};

static uint64_t midpoint(const struct span *span)
{
    return span->begin_ns + (span->end_ns - span->begin_ns) / 2;
}

/* The reading begins so that the est window is the requested one, but each page gets at least this
 * share of it. If marking takes longer than the window (a large guest, a busy host), the last pages
 * would otherwise be read as soon as they are marked; the est window then is longer, and is
 * reported so. */
#define LEAST_SHARE 0.8

static uint64_t window_end(const struct span *marking, double window_s)
{
    uint64_t window_ns = (uint64_t)llround(window_s * 1e9);
    uint64_t wanted_ns = midpoint(marking) + window_ns;
    uint64_t least_ns = marking->end_ns + (uint64_t)llround(window_s * 1e9 * LEAST_SHARE);

    return wanted_ns > least_ns ? wanted_ns : least_ns;
}

static uint64_t guest_clock_ns(const struct sample_result *result)
{
    return clock_ns() - result->paused_ns;
}

static int begin_span(const struct running *running, struct span *span, struct error *error)
{
    const struct sample_plan *plan = running->plan;

    span->begin_ns = guest_clock_ns(running->result);
    return plan->pause ? plan->pause->begin(plan->pause->context, error) : 0;
}

/* Resumes the guest in any case; @p rc is the result of the work so far. */
static int end_span(const struct running *running, struct span *span, int rc, struct error *error)
{
    const struct sample_plan *plan = running->plan;
    struct sample_result *result = running->result;
    uint64_t paused_ns = 0;
    bool cut = false;

    if (plan->pause) {
        int resumed = plan->pause->end(plan->pause->context, &paused_ns, &cut,
                                       rc < 0 ? NULL : error);

        rc = rc < 0 ? rc : resumed;
    }
    result->paused_ns += paused_ns;
    result->pause_cut |= cut;
    span->end_ns = guest_clock_ns(result);
    return rc;
}

static void watch(const struct running *running, uint64_t begun_ns)
{
    const struct page_set *set = running->set ? running->set : &running->alone;

    witness_watch(running->witness, &set, 1, begun_ns);
}

static void compare(const struct running *running, struct tally *tally)
{
    const struct page_set *alone = &running->alone;
    struct witness_count count;
    bool disputed;

    witness_compare(running->witness, running->set ? &running->set : &alone, &count);
    if (running->set) {
        disputed = witness_disputes(&count) ||
                   witness_misses_share(&count, page_sets_share(&running->set, 1));
    } else {
        disputed = witness_alone_judge(tally, &count);
        if (count.others > 0 && !witness_can_be_believed(running->witness))
            return;
    }
    dispute_add(&tally->within, &count, disputed);
}

static int mark(const struct running *running, struct span *span, struct error *error)
{
    const uint64_t begun_ns = clock_ns();
    int rc = begin_span(running, span, error);

    if (rc < 0)
        return rc;
    if (running->plan->writes)
        rc = write_watch_mark(running->plan->writes, error);
    if (rc == 0)
        rc = running->plan->method->mark(running->state, error);
    if (rc == 0 && running->witness)
        watch(running, begun_ns);
    return end_span(running, span, rc, error);
}

static int collect_pages(const struct running *running, struct tally *tally, struct error *error)
{
    if (running->witness)
        witness_stop(running->witness);

    int rc = running->plan->method->collect(running->state, tally, error);

    if (rc == 0 && running->witness)
        compare(running, tally);
    if (rc == 0 && running->plan->writes)
        rc = write_watch_read(running->plan->writes, error);
    return rc;
}

static int read_pages(const struct running *running, struct span *span, struct tally *tally,
                      struct error *error)
{
    const struct target *target = running->target;
    int rc = qemu_process_verify(target->root, target->process, error);

    if (rc == 0)
        rc = begin_span(running, span, error);
    if (rc < 0)
        return rc;
    rc = collect_pages(running, tally, error);
    rc = end_span(running, span, rc, error);
    /* the files of an ended process read as empty, as if all of its pages were absent */
    return rc < 0 ? rc : qemu_process_verify(target->root, target->process, error);
}

/* Reads how much is resident before and after the pages, because memory may move meanwhile. */
static int collect(const struct running *running, struct span *span, struct sample_window *window,
                   struct error *error)
{
    int rc = target_read_resident(running->target, &window->now, false, error);

    if (rc == 0)
        rc = read_pages(running, span, &window->tally, error);
    if (rc == 0)
        rc = target_read_resident(running->target, &window->now, true, error);
    return rc;
}

static double resident_bytes(const struct sample_plan *plan, const struct sample_window *window)
{
    if (window->tally.census)
        return (double)window->tally.resident_bytes;
    return (double)(plan->method->sees_unmapped ? window->now.resident_bytes
                                                : window->now.mapped_bytes);
}

/* @p share: the touched share of the previous window; updated to that of this window. */
static void note_read_all(const struct target *target, const struct sample_plan *plan,
                          const struct own_time *own, struct sample_window *window, double *share)
{
    struct tally *tally = &window->tally;
    const double before_bytes = plan->presence * (double)target->ram->bytes;
    const double now_bytes = resident_bytes(plan, window);
    const double before = *share;

    *share = read_all_share(tally, read_all_grown(before_bytes, now_bytes));
    if (!plan->jobs || !plan->method->sees_qemu)
        return;
    tally->younger_units += own_time_loaded_units(own);
    if (read_without_guest(tally, own->alone_ns) ||
        ((before > 0 || read_all_tells_alone(tally)) &&
         read_all_likely(before, *share, own_time_excess_ns(own), (uint64_t)now_bytes)))
        *plan->jobs |= QEMU_JOB_DUMP;
}

static double span_s(const struct span *span)
{
    return (double)(span->end_ns - span->begin_ns) / 1e9;
}

static void note_times(const struct span *marking, const struct span *reading,
                       struct sample_result *result, struct sample_window *window)
{
    window->est_window_s = (double)(midpoint(reading) - midpoint(marking)) / 1e9;
    window->reading_s = span_s(reading);
    result->marking_s = span_s(marking);
    result->ended_ns = reading->end_ns + result->paused_ns;
}

static void debug_window(const struct sample_result *result, const struct sample_window *window)
{
    const struct tally *tally = &window->tally;
    uint64_t draws = 0;
    uint64_t touched = 0;

    for (size_t i = 0; i < tally->n_strata; i++) {
        draws += tally->strata[i].draws;
        touched += tally->strata[i].touched_units;
    }
    debug_log(
        "marked in %.6f s, collected in %.6f s, %.6f s between their middles, in which the vCPUs "
        "ran for %.6f s; touched %" PRIu64 " of %" PRIu64 " draws, %" PRIu64 " of %" PRIu64
        " bytes; doubts %#x",
        result->marking_s, window->reading_s, window->est_window_s, window->vcpu_s, touched, draws,
        tally->touched_bytes, tally->resident_bytes, tally->doubts);
}

static int poll_running(void *context, struct error *error)
{
    const struct running *running = context;
    const struct method *method = running->plan->method;

    if (running->witness)
        witness_poll(running->witness);
    if (running->plan->writes)
        write_watch_poll(running->plan->writes);
    return method->wake.poll ? method->wake.poll(running->state, error) : 0;
}

static void between(void *context)
{
    const struct running *running = context;
    const struct sample_plan *plan = running->plan;

    if (plan->method->wake.between)
        plan->method->wake.between(running->state);
    if (plan->writes)
        write_watch_poll(plan->writes);
}

static int wake_fd(const struct running *running)
{
    const struct method *method = running->plan->method;

    if (method->wake.poll)
        return method->wake.fd(running->state);
    if (running->witness)
        return witness_wake_fd(running->witness);
    return running->plan->writes ? write_watch_wake_fd(running->plan->writes) : -1;
}

/* State kept from before marking to the end. */
struct course {
    struct own_time own;
    double share; /* touched share of the previous window */
    uint64_t odometer;
    struct vcpu_clock vcpus;
    uint64_t marked_vcpu_ns; /* vCPU clock when all pages were marked, and ... */
    uint64_t inner_vcpu_ns;  /* ... when this window's reading began */
    uint64_t kvm_faults;     /* faults that KVM had resolved before marking; for writes only */
    struct span marking;
};

static void course_begin(struct course *course, const struct target *target,
                         const struct sample_plan *plan)
{
    *course = (struct course){.odometer = ageing_odometer(target, plan->method->signal)};
    if (method_sees_writes(plan->method))
        course->kvm_faults = kvm_faults_fixed(target);
    vcpu_clock_read(&course->vcpus, target->root, target->process);
    own_time_begin(&course->own, target);
}

static uint64_t course_vcpu_ns(struct course *course, const struct target *target)
{
    return vcpu_clock_read(&course->vcpus, target->root, target->process);
}

/* @p ran_ns: vCPU time since before marking. */
static void note_vcpus(const struct running *running, const struct course *course,
                       const struct span *reading, uint64_t ran_ns, struct sample_window *window)
{
    const struct span *marking = &course->marking;
    const struct ran inner = {.vcpu_ns = course->inner_vcpu_ns - course->marked_vcpu_ns,
                              .time_ns = less(reading->begin_ns, marking->end_ns)};
    const struct ran edges = {.vcpu_ns = ran_ns - inner.vcpu_ns,
                              .time_ns = reading->end_ns - marking->begin_ns - inner.time_ns};

    window->vcpu_s = ((double)inner.vcpu_ns + (double)edges.vcpu_ns / 2) / 1e9;
    ran_doubt(running->target, running->plan->method, course->kvm_faults,
              &(struct ran_window){.inner = inner, .edges = edges}, &window->tally);
}

static void note_window(const struct running *running, struct course *course,
                        const struct span *reading, struct sample_window *window)
{
    const struct target *target = running->target;
    const struct sample_plan *plan = running->plan;
    struct sample_result *result = running->result;
    const uint64_t ran_ns = course_vcpu_ns(course, target);

    result->vcpu_s = (double)ran_ns / 1e9;
    if (ageing_odometer(target, plan->method->signal) != course->odometer)
        ageing_doubt(&window->tally);
    own_time_end(&course->own, target);
    note_read_all(target, plan, &course->own, window, &course->share);
    note_times(&course->marking, reading, result, window);
    note_vcpus(running, course, reading, ran_ns, window);
    debug_window(result, window);
}

static int run_windows(struct running *running, struct error *error)
{
    const struct target *target = running->target;
    const struct sample_plan *plan = running->plan;
    struct sample_result *result = running->result;
    struct course course;
    const struct wait wait = {
        .interrupted = plan->interrupted,
        .poll = plan->method->wake.poll || running->witness || plan->writes ? poll_running : NULL,
        .between = plan->method->wake.between || plan->writes ? between : NULL,
        .state = running,
        .wake_fd = wake_fd(running),
        .progress = plan->progress,
        .progress_context = plan->progress_context,
        .began_ns = clock_ns(),
        .total_s = plan->window_s[plan->n_windows - 1],
        .own = &course.own,
        .jobs = plan->jobs,
    };

    course_begin(&course, target, plan);

    int rc = mark(running, &course.marking, error);

    course.marked_vcpu_ns = course_vcpu_ns(&course, target);
    for (size_t w = 0; rc == 0 && w < plan->n_windows; w++) {
        struct sample_window *window = &result->windows[w];
        struct span reading = {0};
        uint64_t until_ns = window_end(&course.marking, plan->window_s[w]) + result->paused_ns;

        rc = wait_until(target, &wait, until_ns, error);
        course.inner_vcpu_ns = course_vcpu_ns(&course, target);
        if (rc == 0)
            rc = collect(running, &reading, window, error);
        if (rc == 0 && w > 0)
            resident_now_settle(&result->windows[w - 1].now, &window->now);
        if (rc == 0 && plan->collected && running->set)
            plan->collected(running->set, w, plan->collected_context);
        if (rc == 0)
            note_window(running, &course, &reading, window);
    }
    return rc;
}

int sample_make_set(const struct target *target, const struct sample_plan *plan,
                    struct page_set *set, struct error *error)
{
    int rc = 0;

    *set = (struct page_set){0};
    if (!plan->method->needs_pages)
        return 0;
    if (plan->census)
        rc = page_set_census(set, target->ram);
    else
        rc = page_set_panel(set, target->ram, page_set_draws(plan->samples, plan->presence),
                            plan->seed);
    return rc < 0 ? error_set(error, rc, "out of memory") : 0;
}

/* If no witness can be opened, the measurement continues without one. */
static void begin_witness(struct running *running)
{
    const struct target *target = running->target;
    const struct sample_plan *plan = running->plan;
    const uint64_t pages = running->set ? plan->witness : ALONE_TIMES * plan->witness;
    int rc = running->set ? 0
                          : witness_alone_draw(target, page_set_draws(pages, plan->presence),
                                               plan->seed, &running->alone);

    if (rc == 0)
        witness_open(target, plan->method, pages, &running->witness, NULL);
}

static int run_method(const struct target *target, const struct sample_plan *plan,
                      struct page_set *set, struct sample_result *result, struct error *error)
{
    struct running running = {.target = target, .plan = plan, .result = result, .set = set};

    if (set)
        set->flooded = plan->writes != NULL;

    int rc = plan->method->open(target, set, &running.state, error);

    if (rc < 0)
        return rc;
    if (plan->witness > 0 && witness_applies(target, plan->method))
        begin_witness(&running);
    rc = run_windows(&running, error);
    witness_close(running.witness);
    page_set_free(&running.alone);
    debug_log("the vCPUs ran for %.6f s meanwhile", result->vcpu_s);
    if (plan->method->kernel_thread_ns)
        result->cpu_s = (double)plan->method->kernel_thread_ns(running.state) / 1e9;
    plan->method->close(running.state);
    if (rc == 0 && (result->windows[plan->n_windows - 1].tally.doubts & DOUBT_BLIND))
        rc = error_set(error, -ENOMSG,
                       "%s saw no touch although the vCPUs ran for %.2f s: it is blind "
                       "to this guest",
                       plan->method->name, result->vcpu_s);
    return rc;
}

int sample_run_set(const struct target *target, const struct sample_plan *plan,
                   struct page_set *set, struct sample_result *result, struct error *error)
{
    double cpu_s = own_cpu_s();
    int rc = qemu_process_verify(target->root, target->process, error);

    memset(result, 0, sizeof(*result));
    if (rc == 0 && plan->writes)
        rc = write_watch_open(plan->writes, target, error);
    if (rc == 0)
        rc = run_method(target, plan, plan->method->needs_pages ? set : NULL, result, error);
    if (plan->writes)
        write_watch_close(plan->writes);
    result->cpu_s += own_cpu_s() - cpu_s;
    return explain(target, rc, error);
}

int sample_run(const struct target *target, const struct sample_plan *plan,
               struct sample_result *result, struct error *error)
{
    struct page_set set;
    double cpu_s = own_cpu_s();
    int rc = sample_make_set(target, plan, &set, error);

    if (rc < 0)
        return rc;
    cpu_s = own_cpu_s() - cpu_s;
    rc = sample_run_set(target, plan, &set, result, error);
    page_set_free(&set);
    result->cpu_s += cpu_s;
    return rc;
}
