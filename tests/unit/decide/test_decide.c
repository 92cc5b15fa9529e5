// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_decide.c  The control law: each term, each veto at its boundary, and what must hold
 * of any input. */
#include "base/bytes.h"
#include "base/random.h"
#include "decide/advice/step.h"
#include "decide/advice/words.h"

#include "fixture.h"

#include <math.h>
#include <string.h>

#define MIB DECIDE_MIB
#define POLICY (&decide_policy_default)

/* 4 GiB, all of it resident, 200 MiB touched, watched for a day, with an agent: nothing is the
 * matter with it. */
static struct decide_input healthy(void)
{
    return (struct decide_input){
        .assigned_bytes = 4096 * MIB,
        .actual_bytes = 4096 * MIB,
        .resident_bytes = 4000 * MIB,
        .short_wss = {60, 190 * MIB, 200 * MIB},
        .mid_wss = {600, 290 * MIB, 300 * MIB},
        .long_wss = {3600, 390 * MIB, 400 * MIB},
        .day_bytes = 350 * MIB,
        .day_s = 86400,
        .age_s = 10,
        .period_s = 60,
        .up_s = 86400,
        .panic_age_s = NAN,
        .guest = {.reported = true,
                  .age_s = 10,
                  .consistency = 1,
                  .available_bytes = 3596 * MIB,
                  .swap_total_bytes = 0,
                  .swap_free_bytes = 0,
                  .cold_anon_bytes = 200 * MIB,
                  .psi_some = 0,
                  .psi_full = 0,
                  .refault_bytes_s = 0,
                  .swap_in_bytes_s = 0},
    };
}

static struct decide_input input; /* a test's own */

static void setup(void)
{
    input = healthy();
}

FIXTURE(cases, .setup = setup);

static struct decide_decision decided(const struct decide_input *input)
{
    struct decide_decision decision;

    decide(POLICY, input, &decision);
    return decision;
}

static unsigned vetoes(const struct decide_input *input)
{
    return decided(input).vetoes;
}

static const char *why(const struct decide_input *input)
{
    static char text[DECIDE_WHY_TEXT];
    struct decide_decision decision = decided(input);

    return decide_why(text, sizeof(text), POLICY, input, &decision);
}

/* --- terms ------------------------------------------------------------------------------------ */

TEST(cases, demand_is_the_largest_window)
{
    struct decide_decision decision = decided(&input);

    ck_assert_uint_eq(decision.demand_short_bytes, 250 * MIB);
    ck_assert_uint_eq(decision.demand_mid_bytes, 345 * MIB);
    ck_assert_uint_eq(decision.demand_long_bytes, 440 * MIB);
    ck_assert_uint_eq(decision.demand_day_bytes, 350 * MIB);
    ck_assert_uint_eq(decision.demand_bytes, 440 * MIB);
    input.short_wss.high_bytes = 800 * MIB;
    ck_assert_uint_eq(decided(&input).demand_bytes, 1000 * MIB);
    input.mid_wss.high_bytes = 1000 * MIB;
    ck_assert_uint_eq(decided(&input).demand_bytes, 1150 * MIB);
    input.day_bytes = 2000 * MIB;
    ck_assert_uint_eq(decided(&input).demand_bytes, 2000 * MIB);
    input.day_bytes = 9000 * MIB;
    ck_assert_uint_eq(decided(&input).demand_bytes, 4096 * MIB);
}

TEST(plain, reserve_is_a_share_but_not_too_little)
{
    ck_assert_uint_eq(decide_reserve(POLICY, 4000 * MIB), 200 * MIB);
    ck_assert_uint_eq(decide_reserve(POLICY, 2560 * MIB), 128 * MIB);
    ck_assert_uint_eq(decide_reserve(POLICY, 512 * MIB), 128 * MIB);
    ck_assert_uint_eq(decide_reserve(POLICY, 64 * MIB), 64 * MIB);
}

/* Swapless, it uses 500 MiB of 4096: what it does not touch of that cannot be dropped either. */
/* vmwss-virsh-balloon computes it itself, where there is no vmwss. */
TEST_EACH(plain, the_script_has_the_same_reserve, 0, 6)
{
    static const uint64_t sizes_mib[] = {100, 512, 4096, 65536, 65536 + 4096, 12 << 20};
    const uint64_t assigned = sizes_mib[_i] * MIB;
    double bytes = 0;
    char *command;
    FILE *answer;

    ck_assert_int_gt(asprintf(&command,
                              "(sed -n '/function most_of/p; /function reserve_of/,/^\t}/p' '%s'; "
                              "echo 'BEGIN { printf \"%%.0f\", reserve_of(%.0f) }') | awk -f -",
                              FIXTURES "/../../host/virsh/vmwss-virsh-balloon", (double)assigned),
                     0);
    answer = popen(command, "r"); /* NOLINT(cert-env33-c): all its words are ours */
    ck_assert_ptr_nonnull(answer);
    ck_assert_int_eq(fscanf(answer, "%lf", &bytes), 1);
    ck_assert_int_eq(pclose(answer), 0);
    free(command);
    ck_assert_double_eq_tol(bytes, (double)decide_reserve(POLICY, assigned), 2);
}

TEST(cases, floor_without_swap_is_what_it_uses)
{
    struct decide_decision decision = decided(&input);
    uint64_t reserve = decide_reserve(POLICY, 4096 * MIB);

    ck_assert_int_eq(decision.floor_kind, FLOOR_SWAPLESS);
    ck_assert_uint_eq(decision.used_bytes, 500 * MIB);
    ck_assert_uint_eq(decision.floor_bytes, 500 * MIB + reserve);
    ck_assert_uint_eq(decision.target_bytes, 705 * MIB); /* whole MiB */
    ck_assert_int_eq(decision.term, TERM_FLOOR);
    ck_assert_int_eq(decision.action, ACTION_SHRINK);
    ck_assert_uint_eq(decision.give_back_bytes, (4000 - 705) * MIB);
    ck_assert_int_eq(decision.confidence, CONFIDENCE_HIGH);
}

TEST(cases, floor_with_swap_is_less_what_swap_can_take)
{
    uint64_t reserve = decide_reserve(POLICY, 4096 * MIB);

    input.guest.swap_total_bytes = 1024 * MIB;
    input.guest.swap_free_bytes = 300 * MIB; /* half of it */
    ck_assert_uint_eq(decided(&input).floor_bytes, 350 * MIB + reserve);
    ck_assert_int_eq(decided(&input).floor_kind, FLOOR_SWAP);
    input.guest.swap_free_bytes = 1024 * MIB; /* no more than is cold */
    ck_assert_uint_eq(decided(&input).floor_bytes, 300 * MIB + reserve);
    input.guest.cold_anon_bytes = DECIDE_UNKNOWN;
    ck_assert_int_eq(decided(&input).floor_kind, FLOOR_SWAPLESS);
    input.guest.cold_anon_bytes = 4096 * MIB; /* nor than is used */
    ck_assert_uint_eq(decided(&input).floor_bytes, reserve);
}

/* MemTotal lacks what the kernel reserved (crashkernel), or has the balloon in it (deflate-on-oom):
 * neither matters. */
TEST(cases, used_is_what_the_balloon_leaves_less_available)
{
    input.actual_bytes = 2048 * MIB;
    input.guest.available_bytes = 1000 * MIB;
    ck_assert_uint_eq(decided(&input).used_bytes, 1048 * MIB);
    input.actual_bytes = DECIDE_UNKNOWN; /* it may be more, then, never less */
    ck_assert_uint_eq(decided(&input).used_bytes, 3096 * MIB);
    ck_assert_uint_ne(decided(&input).unsure & UNSURE_ACTUAL, 0);
    input.guest.available_bytes = 5000 * MIB; /* nonsense */
    ck_assert_uint_eq(decided(&input).used_bytes, 0);
}

TEST(cases, floor_without_statistics_is_half)
{
    input.guest.reported = false;
    ck_assert_uint_eq(decided(&input).floor_bytes, 2048 * MIB);
    ck_assert_uint_eq(decided(&input).target_bytes, 2048 * MIB);
    ck_assert_ptr_nonnull(strstr(why(&input), "no guest statistics: floor is half of assigned"));
    input = healthy();
    input.guest.available_bytes = DECIDE_UNKNOWN;
    ck_assert_int_eq(decided(&input).floor_kind, FLOOR_HALF);
    input = healthy();
    input.guest.age_s = 180;
    ck_assert_int_eq(decided(&input).floor_kind, FLOOR_SWAPLESS);
    input.guest.age_s = 181;
    ck_assert_int_eq(decided(&input).floor_kind, FLOOR_HALF);
    ck_assert_ptr_nonnull(strstr(why(&input), "no fresh guest statistics"));
    input = healthy();
    input.guest.consistency = 0.49;
    ck_assert_int_eq(decided(&input).floor_kind, FLOOR_HALF);
    ck_assert_ptr_nonnull(strstr(why(&input), "contradict"));
    input.guest.consistency = NAN; /* nothing could be compared yet */
    ck_assert_int_eq(decided(&input).floor_kind, FLOOR_SWAPLESS);
}

TEST(cases, a_panic_is_forgotten_by_half_a_day)
{
    ck_assert_uint_eq(decided(&input).memory.learned_bytes, 0);
    input.panic_bytes = 1000 * MIB;
    input.panic_age_s = 0;
    ck_assert_uint_eq(decided(&input).memory.learned_bytes, 1000 * MIB);
    ck_assert_uint_eq(decided(&input).target_bytes, 1000 * MIB);
    ck_assert_int_eq(decided(&input).term, TERM_LEARNED);
    input.panic_age_s = 86400;
    ck_assert_uint_eq(decided(&input).memory.learned_bytes, 500 * MIB);
    input.panic_bytes = 5000 * MIB;
    input.panic_age_s = 0;
    ck_assert_uint_eq(decided(&input).memory.learned_bytes, 4096 * MIB);
}

TEST(cases, a_reservation_holds)
{
    input.reserved_bytes = 3000 * MIB;
    ck_assert_uint_eq(decided(&input).target_bytes, 3000 * MIB);
    ck_assert_int_eq(decided(&input).term, TERM_RESERVATION);
    input.reserved_bytes = 9000 * MIB;
    ck_assert_uint_eq(decided(&input).target_bytes, 4096 * MIB);
}

TEST(cases, what_is_within_the_band_is_kept)
{
    ck_assert_uint_eq(decide_band(POLICY, &input), 85899346); /* 2 % */
    input.mid_wss.low_bytes = 100 * MIB;
    ck_assert_uint_eq(decide_band(POLICY, &input), 200 * MIB);
    input.assigned_bytes = 1024 * MIB;
    input.mid_wss.low_bytes = 299 * MIB;
    ck_assert_uint_eq(decide_band(POLICY, &input), 64 * MIB);

    input = healthy();
    input.actual_bytes = 705 * MIB + 85899346; /* available to it as before: it uses as much less */
    input.guest.available_bytes = input.actual_bytes - 500 * MIB;
    ck_assert_int_eq(decided(&input).action, ACTION_KEEP);
    ck_assert_uint_eq(decided(&input).target_bytes, input.actual_bytes);
    ck_assert_uint_eq(decided(&input).give_back_bytes, 0);
    input.actual_bytes++;
    input.guest.available_bytes++;
    ck_assert_int_eq(decided(&input).action, ACTION_SHRINK);
}

TEST(cases, a_guest_that_needs_more_gets_it)
{
    input.actual_bytes = 600 * MIB;
    input.guest.available_bytes = 110 * MIB; /* 490 used */
    ck_assert_int_eq(decided(&input).action, ACTION_GROW);
    ck_assert_uint_eq(decided(&input).target_bytes, 695 * MIB);
    input.vetoes = VETO_MIGRATING; /* forbids shrinking only */
    ck_assert_int_eq(decided(&input).action, ACTION_GROW);
}

/* k = 4: of two guests with as many shares and pages the idle one has a quarter of the other's
 * rho. */
TEST(cases, an_idle_guest_gives_first)
{
    input.mid_wss.high_bytes = 4096 * MIB;
    ck_assert_double_eq_tol(decide_rho(POLICY, &input), 1, 1e-9);
    input.mid_wss.high_bytes = 0;
    ck_assert_double_eq_tol(decide_rho(POLICY, &input), 0.25, 1e-9);
    input.mid_wss.high_bytes = 2048 * MIB;
    ck_assert_double_eq_tol(decide_rho(POLICY, &input), 0.4, 1e-9);
    input.shares = 8192;
    ck_assert_double_eq_tol(decide_rho(POLICY, &input), 0.8, 1e-9);
    input.mid_wss.window_s = 0; /* not known: not taxed */
    ck_assert_double_eq_tol(decide_rho(POLICY, &input), 2, 1e-9);
}

/* --- vetoes ----------------------------------------------------------------------------------- */

static void is_vetoed(const struct decide_input *input, unsigned veto, const char *words)
{
    struct decide_decision decision = decided(input);

    ck_assert_uint_eq(decision.vetoes, veto);
    ck_assert_uint_eq(decision.target_bytes, 4096 * MIB);
    ck_assert_int_eq(decision.action, ACTION_KEEP);
    ck_assert_uint_eq(decision.give_back_bytes, 0);
    ck_assert_int_eq(decision.confidence, CONFIDENCE_LOW);
    ck_assert_msg(strstr(why(input), words), "%s", why(input));
}

TEST(cases, old_numbers_shrink_nothing)
{
    input.age_s = 180;
    ck_assert_uint_eq(vetoes(&input), 0);
    input.age_s = 181;
    is_vetoed(&input, VETO_STALE, "181 s old");
    input.age_s = -2;
    ck_assert_uint_eq(vetoes(&input), 0);
    input.age_s = -20; /* made before the clock was set back: its age is not known */
    is_vetoed(&input, VETO_STALE, "20 s later than now");
    input.age_s = NAN;
    ck_assert_uint_eq(vetoes(&input), VETO_STALE);
    input.period_s = 0; /* there is none */
    input.age_s = 0.4;
    is_vetoed(&input, VETO_STALE, "no record of it");
}

/* The record may be a little ahead; what the guest used then cannot be dated. */
TEST(cases, statistics_from_later_than_now_do_not_count)
{
    input.guest.age_s = -1;
    ck_assert(decide_has_statistics(&decide_policy_default, &input));
    input.guest.age_s = -5;
    ck_assert(!decide_has_statistics(&decide_policy_default, &input));
    ck_assert_msg(strstr(why(&input), "5 s later than now"), "%s", why(&input));
}

TEST(cases, a_young_guest_is_left_alone)
{
    input.up_s = 600;
    ck_assert_uint_eq(vetoes(&input), 0);
    input.up_s = 599;
    is_vetoed(&input, VETO_YOUNG, "up for 599 s");
    input.up_s = NAN;
    is_vetoed(&input, VETO_YOUNG, "not known");
}

TEST(cases, what_could_not_be_measured)
{
    input.unmeasurable_bytes = 400 * MIB;
    ck_assert_uint_eq(vetoes(&input), 0);
    input.unmeasurable_bytes++;
    is_vetoed(&input, VETO_UNMEASURABLE, "10% of what is resident");
}

TEST(cases, pressure)
{
    input.guest.psi_some = 0.00099;
    ck_assert_uint_eq(vetoes(&input), 0);
    input.guest.psi_some = 0.001;
    is_vetoed(&input, VETO_PRESSURE, "PSI some 0.1%");
}

/* 0.2 % of the lower bound of 290 MiB, a minute. */
TEST(cases, what_waits_is_said_as_it_was_counted)
{
    input.guest.psi_some = NAN;
    input.guest.stalls_s = 0.5;
    is_vetoed(&input, VETO_PRESSURE, "0.5 of its allocations a second wait");
    input.guest.psi_some = 0.0001;
    is_vetoed(&input, VETO_PRESSURE, "0.5 of its allocations a second wait");
}

TEST(cases, refaults)
{
    input.guest.refault_bytes_s = 0.002 / 60 * 290 * (double)MIB - 1;
    ck_assert_uint_eq(vetoes(&input), 0);
    input.guest.swap_in_bytes_s = 100;
    is_vetoed(&input, VETO_REFAULTS, "MiB a minute");
    input.guest.refault_bytes_s = NAN;
    ck_assert_uint_eq(vetoes(&input), 0);
}

TEST(cases, its_own_verdict)
{
    input.guest.near_or_above = true;
    is_vetoed(&input, VETO_VERDICT, "needs about what it has");
    input.guest.reported = false;
    ck_assert_uint_eq(vetoes(&input), 0);
}

/* A job once a month is in no day. */
TEST(cases, what_it_needed_within_a_month_is_not_taken)
{
    input.past = (struct decide_past){.span_s = 20 * 86400, .touched_bytes = 1500 * MIB};
    ck_assert_uint_eq(decided(&input).target_bytes, 1500 * MIB);
    ck_assert_int_eq(decided(&input).term, TERM_PAST);
    ck_assert_msg(strstr(why(&input), "within the last 36 days"), "%s", why(&input));
    input.actual_bytes = 1000 * MIB; /* nothing grows for it */
    input.guest.available_bytes = 500 * MIB;
    ck_assert_int_eq(decided(&input).action, ACTION_KEEP);
    input = healthy();
    input.past = (struct decide_past){.span_s = 20 * 86400, .touched_bytes = 1500 * MIB};
    input.host_short = true;
    ck_assert_uint_eq(decided(&input).term, TERM_FLOOR);
}

/* A cold heap is in use, and not touched: a job beside it needs both. MemTotal lacks 100 MiB. */
TEST(cases, what_it_used_within_a_month_is_not_taken)
{
    input.guest.total_bytes = 3996 * MIB;
    input.past = (struct decide_past){
        .span_s = 20 * 86400, .touched_bytes = 1500 * MIB, .used_bytes = 2500 * MIB};
    ck_assert_uint_eq(decided(&input).target_bytes, 2805 * MIB); /* 2500 + 100 + 204.8 */
    input.guest.total_bytes = 4000 * MIB; /* with deflate-on-oom it has the balloon in it */
    input.actual_bytes = 3900 * MIB;
    input.guest.available_bytes = 3400 * MIB;
    ck_assert_uint_eq(decided(&input).target_bytes, 1500 * MIB);
}

TEST(cases, what_the_backtest_forbids)
{
    input.past = (struct decide_past){.span_s = 7 * 86400, .tested = true, .scored = 10000};
    input.past.exceeded = 10;
    input.past.worst_bytes = 1000 * MIB;
    ck_assert_uint_eq(vetoes(&input), 0);
    input.past.exceeded = 11;
    is_vetoed(&input, VETO_PAST, "up to 1000 MiB, within an hour of 0.11% of the decisions");
    input.host_short = true; /* else it is the host's OOM killer */
    ck_assert_uint_eq(vetoes(&input), 0);
}

TEST(cases, a_controller_waits_for_a_day_and_for_the_backtest)
{
    struct decide_policy policy = decide_policy_default;
    struct decide_decision decision;

    policy.past.needed = true;
    policy.past.day_min_s = 86400;
    input.day_s = 86399;
    decide(&policy, &input, &decision);
    ck_assert_uint_eq(decision.vetoes, VETO_DAY | VETO_PAST);
    ck_assert_int_eq(decision.action, ACTION_KEEP);
    input.past.span_s = 86400;
    input.past.tested = true;
    decide(&policy, &input, &decision);
    ck_assert_uint_eq(decision.vetoes, 0);
}

TEST(cases, what_the_caller_forbids)
{
    static const char *const words[] = {
        "not measured", "long window", "suspended",  "migrated",
        "dumped",       "VFIO",        "huge pages", "excluded",
    };

    for (unsigned v = 0; 1U << v < VETO_COMPUTED; v++) {

        input.vetoes = 1U << v;
        is_vetoed(&input, 1U << v, words[v]);
        ck_assert_ptr_nonnull(decide_veto_name(v));
    }
    ck_assert_ptr_null(decide_veto_name(N_VETOES));
}

TEST(cases, a_guest_that_is_not_measured_keeps_what_it_has)
{
    input.short_wss = input.mid_wss = input.long_wss = (struct decide_wss){0};
    input.actual_bytes = 3000 * MIB;
    input.guest.reported = false;
    ck_assert_uint_eq(vetoes(&input), VETO_NOT_MEASURED);
    ck_assert_uint_eq(decided(&input).target_bytes, 3000 * MIB);
    ck_assert(!decided(&input).measured);
    input = healthy();
    input.long_wss.window_s = 0;
    is_vetoed(&input, VETO_WINDOW, "long window");
}

/* --- panic ------------------------------------------------------------------------------------ */

static void panics(const struct decide_input *input, unsigned expected)
{
    struct decide_decision decision = decided(input);

    ck_assert_uint_eq(decision.panics, expected);
    if (expected)
        ck_assert_uint_eq(decision.target_bytes, 4096 * MIB);
    else /* a little more than it has is kept */
        ck_assert(decision.target_bytes == decision.wanted_bytes ||
                  decision.target_bytes == decide_actual(input));
    ck_assert_int_eq(strstr(why(input), "at once") != NULL, expected != 0);
}

TEST(plain, on_panic_it_gets_all)
{
    struct decide_input small = healthy();
    struct decide_input input;

    small.actual_bytes = 700 * MIB;
    small.guest.available_bytes = 200 * MIB;
    panics(&small, 0);
    input = small;
    input.guest.psi_some = 0.1;
    panics(&input, PANIC_PSI_SOME);
    input.guest.psi_some = 0.0999;
    panics(&input, 0);
    input.guest.psi_full = 0.01;
    panics(&input, PANIC_PSI_FULL);
    input = small;
    input.guest.available_bytes = (uint64_t)(0.025 * 4096 * (double)MIB) + 1;
    panics(&input, 0);
    input.guest.available_bytes -= 2;
    panics(&input, PANIC_AVAILABLE);
    input.guest.consistency = 0.1; /* it is not believed */
    panics(&input, 0);
    input = small;
    input.guest.oom_kill = true;
    panics(&input, PANIC_OOM_KILL);
    input = small;
    input.short_wss.low_bytes = 630 * MIB;
    input.short_wss.high_bytes = 640 * MIB;
    panics(&input, 0);
    input.short_wss.low_bytes++;
    panics(&input, PANIC_WSS);
}

/* --- properties ------------------------------------------------------------------------------- */

static uint64_t state = 42;

static double uniform(void)
{
    return (double)(random_next(&state) >> 11) / 9007199254740992.0;
}

static bool one_in(uint64_t n)
{
    return random_below(&state, n) == 0;
}

static uint64_t size_below(uint64_t most)
{
    switch (random_below(&state, 12)) {
    case 0:
        return 0;
    case 1:
        return most;
    case 2:
        return UINT64_MAX - random_below(&state, 3);
    case 3:
        return 1ULL << random_below(&state, 63);
    default:
        return random_below(&state, most + 1);
    }
}

static double number(double most)
{
    switch (random_below(&state, 16)) {
    case 0:
        return NAN;
    case 1:
        return HUGE_VAL;
    case 2:
        return -uniform() * most;
    default:
        return uniform() * most;
    }
}

static struct decide_wss any_wss(uint64_t most)
{
    uint64_t a = size_below(most);
    uint64_t b = size_below(most);

    return (struct decide_wss){one_in(10) ? 0 : 60, a < b ? a : b, a < b ? b : a};
}

static struct decide_input any_input(void)
{
    uint64_t most = 1 + random_below(&state, one_in(10) ? 1ULL << 50 : 8192 * MIB);

    return (struct decide_input){
        .assigned_bytes = most,
        .actual_bytes = one_in(4) ? DECIDE_UNKNOWN : size_below(most),
        .resident_bytes = size_below(most),
        .unmeasurable_bytes = one_in(2) ? 0 : size_below(most),
        .reserved_bytes = one_in(2) ? 0 : size_below(most),
        .shares = one_in(2) ? 0 : number(1000),
        .short_wss = any_wss(most / 4),
        .mid_wss = any_wss(most / 4),
        .long_wss = any_wss(most / 4),
        .day_bytes = size_below(most / 4),
        .day_s = number(100000),
        .age_s = number(200),
        .period_s = number(200),
        .up_s = number(5000),
        .vetoes = one_in(4) ? (unsigned)random_below(&state, VETO_COMPUTED) : 0,
        .unsure = one_in(4) ? UNSURE_FLAGS : 0,
        .panic_bytes = one_in(2) ? 0 : size_below(most),
        .panic_age_s = number(200000),
        .guest = {.reported = one_in(2),
                  .age_s = number(100),
                  .consistency = number(1),
                  .available_bytes = size_below(most),
                  .swap_total_bytes = size_below(most),
                  .swap_free_bytes = size_below(most),
                  .cold_anon_bytes = size_below(most),
                  .psi_some = one_in(2) ? 0 : number(0.2),
                  .psi_full = one_in(2) ? 0 : number(0.02),
                  .refault_bytes_s = one_in(2) ? 0 : number(10000),
                  .swap_in_bytes_s = one_in(2) ? 0 : number(10000),
                  .near_or_above = one_in(8),
                  .oom_kill = one_in(16)},
    };
}

#define ROUNDS 50000

FIXTURE(any, .setup = setup, .timeout_s = 120);

TEST(any, of_any_input)
{
    unsigned n_shrinks = 0;
    unsigned n_grows = 0;

    for (int i = 0; i < ROUNDS; i++) {
        struct decide_input input = any_input();
        struct decide_decision decision = decided(&input);
        uint64_t most = input.assigned_bytes;
        uint64_t actual = decide_actual(&input);
        uint64_t reserved = input.reserved_bytes < most ? input.reserved_bytes : most;

        n_shrinks += decision.action == ACTION_SHRINK;
        n_grows += decision.action == ACTION_GROW;
        ck_assert_uint_le(decision.target_bytes, most);
        ck_assert_uint_ge(decision.target_bytes, reserved);
        ck_assert_uint_le(decision.floor_bytes, most);
        uint64_t covered = actual >= reserved && !decision.panics ? decision.reserve_bytes / 4 + 1
                                                                  : 0;

        ck_assert_uint_ge(decision.target_bytes + covered, decision.floor_bytes);
        ck_assert_uint_ge(decision.target_bytes + covered, decision.demand_bytes);
        ck_assert_uint_ge(decision.target_bytes + covered, decision.wanted_bytes);
        if (decision.target_bytes < decision.wanted_bytes)
            ck_assert_uint_eq(decision.target_bytes, actual);
        ck_assert_uint_le(decision.give_back_bytes, input.resident_bytes);
        if (decision.vetoes || decision.panics)
            ck_assert_uint_ge(decision.target_bytes, actual);
        if (!(fabs(input.age_s) <= 3 * input.period_s))
            ck_assert_uint_ge(decision.target_bytes, actual);
        if (decision.action != ACTION_SHRINK)
            ck_assert_uint_ge(decision.target_bytes, actual);
        if (decision.floor_kind == FLOOR_HALF)
            ck_assert_uint_ge(2 * (decision.target_bytes + covered), most);
        ck_assert_uint_gt(strlen(why(&input)) + (decision.action == ACTION_KEEP), 0);
    }
    ck_assert_uint_gt(n_shrinks, ROUNDS / 200);
    ck_assert_uint_gt(n_grows, ROUNDS / 200);
}

static void raise_one(struct decide_input *input)
{
    struct decide_wss *wss[] = {&input->short_wss, &input->mid_wss, &input->long_wss};
    uint64_t *high = &wss[random_below(&state, 3)]->high_bytes;
    uint64_t more = random_below(&state, input->assigned_bytes);

    if (one_in(4))
        high = &input->day_bytes;
    *high = *high > UINT64_MAX - more ? UINT64_MAX : *high + more;
}

TEST(any, a_higher_bound_never_lowers_the_target)
{
    for (int i = 0; i < ROUNDS; i++) {
        struct decide_input input = any_input();
        uint64_t before = decided(&input).target_bytes;

        raise_one(&input);
        ck_assert_uint_ge(decided(&input).target_bytes, before);
    }
}

/* Nor does what a guest uses, nor a veto that is added, nor its falling silent when it uses less
 * than half. A report of more than it has is none. */
TEST(any, more_in_use_never_lowers_the_target)
{
    for (int i = 0; i < ROUNDS; i++) {
        struct decide_input input = any_input();
        uint64_t before = decided(&input).target_bytes;

        if (input.guest.available_bytes >= decide_actual(&input))
            continue;
        input.guest.available_bytes -= random_below(&state, input.guest.available_bytes + 1);
        ck_assert_uint_ge(decided(&input).target_bytes, before);
        before = decided(&input).target_bytes;
        input.vetoes |= 1U << random_below(&state, 8);
        ck_assert_uint_ge(decided(&input).target_bytes, before);
    }
}

/* A smaller guest must not seem colder: nothing here reads R but for what the host gets back, and
 * for a veto. */
TEST(any, less_resident_is_no_smaller_target)
{
    for (int i = 0; i < ROUNDS; i++) {
        struct decide_input input = any_input();
        uint64_t before = decided(&input).target_bytes;

        input.resident_bytes -= random_below(&state, input.resident_bytes);
        ck_assert_uint_ge(decided(&input).target_bytes, before);
    }
}

TEST(any, a_short_buffer_is_not_overrun)
{
    struct decide_decision decision;
    char text[DECIDE_WHY_TEXT];

    input.vetoes = VETO_COMPUTED - 1;
    input.guest.psi_some = 0.5;
    input.guest.oom_kill = true;
    input.age_s = 1e9;
    decision = decided(&input);
    for (size_t size = 1; size < sizeof(text); size++) {
        memset(text, 'x', sizeof(text));
        decide_why(text, size, POLICY, &input, &decision);
        ck_assert_ptr_nonnull(memchr(text, 0, size));
        ck_assert_int_eq(text[size], 'x');
    }
}

/* --- steps ------------------------------------------------------------------------------------ */

static uint64_t step(struct decide_pace *pace, const struct decide_input *input, double now_s)
{
    struct decide_decision decision = decided(input);

    return decide_step(pace, POLICY, input, &decision, now_s);
}

TEST(cases, down_after_ten_minutes_and_slowly)
{
    struct decide_pace pace = {0};

    ck_assert_uint_eq(step(&pace, &input, 1000), 4096 * MIB);
    ck_assert_uint_eq(step(&pace, &input, 1300), 4096 * MIB);
    ck_assert_uint_eq(step(&pace, &input, 1599), 4096 * MIB);
    ck_assert_uint_eq(step(&pace, &input, 1600), 4096 * MIB - 4096 * MIB / 20); /* 5 % */
    input.guest.available_bytes = 300 * MIB; /* and a floor to match: */
    input.actual_bytes = 800 * MIB + 300 * MIB;
    input.guest.psi_some = 0.05; /* a veto begins the wait anew */
    ck_assert_uint_eq(step(&pace, &input, 1610), 1100 * MIB);
    input.guest.psi_some = 0;
    ck_assert_uint_eq(step(&pace, &input, 1620), 1100 * MIB);
}

TEST(cases, three_decisions_even_after_a_long_time)
{
    struct decide_pace pace = {0};

    ck_assert_uint_eq(step(&pace, &input, 1000), 4096 * MIB);
    ck_assert_uint_eq(step(&pace, &input, 9000), 4096 * MIB);
    ck_assert_uint_lt(step(&pace, &input, 9010), 4096 * MIB);
}

TEST(cases, no_step_is_too_large)
{
    struct decide_pace pace = {.n_lower = 3, .lower = true};

    input.assigned_bytes = input.actual_bytes = 40960 * MIB;
    input.guest.available_bytes = 30000 * MIB;
    ck_assert_uint_eq(step(&pace, &input, 1000), (40960 - 256) * MIB);
    input = healthy();
    input.assigned_bytes = 2048 * MIB;
    input.actual_bytes = 1800 * MIB;
    input.guest.available_bytes = 1200 * MIB; /* to 728, by 90 at a time, whatever is available */
    ck_assert_uint_eq(step(&pace, &input, 1000), 1710 * MIB);
    input.actual_bytes = 800 * MIB;
    input.guest.available_bytes = 200 * MIB; /* half of it is more than 5 % */
    ck_assert_uint_eq(step(&pace, &input, 1000), 760 * MIB);
    input.assigned_bytes = 1024 * MIB;
    input.guest.swap_total_bytes = input.guest.swap_free_bytes = 1024 * MIB;
    input.guest.cold_anon_bytes = 500 * MIB;
    input.guest.available_bytes = 70 * MIB;
    ck_assert_uint_eq(step(&pace, &input, 1000), 765 * MIB); /* 35 */
}

TEST(cases, up_at_once)
{
    struct decide_pace pace = {0};

    input.actual_bytes = 600 * MIB;
    input.guest.available_bytes = 110 * MIB;
    ck_assert_uint_eq(step(&pace, &input, 1000), 695 * MIB);
}

/* The reserve is there to be used: a balloon that follows each MiB turns all the time. */
TEST(cases, it_grows_by_no_less_than_a_quarter_of_its_reserve)
{
    static const uint64_t assigned_mib[] = {2048, 4096, 65536, 1048576};

    for (size_t i = 0; i < COUNT(assigned_mib); i++) {
        uint64_t reserve;

        input.assigned_bytes = assigned_mib[i] * MIB;
        input.actual_bytes = input.assigned_bytes / 4 * 3;
        reserve = decide_reserve(&decide_policy_default, input.assigned_bytes);
        input.guest.available_bytes = reserve - reserve / 4 + MIB;
        ck_assert_int_eq(decided(&input).action, ACTION_KEEP);
        ck_assert_uint_eq(decided(&input).target_bytes, input.actual_bytes);
        ck_assert_uint_eq(decided(&input).panics, 0);
        input.guest.available_bytes -= 3 * MIB;
        ck_assert_int_eq(decided(&input).action, ACTION_GROW);
        ck_assert_uint_ge(decided(&input).target_bytes, input.actual_bytes + reserve / 4);
        input.guest.available_bytes = reserve;
        input.reserved_bytes = input.actual_bytes + MIB; /* the owner's word is kept to the MiB */
        ck_assert_uint_eq(decided(&input).target_bytes, input.reserved_bytes);
    }
}

TEST(plain, after_a_panic_it_is_left_alone_for_longer_and_longer)
{
    static const double pauses[] = {600, 1200, 2400, 3600, 3600};
    struct decide_input calm = healthy();
    struct decide_input alarmed = healthy();
    struct decide_pace pace = {0};
    double now_s = 1000;

    alarmed.guest.psi_some = 0.5;
    alarmed.guest.available_bytes = 300 * MIB;
    alarmed.actual_bytes = 1000 * MIB;
    for (size_t i = 0; i < COUNT(pauses); i++) {
        ck_assert_uint_eq(step(&pace, &alarmed, now_s), 4096 * MIB);
        ck_assert_uint_eq(step(&pace, &alarmed, now_s + 10), 4096 * MIB); /* the same one */
        ck_assert_double_eq(pace.paused_until_s, now_s + 10 + pauses[i]);
        pace.n_lower = 3;
        pace.lower = true;
        pace.lower_since_s = 0;
        ck_assert_uint_eq(step(&pace, &calm, pace.paused_until_s - 1), 4096 * MIB);
        ck_assert_uint_lt(step(&pace, &calm, pace.paused_until_s), 4096 * MIB);
        now_s = pace.paused_until_s + 3600;
    }
    /* what it needed once it was calm */
    ck_assert_uint_eq(pace.panic_bytes,
                      larger(decided(&calm).floor_bytes, decided(&calm).demand_short_bytes));
    step(&pace, &alarmed, pace.paused_until_s + 3601);
    ck_assert_double_eq(pace.pause_s, 600);
}

/* Stalls that an agent reports one by one. */
TEST(plain, panics_without_calm_between_are_one)
{
    struct decide_input calm = healthy(), alarmed = healthy();
    struct decide_pace pace = {0};
    double now_s;

    alarmed.stalled = true;
    alarmed.guest.available_bytes = 1000 * MIB; /* of before it */
    for (now_s = 1000; now_s <= 1080; now_s += 20) {
        step(&pace, &alarmed, now_s);
        step(&pace, &calm, now_s + 10);
        ck_assert_double_eq(pace.pause_s, 600);
        ck_assert_double_eq(pace.paused_until_s, now_s + 600);
    }
    step(&pace, &alarmed, 1080 + 60);
    ck_assert_double_eq(pace.pause_s, 1200);
}

/* A guest booted with 160 MiB, of which its kernel kept 19, and got the rest plugged; it used 145
 * MiB of 653 at most. */
TEST(cases, what_was_used_is_compared_with_the_memory_of_now)
{
    input.assigned_bytes = input.actual_bytes = 768 * MIB;
    input.short_wss.high_bytes = input.mid_wss.high_bytes = input.long_wss.high_bytes = 20 * MIB;
    input.day_bytes = 20 * MIB;
    input.guest.total_bytes = 653 * MIB;
    input.guest.available_bytes = 700 * MIB;
    input.past.span_s = 300;
    input.past.used_bytes = 145 * MIB;
    ck_assert_uint_eq(decided(&input).memory.past_bytes, (145 + 115 + 128) * MIB);
    input.guest.total_bytes = 800 * MIB; /* it has the balloon in it */
    ck_assert_uint_eq(decided(&input).memory.past_bytes, 0);
}

/* A quarter of 2.4 GiB would be three times the reserve. */
TEST(cases, headroom_is_at_most_the_reserve)
{
    struct decide_decision decision = decided(&input);

    ck_assert_uint_eq(decision.demand_short_bytes, 250 * MIB); /* 1.25 x 200 */
    input.short_wss.high_bytes = 2400 * MIB;
    decision = decided(&input);
    ck_assert_uint_eq(decision.demand_short_bytes, 2400 * MIB + decision.reserve_bytes);
    input.short_wss.high_bytes = 4000 * MIB;
    ck_assert_uint_eq(decided(&input).demand_short_bytes, 4096 * MIB);
}

TEST(cases, after_growth_nothing_is_taken_for_an_hour)
{
    struct decide_pace pace = {0};
    double now_s = 0;

    input.actual_bytes = 1000 * MIB;
    input.guest.available_bytes = 500 * MIB;
    for (uint64_t mib = 950; mib <= 1150; mib += 10) { /* more than the band in the end */
        input.short_wss.high_bytes = mib * MIB;
        input.actual_bytes = step(&pace, &input, now_s++);
    }
    ck_assert_uint_eq(input.actual_bytes, 1335 * MIB);
    input.short_wss.high_bytes = 200 * MIB;
    for (; now_s < 3600; now_s += 10)
        ck_assert_uint_eq(step(&pace, &input, now_s), 1335 * MIB);
    ck_assert_uint_lt(step(&pace, &input, now_s + 30), 1335 * MIB);
}

TEST(plain, a_panic_at_full_size_teaches_nothing)
{
    struct decide_input alarmed = healthy();
    struct decide_pace pace = {0};

    alarmed.guest.psi_some = 0.5;
    alarmed.guest.available_bytes = 300 * MIB;
    step(&pace, &alarmed, 1000);
    ck_assert_uint_eq(pace.panic_bytes, 0);
    ck_assert_double_eq(pace.paused_until_s, 1600);
    decide_remember(&pace, 2000, &alarmed);
    ck_assert_uint_eq(decided(&alarmed).memory.learned_bytes, 0);
}

TEST(any, any_step_is_between_what_is_and_the_target)
{
    struct decide_pace pace = {0};

    for (int i = 0; i < ROUNDS; i++) {
        struct decide_input input = any_input();
        struct decide_decision decision = decided(&input);
        uint64_t size = decide_step(&pace, POLICY, &input, &decision, 300.0 * i);
        uint64_t actual = decide_actual(&input);

        ck_assert_uint_ge(size, decision.target_bytes);
        if (decision.action == ACTION_SHRINK)
            ck_assert_uint_le(size, actual);
        if (one_in(3))
            pace = (struct decide_pace){.n_lower = 3, .lower = true};
    }
}
