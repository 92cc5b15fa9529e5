// SPDX-License-Identifier: LGPL-2.1-or-later
#include "model.h"

#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/random.h"

#include <math.h>
#include <stdlib.h>

#define INFLATE_BYTES_S (200 * MIB)
#define DEFLATE_BYTES_S (1000 * MIB)
#define DEAD_S 60
#define AGENT_EVERY_S 60
#define BALLOON_EVERY_S 10
#define DAY_S 86400.0
#define PANEL_ERROR 0.022 /* of resident: half the width of the interval of 2,000 pages */
#define REVERSAL_BYTES (64 * MIB)
#define ARC_LEAVES_BYTES (1024 * MIB)
#define ARC_GROWS_BYTES_S (100 * MIB)
#define ARC_SHRINKS_BYTES_S (1024 * MIB)

uint64_t sim_used(const struct sim_guest *guest)
{
    return guest->kernel_bytes + guest->anon_bytes;
}

uint64_t sim_need(const struct sim_guest *guest)
{
    return sim_used(guest) + guest->hot_file_bytes;
}

static uint64_t resident_of_all(const struct sim *sim)
{
    uint64_t bytes = sim->base_bytes;

    for (size_t i = 0; i < sim->n; i++)
        bytes += sim->guests[i].resident_bytes;
    return bytes;
}

uint64_t sim_free(const struct sim *sim)
{
    return less(sim->total_bytes, resident_of_all(sim) + sim->arc_bytes);
}

uint64_t sim_available(const struct sim *sim)
{
    return less(sim->total_bytes, resident_of_all(sim));
}

/* --- what guests want ------------------------------------------------------------------------- */

static double uniform(struct sim_guest *guest)
{
    return (double)(random_next(&guest->random) >> 11) / (double)(1ULL << 53);
}

static double random_level(struct sim_guest *guest, double now_s)
{
    if (now_s >= guest->next_s) {
        guest->next_s = now_s - guest->period_s * log(1 - uniform(guest));
        guest->level = uniform(guest);
    }
    return guest->level;
}

/* Once in a while it takes nearly all there is, for two minutes. */
static double exploding_level(struct sim_guest *guest, double now_s)
{
    if (now_s >= guest->next_s + 120)
        guest->next_s = now_s + guest->period_s * (0.5 + uniform(guest));
    return now_s >= guest->next_s ? 1 : 0;
}

/* 0: low, 1: high. */
static double level_of(struct sim_guest *guest, double now_s)
{
    double at = fmod(now_s + guest->phase_s, guest->period_s) / guest->period_s;

    switch (guest->trace) {
    case TRACE_SQUARE:
        return at < 0.5 ? 0 : 1;
    case TRACE_DAY:
        return (1 - cos(2 * M_PI * at)) / 2;
    case TRACE_STEP: /* half as much again, for an hour a day */
        return at < 1 / 24.0 ? 1 : 2 / 3.0;
    case TRACE_NIGHT: /* a job of three minutes a day */
        return at < 180 / DAY_S ? 1 : 0.2;
    case TRACE_RANDOM:
        return random_level(guest, now_s);
    case TRACE_EXPLODING:
        return exploding_level(guest, now_s);
    }
    return 0;
}

static void want(struct sim_guest *guest, double now_s)
{
    double level = now_s < guest->dead_until_s ? 0 : level_of(guest, now_s);
    uint64_t anon = guest->low_bytes +
                    (uint64_t)(level * (double)less(guest->high_bytes, guest->low_bytes));
    uint64_t most = guest->anon_bytes + (uint64_t)guest->ramp_bytes_s;

    guest->hot_file_bytes = (uint64_t)(level * (double)guest->file_bytes);
    if (anon > guest->anon_bytes)
        guest->anon_bytes = smaller(anon, most);
    else if (!guest->keeps_heap || now_s < guest->dead_until_s)
        guest->anon_bytes = anon;
    guest->hot_bytes = guest->kernel_bytes / 2 + smaller(anon, guest->anon_bytes) +
                       guest->hot_file_bytes;
}

/* --- what becomes of it ----------------------------------------------------------------------- */

static void move_balloon(struct sim_guest *guest)
{
    uint64_t least = sim_used(guest) + 8 * MIB;

    if (guest->target_bytes > guest->actual_bytes)
        guest->actual_bytes = smaller(guest->target_bytes, guest->actual_bytes + DEFLATE_BYTES_S);
    else
        guest->actual_bytes = smaller(
            guest->actual_bytes,
            larger(larger(guest->target_bytes, least), less(guest->actual_bytes, INFLATE_BYTES_S)));
}

/* It can be unplugged while the guest can do without it. */
static void plug(struct sim_guest *guest, double now_s)
{
    double hour = fmod(now_s, DAY_S) / 3600;
    bool wanted = hour >= 8 && hour < 18;
    uint64_t *const sizes[] = {&guest->assigned_bytes, &guest->actual_bytes, &guest->target_bytes,
                               &guest->extreme_bytes, &guest->plugged_bytes};

    if (wanted == (guest->plugged_bytes > 0) || guest->dimm_bytes == 0 ||
        (!wanted && guest->actual_bytes < sim_need(guest) + guest->dimm_bytes))
        return;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
        *sizes[i] = wanted ? *sizes[i] + guest->dimm_bytes : *sizes[i] - guest->dimm_bytes;
}

static void cache_of_host(struct sim *sim)
{
    uint64_t used = resident_of_all(sim);
    uint64_t room = less(sim->total_bytes, used + ARC_LEAVES_BYTES);

    if (sim->arc_bytes > room)
        sim->arc_bytes = larger(room, less(sim->arc_bytes, ARC_SHRINKS_BYTES_S));
    else
        sim->arc_bytes = smaller(smaller(room, sim->arc_most_bytes),
                                 sim->arc_bytes + ARC_GROWS_BYTES_S);
}

static void suffer(struct sim_guest *guest, double now_s)
{
    if (sim_used(guest) > guest->actual_bytes) {
        guest->oom_kills++;
        guest->oom_kill = true;
        guest->dead_until_s = now_s + DEAD_S;
        guest->anon_bytes = smaller(guest->low_bytes,
                                    less(guest->actual_bytes, guest->kernel_bytes));
    }
    guest->short_s += sim_need(guest) > guest->actual_bytes;
}

static void touch(struct sim_guest *guest)
{
    uint64_t used = sim_used(guest);
    uint64_t most = less(guest->actual_bytes, used);
    uint64_t cache = larger(guest->cache_bytes + (uint64_t)guest->read_bytes_s,
                            guest->hot_file_bytes);

    guest->cache_bytes = smaller(cache, most);
    guest->resident_bytes = smaller(larger(guest->resident_bytes, used + guest->cache_bytes),
                                    guest->actual_bytes);
    guest->bucket_bytes = larger(guest->bucket_bytes,
                                 smaller(guest->hot_bytes, guest->resident_bytes));
}

static uint64_t touched(const struct sim_guest *guest, double now_s, unsigned n)
{
    unsigned last = (unsigned)(now_s / SIM_BUCKET_S) % SIM_HOUR_BUCKETS;
    uint64_t bytes = guest->bucket_bytes;

    for (unsigned i = 0; i < n; i++)
        bytes = larger(bytes, guest->touched[(last + SIM_HOUR_BUCKETS - i) % SIM_HOUR_BUCKETS]);
    return smaller(bytes + (uint64_t)(guest->read_bytes_s * n * SIM_BUCKET_S),
                   guest->resident_bytes);
}

static void end_bucket(struct sim_guest *guest, double now_s)
{
    uint64_t bucket = (uint64_t)(now_s / SIM_BUCKET_S);
    uint64_t minute = bucket * SIM_BUCKET_S / 60;

    guest->touched[bucket % SIM_HOUR_BUCKETS] = guest->bucket_bytes;
    guest->bucket_bytes = 0;
    guest->day[minute % (24 * 60)] = touched(guest, now_s, 60);
    guest->n_day = (unsigned)smaller(minute + 1, 24 * 60);
    if (bucket % SIM_HOUR_BUCKETS != 0)
        return;

    guest->day_max_bytes = 0;
    for (unsigned i = 0; i < guest->n_day; i++)
        guest->day_max_bytes = larger(guest->day_max_bytes, guest->day[i]);
}

/* It has turned when it is 64 MiB from the last extreme. */
static void count_reversal(struct sim_guest *guest)
{
    uint64_t size = guest->actual_bytes;
    int way = size > guest->extreme_bytes ? 1 : -1;

    if (way == guest->direction) {
        guest->extreme_bytes = size;
    } else if (larger(size, guest->extreme_bytes) - smaller(size, guest->extreme_bytes) >=
               REVERSAL_BYTES) {
        guest->reversals += guest->direction != 0;
        guest->direction = way;
        guest->extreme_bytes = size;
    }
}

static struct decide_guest report_of(const struct sim_guest *guest, double now_s)
{
    double limits = fmod(now_s, 3600) < 600 ? guest->limit_psi : 0;
    double lacking = (double)less(sim_need(guest), guest->actual_bytes);
    double psi = fmax(fmin(5 * lacking / (double)(guest->hot_bytes + 1), 1), limits);
    bool agent = guest->statistics == STATISTICS_AGENT;

    return (struct decide_guest){
        .reported = guest->statistics != STATISTICS_NONE,
        .consistency = 1,
        .available_bytes = less(guest->actual_bytes, sim_used(guest) + guest->assigned_bytes / 50),
        .total_bytes = less(guest->actual_bytes, guest->assigned_bytes / 50),
        .swap_total_bytes = 0,
        .swap_free_bytes = 0,
        .cold_anon_bytes = 0,
        .psi_some = agent ? psi : NAN,
        .psi_full = agent ? psi / 2 : NAN,
        .refault_bytes_s = agent ? lacking / 10 : NAN,
        .swap_in_bytes_s = 0,
        .oom_kill = agent && guest->oom_kill,
    };
}

static void report(struct sim_guest *guest, double now_s)
{
    double every_s = guest->statistics == STATISTICS_AGENT ? AGENT_EVERY_S : BALLOON_EVERY_S;

    if (fmod(now_s, every_s) != 0)
        return;
    guest->report = report_of(guest, now_s);
    guest->report_s = now_s;
    guest->oom_kill = false;
}

void sim_step(struct sim *sim)
{
    for (size_t i = 0; i < sim->n; i++) {
        struct sim_guest *guest = &sim->guests[i];

        uint64_t *need = &guest->need[(uint64_t)(sim->now_s / SIM_BUCKET_S)];

        want(guest, sim->now_s);
        plug(guest, sim->now_s);
        *need = larger(sim_need(guest) + guest->dimm_bytes - guest->plugged_bytes, *need);
        move_balloon(guest);
        suffer(guest, sim->now_s);
        touch(guest);
        count_reversal(guest);
        report(guest, sim->now_s);
        guest->saved_byte_s += (double)less(guest->assigned_bytes, guest->resident_bytes);
        if (fmod(sim->now_s, SIM_BUCKET_S) == SIM_BUCKET_S - 1)
            end_bucket(guest, sim->now_s);
    }
    cache_of_host(sim);
    sim->below_zero_s += resident_of_all(sim) > sim->total_bytes;
    sim->below_hard_s += sim_available(sim) < sim->hard_bytes;
    sim->now_s++;
}

/* --- what can be seen ------------------------------------------------------------------------- */

static struct decide_wss wss(const struct sim_guest *guest, double now_s, unsigned buckets)
{
    uint64_t bytes = touched(guest, now_s, buckets);
    uint64_t error = (uint64_t)(PANEL_ERROR * (double)guest->resident_bytes);

    return (struct decide_wss){.window_s = buckets * SIM_BUCKET_S,
                               .low_bytes = less(bytes, error),
                               .high_bytes = smaller(bytes + error, guest->resident_bytes)};
}

static struct decide_guest last_report(const struct sim_guest *guest, double now_s)
{
    struct decide_guest report = guest->report;

    report.age_s = now_s - guest->report_s;
    report.period_s = guest->statistics == STATISTICS_AGENT ? AGENT_EVERY_S : BALLOON_EVERY_S;
    return report;
}

void sim_input(const struct sim_guest *guest, double now_s, struct decide_input *input)
{
    *input = (struct decide_input){
        .assigned_bytes = guest->assigned_bytes,
        .actual_bytes = guest->actual_bytes,
        .resident_bytes = guest->resident_bytes,
        .short_wss = wss(guest, now_s, 6),
        .mid_wss = wss(guest, now_s, 60),
        .long_wss = wss(guest, now_s, SIM_HOUR_BUCKETS),
        .day_bytes = guest->n_day > 60 ? guest->day_max_bytes : DECIDE_UNKNOWN,
        .day_s = fmin(now_s, DAY_S),
        .age_s = 1,
        .period_s = 10,
        .up_s = now_s,
        .panic_age_s = NAN,
        .guest = last_report(guest, now_s),
    };
    if (input->day_bytes == DECIDE_UNKNOWN)
        input->day_s = 0;
}

void sim_set(struct sim_guest *guest, uint64_t target_bytes)
{
    guest->target_bytes = smaller(target_bytes, guest->assigned_bytes);
}

double sim_oracle(const struct sim_guest *guest, size_t n_buckets, size_t n_ahead)
{
    cleanup_free size_t *queue = calloc(n_buckets + 1, sizeof(*queue));
    const uint64_t most = guest->assigned_bytes + guest->dimm_bytes - guest->plugged_bytes;
    size_t first = 0, last = 0; /* of the queue: later and smaller than the one before */
    double saved = 0;

    for (size_t i = n_buckets; queue && i-- > 0;) {
        while (last > first && guest->need[queue[last - 1]] <= guest->need[i])
            last--;
        queue[last++] = i;
        while (queue[first] > i + n_ahead)
            first++;
        saved += SIM_BUCKET_S * (double)less(most, guest->need[queue[first]]);
    }
    return saved;
}
