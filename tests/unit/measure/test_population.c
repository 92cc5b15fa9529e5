// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_population.c  Cold memory leaves while a panel is read, or between two windows: with
 * a method made for the test, from QEMU's status to the record. */
#include "fake_kernel.h"
#include "fixture.h"
#include "made_method.h"
#include "measure/record/ages_record.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MIB (1ULL << 20)
#define RAM_MIB 128
#define PAGES (RAM_MIB * MIB / base_page_bytes())
#define THERE_MIB 64
#define HOT_MIB 8
/* QEMU's own memory. */
#define OWN_MIB 20
#define SECOND 1000000000ULL

static struct fake_kernel fake;
static struct resident_meter meter;
static struct sample_result result;
static struct error error;

/* The guest: which pages it has, from the first, and what is there once the next page is read. */
static uint64_t there_mib;
static uint64_t leaves_at;  /* after so many pages of a reading; 0: stays */
static uint64_t leaves_mib; /* how much is there then */

static void have_kib(uint64_t kib)
{
    char text[256];

    snprintf(text, sizeof(text),
             "Name:\tqemu\nVmSize:\t921600 kB\nRssAnon:\t%" PRIu64 " kB\nRssFile:\t0 kB\n"
             "RssShmem:\t0 kB\nHugetlbPages:\t0 kB\n",
             OWN_MIB * 1024 + kib);
    fake_write(&fake, "proc/4242/status", text);
}

static void have(uint64_t mib)
{
    there_mib = mib;
    have_kib(mib * 1024);
}

static bool is_there(const struct page_set *set, uint64_t i)
{
    return page_set_page(set, i) < there_mib * MIB / base_page_bytes();
}

static int leaving_mark(void *state, struct error *e)
{
    struct page_set *set = state;

    (void)e;
    for (uint64_t i = 0; i < set->n; i++) {
        page_set_note_unit(set, i, 0, page_set_hva(set, i));
        set->state[i] = is_there(set, i) ? PAGE_IDLE : PAGE_ABSENT;
    }
    return 0;
}

static void read_page(struct page_set *set, uint64_t i)
{
    if (page_set_page(set, i) < HOT_MIB * MIB / base_page_bytes())
        set->state[i] = PAGE_TOUCHED;
    else if (!is_there(set, i))
        set->state[i] = PAGE_ABSENT;
}

static int leaving_collect(void *state, struct tally *tally, struct error *e)
{
    struct page_set *set = state;

    (void)e;
    for (uint64_t i = 0; i < set->n; i++) {
        if (leaves_at > 0 && i == leaves_at)
            have(leaves_mib);
        read_page(set, i);
    }
    page_set_tally(set, tally);
    return 0;
}

static const struct method leaving = {
    .name = "leaving",
    .panel = true,
    .needs_pages = true,
    .open = made_open,
    .mark = leaving_mark,
    .collect = leaving_collect,
    .rearm = leaving_mark,
    .close = made_close,
};

static void setup(void)
{
    char path[128];

    fake_kernel_make(&fake, PAGES);
    fake.block.mapped_bytes = THERE_MIB * MIB;
    fake.target.meter = &meter;
    fake_write(&fake, "proc/4242/stat", "4242 (qemu) S 1 1 1 0 -1 0 0 0 0 0 1 1 0 0 20 0 1 0 0\n");
    snprintf(path, sizeof(path), "%s/proc/4242/exe", fake.path);
    snprintf(fake.process.exe, sizeof(fake.process.exe), "/usr/bin/qemu-system-x86_64");
    ck_assert_int_eq(symlink(fake.process.exe, path), 0);
    leaves_mib = THERE_MIB / 2;
    have(THERE_MIB);
    ck_assert_int_eq(resident_meter_init(&meter, &fake.root, FAKE_PID, &fake.ram), 0);
    meter.counter_error_bytes = 0; /* of the kernel that this runs on */
}

static void teardown(void)
{
    resident_meter_free(&meter);
}

static void check_holds(const struct window_record *window)
{
    ck_assert_uint_le(window->wss_low_bytes, HOT_MIB * MIB);
    ck_assert_uint_ge(window->wss_high_bytes, HOT_MIB * MIB);
}

#define SAMPLES 2000

static const struct sample_plan plan = {.method = &leaving,
                                        .samples = SAMPLES,
                                        .presence = (double)THERE_MIB / RAM_MIB,
                                        .seed = 3,
                                        .n_windows = 2,
                                        .window_s = {0.01, 0.02}};

static void leave(const struct page_set *set, size_t window, void *context)
{
    (void)set;
    (void)window;
    (void)context;
    have(leaves_mib);
}

static void fill(struct sample_record *record)
{
    const struct subject subject = {
        .root = &fake.root, .guest = {.process = fake.process}, .ram = fake.ram};

    ck_assert_msg(sample_record_fill(record, &subject, &plan, &result, &error) == 0, "%s",
                  error.text);
}

static void measure(const struct sample_plan *how, struct sample_record *record)
{
    ck_assert_msg(sample_run(&fake.target, how, &result, &error) == 0, "%s", error.text);
    fill(record);
}

FIXTURE(cases, .setup = setup, .teardown = teardown);

/* Half of the guest leaves between the readings of two windows: each has its own population. */
TEST(cases, each_window_has_the_population_of_its_reading)
{
    struct sample_plan between = plan;
    struct sample_record record;

    between.collected = leave;
    measure(&between, &record);
    ck_assert_uint_eq(record.resident_bytes, THERE_MIB / 2 * MIB);
    ck_assert(!(record.flags & (FLAG_RESIDENT_UNSURE | FLAG_UNSETTLED)));
    for (size_t w = 0; w < 2; w++)
        check_holds(&record.windows[w]);
    /* It stood still: what it needs may be all that was resident, of each window by itself. */
    ck_assert(record.flags & FLAG_PAUSED);
    ck_assert_uint_eq(record.windows[0].wss_high_bytes, THERE_MIB * MIB);
    ck_assert_uint_eq(record.windows[1].wss_high_bytes, THERE_MIB / 2 * MIB);
}

static void shrink_a_little(const struct page_set *set, size_t window, void *context)
{
    (void)set;
    (void)window;
    (void)context;
    have_kib(THERE_MIB * 1024 - 12);
}

/* Touches add up: a longer window of the same pages says no less, whatever a counter of the whole
 * process does by a few pages. */
TEST(cases, at_rest_all_windows_have_one_population)
{
    struct sample_plan between = plan;
    struct sample_record record;

    between.collected = shrink_a_little;
    measure(&between, &record);
    ck_assert_uint_eq(record.windows[0].wss_bytes, record.windows[1].wss_bytes);
    ck_assert_uint_eq(result.windows[1].now.mapped_bytes, THERE_MIB * MIB);
    ck_assert_uint_ge(result.windows[1].now.mapped_error_bytes, 12 * 1024);
}

/* By the counter of one moment alone. */
static struct window_record first_of(uint64_t resident_mib)
{
    struct sample_record record;

    result.windows[0].now = (struct resident_now){.mapped_bytes = resident_mib * MIB,
                                                  .resident_bytes = resident_mib * MIB};
    fill(&record);
    return record.windows[0];
}

#define LEAVE_MIB 4

/* So little that chance may explain it: the panel itself does not tell. */
TEST(cases, what_leaves_while_a_window_is_read_is_in_its_bounds)
{
    struct sample_record record;

    leaves_at = SAMPLES;
    leaves_mib = THERE_MIB - LEAVE_MIB;
    measure(&plan, &record);

    struct window_record before = first_of(THERE_MIB);
    struct window_record after = first_of(THERE_MIB - LEAVE_MIB);

    ck_assert(!(record.flags & FLAG_UNSETTLED));
    ck_assert(record.flags & FLAG_RESIDENT_UNSURE);
    check_holds(&record.windows[0]);
    ck_assert_uint_lt(after.wss_low_bytes, before.wss_low_bytes);
    ck_assert_uint_le(record.windows[0].wss_low_bytes, after.wss_low_bytes);
    ck_assert_uint_ge(record.windows[0].wss_high_bytes, before.wss_high_bytes);
}

static uint64_t time_ns;

/* The same of a panel that is followed, as vmwss ages and vmwssd do. */
TEST(cases, what_leaves_while_a_panel_is_read_is_in_the_bounds)
{
    const struct panel_plan panel_plan = {.method = &leaving,
                                          .samples = SAMPLES,
                                          .presence = plan.presence,
                                          .longest_s = 1,
                                          .tick_s = 1,
                                          .seed = 3,
                                          .clock = made_clock,
                                          .clock_context = &time_ns};
    const struct sample_plan asked = {.method = &leaving, .n_windows = 1, .window_s = {1}};
    const struct subject subject = {
        .root = &fake.root, .guest = {.process = fake.process}, .ram = fake.ram};
    struct panel_reading reading = {0};
    struct resident_now now;
    struct ages_record record;
    struct panel *panel;

    time_ns = SECOND;
    ck_assert_int_eq(panel_open(&fake.target, &panel_plan, &panel, &error), 0);
    ck_assert_int_eq(resident_meter_read(&meter, &fake.root, FAKE_PID, &now), 0);
    leaves_at = SAMPLES / 8;
    leaves_mib = THERE_MIB - LEAVE_MIB;
    time_ns += SECOND;
    ck_assert_int_eq(panel_tick(panel, plan.presence, &now, &error), 0);
    ck_assert_uint_eq(now.mapped_bytes, (THERE_MIB - LEAVE_MIB / 2) * MIB);
    ck_assert_uint_eq(now.mapped_error_bytes, LEAVE_MIB / 2 * MIB);
    reading = (struct panel_reading){panel, &now, 0};
    ck_assert_msg(ages_record_fill(&record, &subject, &asked, &reading, &error) == 0, "%s",
                  error.text);
    ck_assert(record.sample.flags & FLAG_RESIDENT_UNSURE);
    check_holds(&record.sample.windows[0]);
    panel_close(panel);
}
