// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file simulate.c  Weeks of generated guests in seconds, under each rule of rules.h, as one table.
 */
#include "rules.h"

#include "base/array.h"
#include "base/bytes.h"
#include "base/cleanup.h"

#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N_GUESTS 8
/* Sizes below are of guests of 4 GiB, and change with --size. */
#define ASSIGNED (4096 * MIB)
#define DIMM (1024 * MIB)
#define BASE (2048 * MIB)

struct scenario {
    const char *name, *what;
    enum sim_trace trace[4]; /* guest i has number i % 4 */
    bool overcommitted;      /* twice; and lazy */
    bool fresh;              /* they have more than the host has, and have not touched it yet */
    bool rare;               /* its job of the first day is not foreseen by any history */
    uint64_t high_mib;       /* what a guest allocates at most, of those that do not explode */
    double ramp_mib_s;
    double period_s[4];
    double limit_psi; /* of containers at their own limits */
    bool dimm;        /* a quarter of its memory is plugged by day */
    bool arc;         /* ZFS takes up to half of the host's memory */
};

static const struct scenario scenarios[] = {
    {"square",
     "square waves of 5, 30, 60 and 120 minutes",
     {TRACE_SQUARE, TRACE_SQUARE, TRACE_SQUARE, TRACE_SQUARE},
     .high_mib = 1800,
     .ramp_mib_s = 50,
     .period_s = {300, 1800, 3600, 7200}},
    {"random",
     "independent levels, 40 minutes each in the mean",
     {TRACE_RANDOM, TRACE_RANDOM, TRACE_RANDOM, TRACE_RANDOM},
     .high_mib = 1800,
     .ramp_mib_s = 50,
     .period_s = {2400, 2400, 2400, 2400}},
    {"day",
     "day and night",
     {TRACE_DAY, TRACE_DAY, TRACE_DAY, TRACE_DAY},
     .high_mib = 1800,
     .ramp_mib_s = 50,
     .period_s = {86400, 86400, 86400, 86400}},
    {"step",
     "half as much again, for an hour a day, at 100 MiB/s",
     {TRACE_STEP, TRACE_STEP, TRACE_STEP, TRACE_STEP},
     .high_mib = 1800,
     .ramp_mib_s = 100,
     .period_s = {86400, 86400, 86400, 86400}},
    {"explode",
     "nearly all memory for two minutes, every six hours, at 20 MiB/s",
     {TRACE_EXPLODING, TRACE_EXPLODING, TRACE_EXPLODING, TRACE_EXPLODING},
     .high_mib = 1800,
     .ramp_mib_s = 20,
     .period_s = {21600, 21600, 21600, 21600}},
    {"overcommit",
     "all of these, on half the memory; vmwss is lazy here, and proactive above",
     {TRACE_SQUARE, TRACE_RANDOM, TRACE_DAY, TRACE_STEP},
     .overcommitted = true,
     .high_mib = 1000,
     .ramp_mib_s = 50,
     .period_s = {3600, 2400, 86400, 86400}},
    {"tight",
     "as overcommit, of guests that together need all of it at times",
     {TRACE_SQUARE, TRACE_RANDOM, TRACE_DAY, TRACE_STEP},
     .overcommitted = true,
     .high_mib = 1400,
     .ramp_mib_s = 50,
     .period_s = {3600, 2400, 86400, 86400}},
    {"fresh",
     "as tight, of guests that have more than the host has, and have not touched it yet",
     {TRACE_SQUARE, TRACE_RANDOM, TRACE_DAY, TRACE_STEP},
     .overcommitted = true,
     .fresh = true,
     .high_mib = 1400,
     .ramp_mib_s = 50,
     .period_s = {3600, 2400, 86400, 86400}},
    {"night",
     "a job of three minutes a day, at 100 MiB/s",
     {TRACE_NIGHT, TRACE_NIGHT, TRACE_NIGHT, TRACE_NIGHT},
     .rare = true,
     .high_mib = 1800,
     .ramp_mib_s = 100,
     .period_s = {86400, 86400, 86400, 86400}},
    {"pods",
     "square waves, in containers at limits of their own, for ten minutes each hour",
     {TRACE_SQUARE, TRACE_SQUARE, TRACE_SQUARE, TRACE_SQUARE},
     .high_mib = 1800,
     .ramp_mib_s = 50,
     .period_s = {300, 1800, 3600, 7200},
     .limit_psi = 0.3},
    {"hotplug",
     "all but night, with a DIMM of 1 GiB more from 8 to 18 h",
     {TRACE_SQUARE, TRACE_RANDOM, TRACE_DAY, TRACE_STEP},
     .high_mib = 1800,
     .ramp_mib_s = 50,
     .period_s = {3600, 2400, 86400, 86400},
     .dimm = true},
    {"arc",
     "as overcommit, on a host with ZFS, whose cache takes what is free",
     {TRACE_SQUARE, TRACE_RANDOM, TRACE_DAY, TRACE_STEP},
     .overcommitted = true,
     .high_mib = 1000,
     .ramp_mib_s = 50,
     .period_s = {3600, 2400, 86400, 86400},
     .arc = true},
};

struct options {
    double days;
    uint64_t seed;
    unsigned without; /* enum sim_term */
    double size_gib;
    bool ours;    /* no other rule */
    bool unasked; /* the balloon drivers of two guests report no statistics */
    bool json;
};

struct outcome {
    uint64_t oom_kills, short_s, below_hard_s, below_zero_s;
    uint64_t unforeseen; /* OOM kills of the first day, of which nothing was known */
    double reversals_h;  /* of the guest that has most */
    double saved_byte_s;
};

/* How fast a guest allocates and reads does not change with its size. */
static void resize(struct sim_guest *guest, double times)
{
    uint64_t *const sizes[] = {&guest->assigned_bytes, &guest->low_bytes,    &guest->high_bytes,
                               &guest->file_bytes,     &guest->actual_bytes, &guest->kernel_bytes,
                               &guest->dimm_bytes};

    for (size_t i = 0; i < COUNT(sizes); i++)
        *sizes[i] = (uint64_t)((double)*sizes[i] * times) / MIB * MIB;
}

static void make_guest(struct sim_guest *guest, const struct scenario *scenario, size_t i,
                       const struct options *options, uint64_t *need)
{
    bool explodes = scenario->trace[i % 4] == TRACE_EXPLODING;
    bool small = scenario->overcommitted;

    *guest = (struct sim_guest){
        .trace = scenario->trace[i % 4],
        .statistics = i % 4 == 3 && options->unasked
                          ? STATISTICS_NONE
                          : (i % 2 ? STATISTICS_BALLOON : STATISTICS_AGENT),
        .keeps_heap = i >= 6 && !explodes,
        .assigned_bytes = ASSIGNED,
        .kernel_bytes = 150 * MIB,
        .low_bytes = 350 * MIB,
        .high_bytes = (explodes ? 3500 : scenario->high_mib) * MIB,
        .file_bytes = (small ? 200 : 500) * MIB,
        .period_s = scenario->period_s[i % 4],
        .phase_s = scenario->period_s[i % 4] * (double)i / N_GUESTS,
        .ramp_bytes_s = scenario->ramp_mib_s * (double)MIB,
        .read_bytes_s = 0.02 * (double)MIB,
        .limit_psi = scenario->limit_psi,
        .dimm_bytes = scenario->dimm ? DIMM : 0,
        .random = options->seed * 1000 + i,
        .next_s = explodes ? 21600 : 0,
        .actual_bytes = scenario->overcommitted ? ASSIGNED * (scenario->fresh ? 60 : 45) / 100
                                                : ASSIGNED,
        .need = need,
    };
    resize(guest, options->size_gib / 4);
    guest->target_bytes = guest->actual_bytes;
    guest->extreme_bytes = guest->actual_bytes;
    guest->anon_bytes = guest->low_bytes;
    guest->cache_bytes = scenario->fresh ? 0 : less(guest->actual_bytes, sim_used(guest));
    guest->resident_bytes = sim_used(guest) + guest->cache_bytes;
}

static void begin(struct sim *sim, struct rules_state *state, const struct scenario *scenario,
                  const struct options *options, uint64_t *needs)
{
    const size_t buckets = (size_t)(options->days * 86400 / SIM_BUCKET_S) + 1;
    const uint64_t most = ASSIGNED + (scenario->dimm ? DIMM : 0);

    *sim = (struct sim){.base_bytes = BASE, .n = N_GUESTS, .end_s = options->days * 86400};
    sim->total_bytes = BASE + (uint64_t)(options->size_gib / 4 *
                                         (double)(scenario->overcommitted ? N_GUESTS * ASSIGNED / 2
                                                                          : (N_GUESTS + 1) * most));
    sim->arc_most_bytes = scenario->arc ? sim->total_bytes / 2 : 0;
    memset(needs, 0, N_GUESTS * buckets * sizeof(*needs));
    for (size_t i = 0; i < N_GUESTS; i++)
        make_guest(&sim->guests[i], scenario, i, options, needs + i * buckets);
    *state = (struct rules_state){.without = options->without};
    control_policy_init(&state->policy);
    state->policy.proactive = !scenario->overcommitted;
    sim->hard_bytes =
        levels_of(&state->policy.levels, sim->total_bytes, 0).threshold_bytes[LEVEL_HARD];
}

static struct outcome outcome_of(const struct sim *sim)
{
    struct outcome outcome = {.below_hard_s = sim->below_hard_s, .below_zero_s = sim->below_zero_s};

    for (size_t i = 0; i < sim->n; i++) {
        const struct sim_guest *guest = &sim->guests[i];

        outcome.oom_kills += guest->oom_kills;
        outcome.short_s += guest->short_s;
        outcome.saved_byte_s += guest->saved_byte_s;
        outcome.reversals_h = fmax(outcome.reversals_h,
                                   3600 * (double)guest->reversals / sim->end_s);
    }
    return outcome;
}

static double percent(double part, double whole)
{
    return whole > 0 ? 100 * part / whole : 0;
}

/* @p possible: by one who knows the next hour, and the next day. */
static void print(const struct options *options, const char *scenario, const char *rule,
                  const struct outcome *outcome, const double possible[2])
{
    const char *format = options->json
                             ? "{\"scenario\":\"%s\",\"rule\":\"%s\",\"oom_kills\":%llu,"
                               "\"short_minutes\":%.1f,\"reversals_per_hour\":%.2f,"
                               "\"saved_percent_of_hour_oracle\":%.1f,"
                               "\"saved_percent_of_day_oracle\":%.1f,\"below_hard_s\":%llu,"
                               "\"nothing_free_s\":%llu}\n"
                             : "%-10s %-10s %9llu %9.1f %11.2f %7.1f%% %7.1f%% %10llu %12llu\n";

    printf(format, scenario, rule, (unsigned long long)outcome->oom_kills,
           (double)outcome->short_s / 60, outcome->reversals_h,
           percent(outcome->saved_byte_s, possible[0]), percent(outcome->saved_byte_s, possible[1]),
           (unsigned long long)outcome->below_hard_s, (unsigned long long)outcome->below_zero_s);
    fflush(stdout);
}

/* Checks our rule on any trace. No rule can hold back guests that touch what they have. */
static int check(const struct scenario *scenario, const struct outcome *outcome)
{
    if (outcome->oom_kills == (scenario->rare ? outcome->unforeseen : 0) &&
        outcome->reversals_h <= 2 && (outcome->below_hard_s == 0 || scenario->fresh))
        return 0;
    fprintf(stderr,
            "%s: vmwss must kill nothing, turn at most twice an hour, and leave hard free\n",
            scenario->name);
    return -1;
}

/* The first rule, which sets nothing, says what was possible. */
static int run(const struct options *options, const struct scenario *scenario)
{
    const size_t buckets = (size_t)(options->days * 86400 / SIM_BUCKET_S) + 1;
    cleanup_free uint64_t *needs = calloc(N_GUESTS * buckets, sizeof(*needs));
    cleanup_free struct sim *sim = malloc(sizeof(*sim));
    cleanup_free struct rules_state *state = malloc(sizeof(*state));
    double possible[2] = {0};
    int rc = 0;

    if (!needs || !sim || !state)
        return -1;
    for (size_t r = 0; r < N_RULES; r++) {
        uint64_t unforeseen = 0;

        if (options->ours && r > 0 && !rules[r].ours)
            continue;
        begin(sim, state, scenario, options, needs);
        if (rules[r].begin)
            rules[r].begin(state, sim);
        while (sim->now_s < sim->end_s) {
            rules[r].second(state, sim);
            sim_step(sim);
            if (sim->now_s <= 86400)
                unforeseen = outcome_of(sim).oom_kills;
        }
        for (size_t i = 0; r == 0 && i < sim->n; i++)
            for (size_t day = 0; day < 2; day++)
                possible[day] += sim_oracle(&sim->guests[i], buckets - 1,
                                            SIM_HOUR_BUCKETS * (day ? 24 : 1));

        struct outcome outcome = outcome_of(sim);

        outcome.unforeseen = unforeseen;
        print(options, scenario->name, rules[r].name, &outcome, possible);
        if (rules[r].ours && !options->without)
            rc = check(scenario, &outcome);
    }
    return rc;
}

static const char help[] =
    "Usage: balloon_simulate [--days N] [--seed N] [--scenario NAME] [--size GIB] [--without TERM[,TERM...]] [--unasked] [--ours] [--json]\n\n"
    "Generated guests under each rule, for 7 days each. Eight guests of 4 GiB, or --size, of which two\n"
    "keep the heap that they allocated once. SHORT MIN: guest minutes with less\n"
    "than they needed; REVERSALS/H: of the guest that has most; OF HOUR, OF DAY: memory saved, of what\n"
    "one could who knows the next hour, or day; BELOW HARD, NOTHING FREE: seconds of the host.\n"
    "--unasked: two guests have no statistics, as with statistics = keep. --without leaves terms of the rule of vmwss out, and checks nothing; --ours leaves out the others. Exit\n"
    "status 1: vmwss killed (in night: after the first day), turned more than twice an hour, or left\n"
    "the host below hard (but for fresh).\n\n";

/* Changes the list. */
static int find_terms(char *list, unsigned *terms)
{
    for (char *name = strtok(list, ","); name; name = strtok(NULL, ",")) {
        unsigned t = 0;

        while (t < N_TERMS && strcmp(name, sim_terms[t]) != 0)
            t++;
        if (t == N_TERMS)
            return -1;
        *terms |= 1U << t;
    }
    return 0;
}

static int parse(struct options *options, const char **only, int argc, char **argv)
{
    static const struct option longs[] = {
        {"days", required_argument, NULL, 'd'},     {"seed", required_argument, NULL, 's'},
        {"scenario", required_argument, NULL, 'o'}, {"json", no_argument, NULL, 'j'},
        {"without", required_argument, NULL, 'w'},  {"size", required_argument, NULL, 'z'},
        {"ours", no_argument, NULL, 'u'},           {"unasked", no_argument, NULL, 'k'},
        {"help", no_argument, NULL, 'h'},           {0}};
    int option;

    while ((option = getopt_long(argc, argv, "", longs, NULL)) >= 0) {
        if (option == 'd')
            options->days = strtod(optarg, NULL);
        else if (option == 's')
            options->seed = strtoull(optarg, NULL, 10);
        else if (option == 'o')
            *only = optarg;
        else if (option == 'w' && find_terms(optarg, &options->without) < 0)
            return -1;
        else if (option == 'z')
            options->size_gib = strtod(optarg, NULL);
        else if (option == 'u')
            options->ours = true;
        else if (option == 'k')
            options->unasked = true;
        else if (option == 'j')
            options->json = true;
        else if (option != 'w')
            return option == 'h' ? 1 : -1;
    }
    return options->size_gib >= 0.25 && options->size_gib <= 4096 && options->days > 0 &&
                   options->days <= 3650 && optind == argc
               ? 0
               : -1;
}

int main(int argc, char **argv)
{
    struct options options = {.days = 7, .seed = 1, .size_gib = 4};
    const char *only = NULL;
    int rc = parse(&options, &only, argc, argv);

    if (rc != 0) {
        fputs(help, rc > 0 ? stdout : stderr);
        for (size_t s = 0; s < COUNT(scenarios); s++)
            fprintf(rc > 0 ? stdout : stderr, "  %-10s  %s\n", scenarios[s].name,
                    scenarios[s].what);
        fputs("\nTERM:", rc > 0 ? stdout : stderr);
        for (size_t t = 0; t < N_TERMS; t++)
            fprintf(rc > 0 ? stdout : stderr, " %s", sim_terms[t]);
        fputc('\n', rc > 0 ? stdout : stderr);
        return rc < 0;
    }
    if (!options.json)
        printf("%-10s %-10s %9s %9s %11s %8s %8s %10s %12s\n", "SCENARIO", "RULE", "OOM KILLS",
               "SHORT MIN", "REVERSALS/H", "OF HOUR", "OF DAY", "BELOW HARD", "NOTHING FREE");
    for (size_t s = 0; s < COUNT(scenarios); s++)
        if (!only || strcmp(only, scenarios[s].name) == 0)
            rc |= run(&options, &scenarios[s]);
    return rc != 0;
}
