// SPDX-License-Identifier: LGPL-2.1-or-later
#include "measure/read_all.h"

#include "base/bytes.h"
#include "base/clock.h"
#include "guest/domain/qemu_vcpus.h"

#include <math.h>

/* Jobs skip a few pages, such as those behind VGA's registers. */
#define ALL 0.97
/* Below this share, not all of the memory was touched before. A panel of 100 pages has a standard
 * error of 0.03 there. */
#define NOT_ALL 0.9
/* A snapshot that ends while the pages are read shows at least this share touched. */
#define PART 0.5
#define FEWEST_UNITS 30

/* No job reads faster than memory does. savevm of 512 MiB, 320 of them zero, took 120 ms of CPU
 * time, a plain dump 500. */
#define BYTES_PER_NS 32
/* Without an earlier share for comparison, requires at least the time that such jobs were measured
 * to take. */
#define BYTES_PER_NS_ALONE 6
/* Allowance for timers and the monitor; also, the time of a vCPU that runs is only known up to the
 * last tick. */
#define LEAST_NS 10000000ULL

/* Limit for one step: commands of a monitor take less, and a dump to a slow disk more. */
#define LEAST_OF_STEP 50

/* A write() of a plain dump was 4,043 bytes on average (QEMU 7.2), of a compressed dump 2,668, into
 * a FIFO with a slow reader 2,194, and of a snapshot 37,633. A monitor that is queried all the time
 * wrote 8 bytes (eventfds; a socket's answers do not count), or 11 to 53 if it answers into a pipe.
 * The rate per second of CPU time depends on the machine: 5 to 13 MB, on some more than the rate of
 * a compressed dump. */
#define WRITES_BYTES 512
/* Per second of CPU time; a compressed dump wrote 17 to 20. */
#define WRITES_LEAST_MB 1
/* Also per second of CPU time, beside a constantly queried monitor, which makes many writes: a
 * plain dump wrote 344 to 2,000, a snapshot 494 and 608; a monitor that answers into a pipe 50 at
 * most. */
#define WRITES_RAM_MB 128

/* No core reads RAM faster than BYTES_PER_NS; of a page of zeroes, a snapshot has 9 bytes. */
#define LOADED_PAGE_BYTES 9

/* An event's counter. */
#define EVENTFD_BYTES 8

/* More than a guest's requests in flight: it runs again when one of them is answered. */
#define LOADED_BYTES (16ULL << 20)

/* QEMU reads a snapshot by 32 KiB, at most 3,640 pages, which takes about a millisecond. */
#define SHOWS_LOADING_NS 2000000ULL

/* A shorter period says nothing about QEMU's usual consumption. */
#define PERIOD_NS 200000000ULL

static uint64_t own_ns(const struct target *target)
{
    return target->process ? qemu_process_own_ns(target->root, target->process) : 0;
}

bool own_work_reads_ram(const struct own_work *work)
{
    const double mb_per_s = (double)work->transfers.bytes * 1e3 / (double)(work->cpu_ns + 1);

    return work->transfers.read >= LOADED_BYTES || mb_per_s >= WRITES_RAM_MB ||
           (mb_per_s >= WRITES_LEAST_MB &&
            work->transfers.bytes >= work->transfers.calls * WRITES_BYTES);
}

/* While a vCPU runs, CPU times are not needed. */
static struct own_step read_step(const struct target *target)
{
    const struct qemu_process *process = target->process;
    struct own_step step = {.at_ns = clock_ns()};

    if (!process)
        return step;
    step.transfers = qemu_process_transfers(target->root, process);
    if (!qemu_process_vcpus_stopped(target->root, process))
        return step;
    step.own_ns = own_ns(target);
    step.vcpu_ns = qemu_process_vcpu_ns(target->root, process);
    return step;
}

void own_time_begin(struct own_time *own, const struct target *target)
{
    uint64_t now_ns = own_ns(target);
    uint64_t at_ns = clock_ns();

    *own = (struct own_time){.begun_ns = now_ns,
                             .begun_at_ns = at_ns,
                             .sampled_ns = now_ns,
                             .sampled_at_ns = at_ns,
                             .step = read_step(target)};
}

/* If the kernel does not count written bytes, nothing contradicts a job. */
static bool may_have_read(const struct own_time *own, const struct own_step *last,
                          const struct own_step *now)
{
    struct own_work work = {
        .cpu_ns = less(now->own_ns, last->own_ns),
        .transfers = {.bytes = less(now->transfers.bytes, last->transfers.bytes),
                      .calls = less(now->transfers.calls, last->transfers.calls),
                      .read = own->loaded_bytes}};

    return now->transfers.bytes == 0 || own_work_reads_ram(&work);
}

/* RAM that a snapshot of so many bytes can fill. */
static uint64_t loaded_ram(uint64_t data_bytes)
{
    return data_bytes / LOADED_PAGE_BYTES * base_page_bytes();
}

/* QEMU also reads events, which are no data. */
static uint64_t data_between(const struct own_step *last, const struct own_step *now)
{
    const struct qemu_transfers *was = &last->transfers;
    const uint64_t calls = less(now->transfers.reads, was->reads);

    return less(less(now->transfers.read, was->read), calls * EVENTFD_BYTES);
}

static bool ran_alone(const struct own_step *last, const struct own_step *now)
{
    return last->own_ns > 0 && now->own_ns > 0 && now->vcpu_ns == last->vcpu_ns;
}

/* QEMU also reads in the step in which the vCPUs stop, and in the one in which they run again. */
static void add_loaded(struct own_time *own, const struct own_step *last,
                       const struct own_step *now, bool works)
{
    const uint64_t data = data_between(last, now);

    if (works && data > 0) {
        own->loaded_ram_bytes += loaded_ram(own->entering_bytes) +
                                 smaller(loaded_ram(data),
                                         less(now->own_ns, last->own_ns) * BYTES_PER_NS);
        own->entering_bytes = 0;
    } else if (!ran_alone(last, now)) {
        own->loaded_ram_bytes += own->loads ? loaded_ram(data) : 0;
        own->entering_bytes = now->own_ns > 0 ? data : 0;
    }
    own->loads = works && data > 0;
}

void own_time_add(struct own_time *own, const struct own_step *now, bool tells_jobs)
{
    const struct own_step last = own->step;
    const uint64_t used_ns = less(now->own_ns, last.own_ns);
    const bool alone = ran_alone(&last, now);
    const bool works = alone && used_ns * LEAST_OF_STEP >= now->at_ns - last.at_ns;

    own->step = *now;
    own->loaded_bytes = alone ? own->loaded_bytes + less(now->transfers.read, last.transfers.read)
                              : 0;
    add_loaded(own, &last, now, works);
    if (works && (!tells_jobs || may_have_read(own, &last, now)))
        own->alone_ns += used_ns;
}

uint64_t own_time_loaded_units(const struct own_time *own)
{
    return base_pages(own->loaded_ram_bytes + base_page_bytes() - 1);
}

static bool tells_jobs(const struct target *target)
{
    return target->process && target->process->accel == ACCEL_TCG;
}

void own_time_step(struct own_time *own, const struct target *target)
{
    const struct own_step now = read_step(target);

    own_time_add(own, &now, tells_jobs(target));
}

void own_time_add_scan(struct own_time *own, const struct own_step *now, bool tells_jobs)
{
    const struct own_step last = own->step;
    const uint64_t data = data_between(&last, now);
    const bool stopped = now->own_ns > 0;

    *own = (struct own_time){.step = last, .scan = {.began = *now, .loaded = own->loads}};
    own->step.own_ns = 0;
    own_time_add(own, now, tells_jobs);
    if (tells_jobs)
        own->scan.read_bytes = data;
    else if (stopped)
        own->loaded_ram_bytes += loaded_ram(data);
}

/* QEMU loads a snapshot at this scan, or did so at the last one. If the pages were read very fast,
 * stopped vCPUs are the only sign. */
static bool scan_shows_loading(const struct own_time *own)
{
    const struct own_step *began = &own->scan.began;

    return own->scan.loaded || own->loads ||
           (ran_alone(began, &own->step) && own->step.at_ns - began->at_ns < SHOWS_LOADING_NS);
}

/* A snapshot that ends while the pages are read has touched only those that were read last. */
static bool touched_whole(const struct own_time *own, double share)
{
    const struct own_step *began = &own->scan.began;
    const bool resumed = began->own_ns > 0 && !ran_alone(began, &own->step);

    return share == 0 || share >= (resumed ? PART : NOT_ALL);
}

void own_time_judge_scan(struct own_time *own, double share, uint64_t bytes)
{
    const uint64_t ram_bytes = loaded_ram(own->scan.read_bytes);

    if (scan_shows_loading(own) || (ram_bytes >= bytes && touched_whole(own, share)))
        own->loaded_ram_bytes += ram_bytes;
    own->scan.read_bytes = 0;
}

void own_time_scan(struct own_time *own, const struct target *target)
{
    const struct own_step now = read_step(target);

    own_time_add_scan(own, &now, tells_jobs(target));
}

void own_time_end(struct own_time *own, const struct target *target)
{
    const struct own_step last = own->step;

    own_time_step(own, target);
    if (own->step.own_ns > 0 && !ran_alone(&last, &own->step))
        own->loaded_ram_bytes += own->entering_bytes;
}

static void note_period(struct own_time *own, uint64_t used_ns, uint64_t passed_ns)
{
    double rate = (double)used_ns / (double)passed_ns;

    if (passed_ns < PERIOD_NS)
        return;
    if (own->periods == 0 || rate < own->least_rate)
        own->least_rate = rate;
    own->periods++;
}

void own_time_sample(struct own_time *own, const struct target *target)
{
    uint64_t now_ns = own_ns(target);
    uint64_t at_ns = clock_ns();

    note_period(own, less(now_ns, own->sampled_ns), at_ns - own->sampled_at_ns);
    own->sampled_ns = now_ns;
    own->sampled_at_ns = at_ns;
}

uint64_t own_time_excess_ns(const struct own_time *own)
{
    /* a single period may be that of the job itself */
    double rate = own->periods > 1 ? own->least_rate : 0;

    return less(less(own->sampled_ns, own->begun_ns),
                (uint64_t)(rate * (double)(own->sampled_at_ns - own->begun_at_ns)));
}

static bool has_larger_units(const struct tally *tally)
{
    for (size_t i = 0; i < tally->n_strata; i++)
        if (tally->strata[i].granularity_bytes > base_page_bytes() && tally->strata[i].draws > 0)
            return true;
    return false;
}

struct share {
    double touched; /* of the measured units */
    double units;
};

static struct share census_share(const struct tally *tally)
{
    const double measured_bytes = (double)(tally->resident_bytes - tally->unmeasurable_bytes);

    return (struct share){.touched = (double)tally->touched_bytes / fmax(measured_bytes, 1),
                          .units = measured_bytes / (double)base_page_bytes()};
}

/* Weights each stratum by its draws. */
static struct share panel_share(const struct tally *tally)
{
    double draws = 0;
    double touched = 0;
    double units = 0;

    for (size_t i = 0; i < tally->n_strata; i++) {
        const struct stratum *stratum = &tally->strata[i];

        if (stratum->units == 0)
            continue;
        units += (double)stratum->units;
        draws += (double)stratum->draws;
        touched += (double)stratum->draws * (double)stratum->touched_units / (double)stratum->units;
    }
    return (struct share){.touched = touched / fmax(draws, 1), .units = units};
}

double read_all_grown(double before_bytes, double now_bytes)
{
    return now_bytes > before_bytes ? 1 - before_bytes / now_bytes : 0;
}

double read_all_share(const struct tally *tally, double grown)
{
    const struct share share = tally->census ? census_share(tally) : panel_share(tally);

    if (share.units * (1 - grown) < FEWEST_UNITS)
        return 0;
    return fmax(0, share.touched - grown) / (1 - grown);
}

bool read_all_tells_alone(const struct tally *tally)
{
    return !has_larger_units(tally);
}

/* A census that counts without pages, such as smaps, has bytes only. */
static uint64_t touched_units(const struct tally *tally)
{
    uint64_t touched = 0;

    if (tally->census)
        return base_pages(tally->touched_bytes);
    for (size_t i = 0; i < tally->n_strata; i++)
        touched += tally->strata[i].touched_units;
    return touched;
}

bool read_without_guest(const struct tally *tally, uint64_t own_ns)
{
    return touched_units(tally) >= FEWEST_UNITS && own_ns >= LEAST_NS;
}

bool read_all_likely(double before, double share, uint64_t own_ns, uint64_t bytes)
{
    uint64_t needed_ns = bytes / (before > 0 ? BYTES_PER_NS : BYTES_PER_NS_ALONE);

    return share >= ALL && before < NOT_ALL &&
           own_ns >= (needed_ns > LEAST_NS ? needed_ns : LEAST_NS);
}
