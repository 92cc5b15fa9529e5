// SPDX-License-Identifier: LGPL-2.1-or-later
#include "measure/cache/measure.h"

#include "base/clock.h"
#include "base/proc_pid.h"
#include "base/run_lock.h"
#include "guest/domain/qemu_vcpus.h"
#include "measure/cache/counters.h"
#include "measure/cache/resctrl.h"
#include "measure/cache/resctrl_dir.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <math.h>
#include <poll.h>
#include <string.h>

/* Limits of the interval between readings, which is a fiftieth of the window. Each reading
 * interrupts a CPU of each cache. The kernel itself reads MBM every second, before it overflows. */
#define SLICE_MIN_MS 100
#define SLICE_MAX_MS 1000

enum {
    REFERENCES,
    MISSES,
    INSTRUCTIONS,
    CYCLES,
    N_HARDWARE,
};

static const struct counter_event hardware[N_HARDWARE] = {
    [REFERENCES] = {PERF_COUNT_HW_CACHE_REFERENCES, PERF_TYPE_HARDWARE, .guest = true},
    [MISSES] = {PERF_COUNT_HW_CACHE_MISSES, PERF_TYPE_HARDWARE, .guest = true},
    [INSTRUCTIONS] = {PERF_COUNT_HW_INSTRUCTIONS, PERF_TYPE_HARDWARE, .guest = true},
    [CYCLES] = {PERF_COUNT_HW_CPU_CYCLES, PERF_TYPE_HARDWARE, .guest = true},
};

/* Running time and CPU migrations of each thread: software events, which every host has. */
static const struct counter_event software[] = {
    {PERF_COUNT_SW_CPU_MIGRATIONS, PERF_TYPE_SOFTWARE, .guest = false},
};

static const struct counted by_hardware = {hardware, N_HARDWARE, "cache references and misses"};
static const struct counted by_software = {software, 1, "running time"};

/* CPU time of the vCPU threads, in clock ticks. */
struct ticks {
    uint64_t all, guest;
};

struct measuring {
    const struct fsroot *root;
    const struct qemu_process *process;
    const struct cache_plan *plan;
    struct cache_result *out;
    struct cpu_facts facts;
    struct cpu_caches caches;
    struct run_lock lock;
    struct resctrl_group *group; /* NULL: no resctrl */
    struct counters *counts;     /* NULL: no PMU */
    struct counters *times;
    struct counter_values *before; /* for each vCPU: counts, then times */
    struct ticks ticks;
    uint64_t ended_ticks;
    uint64_t begun_ns;
};

/* --- refusals --------------------------------------------------------------------------------- */

static int refuse(const struct fsroot *root, const struct qemu_process *process,
                  struct error *error)
{
    if (process->accel == ACCEL_TCG)
        return error_set(
            error, -ENOTSUP,
            "process %d: the guest is emulated (TCG): its accesses are those of QEMU's "
            "own code, and a PMU that counts guests only does not see them; a KVM "
            "guest is needed",
            process->pid);
    if (!process->vcpus_known)
        return error_set(error, -ENOTSUP,
                         "process %d: its vCPU threads cannot be told from QEMU's other threads: "
                         "start it with -name NAME,debug-threads=on",
                         process->pid);
    if (qemu_process_stopped(root, process))
        return error_set(error, -ENODEV,
                         "process %d is stopped by a signal or a debugger: its vCPUs do not run; "
                         "let it continue (kill -CONT %d)",
                         process->pid, process->pid);
    return 0;
}

static int refuse_both(const struct cache_result *out, struct error *error)
{
    return error_set(error, -ENOTSUP, "%s; %s", out->no_counters.text, out->no_monitor.text);
}

/* --- changes meanwhile ------------------------------------------------------------------------ */

static struct ticks read_ticks(const struct fsroot *root, const struct qemu_process *process)
{
    struct ticks ticks = {0};

    for (size_t i = 0; i < process->n_vcpus; i++) {
        char text[1024];
        struct proc_stat stat;

        if (fsroot_read(root, text, sizeof(text), "proc/%d/task/%d/stat", (int)process->pid,
                        (int)process->vcpus[i]) < 0 ||
            proc_stat_parse(text, &stat) < 0)
            continue;
        ticks.all += stat.utime_ticks + stat.stime_ticks;
        ticks.guest += stat.guest_ticks;
    }
    return ticks;
}

/* Also detects a vCPU that came and went, by the guest time of ended threads. Each vCPU's time is
 * rounded down, so one tick for each is tolerated. */
static bool vcpus_changed(const struct measuring *measuring)
{
    const struct qemu_process *before = measuring->process;
    struct qemu_process now = *before;
    bool same;

    now.vcpus = NULL;
    now.n_vcpus = 0;
    now.threads = (struct qemu_threads){0};

    int rc = qemu_vcpus_find(measuring->root, &now);

    same = rc == 0 && now.n_vcpus == before->n_vcpus &&
           memcmp(now.vcpus, before->vcpus, now.n_vcpus * sizeof(*now.vcpus)) == 0 &&
           qemu_process_ended_guest_ticks(measuring->root, &now) <=
               measuring->ended_ticks + now.n_vcpus;
    qemu_threads_free(&now.threads);
    free(now.vcpus);
    return !same;
}

/* --- begin ------------------------------------------------------------------------------------ */

static int lock_resctrl(struct measuring *measuring, struct error *error)
{
    const struct lock_wait no_wait = {.pidfd = -1};
    char name[32];

    resctrl_lock_name(measuring->process->pid, name);

    int rc = run_lock_host(&measuring->lock, measuring->root, name, &no_wait, error);

    return rc == -EBUSY ? error_set(error, rc,
                                    "process %d: another `vmwss cache` measures it: wait until it "
                                    "has finished",
                                    measuring->process->pid)
                        : rc;
}

/* takes the lock first, so that the guardian, a child, holds it too */
static int open_group(struct measuring *measuring, struct error *error)
{
    struct error *why = &measuring->out->no_monitor;

    if (resctrl_check(measuring->root, &measuring->facts, why) < 0 ||
        cpu_caches_read(measuring->root, &measuring->caches, why) < 0)
        return 0;

    int rc = lock_resctrl(measuring, error);

    if (rc < 0)
        return rc;
    resctrl_group_open(measuring->root, &measuring->facts, measuring->process, &measuring->group,
                       why);
    return 0;
}

static int open_counters(struct measuring *measuring, struct error *error)
{
    const struct qemu_process *process = measuring->process;
    struct cache_result *out = measuring->out;

    counters_open(measuring->root, &by_hardware, process->vcpus, process->n_vcpus,
                  &measuring->counts, &out->no_counters);
    if (!measuring->counts && !measuring->group)
        return refuse_both(out, error);
    return counters_open(measuring->root, &by_software, process->vcpus, process->n_vcpus,
                         &measuring->times, error);
}

static void read_vcpu(const struct measuring *measuring, size_t i, struct counter_values *counts,
                      struct counter_values *times)
{
    *counts = *times = (struct counter_values){0};
    if (measuring->counts)
        counters_read(measuring->counts, i, counts);
    counters_read(measuring->times, i, times);
}

static int begin_window(struct measuring *measuring, struct error *error)
{
    const struct qemu_process *process = measuring->process;
    struct cache_result *out = measuring->out;

    measuring->before = calloc(2 * process->n_vcpus + 1, sizeof(*measuring->before));
    if (!measuring->before)
        return error_set(error, -ENOMEM, "out of memory");
    if (measuring->group && resctrl_group_begin(measuring->group, &measuring->caches, &out->seen,
                                                &out->no_monitor) < 0) {
        resctrl_group_close(measuring->group);
        measuring->group = NULL;
        out->seen.n_caches = 0;
        if (!measuring->counts)
            return refuse_both(out, error);
    }
    out->unix_s = clock_s(CLOCK_REALTIME);
    measuring->ended_ticks = qemu_process_ended_guest_ticks(measuring->root, process);
    measuring->ticks = read_ticks(measuring->root, process);
    for (size_t i = 0; i < process->n_vcpus; i++)
        read_vcpu(measuring, i, &measuring->before[2 * i], &measuring->before[2 * i + 1]);
    measuring->begun_ns = clock_ns();
    return 0;
}

/* --- window ----------------------------------------------------------------------------------- */

static double elapsed_s(const struct measuring *measuring)
{
    return (double)(clock_ns() - measuring->begun_ns) / 1e9;
}

static double slice_ms(const struct cache_plan *plan)
{
    return fmin(fmax(plan->window_s * 1000 / 50, SLICE_MIN_MS), SLICE_MAX_MS);
}

static int wait_window(const struct measuring *measuring, struct error *error)
{
    const struct cache_plan *plan = measuring->plan;
    double left_s;

    while ((left_s = plan->window_s - elapsed_s(measuring)) > 0) {
        struct pollfd end = {.fd = measuring->process->pidfd, .events = POLLIN};
        const double wait_ms = fmin(left_s * 1000 + 1, slice_ms(plan));

        if (*plan->interrupted)
            return error_set(error, -EINTR, "interrupted");
        if (poll(&end, 1, (int)wait_ms) > 0)
            return error_set(error, -ESRCH, "process %d: the guest vanished",
                             measuring->process->pid);
        if (measuring->group)
            resctrl_group_sample(measuring->group, &measuring->out->seen);
        if (plan->tick)
            plan->tick(elapsed_s(measuring), plan->context);
    }
    return 0;
}

/* --- end -------------------------------------------------------------------------------------- */

static void add_counts(struct cache_counts *sum, const struct counter_values *from,
                       const struct counter_values *to)
{
    const uint64_t enabled_ns = to->enabled_ns - from->enabled_ns;
    const double share = enabled_ns
                             ? (double)(to->running_ns - from->running_ns) / (double)enabled_ns
                             : 1;

    sum->references += to->value[REFERENCES] - from->value[REFERENCES];
    sum->misses += to->value[MISSES] - from->value[MISSES];
    sum->instructions += to->value[INSTRUCTIONS] - from->value[INSTRUCTIONS];
    sum->cycles += to->value[CYCLES] - from->value[CYCLES];
    sum->counted_share = fmin(sum->counted_share, share);
}

static void add_vcpus(const struct measuring *measuring, struct cache_seen *seen)
{
    seen->n_vcpus = measuring->process->n_vcpus;
    seen->counts = (struct cache_counts){
        .known = measuring->counts, .level = measuring->facts.level, .counted_share = 1};
    for (size_t i = 0; i < seen->n_vcpus; i++) {
        const struct counter_values *before = &measuring->before[2 * i];
        struct counter_values counts, times;

        read_vcpu(measuring, i, &counts, &times);
        if (measuring->counts)
            add_counts(&seen->counts, &before[0], &counts);

        uint64_t ran_ns = times.enabled_ns - before[1].enabled_ns;

        seen->n_ran += ran_ns > 0;
        seen->ran_s += (double)ran_ns / 1e9;
        seen->migrations += times.value[0] - before[1].value[0];
    }
}

/* The scheduler rounds the two values separately. */
static double guest_share(const struct ticks *from, const struct ticks *to)
{
    if (to->all <= from->all || to->guest < from->guest)
        return NAN;
    return fmin(1, (double)(to->guest - from->guest) / (double)(to->all - from->all));
}

static void end_window(struct measuring *measuring)
{
    struct cache_seen *seen = &measuring->out->seen;
    const struct ticks ticks = read_ticks(measuring->root, measuring->process);

    seen->window_s = measuring->plan->window_s;
    seen->est_window_s = elapsed_s(measuring);
    add_vcpus(measuring, seen);
    seen->guest_share = guest_share(&measuring->ticks, &ticks);
    if (measuring->group) {
        resctrl_group_sample(measuring->group, seen);
        resctrl_group_end(measuring->group, seen);
    }
    if (vcpus_changed(measuring))
        seen->flags |= CACHE_VCPUS_CHANGED;
    if (qemu_process_has_vfio(measuring->root, measuring->process))
        seen->flags |= CACHE_VFIO;
    if (measuring->facts.nested)
        seen->flags |= CACHE_NESTED;
    cache_add_flags(seen);
    measuring->out->verdict = cache_decide(seen);
}

static int measure(struct measuring *measuring, struct error *error)
{
    int rc = open_group(measuring, error);

    if (rc == 0)
        rc = open_counters(measuring, error);
    if (rc == 0)
        rc = begin_window(measuring, error);
    if (rc == 0)
        rc = wait_window(measuring, error);
    if (rc == 0)
        rc = qemu_process_verify(measuring->root, measuring->process, error);
    if (rc == 0)
        end_window(measuring);
    return rc;
}

int cache_measure(const struct fsroot *root, const struct qemu_process *process,
                  const struct cache_plan *plan, struct cache_result *out, struct error *error)
{
    struct measuring measuring = {
        .root = root, .process = process, .plan = plan, .out = out, .lock = RUN_LOCK_NONE};
    int rc = refuse(root, process, error);

    memset(out, 0, sizeof(*out));
    if (rc < 0)
        return rc;
    cpu_facts_read(root, &measuring.facts);
    rc = measure(&measuring, error);
    /* remove the group before its lock is released */
    resctrl_group_close(measuring.group);
    run_lock_release(&measuring.lock);
    counters_close(measuring.counts);
    counters_close(measuring.times);
    free(measuring.before);
    return rc;
}

int cache_check_host(const struct fsroot *root, struct error *no_counters, struct error *no_monitor)
{
    const pid_t self = 0;
    struct counters *counters = NULL;
    struct cpu_facts facts;

    cpu_facts_read(root, &facts);
    counters_open(root, &by_hardware, &self, 1, &counters, no_counters);

    bool counts = counters;

    counters_close(counters);
    return resctrl_check(root, &facts, no_monitor) == 0 || counts ? 0 : -ENOTSUP;
}
