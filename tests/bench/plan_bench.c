// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file plan_bench.c  Holds plans against what came after; see tests/bench/plan --help.
 *
 *   plan_bench judge SEEDS GUESTS WEEKS RISK STEP   the table; STEP of the plans, seconds
 *   plan_bench large HOSTS GUESTS              a plan of so many hosts: time and memory
 */
#include "plan_fleets.h"

#include "base/clock.h"
#include "base/random.h"
#include "decide/plan/plan.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define CAPACITY (64 * GIB)
#define MONDAY_S (4 * 86400.0)
#define SIGMAS 5
#define JUDGED_WEEKS 2
#define WATCHER_MINUTES 60
#define STATIC_RATIO 1.5
#define MAX_HOSTS 4096

enum policy { ORACLE, PLAN, SUM_P99, N_SIGMA, WATCHER, STATIC, POLICIES };
static const char *const policy_names[] = {"oracle",         "vmwss plan",      "sum of p99s",
                                           "mean + 5 sigma", "mean, first fit", "ratio 1.5"};

/* vmwss plan's step; the oracle's is a minute. With another one only these two are compared. */
static int plan_step = 60;

static enum policy policies(void)
{
    return plan_step == 60 ? POLICIES : SUM_P99;
}

struct assignment {
    size_t *at; /* of each guest */
    size_t n_hosts, n_moves;
};

static void *must(void *memory)
{
    if (memory)
        return memory;
    fputs("out of memory\n", stderr);
    exit(2);
}

static int compare_double(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return (x > y) - (x < y);
}

/* --- the start: nothing overcommitted, first fit ---------------------------------------------- */

static struct assignment start(const struct generated *generated)
{
    struct assignment start = {.at = must(calloc(generated->n_guests, sizeof(size_t)))};
    static double used[MAX_HOSTS];

    memset(used, 0, sizeof(used));
    for (size_t g = 0; g < generated->n_guests; g++) {
        size_t h = 0;

        while (used[h] + generated->ram_bytes[g] > CAPACITY)
            h++;
        used[h] += generated->ram_bytes[g];
        start.at[g] = h;
        start.n_hosts = h + 1 > start.n_hosts ? h + 1 : start.n_hosts;
    }
    return start;
}

/* --- by the planner --------------------------------------------------------------------------- */

static struct plan_fleet fleet_of(const struct generated *generated, const struct assignment *from,
                                  size_t first, size_t n, int step_s)
{
    struct plan_fleet fleet;

    if (plan_fleet_make(&fleet, from->n_hosts, generated->n_guests, MONDAY_S + 60.0 * (double)first,
                        MONDAY_S + 60.0 * (double)(first + n), step_s) < 0)
        must(NULL);
    for (size_t h = 0; h < from->n_hosts; h++)
        fleet.hosts[h].capacity_bytes = (uint64_t)CAPACITY;
    for (size_t g = 0; g < generated->n_guests; g++) {
        const float *need = generated->need + g * generated->n_minutes + first;

        fleet.guests[g].ram_bytes = (uint64_t)generated->ram_bytes[g];
        fleet.guests[g].host = from->at[g];
        for (size_t t = 0; t < n; t++)
            if (need[t] >= 0)
                plan_note(&fleet, g, fleet.from_s + 60.0 * (double)t, 60, need[t]);
            else if (first > 0) /* the oracle knows that it will be gone */
                plan_note(&fleet, g, fleet.from_s + 60.0 * (double)t, 60, 0);
    }
    return fleet;
}

/* By decreasing p99, each on the fullest host that it fits on, as if none had a place yet. */
static void pack_anew(struct plan_state *state)
{
    const struct plan_fleet *fleet = state->fleet;
    bool *placed = must(calloc(fleet->n_guests, sizeof(bool)));

    for (size_t g = 0; g < fleet->n_guests; g++) {
        const struct plan_shape shape = plan_shape_of(fleet, g);

        plan_load_remove(state, &state->loads[state->at[g]], &shape);
    }
    for (size_t i = 0; i < fleet->n_guests; i++) {
        size_t next = fleet->n_guests;

        for (size_t g = 0; g < fleet->n_guests; g++)
            if (!placed[g] && (next == fleet->n_guests ||
                               fleet->guests[g].p99_bytes > fleet->guests[next].p99_bytes))
                next = g;

        const struct plan_shape shape = plan_shape_of(fleet, next);
        size_t to = plan_best_host(state, &shape, PLAN_NOWHERE, false);

        if (to == PLAN_NOWHERE)
            to = plan_best_host(state, &shape, PLAN_NOWHERE, true);
        placed[next] = true;
        state->at[next] = to == PLAN_NOWHERE ? fleet->guests[next].host : to;
        plan_load_add(state, &state->loads[state->at[next]], &shape);
    }
    free(placed);
}

static struct assignment by_planner(const struct generated *generated,
                                    const struct assignment *from, size_t first, size_t n,
                                    double risk, bool oracle, bool anew)
{
    const struct plan_options options = {.risk = risk,
                                         .horizon_s = JUDGED_WEEKS * 7 * 86400.0,
                                         .bare = oracle,
                                         .max_moves = SIZE_MAX};
    struct plan_fleet fleet = fleet_of(generated, from, first, n, oracle ? 60 : plan_step);
    struct assignment out = {.at = must(calloc(generated->n_guests, sizeof(size_t))),
                             .n_hosts = from->n_hosts};
    struct plan_state state;
    struct plan_moves moves;

    if (plan_profile(&fleet) < 0 || plan_moves_make(&moves, fleet.n_guests) < 0)
        must(NULL);
    plan_prepare(&fleet, &options);
    if (plan_state_make(&state, &fleet, &options) < 0)
        must(NULL);
    if (anew)
        pack_anew(&state);
    else if (plan_consolidate(&state, &moves) < 0)
        must(NULL);
    for (size_t g = 0; g < generated->n_guests; g++) {
        out.at[g] = state.at[g];
        out.n_moves += state.at[g] != from->at[g];
    }
    plan_state_free(&state);
    free(moves.move);
    plan_fleet_free(&fleet);
    return out;
}

/* --- by the others ---------------------------------------------------------------------------- */

/* A policy's knowledge of a guest, and of a host that is being filled. */
struct known {
    double size; /* what is added up */
    const float *need;
};

struct filled {
    double sum;
    double *joint; /* N_SIGMA */
};

static double measure(enum policy policy, const float *need, size_t n, double ram)
{
    const size_t from = policy == WATCHER && n > WATCHER_MINUTES ? n - WATCHER_MINUTES : 0;
    double *values = must(calloc(n, sizeof(double)));
    double sum = 0;
    size_t known = 0;

    for (size_t t = from; t < n; t++)
        if (need[t] >= 0) {
            sum += need[t];
            values[known++] = need[t];
        }
    qsort(values, known, sizeof(double), compare_double);

    const double p99 = known ? values[(size_t)(0.99 * (double)(known - 1))] : 0;

    free(values);
    if (policy == STATIC)
        return ram / STATIC_RATIO;
    return policy == SUM_P99 ? p99 : known ? sum / (double)known : 0;
}

static double sigmas(const double *joint, const float *more, size_t n)
{
    double sum = 0;
    double squares = 0;

    for (size_t t = 0; t < n; t++) {
        const double value = joint[t] + fmaxf(more[t], 0);

        sum += value;
        squares += value * value;
    }
    sum /= (double)n;
    return sum + SIGMAS * sqrt(fmax(squares / (double)n - sum * sum, 0));
}

static bool fits(enum policy policy, const struct filled *host, const struct known *guest, size_t n)
{
    if (policy == N_SIGMA)
        return sigmas(host->joint, guest->need, n) <= CAPACITY;
    return host->sum + guest->size <= CAPACITY;
}

static struct assignment by_packing(enum policy policy, const struct generated *generated,
                                    const struct assignment *from, size_t n)
{
    const size_t n_guests = generated->n_guests;
    struct assignment out = {.at = must(calloc(n_guests, sizeof(size_t)))};
    struct known *known = must(calloc(n_guests, sizeof(*known)));
    struct filled *hosts = must(calloc(from->n_hosts + 1, sizeof(*hosts)));
    bool *placed = must(calloc(n_guests, sizeof(bool)));

    for (size_t g = 0; g < n_guests; g++) {
        known[g].need = generated->need + g * generated->n_minutes;
        known[g].size = measure(policy, known[g].need, n, generated->ram_bytes[g]);
    }
    for (size_t i = 0; i < n_guests; i++) {
        size_t next = n_guests;
        size_t h = 0;

        for (size_t g = 0; g < n_guests; g++)
            if (!placed[g] && (next == n_guests || known[g].size > known[next].size))
                next = g;
        placed[next] = true;
        for (; h < from->n_hosts; h++) {
            if (!hosts[h].joint)
                hosts[h].joint = must(calloc(n, sizeof(double)));
            if (fits(policy, &hosts[h], &known[next], n))
                break;
        }
        hosts[h].sum += known[next].size;
        for (size_t t = 0; hosts[h].joint && t < n; t++)
            hosts[h].joint[t] += fmaxf(known[next].need[t], 0);
        out.at[next] = h;
        out.n_hosts = h + 1 > out.n_hosts ? h + 1 : out.n_hosts;
        out.n_moves += h != from->at[next];
    }
    for (size_t h = 0; h < from->n_hosts; h++)
        free(hosts[h].joint);
    free(known);
    free(hosts);
    free(placed);
    return out;
}

/* --- the judge -------------------------------------------------------------------------------- */

/* Sums of one policy in one family, over all seeds. */
struct score {
    double n_hosts;         /* in use, in sum */
    double n, sum, squares; /* hosts, their shares of time short */
    double worst;
    double moves, saved, could; /* hosts saved, and by the oracle */
};

static size_t judge(const struct generated *generated, const struct assignment *plan, size_t first,
                    struct score *score)
{
    const size_t n = generated->n_minutes - first;
    size_t in_use = 0;

    for (size_t h = 0; h < plan->n_hosts; h++) {
        double *joint = must(calloc(n, sizeof(double)));
        size_t guests = 0;
        double above = 0;

        for (size_t g = 0; g < generated->n_guests; g++) {
            const float *need = generated->need + g * generated->n_minutes + first;

            if (plan->at[g] != h)
                continue;
            guests++;
            for (size_t t = 0; t < n; t++)
                joint[t] += fmaxf(need[t], 0);
        }
        for (size_t t = 0; t < n; t++)
            above += joint[t] > CAPACITY;
        free(joint);
        if (guests == 0)
            continue;
        above /= (double)n;
        in_use++;
        score->n++;
        score->sum += above;
        score->squares += above * above;
        score->worst = fmax(score->worst, above);
    }
    score->n_hosts += (double)in_use;
    score->moves += (double)plan->n_moves;
    return in_use;
}

static size_t hosts_in_use(const struct assignment *plan, size_t n_guests)
{
    size_t in_use = 0;

    for (size_t h = 0; h < plan->n_hosts; h++)
        for (size_t g = 0; g < n_guests; g++)
            if (plan->at[g] == h) {
                in_use++;
                break;
            }
    return in_use;
}

/* With the future in hand: the planner from where guests are, or packing them anew, whichever needs
 * fewer hosts. */
static struct assignment by_oracle(const struct generated *generated, const struct assignment *from,
                                   size_t planned, double risk)
{
    const size_t n = generated->n_minutes - planned;
    struct assignment moved = by_planner(generated, from, planned, n, risk, true, false);
    struct assignment anew = by_planner(generated, from, planned, n, risk, true, true);
    const bool fewer = hosts_in_use(&anew, generated->n_guests) <
                       hosts_in_use(&moved, generated->n_guests);

    free(fewer ? moved.at : anew.at);
    return fewer ? anew : moved;
}

static struct assignment plan_by(enum policy policy, const struct generated *generated,
                                 const struct assignment *from, size_t planned, double risk)
{
    if (policy == ORACLE)
        return by_oracle(generated, from, planned, risk);
    if (policy == PLAN)
        return by_planner(generated, from, 0, planned, risk, false, false);
    return by_packing(policy, generated, from, planned);
}

static void judge_seed(const struct family *family, uint64_t seed, size_t n_guests, size_t weeks,
                       double risk, struct score *scores)
{
    const size_t planned = weeks * 7 * DAY_MINUTES;
    const size_t judged = JUDGED_WEEKS * 7 * DAY_MINUTES;
    struct generated generated = generate(family, n_guests, planned + judged, judged, seed);
    struct assignment from = start(&generated);
    size_t oracle = 0;

    for (enum policy policy = ORACLE; policy < policies(); policy++) {
        struct assignment plan = plan_by(policy, &generated, &from, planned, risk);
        const size_t in_use = judge(&generated, &plan, planned, &scores[policy]);

        if (policy == ORACLE)
            oracle = in_use;
        scores[policy].saved += (double)from.n_hosts - (double)in_use;
        scores[policy].could += (double)from.n_hosts - (double)oracle;
        free(plan.at);
    }
    free(from.at);
    generated_free(&generated);
}

static void print_score(const char *family, enum policy policy, const struct score *score,
                        size_t seeds)
{
    const double mean = score->sum / score->n;
    const double variance = fmax(score->squares / score->n - mean * mean, 0);
    const double half = 1.96 * sqrt(variance / fmax(score->n - 1, 1));

    printf("| %s | %s | %.1f | %.3f %% | %.3f - %.3f %% | %.2f %% | %.0f %% | %.0f |\n", family,
           policy_names[policy], score->n_hosts / (double)seeds, 100 * mean,
           100 * fmax(mean - half, 0), 100 * (mean + half), 100 * score->worst,
           100 * score->saved / score->could, score->moves / (double)seeds);
}

static int judge_all(size_t seeds, size_t n_guests, size_t weeks, double risk)
{
    printf("| family | policy | hosts | short | 95 %% interval | worst host | saving of oracle's | "
           "moves |\n|---|---|---|---|---|---|---|---|\n");
    for (size_t f = 0; f < n_families; f++) {
        struct score scores[POLICIES] = {{0}};

        for (uint64_t seed = 1; seed <= seeds; seed++)
            judge_seed(&families[f], seed, n_guests, weeks, risk, scores);
        for (enum policy policy = ORACLE; policy < policies(); policy++)
            print_score(families[f].name, policy, &scores[policy], seeds);
        fflush(stdout);
    }
    return 0;
}

/* --- large ------------------------------------------------------------------------------------ */

static int plan_large(size_t n_hosts, size_t each)
{
    const double span_s = 28 * 86400.0;
    const int step_s = plan_step_s(span_s, n_hosts * each);
    const struct plan_request request = {
        .options = {.risk = 0.001, .horizon_s = 14 * 86400.0, .max_moves = SIZE_MAX},
        .place_bytes = {8 * GIB},
        .n_place = 1,
        .consolidate = true,
    };
    struct plan_fleet fleet;
    struct plan_result result;
    struct rusage usage;
    uint64_t began_ns;
    uint64_t state = 1;

    if (plan_fleet_make(&fleet, n_hosts, n_hosts * each, MONDAY_S, MONDAY_S + span_s, step_s) < 0)
        must(NULL);
    for (size_t h = 0; h < n_hosts; h++)
        fleet.hosts[h].capacity_bytes = (uint64_t)(192 * GIB);
    for (size_t g = 0; g < fleet.n_guests; g++) {
        uint8_t *series = plan_series(&fleet, g);
        const uint64_t level = 25 + random_below(&state, 50);

        fleet.guests[g].ram_bytes = (uint64_t)(8 * GIB);
        fleet.guests[g].host = g / each;
        for (size_t t = 0; t < fleet.n_times; t++)
            series[t] = (uint8_t)(level + random_below(&state, 8) +
                                  (random_below(&state, 100) < 2 ? 120 : 0));
    }
    began_ns = clock_ns();
    if (plan_make(&fleet, &request, &result) < 0)
        must(NULL);
    getrusage(RUSAGE_SELF, &usage);
    printf("%zu hosts, %zu guests, %zu steps of %d s: %.1f s, %.1f s of it CPU with the data, "
           "%ld MiB; %zu moves empty %zu hosts\n",
           n_hosts, fleet.n_guests, fleet.n_times, step_s, (double)(clock_ns() - began_ns) / 1e9,
           (double)usage.ru_utime.tv_sec + (double)usage.ru_utime.tv_usec / 1e6,
           usage.ru_maxrss / 1024, result.moves.n, result.emptied);
    plan_result_free(&result);
    plan_fleet_free(&fleet);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 7 && strcmp(argv[1], "judge") == 0)
        return plan_step = (int)strtoul(argv[6], NULL, 10),
               judge_all(strtoul(argv[2], NULL, 10), strtoul(argv[3], NULL, 10),
                         strtoul(argv[4], NULL, 10), strtod(argv[5], NULL));
    if (argc == 4 && strcmp(argv[1], "large") == 0)
        return plan_large(strtoul(argv[2], NULL, 10), strtoul(argv[3], NULL, 10));
    fputs("Usage: plan_bench judge SEEDS GUESTS WEEKS RISK | large HOSTS GUESTS\n", stderr);
    return 1;
}
