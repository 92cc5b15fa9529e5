// SPDX-License-Identifier: LGPL-2.1-or-later
#include "measure/record/sample_record.h"

#include "base/array.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "guest/domain/qemu_vcpus.h"
#include "guest/ram/ram_backing.h"
#include "measure/estimate/fine.h"
#include "measure/kernel/damon_others.h"
#include "measure/kernel/kvm_stats.h"
#include "measure/kernel/numa_balancing.h"
#include "measure/record/disturbance.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *const flag_names[] = {
    "thp",
    "hugetlb",
    "nested",
    "numa-balancing",
    "damon-active",
    "idle-guest",
    "migrating",
    "swap",
    "ksm",
    "partial",
    "dirty-rate",
    "dump",
    "free-page-reporting",
    "pause-cut",
    "new-panel",
    "unsettled",
    "ageing",
    "stale-tlb",
    "new-vcpu",
    "young-panel",
    "resident-unsure",
    "not-measured",
    "paused",
    "vfio",
    "disputed",
    "stretched",
    "first-mapping",
    "bits-taken",
    "read-by-others",
};
_Static_assert(FLAGS_ALL == (1U << COUNT(flag_names)) - 1, "each flag has a name");
const struct names sample_flag_names = NAMES(flag_names);

const char *sample_flag_name(unsigned number)
{
    return number < sample_flag_names.n ? flag_names[number] : NULL;
}

char *sample_flags_text(char *text, size_t size, unsigned flags)
{
    names_bits_text(&sample_flag_names, text, size, flags);
    return text;
}

bool sample_reclaimable(const struct sample_record *record, uint64_t *bytes)
{
    if (record->n_windows == 0 || (record->flags & FLAG_YOUNG_PANEL))
        return false;

    uint64_t used = record->windows[record->n_windows - 1].wss_high_bytes;

    *bytes = record->resident_bytes > used ? record->resident_bytes - used : 0;
    return true;
}

const struct window_record *sample_window(const struct sample_record *record, double window_s)
{
    for (size_t w = 0; w < record->n_windows; w++)
        if (record->windows[w].window_s == window_s)
            return &record->windows[w];
    return NULL;
}

double sample_period_s(const struct sample_record *record, double since_s, double planned_s)
{
    double seen_s = record->n_windows > 0 ? record->windows[record->n_windows - 1].est_window_s : 0;

    return fmin(since_s, fmax(seen_s, planned_s));
}

/* A swapped page of a shared file has no page table entry, so it looks absent. */
static bool is_swapped(const struct fsroot *root, pid_t pid, const struct ram_block *block)
{
    return block->backing == RAM_BACKING_SHMEM && block->shared &&
           (block->swapped_bytes > 0 || ram_backing_is_swapped(root, pid, block));
}

static unsigned ram_flags(const struct fsroot *root, pid_t pid, const struct guest_ram *ram,
                          const struct tally *tally)
{
    unsigned flags = tally->swapped_pages > 0 ? FLAG_SWAP : 0;
    bool swap = disturbance_swap(root);

    for (size_t b = 0; b < ram->n_blocks; b++) {
        if (ram->blocks[b].backing == RAM_BACKING_HUGETLB)
            flags |= FLAG_HUGETLB;
        if (swap && is_swapped(root, pid, &ram->blocks[b]))
            flags |= FLAG_SWAP;
        if (ram->blocks[b].backing != RAM_BACKING_HUGETLB && ram->blocks[b].huge_bytes > 0)
            flags |= FLAG_THP;
    }
    for (size_t i = 0; i < tally->n_strata; i++)
        if (tally->strata[i].granularity_bytes > base_page_bytes() && tally->strata[i].draws > 0 &&
            !(flags & FLAG_HUGETLB))
            flags |= FLAG_THP;
    return flags;
}

unsigned sample_job_flags(unsigned jobs)
{
    return (jobs & QEMU_JOB_MIGRATION ? FLAG_MIGRATING : 0) |
           (jobs & QEMU_JOB_DIRTY_RATE ? FLAG_DIRTY_RATE : 0) |
           (jobs & QEMU_JOB_DUMP ? FLAG_DUMP : 0);
}

/* A dirty-rate calculation reads RAM through QEMU's mapping, which misleads only methods that see
 * QEMU's touches. */
static unsigned job_flags(const struct guest *guest, const struct method *method)
{
    const unsigned harmless = method->sees_qemu ? 0 : FLAG_DIRTY_RATE;

    return (guest->migrating ? FLAG_MIGRATING : 0) | (guest->vfio ? FLAG_VFIO : 0) |
           (sample_job_flags(guest->jobs) & ~harmless) |
           (guest->process.config.free_page_reporting ? FLAG_FREE_PAGE_REPORTING : 0);
}

/* DAMON clears accessed bits. This does not affect methods that use no accessed bits, nor methods
 * that count PG_young, which DAMON sets instead (flag_memory.c). But all are affected if DAMON acts
 * on its findings, as damon_reclaim does. */
static bool damon_disturbs(const struct target *target, const struct method *method)
{
    if (method->signal == SIGNAL_MMU || method_sees_writes(method) ||
        (method->signal == SIGNAL_REFERENCED && damon_only_looks(target->root)))
        return false;
    return damon_watches(target);
}

/* The faults of chosen pages come only from this guest's vCPUs, whatever program unmaps or merges a
 * page. Soft-dirty bits come from writes. */
static bool counts_faults(const struct method *method)
{
    return (method->signal == SIGNAL_MMU && method->needs_pages) || method_sees_writes(method);
}

/* If NUMA balancing takes accessed bits from idle or damon, ageing_odometer() shows it, and the
 * flag is ageing instead. */
static bool numa_disturbs(const struct fsroot *root, const struct method *method)
{
    return !counts_faults(method) && method->signal != SIGNAL_IDLE_FLAG && numa_balancing_on(root);
}

static unsigned host_flags(const struct fsroot *root, const struct guest *guest,
                           const struct guest_ram *ram, const struct method *method)
{
    const struct target target = {.root = root, .process = &guest->process, .ram = ram};

    return (damon_disturbs(&target, method) ? FLAG_DAMON_ACTIVE : 0) |
           (numa_disturbs(root, method) ? FLAG_NUMA_BALANCING : 0) |
           (guest->process.accel == ACCEL_KVM && kvm_runs_nested(&target) ? FLAG_NESTED : 0) |
           job_flags(guest, method);
}

static unsigned flags_of_doubts(unsigned doubts)
{
    return (doubts & DOUBT_AGEING ? FLAG_AGEING : 0) |
           (doubts & DOUBT_STALE_TLB ? FLAG_STALE_TLB : 0) |
           (doubts & DOUBT_NEW_VCPU ? FLAG_NEW_VCPU : 0) |
           (doubts & DOUBT_DROPPED ? FLAG_UNSETTLED : 0) |
           (doubts & DOUBT_IDLE ? FLAG_IDLE_GUEST : 0) | (doubts & DOUBT_BLIND ? FLAG_PARTIAL : 0) |
           (doubts & DOUBT_BITS_TAKEN ? FLAG_BITS_TAKEN : 0) |
           (doubts & DOUBT_FIRST_MAPPING ? FLAG_FIRST_MAPPING : 0) |
           (doubts & DOUBT_READ_BY_OTHERS ? FLAG_READ_BY_OTHERS : 0);
}

static unsigned doubt_flags(const struct sample_result *result, size_t n_windows)
{
    unsigned doubts = 0;

    for (size_t w = 0; w < n_windows; w++)
        doubts |= result->windows[w].tally.doubts;
    return flags_of_doubts(doubts);
}

static void fill_identity(struct sample_record *record, const struct guest *guest,
                          uint64_t ram_bytes)
{
    clock_gettime(CLOCK_REALTIME, &record->time);
    if (gethostname(record->host, sizeof(record->host) - 1) < 0)
        record->host[0] = '\0';
    snprintf(record->domain, sizeof(record->domain), "%s", guest->name);
    snprintf(record->uuid, sizeof(record->uuid), "%s", guest->uuid);
    record->owner = guest->owner;
    record->pid = guest->process.pid;
    record->accel = guest->process.accel;
    record->ram_bytes = ram_bytes;
}

/* Querying the guest after the last reading takes time, which is long for a large guest. */
static void set_back(struct timespec *time, uint64_t ns)
{
    uint64_t at_ns = (uint64_t)time->tv_sec * 1000000000 + (uint64_t)time->tv_nsec - ns;

    *time = timespec_of_ns(at_ns);
}

void sample_record_not_measured(struct sample_record *record, const struct guest *guest,
                                uint64_t ram_bytes, uint64_t resident_bytes)
{
    memset(record, 0, sizeof(*record));
    fill_identity(record, guest, ram_bytes);
    record->method = SAMPLE_NO_METHOD;
    record->granularity_bytes = base_page_bytes();
    record->resident_bytes = resident_bytes;
    record->unmeasurable_bytes = resident_bytes;
    record->flags = FLAG_NOT_MEASURED;
}

uint64_t population_bytes(const struct method *method, const struct resident_now *now)
{
    return method->sees_unmapped ? now->resident_bytes : now->mapped_bytes;
}

/* The possible error of population_bytes(). */
static uint64_t population_error_bytes(const struct method *method, const struct resident_now *now)
{
    return method->sees_unmapped ? now->resident_error_bytes : now->mapped_error_bytes;
}

/* Upper bound of the pages that another panel has unmapped, and that cannot be drawn. If they were
 * mapped, they would be like the drawn pages. 2,000 unmapped pages are 1.5 % of 512 MiB, which is
 * more than the sampling error of a panel of 2,000. */
static uint64_t unmapped_beside(const struct method *method, const struct guest_ram *ram,
                                const struct resident_now *now)
{
    if (!ram->taken || !ram->taken->unmaps || method->sees_unmapped)
        return 0;
    return smaller(ram->taken->n * base_page_bytes(), less(now->resident_bytes, now->mapped_bytes));
}

struct wss_memory memory_now(const struct method *method, const struct guest_ram *ram,
                             const struct resident_now *now)
{
    uint64_t beside = unmapped_beside(method, ram, now);

    return (struct wss_memory){
        .ram_bytes = ram->bytes,
        .resident_bytes = now->resident_bytes,
        .population_bytes = population_bytes(method, now) + beside,
        .population_error_bytes = population_error_bytes(method, now) + beside,
    };
}

/* Errors above this share of the population are flagged. */
#define UNSURE_SHARE 0.01

static unsigned resident_flags(const struct sample_plan *plan, const struct resident_now *now)
{
    double error = (double)population_error_bytes(plan->method, now);

    return error > UNSURE_SHARE * (double)population_bytes(plan->method, now) ? FLAG_RESIDENT_UNSURE
                                                                              : 0;
}

static uint64_t resident_high_bytes(const struct wss_estimate *estimate,
                                    const struct resident_now *now, const struct guest_ram *ram)
{
    return smaller(estimate->resident_bytes + now->resident_error_bytes,
                   larger(estimate->resident_bytes, ram->bytes));
}

/* A working set grows no faster than its window: within a tenth of the window's length, it differs
 * by at most a tenth. Marking and reading alone may take a tenth of a short window. */
#define STRETCHED_SHARE 0.1
#define STRETCHED_LEAST_S 0.1

static bool is_stretched(const struct window_record *window)
{
    const double off_s = fabs(window->est_window_s - window->window_s);

    return off_s > STRETCHED_LEAST_S && off_s > STRETCHED_SHARE * window->window_s;
}

static int fill_window(struct sample_record *record, const struct guest_ram *ram,
                       const struct sample_plan *plan, const struct sample_result *result, size_t w)
{
    const struct resident_now *now = &result->windows[w].now;
    const struct wss_memory memory = memory_now(plan->method, ram, now);
    struct wss_estimate estimate;
    int rc = wss_estimate(&result->windows[w].tally, &memory, &estimate);

    record->resident_bytes = estimate.resident_bytes;
    record->unmeasurable_bytes = estimate.unmeasurable_bytes;
    record->granularity_bytes = estimate.granularity_bytes;
    record->windows[w] = (struct window_record){
        .window_s = plan->window_s[w],
        .est_window_s = result->windows[w].est_window_s,
        .vcpu_s = result->windows[w].vcpu_s,
        .wss_bytes = estimate.wss_bytes,
        .wss_low_bytes = estimate.wss_low_bytes,
        .wss_high_bytes = estimate.wss_high_bytes,
        .unit_low_bytes = estimate.unit_low_bytes,
        .unmeasurable_bytes = estimate.unmeasurable_bytes,
        .resident_high_bytes = resident_high_bytes(&estimate, now, ram),
        .touched_fraction = estimate.touched_fraction,
        .gone_bytes = estimate.gone_bytes,
        .unsettled = estimate.unsettled,
        .damon_told = plan->method->tells_damon && !(result->windows[w].tally.doubts & DOUBT_DAMON),
        .dispute = result->windows[w].tally.within,
    };
    if (method_sees_writes(plan->method))
        record->writes.sparse_end_bytes = result->windows[w].tally.sparse_end_bytes;
    if (estimate.disputed)
        record->flags |= FLAG_DISPUTED;
    if (estimate.unsettled)
        record->flags |= FLAG_UNSETTLED;
    if (is_stretched(&record->windows[w]))
        record->flags |= FLAG_STRETCHED;
    record->flags |= resident_flags(plan, now);
    if (rc != -ENODATA || w + 1 == plan->n_windows)
        return rc;
    /* the longest window shows whether anything can be measured; in this one, for example, all
     * pages were migrated */
    record->windows[w].wss_high_bytes = estimate.resident_bytes;
    record->flags |= FLAG_PARTIAL;
    return 0;
}

/* All of a DIMM that is in no configuration may be in use. */
static void note_unclaimed(struct sample_record *record, const struct guest_ram *ram)
{
    record->flags |= FLAG_PARTIAL;
    for (size_t w = 0; w < record->n_windows; w++)
        record->windows[w].wss_high_bytes += ram->unclaimed_resident_bytes;
}

uint64_t window_resident_high_bytes(const struct sample_record *record, size_t w)
{
    const uint64_t bytes = record->windows[w].resident_high_bytes;

    return bytes ? bytes : record->resident_bytes;
}

/* Checks all windows, because the record's own figure is that of the last one. Pages whose bits
 * DAMON took do not count: on many hosts DAMON is always on, these pages are few and included in
 * the upper bound, so the flag would be useless. */
static bool has_unmeasurable(const struct sample_record *record, const struct sample_result *result)
{
    const bool idle = method_by_name(record->method) == &method_idle;

    for (size_t w = 0; w < record->n_windows; w++)
        if (record->windows[w].unmeasurable_bytes > 0 &&
            (!idle || result->windows[w].tally.unmeasurable_otherwise))
            return true;
    return false;
}

/* On a host with KSM nearly every guest has merged pages, so the flag is set only if merging
 * affects the numbers: idle found them unmeasurable, or pages of zeros may not be resident. */
static bool ksm_disturbs(const struct fsroot *root, pid_t pid, const struct guest_ram *ram,
                         const struct sample_record *record, bool unmeasurable)
{
    const struct method *method = method_by_name(record->method);

    if (!disturbance_merges(root, pid, ram))
        return false;
    if (disturbance_ksm_drops_zeros(root))
        return true;
    return !counts_faults(method) && (method != &method_idle || unmeasurable);
}

/* A suspended guest touches nothing, whatever its need when it runs. */
static void note_paused(struct sample_record *record, bool writes_only)
{
    if (record->vcpu_s > 0 || record->windows[record->n_windows - 1].est_window_s < VCPU_CLOCK_S)
        return;
    record->flags |= FLAG_PAUSED;
    /* A write set is what was written, and not what the guest will need. */
    if (writes_only)
        return;
    for (size_t w = 0; w < record->n_windows; w++)
        record->windows[w].wss_high_bytes = larger(record->windows[w].wss_high_bytes,
                                                   window_resident_high_bytes(record, w));
}

int sample_record_fill(struct sample_record *record, const struct subject *subject,
                       const struct sample_plan *plan, const struct sample_result *result,
                       struct error *error)
{
    const struct fsroot *root = subject->root;
    const struct guest *guest = &subject->guest;
    const struct guest_ram *ram = &subject->ram;
    const struct tally *last = &result->windows[plan->n_windows - 1].tally;

    memset(record, 0, sizeof(*record));
    fill_identity(record, guest, 0);
    record->method = plan->method->name;
    record->census = plan->census;
    record->samples = plan->census ? ram->n_pages : tally_draws(last);
    record->vcpu_s = result->vcpu_s;
    record->cpu_s = result->cpu_s;
    record->paused_s = (double)result->paused_ns / 1e9;
    record->marking_s = result->marking_s;
    record->reading_s = result->windows[plan->n_windows - 1].reading_s;
    if (result->ended_ns > 0)
        set_back(&record->time, clock_ns() - result->ended_ns);
    record->n_windows = plan->n_windows;
    for (size_t w = 0; w < plan->n_windows; w++)
        if (fill_window(record, ram, plan, result, w) < 0)
            return error_set(
                error, -ENODATA,
                "%s: nothing could be measured: of %llu MiB of guest RAM "
                "%llu MiB are resident, and of these %llu MiB unmeasurable by this method",
                plan->method->name, (unsigned long long)(ram->bytes >> 20),
                (unsigned long long)(record->resident_bytes >> 20),
                (unsigned long long)(record->unmeasurable_bytes >> 20));

    record->ram_bytes = guest_ram_proved_bytes(ram, record->resident_bytes);

    const bool unmeasurable = has_unmeasurable(record, result);

    record->flags |= ram_flags(root, guest->process.pid, ram, last) |
                     host_flags(root, guest, ram, plan->method) |
                     doubt_flags(result, plan->n_windows) |
                     (ksm_disturbs(root, guest->process.pid, ram, record, unmeasurable) ? FLAG_KSM
                                                                                        : 0) |
                     (result->pause_cut ? FLAG_PAUSE_CUT : 0);
    /* a configured DIMM that is not mapped (while it is unplugged) is missing from the sum */
    if (unmeasurable || ram->unproved_bytes > 0 || ram->bytes < guest->ram.total_bytes)
        record->flags |= FLAG_PARTIAL;
    if (ram->unclaimed_bytes > 0)
        note_unclaimed(record, ram);
    note_paused(record, method_sees_writes(plan->method));
    return 0;
}

int sample_record_add_fine(struct sample_record *record, const struct guest_ram *ram,
                           const struct sample_plan *plan, const struct sample_result *result,
                           const struct fine_result *fine)
{
    const struct sample_window *last = &result->windows[plan->n_windows - 1];
    const struct wss_memory memory = memory_now(plan->method, ram, &last->now);
    struct fine_estimate estimate;
    int rc = fine_estimate(&last->tally, &fine->tally, &memory, &estimate);

    record->fine = (struct fine_record){
        .present = rc == 0,
        .window_s = fine->window_s,
        .est_window_s = fine->est_window_s,
        .wss_bytes = estimate.wss_bytes,
        .wss_low_bytes = estimate.wss_low_bytes,
        .wss_high_bytes = estimate.wss_high_bytes,
        .granularity_bytes = estimate.granularity_bytes,
        .huge_pages_sampled = fine->tally.n,
        .huge_pages_not_measured = fine->tally.n_lost,
        .huge_pages_not_joined = fine->not_joined,
        .cpu_s = fine->cpu_s,
        .split_s = fine->split_s,
        .join_s = fine->join_s,
    };
    /* in units that may be touched, base pages not seen touched may be touched too: use the
     * window's own upper bound */
    if (fine->doubts | last->tally.doubts)
        record->fine.wss_high_bytes = larger(record->fine.wss_high_bytes,
                                             record->windows[plan->n_windows - 1].wss_high_bytes);
    record->flags |= flags_of_doubts(fine->doubts);
    return rc;
}
