// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file scan_cost.c  What a scan of vmwssd costs, and what the border between its two processes
 * adds to it. Run by tests/bench/many --scans.
 *
 * scan_cost SAMPLES ROUNDS GAP_MS BATCH PID...: scans the guests in turn, so many at once, and a
 * pause of GAP_MS for each of these after that, as vmwssd does with its default windows: a tick is
 * one round, and the windows are 2, 20 and 120 of them. Half of the guests are scanned by a scanner
 * within this process, the other half by one beyond the border; then the halves change places. So
 * both are measured in the same minutes, on the same guests. Prints one line of JSON for each way:
 * CPU time in us a scan, of each process, in user mode and in the kernel; the first 125 rounds, in
 * which the windows fill, are not in it.
 */
#include "base/clock.h"
#include "base/proc_pid.h"
#include "programs/vmwssd/scanner/scanner_process.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAX_GUESTS 1024
#define WARM_ROUNDS 125

enum way { WAY_LOCAL, WAY_BEYOND, N_WAYS };

static const char *const way_names[N_WAYS] = {"one process", "two processes"};

/* CPU time in seconds. */
struct used {
    double own_user_s, own_kernel_s;
    double scanner_s;
};

struct sum {
    struct used used;
    unsigned scans, records;
    double pages;
};

struct bench {
    struct fsroot root;
    struct scanner *scanners[N_WAYS];
    pid_t scanner_pid;
    uint64_t samples;
    unsigned rounds;
    double gap_s;
    size_t batch;
    size_t n;
    pid_t pids[MAX_GUESTS];
    struct scan_guest_ref guests[MAX_GUESTS];
    struct sum sums[N_WAYS];
};

static int failed(const char *what, const struct error *error)
{
    fprintf(stderr, "scan_cost: %s: %s\n", what, error->text);
    return 1;
}

/* --- clocks ----------------------------------------------------------------------------------- */

static double seconds(const struct timeval *time)
{
    return (double)time->tv_sec + (double)time->tv_usec / 1e6;
}

static struct used used_now(const struct bench *bench)
{
    struct rusage own;

    getrusage(RUSAGE_SELF, &own);
    return (struct used){
        .own_user_s = seconds(&own.ru_utime),
        .own_kernel_s = seconds(&own.ru_stime),
        .scanner_s = scanner_cpu_s(bench->scanners[WAY_BEYOND]),
    };
}

static void add(struct sum *sum, const struct used *from, const struct used *to)
{
    sum->used.own_user_s += to->own_user_s - from->own_user_s;
    sum->used.own_kernel_s += to->own_kernel_s - from->own_kernel_s;
    sum->used.scanner_s += to->scanner_s - from->scanner_s;
}

/* How the kernel divides the scanner's time is in ticks: only of a whole run. */
static double scanner_user_share(const struct bench *bench)
{
    struct proc_stat stat = {0};

    proc_stat_read(&bench->root, bench->scanner_pid, &stat);
    return (double)stat.utime_ticks / fmax(1, (double)(stat.utime_ticks + stat.stime_ticks));
}

/* --- scans ------------------------------------------------------------------------------------ */

/* Half of the guests each. */
static enum way way_of(const struct bench *bench, size_t guest, unsigned turn)
{
    return (guest < bench->n / 2) == (turn == 0) ? WAY_BEYOND : WAY_LOCAL;
}

static struct scan_sample sample_of(const struct bench *bench)
{
    const double round_s = bench->gap_s * (double)bench->n;

    return (struct scan_sample){
        .samples = bench->samples,
        .n_windows = 3,
        .window_s = {2 * round_s, 20 * round_s, 120 * round_s},
        .tick_s = round_s,
    };
}

static void wait_s(double s)
{
    const struct timespec time = {.tv_sec = (time_t)s,
                                  .tv_nsec = (long)((s - (double)(time_t)s) * 1e9)};

    nanosleep(&time, NULL);
}

static int receive(struct bench *bench, enum way way, struct scanner_batch *batch, bool counts)
{
    struct sum *sum = &bench->sums[way];
    struct scan_sampled sampled;
    struct error error = {0};
    int rc;

    do
        rc = scanner_batch_receive(bench->scanners[way], batch, SCANNER_BATCH_WAIT_MS, &sampled,
                                   &error);
    while (rc == -ETIME);
    if (rc < 0 && rc != -EAGAIN)
        return failed("a scan", &error);
    if (!counts)
        return 0;
    sum->scans++;
    sum->records += rc == 0;
    sum->pages += (double)sampled.pages;
    return 0;
}

/* The guests from @p first on, and the pause after them, in which a process may still be busy. */
static int scan(struct bench *bench, size_t first, size_t n, enum way way, bool counts)
{
    static struct scanner_batch batch;
    const struct used before = used_now(bench);
    int rc = 0;

    batch.n = n;
    for (size_t i = 0; i < n; i++) {
        batch.of[i].guest = bench->guests[first + i].guest;
        batch.of[i].sample = sample_of(bench);
    }
    scanner_batch_send(bench->scanners[way], &batch);
    for (size_t i = 0; rc == 0 && i < n; i++)
        rc = receive(bench, way, &batch, counts);
    scanner_batch_end(bench->scanners[way], &batch);
    wait_s(bench->gap_s * (double)n);
    if (!counts)
        return rc;

    const struct used after = used_now(bench);

    add(&bench->sums[way], &before, &after);
    return rc;
}

/* All guests once; a batch has only guests of one way. */
static int run_round(struct bench *bench, unsigned turn, bool counts)
{
    int rc = 0;

    for (size_t i = 0, n; rc == 0 && i < bench->n; i += n) {
        const enum way way = way_of(bench, i, turn);

        for (n = 1; n < bench->batch && i + n < bench->n && way_of(bench, i + n, turn) == way; n++)
            ;
        rc = scan(bench, i, n, way, counts);
    }
    return rc;
}

static int open_guests(struct bench *bench, unsigned turn)
{
    for (size_t i = 0; i < bench->n; i++) {
        struct error error = {0};

        if (scanner_open_process(bench->scanners[way_of(bench, i, turn)], bench->pids[i],
                                 &bench->guests[i], &error) < 0)
            return failed("a guest", &error);
    }
    return 0;
}

static int run_turn(struct bench *bench, unsigned turn)
{
    int rc = open_guests(bench, turn);

    for (unsigned round = 0; rc == 0 && round < WARM_ROUNDS + bench->rounds; round++)
        rc = run_round(bench, turn, round >= WARM_ROUNDS);
    for (size_t i = 0; rc == 0 && i < bench->n; i++)
        scanner_close(bench->scanners[way_of(bench, i, turn)], &bench->guests[i]);
    return rc;
}

/* --- the process ------------------------------------------------------------------------------ */

static void print(const struct bench *bench, enum way way)
{
    const struct sum *sum = &bench->sums[way];
    const struct used *used = &sum->used;
    const double us = 1e6 / (double)sum->scans;
    const double user_share = scanner_user_share(bench);

    printf(
        "{\"way\": \"%s\", \"samples\": %llu, \"batch\": %zu, \"pages\": %.0f, \"scans\": %u, \"records\": %u, "
        "\"own_user_us\": %.1f, \"own_kernel_us\": %.1f, \"scanner_user_us\": %.1f, "
        "\"scanner_kernel_us\": %.1f, \"us\": %.1f}\n",
        way_names[way], (unsigned long long)bench->samples, bench->batch,
        sum->pages / (double)sum->scans, sum->scans, sum->records, used->own_user_s * us,
        used->own_kernel_s * us, used->scanner_s * user_share * us,
        used->scanner_s * (1 - user_share) * us,
        (used->own_user_s + used->own_kernel_s + used->scanner_s) * us);
}

static int start(struct bench *bench)
{
    static struct run_lock lock = RUN_LOCK_NONE;
    const struct scanner_plan plan = {
        .root = &bench->root, .lock = &lock, .patience_ns = SCANNER_PATIENCE_NS};
    struct error error = {0};

    if (fsroot_open(&bench->root, "/") < 0)
        return 1;
    if (scanner_start(&bench->scanners[WAY_BEYOND], &plan, &bench->scanner_pid, &error) < 0)
        return failed("the scanner", &error);
    return scanner_local(&bench->scanners[WAY_LOCAL], &bench->root) < 0;
}

int main(int argc, char **argv)
{
    static struct bench bench;
    int rc;

    if (argc < 6 || argc - 5 > MAX_GUESTS) {
        fputs("scan_cost SAMPLES ROUNDS GAP_MS BATCH PID...\n", stderr);
        return 1;
    }
    bench.samples = strtoull(argv[1], NULL, 10);
    bench.rounds = (unsigned)strtoul(argv[2], NULL, 10);
    bench.gap_s = strtod(argv[3], NULL) / 1e3;
    bench.batch = strtoul(argv[4], NULL, 10);
    if (bench.batch < 1 || bench.batch > SCANNER_BATCH)
        return 1;
    for (int i = 5; i < argc; i++)
        bench.pids[bench.n++] = (pid_t)strtol(argv[i], NULL, 10);
    rc = start(&bench);
    for (unsigned turn = 0; rc == 0 && turn < N_WAYS; turn++)
        rc = run_turn(&bench, turn);
    for (enum way way = 0; rc == 0 && way < N_WAYS; way++)
        print(&bench, way);
    if (bench.scanner_pid > 0) {
        scanner_leave(bench.scanners[WAY_BEYOND]);
        scanner_wait(bench.scanner_pid);
    }
    return rc;
}
