// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_read_all.c  What is taken for QEMU's own reading of all of RAM, and what is not. */
#include "fixture.h"
#include "measure/read_all.h"

#define GIB (1ULL << 30)
#define MS 1000000ULL

static struct tally panel(uint64_t touched, uint64_t units)
{
    return (struct tally){
        .n_strata = 1,
        .strata = {
            {.granularity_bytes = 4096, .draws = units, .units = units, .touched_units = touched}}};
}

static double share_of(struct tally tally)
{
    return read_all_share(&tally, 0);
}

TEST(plain, shares)
{
    struct tally census = {.census = true,
                           .resident_bytes = 500 * 4096,
                           .unmeasurable_bytes = 100 * 4096,
                           .touched_bytes = 100 * 4096,
                           .n_strata = 1,
                           .strata = {{.granularity_bytes = 4096, .draws = 500}}};

    ck_assert(share_of(panel(50, 100)) == 0.5);
    ck_assert(share_of(panel(20, 20)) == 0); /* too few */
    ck_assert(share_of((struct tally){0}) == 0);
    ck_assert(share_of(census) == 0.25);
    census.unmeasurable_bytes = census.resident_bytes;
    ck_assert(share_of(census) == 0);
}

/* A guest that was nearly empty, and takes memory. */
TEST(plain, new_memory_says_nothing)
{
    struct tally tally = panel(900, 1000);

    ck_assert(read_all_grown(400, 300) == 0);
    ck_assert(read_all_grown(100, 1000) == 0.9);
    ck_assert(read_all_share(&tally, 0.9) < 0.01);
    ck_assert(read_all_share(&tally, 0.95) == 0);
    ck_assert(read_all_share(&tally, 0.98) == 0); /* too few were there before */
    tally = panel(1000, 1000);                    /* a dump reads what was there before, too */
    ck_assert(read_all_share(&tally, 0.9) > 0.99);
}

/* One touch of a huge page makes all of it touched: so does an idle guest. What it did before
 * tells. */
TEST(plain, huge_pages_say_nothing_alone)
{
    struct tally tally = panel(100, 100);

    tally.strata[1] = (struct stratum){
        .granularity_bytes = 2 << 20, .draws = 10, .units = 10, .touched_units = 10};
    tally.n_strata = 2;
    ck_assert(!read_all_tells_alone(&tally));
    ck_assert(share_of(tally) == 1);
    tally.strata[1].touched_units = 0;
    ck_assert(share_of(tally) > 0.9 && share_of(tally) < 0.91); /* by draws */
    tally = panel(100, 100);
    ck_assert(read_all_tells_alone(&tally));
}

TEST(plain, no_vcpu_ran)
{
    struct tally tally = panel(40, 100);

    ck_assert(read_without_guest(&tally, 20 * MS));
    ck_assert(!read_without_guest(&tally, 5 * MS)); /* a timer's */
    tally = panel(20, 100);                         /* a device's rings */
    ck_assert(!read_without_guest(&tally, 20 * MS));
    tally.strata[1] = (struct stratum){
        .granularity_bytes = 2 << 20, .draws = 100, .units = 20, .touched_units = 15};
    tally.n_strata = 2;
    ck_assert(read_without_guest(&tally, 20 * MS));
}

/* By smaps there are no units, but bytes. */
TEST(plain, no_vcpu_ran_in_a_census)
{
    struct tally tally = {.census = true,
                          .resident_bytes = 1000 * 4096,
                          .touched_bytes = 40 * 4096,
                          .n_strata = 1,
                          .strata = {{.granularity_bytes = 2 << 20, .draws = 1000}}};

    ck_assert(read_without_guest(&tally, 20 * MS));
    ck_assert(!read_without_guest(&tally, 5 * MS));
    tally.touched_bytes = 20 * 4096;
    ck_assert(!read_without_guest(&tally, 20 * MS));
}

/* A plain dump in its thread (85 ms) while query-block is asked all the time (133 ms): the rows of
 * the test below, added. */
TEST(plain, a_dump_is_seen_beside_a_busy_monitor)
{
    const struct own_work work = {(85 + 133) * MS, {134480000 + 843000, 33260 + 105378, 0, 0}};
    const struct own_work longer = {(85 + 400) * MS, {134480000 + 2541000, 33260 + 317000, 0, 0}};

    ck_assert(own_work_reads_ram(&work));
    ck_assert(own_work_reads_ram(&longer));
}

/* Each as it was measured of QEMU 7.2 with 128 MiB: CPU time, written bytes, calls of write(), and
 * bytes that were read while no vCPU ran. */
TEST(plain, reading_is_not_a_monitors_work)
{
    const struct {
        struct own_work work;
        bool reads;
    } rows[] = {
        {{85 * MS, {134480000, 33260, 0, 0}}, true},     /* a plain dump */
        {{65 * MS, {134480000, 33264, 0, 0}}, true},     /* into a FIFO */
        {{128 * MS, {2530000, 948, 0, 0}}, true},        /* compressed */
        {{131 * MS, {2530000, 936, 0, 0}}, true},        /* into a FIFO with a slow reader */
        {{128 * MS, {253000, 95, 0, 0}}, true},          /* what compresses ten times better */
        {{210 * MS, {127610000, 3391, 0, 0}}, true},     /* a snapshot */
        {{1327 * MS, {8430000, 1053781, 0, 0}}, false},  /* query-block, 6,200 a second */
        {{1355 * MS, {14120000, 1764673, 0, 0}}, false}, /* info block */
        {{49 * MS, {2400000, 45035, 0, 0}}, false},      /* info mtree, into a pipe */
        {{1477 * MS, {100000, 12723, 0, 0}}, false},     /* query-qmp-schema */
        {{60 * MS, {4096, 12, 120 << 20, 0}}, true},     /* loads a snapshot */
        {{60 * MS, {4096, 12, 8 << 20, 0}}, false},      /* a disk's requests in flight */
        {{0, {0, 0, 0, 0}}, false},
    };

    for (size_t i = 0; i < COUNT(rows); i++)
        ck_assert_int_eq(own_work_reads_ram(&rows[i].work), rows[i].reads);
}

/* A state in which no vCPU runs. */
static struct own_step stopped(uint64_t at_ms, uint64_t own_ms, uint64_t read)
{
    return (struct own_step){.at_ns = at_ms * MS,
                             .own_ns = (1000 + own_ms) * MS,
                             .vcpu_ns = 5000 * MS,
                             .transfers = {.bytes = 4096, .calls = 1, .read = read, .reads = 1}};
}

static struct own_step runs(uint64_t at_ms, uint64_t read)
{
    return (struct own_step){.at_ns = at_ms * MS,
                             .transfers = {.bytes = 4096, .calls = 1, .read = read, .reads = 1}};
}

static uint64_t loaded(const struct own_step *steps, size_t n)
{
    struct own_time own = {.step = steps[0]};

    for (size_t i = 1; i < n; i++)
        own_time_add(&own, &steps[i], true);
    return own_time_loaded_units(&own) * 4096;
}
#define LOADED(...) \
    loaded((const struct own_step[]){__VA_ARGS__}, COUNT(((const struct own_step[]){__VA_ARGS__})))

/* Less than a snapshot for which a flag is set. */
TEST(plain, the_begin_of_a_snapshot)
{
    const uint64_t kib = 1024;

    /* the step in which the vCPUs stop has a part of it, the one in which they run again, too */
    ck_assert_uint_ge(LOADED(runs(0, 0), stopped(20, 0, 5000 * kib), stopped(40, 20, 9000 * kib)),
                      9000 * kib);
    ck_assert_uint_ge(
        LOADED(runs(0, 0), stopped(20, 0, 0), stopped(40, 20, 4000 * kib), runs(60, 8000 * kib)),
        8000 * kib);
    /* of zeroes, of which a page is 9 bytes */
    ck_assert_uint_ge(LOADED(runs(0, 0), stopped(20, 0, 900), stopped(40, 20, 9900)), 1100 * 4096);
    /* no core reads RAM faster */
    ck_assert_uint_le(LOADED(stopped(20, 0, 0), stopped(40, 1, 9000 * kib)), 32 * MS + 4096);
}

TEST(plain, what_is_no_begin_of_a_snapshot)
{
    struct own_step busy = stopped(40, 20, 80000);

    ck_assert_uint_eq(LOADED(runs(0, 0), runs(20, 9 << 20), runs(40, 19 << 20)), 0);
    /* a guest that halts between requests of its disk */
    ck_assert_uint_eq(LOADED(runs(0, 0), stopped(20, 0, 9 << 20), runs(40, 19 << 20)), 0);
    ck_assert_uint_eq(LOADED(runs(0, 0), stopped(20, 0, 9 << 20), stopped(40, 0, 19 << 20)), 0);
    /* a monitor, which has events only */
    busy.transfers.reads = 10001;
    ck_assert_uint_eq(LOADED(stopped(20, 0, 0), busy), 0);
}

/* The scan begins with @p now and ends with @p end; @p share of the pages were touched since the
 * last one. */
static uint64_t loaded_at_scan(struct own_time own, struct own_step now, struct own_step end,
                               double share, bool tells_jobs)
{
    own_time_add_scan(&own, &now, tells_jobs);
    own_time_add(&own, &end, tells_jobs);
    own_time_judge_scan(&own, share, 256 << 20);
    return own_time_loaded_units(&own) * 4096;
}

#define MIB (1ULL << 20)

/* vmwssd has no steps between its scans. */
TEST(plain, a_snapshot_between_two_scans)
{
    const struct own_time ran = {.step = runs(0, 0), .loaded_ram_bytes = 9 * MIB};
    const struct own_time loads = {.step = stopped(0, 0, 0), .loads = true};
    const struct own_step whole = runs(2000, 192 * MIB);
    const struct own_step end = runs(2020, 192 * MIB);

    /* of 192 MiB, with pages of zeroes; of zeroes only */
    ck_assert_uint_ge(loaded_at_scan(ran, whole, end, 0.98, true), 256 * MIB);
    ck_assert_uint_ge(loaded_at_scan(ran, runs(2000, MIB), runs(2020, MIB), 0.98, true), 256 * MIB);
    /* too few pages to tell */
    ck_assert_uint_ge(loaded_at_scan(ran, whole, end, 0, true), 256 * MIB);
    /* begun before the last scan */
    ck_assert_uint_ge(loaded_at_scan(loads, whole, end, 0.6, true), 256 * MIB);
    /* it ends, or goes on, while the pages are read */
    ck_assert_uint_ge(
        loaded_at_scan(ran, stopped(2000, 0, 190 * MIB), runs(2020, 192 * MIB), 0.6, true),
        256 * MIB);
    ck_assert_uint_ge(
        loaded_at_scan(ran, stopped(2000, 0, 12 * MIB), stopped(2020, 9, 13 * MIB), 0.1, true),
        12 * MIB);
    /* the pages are read so fast that nothing shows */
    ck_assert_uint_ge(
        loaded_at_scan(ran, stopped(2000, 0, 12 * MIB), stopped(2001, 0, 12 * MIB), 0.1, true),
        12 * MIB);
    /* no halted vCPU looks stopped there */
    ck_assert_uint_ge(
        loaded_at_scan(ran, stopped(2000, 0, 12 * MIB), stopped(2020, 0, 12 * MIB), 0.1, false),
        256 * MIB);
}

TEST(plain, a_disk_between_two_scans)
{
    const struct own_time ran = {.step = runs(0, 0), .loaded_ram_bytes = 9 * MIB};
    const struct own_time halted = {.step = stopped(0, 0, 0)};
    const struct own_step now = runs(2000, 192 * MIB);
    const struct own_step end = runs(2020, 192 * MIB);

    ck_assert_uint_eq(loaded_at_scan(ran, now, end, 0.6, true), 0);
    ck_assert_uint_eq(loaded_at_scan(halted, now, end, 0.6, true), 0);
    ck_assert_uint_eq(loaded_at_scan(ran, now, end, 0.98, false), 0);
    /* the guest halts between two requests, or has nothing to do */
    ck_assert_uint_eq(
        loaded_at_scan(ran, stopped(2000, 0, 192 * MIB), runs(2020, 192 * MIB), 0.3, true), 0);
    ck_assert_uint_eq(
        loaded_at_scan(halted, stopped(2000, 0, 192 * MIB), stopped(2020, 0, 192 * MIB), 0.6, true),
        0);
    /* less than a snapshot of zeroes */
    ck_assert_uint_eq(loaded_at_scan(ran, runs(2000, 4096), runs(2020, 4096), 0.98, true), 0);
}

TEST(plain, both_are_needed)
{
    ck_assert(read_all_likely(0.1, 1, 100 * MS, GIB));
    ck_assert(read_all_likely(0, 0.98, 200 * MS, GIB)); /* before is not known */
    ck_assert(!read_all_likely(0, 0.98, 100 * MS, GIB));
    ck_assert(!read_all_likely(0.1, 1, 20 * MS, GIB));
    ck_assert(!read_all_likely(0.1, 0.9, 100 * MS, GIB));
    ck_assert(!read_all_likely(0.98, 1, 100 * MS, GIB));  /* the guest does that all the time */
    ck_assert(!read_all_likely(0.1, 1, 5 * MS, 1 << 20)); /* a timer's */
}

TEST(plain, what_is_used_anyhow)
{
    struct own_time own = {.begun_at_ns = 0, .sampled_at_ns = 2000 * MS, .sampled_ns = 900 * MS};

    ck_assert_uint_eq(own_time_excess_ns(&own), 900 * MS);
    own.periods = 1; /* may be the very one */
    own.least_rate = 0.45;
    ck_assert_uint_eq(own_time_excess_ns(&own), 900 * MS);
    own.periods = 4;
    own.least_rate = 0.40;
    ck_assert_uint_eq(own_time_excess_ns(&own), 100 * MS);
    own.least_rate = 0.5;
    ck_assert_uint_eq(own_time_excess_ns(&own), 0);
}
