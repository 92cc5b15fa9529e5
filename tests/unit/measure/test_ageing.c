// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_ageing.c  What tells of the host's reclaim: generations, a group's counters, the
 * host's; in made trees. */
#include "fake_kernel.h"
#include "fixture.h"
#include "made_method.h"
#include "measure/ageing.h"
#include "measure/panel.h"
#include "measure/run.h"

#include <math.h>
#include <unistd.h>

#define GROUP "sys/fs/cgroup/machine.slice/one"
#define MGLRU "sys/kernel/mm/lru_gen/enabled"
#define LRU_GEN "sys/kernel/debug/lru_gen"

static struct fake_kernel fake;

static void put_group(const char *stat)
{
    fake_write(&fake, "proc/4242/cgroup", "0::/machine.slice/one/libvirt/emulator\n");
    fake_write(&fake, GROUP "/memory.stat", stat);
}

/* Two groups on two nodes; @p one and @p two are the youngest generations of the guest's. */
static void put_generations(unsigned one, unsigned two, unsigned other, unsigned ms)
{
    char text[1024];

    snprintf(
        text, sizeof(text),
        "memcg     1 /\n node     0\n         %u       9000        0          0 \n"
        "memcg    23 /machine.slice/one\n node     0\n"
        "         %u      90000         10          0 \n         %u       %u          5          0 \n"
        " node     1\n         %u      90000         10          0 \n         %u       %u          5          0 \n"
        "memcg    24 /machine.slice/one-more\n node     0\n         %u       7          0          0 \n",
        other, one - 1, one, ms, two - 1, two, ms, other);
    fake_write(&fake, LRU_GEN, text);
}

static void setup(void)
{
    fake_kernel_make(&fake, 64);
    fake_write(&fake, MGLRU, "0x0007\n");
    put_group("anon 4096\npgscan 100\npgscan_kswapd 100\npgsteal 7\npgrefill 3\n");
    put_generations(7, 4, 3, 90000);
    fake_write(&fake, "proc/vmstat", "pgrefill 1\npgscan_anon 1\npgscan_file 1\n");
}

static uint64_t odometer(void)
{
    return ageing_odometer(&fake.target, SIGNAL_IDLE_FLAG);
}

FIXTURE(cases, .setup = setup);

TEST(cases, each_walk_counts_on_each_node)
{
    uint64_t before = odometer();

    put_generations(7, 4, 9, 90000);
    ck_assert_uint_eq(odometer(), before); /* of other groups */
    put_generations(8, 4, 9, 10);
    ck_assert_uint_eq(odometer(), before + 1);
    put_generations(8, 5, 9, 10);
    ck_assert_uint_eq(odometer(), before + 2);
}

TEST(cases, eviction_counts)
{
    uint64_t before = odometer();

    put_group("pgscan 104\npgscan_kswapd 104\npgrefill 3\n");
    ck_assert_uint_eq(odometer(), before + 4);
    put_group("pgscan 104\npgscan_kswapd 104\npgrefill 5\n");
    ck_assert_uint_eq(odometer(), before + 6);
}

/* The host's own reclaim is in the group's counters; others' does not matter. */
TEST(cases, elsewhere_does_not_count_while_generations_tell)
{
    uint64_t before = odometer();

    fake_write(&fake, "proc/vmstat", "pgrefill 100\npgscan_anon 1\npgscan_file 900\n");
    ck_assert_uint_eq(odometer(), before);
}

TEST(cases, without_debugfs_reclaim_anywhere_counts)
{
    char path[128];

    snprintf(path, sizeof(path), "%s/" LRU_GEN, fake.path);
    ck_assert_int_eq(unlink(path), 0);

    uint64_t before = odometer();

    fake_write(&fake, "proc/vmstat", "pgrefill 1\npgscan_anon 1\npgscan_file 2\n");
    ck_assert_uint_eq(odometer(), before + 1);
}

TEST(cases, groups_of_version_1_count_no_scans)
{
    fake_write(&fake, "proc/4242/cgroup", "9:cpu:/x\n4:memory:/machine.slice/one\n0::/\n");
    fake_write(&fake, "sys/fs/cgroup/memory/machine.slice/one/memory.stat", "pgpgin 5\n");

    uint64_t before = odometer();

    fake_write(&fake, "proc/vmstat", "pgrefill 2\npgscan_anon 1\npgscan_file 1\n");
    ck_assert_uint_eq(odometer(), before + 1);
    put_generations(8, 4, 9, 10);
    ck_assert_uint_eq(odometer(), before + 2);
}

static uint64_t group_odometer(void)
{
    return ageing_group_odometer(&fake.root, "/machine.slice/one");
}

/* Ageing of a group counts, whatever processes are in it; a group of version 1 is not below the
 * root of version 2. */
TEST(cases, a_group_of_either_version)
{
    uint64_t before = group_odometer();

    put_group("pgscan 104\npgrefill 3\n");
    put_generations(8, 4, 9, 10);
    ck_assert_uint_eq(group_odometer(), before + 5);
    fake_write(&fake, "proc/vmstat", "pgrefill 2\npgscan_anon 1\npgscan_file 1\n");
    ck_assert_uint_eq(group_odometer(), before + 5);

    char path[128];

    snprintf(path, sizeof(path), "%s/" GROUP "/memory.stat", fake.path);
    ck_assert_int_eq(unlink(path), 0);
    fake_write(&fake, "sys/fs/cgroup/memory/machine.slice/one/memory.stat", "pgpgin 5\n");
    before = group_odometer();
    fake_write(&fake, "proc/vmstat", "pgrefill 3\npgscan_anon 1\npgscan_file 1\n");
    ck_assert_uint_eq(group_odometer(), before + 1);
}

TEST(cases, classic_reclaim_clears_the_idle_flag_itself)
{
    fake_write(&fake, MGLRU, "0x0000\n");
    ck_assert_uint_eq(odometer(), 0);

    uint64_t before = ageing_odometer(&fake.target, SIGNAL_REFERENCED);

    put_group("pgscan 101\npgrefill 3\n");
    ck_assert_uint_eq(ageing_odometer(&fake.target, SIGNAL_REFERENCED), before + 1);
}

TEST(cases, faults_do_not_mind)
{
    ck_assert_uint_eq(ageing_odometer(&fake.target, SIGNAL_MMU), 0);
    ck_assert(!ageing_goes_on(&fake.target, SIGNAL_MMU));
}

/* Whether it is this guest that loses bits to NUMA balancing nobody counts. */
TEST(cases, numa_balancing_takes_bits_that_are_not_carried)
{
    fake_write(&fake, MGLRU, "0x0000\n");
    fake_write(&fake, "proc/sys/kernel/osrelease", "6.13.0\n");
    fake_write(&fake, "proc/vmstat", "numa_pte_updates 7\n");

    uint64_t before = odometer();

    ck_assert(!ageing_goes_on(&fake.target, SIGNAL_IDLE_FLAG));
    fake_write(&fake, "proc/vmstat", "numa_pte_updates 519\n");
    ck_assert_uint_eq(odometer(), before + 512);
    fake_write(&fake, "proc/sys/kernel/numa_balancing", "1\n");
    fake_write(&fake, "sys/devices/system/node/node1/cpulist", "1\n");
    ck_assert(ageing_goes_on(&fake.target, SIGNAL_IDLE_FLAG));
    ck_assert(!ageing_goes_on(&fake.target, SIGNAL_MMU));
    fake_write(&fake, "proc/sys/kernel/osrelease", "6.12.0\n");
    ck_assert(!ageing_goes_on(&fake.target, SIGNAL_IDLE_FLAG));
    ck_assert_uint_eq(odometer(), 0);
}

TEST(cases, goes_on)
{
    /* All generations of a young group began at once. */
    ck_assert(!ageing_goes_on(&fake.target, SIGNAL_IDLE_FLAG));
    put_generations(8, 4, 9, 1000);
    ck_assert(ageing_goes_on(&fake.target, SIGNAL_IDLE_FLAG));
    fake_write(&fake, MGLRU, "0x0000\n");
    ck_assert(!ageing_goes_on(&fake.target, SIGNAL_IDLE_FLAG));
    fake_write(&fake, MGLRU, "0x0007\n");
    fake_write(&fake, LRU_GEN,
               "memcg    23 /machine.slice/one\n node     0\n"
               "  3 90000000 0 0 \n  4 3600001 0 0 \n");
    ck_assert(!ageing_goes_on(&fake.target, SIGNAL_IDLE_FLAG)); /* long ago */
}

/* --- what follows from it --------------------------------------------------------------------- */

static int nothing_open(const struct target *target, struct page_set *set, void **state,
                        struct error *error)
{
    (void)target;
    (void)error;
    for (uint64_t i = 0; i < set->n; i++)
        page_set_note_unit(set, i, 0, page_set_hva(set, i));
    *state = set;
    return 0;
}

static int nothing_mark(void *state, struct error *error)
{
    struct page_set *set = state;

    (void)error;
    for (uint64_t i = 0; i < set->n; i++)
        if (set->state[i] != PAGE_TOUCHED)
            set->state[i] = PAGE_IDLE;
    return 0;
}

static int nothing_rearm(void *state, struct error *error)
{
    struct page_set *set = state;

    (void)error;
    for (uint64_t i = 0; i < set->n; i++)
        set->state[i] = PAGE_IDLE;
    return 0;
}

static int nothing_collect(void *state, struct tally *tally, struct error *error)
{
    (void)error;
    page_set_tally(state, tally);
    return 0;
}

static const struct method waits_for_bits = {
    .name = "bits",
    .signal = SIGNAL_IDLE_FLAG,
    .panel = true,
    .needs_pages = true,
    .open = nothing_open,
    .mark = nothing_mark,
    .rearm = nothing_rearm,
    .collect = nothing_collect,
    .close = made_close,
};

static uint64_t time_ns;

static struct panel *follow(void)
{
    const struct panel_plan plan = {.method = &waits_for_bits,
                                    .samples = 60,
                                    .presence = 1,
                                    .longest_s = 4,
                                    .tick_s = 1,
                                    .clock = made_clock,
                                    .clock_context = &time_ns};
    struct panel *panel = NULL;

    time_ns = 1000000000;
    ck_assert_int_eq(panel_open(&fake.target, &plan, &panel, NULL), 0);
    return panel;
}

static void tick(struct panel *panel)
{
    time_ns += 1000000000;
    ck_assert_int_eq(panel_tick(panel, 1, NULL, NULL), 0);
}

static struct tally ages(const struct panel *panel, double from_s, double to_s)
{
    const struct panel_ages ages = {.from_s = from_s, .to_s = to_s, .watched_s = 4};
    struct tally tally;
    double est_s;

    ck_assert_int_eq(panel_tally(panel, &ages, &tally, &est_s), 0);
    return tally;
}

/* More than a twentieth of its private memory, of which a share cannot be measured by its bits. */
TEST(cases, a_guest_that_ksm_has_merged)
{
    const enum accel accel = fake.process.accel;

    fake_write(&fake, MGLRU, "0x0000\n");
    fake.process.accel = ACCEL_KVM;
    fake.block.shared = false;
    fake_write(&fake, "proc/4242/ksm_merging_pages", "3\n");
    ck_assert(!method_bits_are_taken(&fake.target));
    fake_write(&fake, "proc/4242/ksm_merging_pages", "4\n");
    ck_assert(method_bits_are_taken(&fake.target));
    fake.block.shared = true;
    ck_assert(!method_bits_are_taken(&fake.target));
    fake.block.shared = false;
    fake.process.accel = ACCEL_TCG;
    ck_assert(!method_bits_are_taken(&fake.target));
    fake.process.accel = accel;
}

/* Aged between two and three seconds ago. */
TEST(cases, a_window_that_reaches_back_over_it_is_in_doubt)
{
    struct panel *panel = follow();

    tick(panel);
    put_generations(8, 4, 9, 10);
    tick(panel);
    tick(panel);
    tick(panel);
    ck_assert_uint_eq(ages(panel, 0, 1).doubts, 0);
    ck_assert_uint_eq(ages(panel, 0, 2).doubts, 0);
    ck_assert_uint_eq(ages(panel, 0, 2).hidden_units, 0);
    ck_assert_uint_eq(ages(panel, 0, 3).doubts, DOUBT_AGEING);
    ck_assert_uint_eq(ages(panel, 0, 4).hidden_units, HIDDEN_ANY);
    /* Pages that seem older may be of that time; pages seen since then are not. */
    ck_assert_uint_eq(ages(panel, 1, 2).younger_units, 0);
    ck_assert_uint_eq(ages(panel, 2, 3).younger_units, 0);
    ck_assert_uint_eq(ages(panel, 3, 4).younger_units, HIDDEN_ANY);
    ck_assert_uint_eq(ages(panel, 3, 4).hidden_units, 0);
    ck_assert_uint_eq(ages(panel, 4, HUGE_VAL).younger_units, HIDDEN_ANY);
    panel_close(panel);
}
