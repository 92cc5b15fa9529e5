// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file test_control_rivals.c  Random histories of guests whose balloons other programs move, and
 * of guests whose drivers are slow or stop, second by second: a balloon turns at most twice an
 * hour, and the messages about it are true.
 */
#include "fixture.h"

#include "control_history.h"

#define HOURS 12
#define RIVALS_MAX 3
#define TURN_BYTES (64 * MIB)
#define N_HISTORIES 300

enum mover { NOBODY, CONTROLLER, RIVAL, GUEST };

enum rival_kind { UNDOES, ADDS, SETS_HIGH, TAKES, SETS_LOW };

struct rival {
    enum rival_kind kind;
    double share;   /* of what is taken, that it gives back */
    uint64_t bytes; /* that it adds, takes or sets */
    int every_s, jitter_s, begins_s, on_s, off_s;
    int next_s;
    bool within; /* it moves the balloon from within the guest, and QEMU's target stays */
};

static struct world {
    uint64_t m, taken, want, used;
    uint64_t speed; /* bytes a second */
    bool runs;      /* the driver is on the way to its target */
    enum mover mover;
    struct rival rivals[RIVALS_MAX];
    unsigned n_rivals, gave, took; /* times that rivals moved it */
    bool short_host;
    struct {
        bool slow, stops, deflates;
        uint64_t least_bytes; /* it takes no more than this from its guest */
        int stuck_from_s, stuck_till_s;
    } driver;
    unsigned deflated;
    unsigned futile; /* times that more was asked of a driver that takes no more */
    struct {
        uint64_t extreme;
        int way;
        unsigned all, ours;
    } turns;
} world;

/* Rivals may turn it among themselves; after each turn of ours comes one of theirs at most. */
static bool turns_rarely(void)
{
    return smaller(world.turns.all, 2 * world.turns.ours) <= 2 * HOURS;
}

static uint64_t now_bytes(void)
{
    return world.m - world.taken;
}

/* A turn belongs to the one that turned the balloon. */
static void count_turn(void)
{
    const uint64_t bytes = now_bytes(), extreme = world.turns.extreme;
    int way = bytes > extreme ? 1 : -1, was = world.turns.way;

    if (bytes == extreme ||
        (way != was && larger(bytes, extreme) - smaller(bytes, extreme) < TURN_BYTES))
        return;
    world.turns.extreme = bytes;
    world.turns.way = way;
    world.turns.all += was != 0 && was != way;
    world.turns.ours += was != 0 && was != way && world.mover == CONTROLLER;
}

/* --- other programs --------------------------------------------------------------------------- */

static void draw_rival(struct rival *rival, bool takes)
{
    static const double shares[] = {1, 0.98, 0.9, 0.75, 0.5, 0.25, 0.1};

    *rival = (struct rival){
        .kind = takes ? TAKES + draw(2) : UNDOES + draw(3),
        .share = shares[draw(COUNT(shares))],
        .bytes = (32 + draw(1000)) * MIB,
        .every_s = (int)(10 + (chance(50) ? draw(60) : draw(590))),
        .begins_s = chance(50) ? 0 : (int)draw(6 * 3600),
        .within = chance(30),
    };
    if (rival->kind == SETS_LOW)
        rival->bytes = larger(world.used + (16 + draw(1024)) * MIB, GIB / 2);
    if (rival->kind == SETS_HIGH)
        rival->bytes = world.m - (chance(50) ? 0 : draw(world.m / 8));
    rival->jitter_s = chance(50) ? 0 : (int)draw((uint64_t)rival->every_s / 2 + 1);
    rival->on_s = chance(50) ? HOURS * 3600 : (int)(300 + draw(3 * 3600));
    rival->off_s = (int)(60 + draw(3 * 3600));
    rival->next_s = rival->begins_s + (int)draw((uint64_t)rival->every_s);
}

static uint64_t aim_of(const struct rival *rival)
{
    const uint64_t bytes = now_bytes(), low = larger(world.used + 16 * MIB, GIB / 2);

    switch (rival->kind) {
    case UNDOES:
        return bytes + (uint64_t)((double)world.taken * rival->share);
    case ADDS:
        return bytes + rival->bytes;
    case TAKES:
        return bytes > low ? larger(less(bytes, rival->bytes), low) : bytes;
    default:
        return rival->bytes;
    }
}

static void let_act(struct rival *rival, int t)
{
    uint64_t bytes = now_bytes(), to;

    if (t < rival->next_s)
        return;
    rival->next_s = t + rival->every_s + (int)draw((uint64_t)rival->jitter_s + 1);
    if (t < rival->begins_s || (t - rival->begins_s) % (rival->on_s + rival->off_s) >= rival->on_s)
        return;
    to = smaller(aim_of(rival), world.m);
    if (to == bytes)
        return;
    world.gave += to > bytes;
    world.took += to < bytes;
    if (rival->within)
        world.taken = world.m - to;
    else
        world.want = world.m - to;
    world.runs = !rival->within;
    world.mover = RIVAL;
    count_turn();
}

/* --- a guest and its driver ------------------------------------------------------------------- */

static void begin(uint64_t seed)
{
    seed_draws(seed);
    control_policy_init(&policy);
    world = (struct world){.m = (2 + draw(chance(20) ? 62 : 15)) * GIB};
    world.used = world.m / 16 + draw(world.m / 4);
    world.speed = (8 + draw(chance(50) ? 64 : 1000)) * MIB;
    world.turns.extreme = world.m;
    world.short_host = chance(50);
    policy.proactive = !world.short_host;
    h = (struct control_host){.total_bytes = 128 * GIB, .now_s = 100000, .cpu_some = NAN};
    g = guest();
}

static bool is_stuck(int t)
{
    return t >= world.driver.stuck_from_s && t < world.driver.stuck_till_s;
}

static void drive(int t)
{
    const uint64_t least = world.driver.least_bytes;

    if (world.driver.deflates && world.taken > GIB / 4 && draw(3600) == 0) {
        world.taken -= (1 + draw(200)) * MIB;
        world.runs = false;
        world.mover = GUEST;
        world.deflated++;
        count_turn();
    }
    if (!world.runs || is_stuck(t))
        return;
    if (world.taken < world.want) {
        uint64_t to = smaller(world.taken + world.speed, world.want);

        if (least > 0)
            to = larger(smaller(to, less(world.m, least)), world.taken);
        world.taken = to;
    } else {
        world.taken = larger(less(world.taken, world.speed), world.want);
    }
    world.runs = world.taken != world.want;
    count_turn();
}

static void see(void)
{
    h.free_bytes = (world.short_host ? GIB : 60 * GIB) + world.taken;
    g.input.assigned_bytes = world.m;
    g.input.actual_bytes = g.input.resident_bytes = g.input.guest.total_bytes = now_bytes();
    g.input.guest.available_bytes = less(now_bytes(), world.used);
    g.input.short_wss = g.input.mid_wss = g.input.long_wss = (struct decide_wss){
        600, world.used / 2, world.used / 2};
    g.input.short_wss.window_s = 60;
    g.input.long_wss.window_s = 3600;
    g.input.day_bytes = world.used / 2;
}

/* --- what is said ----------------------------------------------------------------------------- */

static bool is_true(const char *text)
{
    const bool rivals = world.gave + world.took > 0;
    const bool driver = world.driver.slow || world.driver.stops || world.driver.deflates;
    const bool names_rival = strstr(text, "another program") != NULL;
    const bool names_guest = strstr(text, "driver") || strstr(text, "guest itself");
    const char *times = strstr(text, "took back what it was given ");

    if (times && world.took < strtoul(times + strlen("took back what it was given "), NULL, 10))
        return false;
    if (names_rival && !names_guest)
        return rivals;
    if (names_guest && !names_rival)
        return driver;
    return !strstr(text, "by itself") || rivals || world.deflated > 0;
}

/* As vmwss-balloond, every ten seconds, and at once in a panic that may be served. Returns false if
 * something else than the truth is said. */
static bool decide_at(int t)
{
    if (t % EVERY_S != 0 &&
        (t % 2 != 0 || balloon_is_contested(&g.state, h.now_s) ||
         balloon_given(&g.state, &g.input) >= balloon_limit(&g.state, &g.input, g.allowed_bytes) ||
         !decide_panics(&policy.decide, &g.input))) {
        if (t % 2 == 0)
            control_watch(&policy, &g, 1, h.now_s);
        return true;
    }
    g.group.seen_s = h.now_s;
    control_run(&policy, &h, &g, 1);
    if (g.hold == HOLD_FOREIGN && world.gave + world.took == 0 && world.deflated == 0)
        return false;
    if ((g.hold == HOLD_FOREIGN || g.hold == HOLD_INHIBITED || g.hold == HOLD_PAUSE) &&
        !is_true(why(&h, &g)))
        return false;
    if (g.action == CONTROL_NONE || g.action == CONTROL_RECLAIM)
        return true;
    balloon_issued(&g.state, &g.input, g.target_bytes, h.now_s);
    world.futile += g.action == CONTROL_SHRINK && world.driver.least_bytes > 0 &&
                    now_bytes() <= world.driver.least_bytes;
    world.want = world.m - g.target_bytes;
    world.runs = true;
    world.mover = CONTROLLER;
    return true;
}

static bool live(void)
{
    bool right = true;

    for (int t = 0; t < HOURS * 3600 && right; t++, h.now_s++) {
        for (unsigned i = 0; i < world.n_rivals; i++)
            let_act(&world.rivals[i], t);
        drive(t);
        see();
        right = decide_at(t);
    }
    return right;
}

/* --- histories -------------------------------------------------------------------------------- */

static bool turns_with(uint64_t seed, bool takes, bool gives)
{
    begin(seed);
    world.n_rivals = chance(70) ? 1 : 2 + (unsigned)draw(RIVALS_MAX - 1);
    for (unsigned i = 0; i < world.n_rivals; i++)
        draw_rival(&world.rivals[i], takes && (!gives || chance(50)));
    return live() && turns_rarely();
}

static bool outlasts_givers(uint64_t seed)
{
    return turns_with(seed, false, true);
}

static bool outlasts_takers(uint64_t seed)
{
    return turns_with(seed, true, false);
}

static bool outlasts_both(uint64_t seed)
{
    return turns_with(seed, true, true);
}

/* Drivers of which each is slow, stops short, is stuck for a time, or deflates. */
static bool tells_drivers(uint64_t seed)
{
    begin(seed);
    world.driver.slow = chance(40);
    if (world.driver.slow)
        world.speed = (chance(50) ? 32 : 512) * (1 + draw(8)) * 1024;
    if (chance(30))
        world.driver.least_bytes = world.m - draw(world.m / 2);
    if (chance(30)) {
        world.driver.stuck_from_s = (int)draw(6 * 3600);
        world.driver.stuck_till_s = world.driver.stuck_from_s + (int)draw(4 * 3600);
    }
    world.driver.stops = world.driver.least_bytes > 0 || world.driver.stuck_till_s > 0;
    world.driver.deflates = chance(20);
    return live() && turns_rarely() && world.futile <= 2 * HOURS;
}

FIXTURE(rivals, .setup = setup, .timeout_s = 120);

TEST(rivals, who_gives_back_what_is_taken_turns_no_balloon)
{
    holds(outlasts_givers, N_HISTORIES);
}

TEST(rivals, who_takes_what_is_given_turns_no_balloon)
{
    holds(outlasts_takers, N_HISTORIES);
}

TEST(rivals, who_does_both_turns_no_balloon)
{
    holds(outlasts_both, N_HISTORIES);
}

TEST(rivals, a_driver_that_is_slow_or_stops_is_no_rival)
{
    holds(tells_drivers, N_HISTORIES);
}
