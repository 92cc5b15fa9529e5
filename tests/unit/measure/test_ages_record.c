// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_ages_record.c  Ages of a guest in huge pages, against what was really touched
 * when. */
#include "measure/record/ages_record.h"

#include "fake_kernel.h"
#include "fixture.h"
#include "made_method.h"

#include <string.h>

#define HUGE_PAGES 8
#define PER_HUGE 512
#define HUGE_BYTES (2ULL << 20)
#define SECOND 1000000000ULL

static struct fake_kernel fake;
static struct panel *panel;
static struct ages_record record;
static struct error error;
static uint64_t time_ns;
static bool touched[HUGE_PAGES];
static bool moved; /* what was not touched is unmeasurable */
static unsigned order;

static int huge_mark(void *state, struct error *e)
{
    struct page_set *set = state;

    (void)e;
    for (uint64_t i = 0; i < set->n; i++) {
        page_set_note_unit(set, i, order, page_set_hva(set, i) & -(4096ULL << order));
        set->state[i] = PAGE_IDLE;
    }
    return 0;
}

static int huge_collect(void *state, struct tally *tally, struct error *e)
{
    struct page_set *set = state;

    (void)e;
    for (uint64_t i = 0; i < set->n; i++)
        if (touched[page_set_page(set, i) / PER_HUGE])
            set->state[i] = PAGE_TOUCHED;
        else if (moved)
            set->state[i] = PAGE_UNMEASURABLE;
    page_set_tally(set, tally);
    return 0;
}

static const struct method huge_method = {
    .name = "huge",
    .panel = true,
    .needs_pages = true,
    .open = made_open,
    .mark = huge_mark,
    .collect = huge_collect,
    .rearm = huge_mark,
    .close = made_close,
};

static void begin(uint64_t samples, double longest_s)
{
    const struct panel_plan plan = {.method = &huge_method,
                                    .samples = samples,
                                    .presence = 1,
                                    .longest_s = longest_s,
                                    .tick_s = 1,
                                    .seed = 7,
                                    .clock = made_clock,
                                    .clock_context = &time_ns};

    time_ns = 100 * SECOND;
    ck_assert_int_eq(panel_open(&fake.target, &plan, &panel, &error), 0);
}

static void setup(void)
{
    fake_kernel_make(&fake, (uint64_t)HUGE_PAGES * PER_HUGE);
    fake.target.process = NULL;
    order = 9;
    begin(3ULL * HUGE_PAGES * PER_HUGE, 10);
}

static void teardown(void)
{
    panel_close(panel);
}

/* A second in which the guest touches something in the huge pages @p first .. @p last. */
static void second(int first, int last)
{
    for (int h = 0; h < HUGE_PAGES; h++)
        touched[h] = h >= first && h <= last;
    time_ns += SECOND;
    ck_assert_int_eq(panel_tick(panel, 1, NULL, &error), 0);
}

static void fill(void)
{
    const struct sample_plan plan = {.method = &huge_method, .n_windows = 2, .window_s = {1, 3}};
    const struct resident_now now = {.mapped_bytes = fake.ram.bytes,
                                     .resident_bytes = fake.ram.bytes};
    const struct subject subject = {
        .root = &fake.root, .guest = {.process = fake.process}, .ram = fake.ram};
    const struct panel_reading reading = {panel, &now, 0};

    ck_assert_msg(ages_record_fill(&record, &subject, &plan, &reading, &error) == 0, "%s",
                  error.text);
}

static void check_bin(size_t b, uint64_t bytes, uint64_t low, uint64_t high)
{
    ck_assert_uint_eq(record.bins[b].bytes, bytes);
    ck_assert_uint_eq(record.bins[b].low_bytes, low);
    ck_assert_uint_eq(record.bins[b].high_bytes, high);
}

FIXTURE(cases, .setup = setup, .teardown = teardown);

/* Two huge pages in full, then one page of the first of them: all but that page is older than the
 * panel says. */
TEST(cases, what_is_older_than_its_huge_page)
{
    second(0, 1);
    second(7, 6);
    second(0, 0);
    fill();
    check_bin(0, HUGE_BYTES, 4096, HUGE_BYTES);
    check_bin(1, HUGE_BYTES, 4096, 2 * HUGE_BYTES - 4096);
    check_bin(2, 6 * HUGE_BYTES, 6 * HUGE_BYTES, 8 * HUGE_BYTES - 2 * 4096);
    ck_assert_uint_eq(record.sample.windows[1].wss_low_bytes, 2 * 4096);
    ck_assert_uint_eq(record.sample.windows[1].unit_low_bytes, 2 * HUGE_BYTES);
}

/* Two huge pages are touched, then all are moved, and nothing is known of the last second, nor of
 * what is older than three. */
TEST(cases, what_is_not_known_may_be_all)
{
    second(0, 1);
    second(0, 1);
    moved = true;
    second(7, 6);
    fill();
    ck_assert_uint_eq(record.sample.n_windows, 2);
    ck_assert_uint_eq(record.sample.windows[0].wss_low_bytes, 0);
    ck_assert_uint_eq(record.sample.windows[0].wss_high_bytes, fake.ram.bytes);
    ck_assert_uint_eq(record.sample.windows[1].unit_low_bytes, 2 * HUGE_BYTES);
    ck_assert_uint_eq(record.sample.windows[1].wss_high_bytes, fake.ram.bytes);
    ck_assert_uint_ne(record.sample.flags & FLAG_PARTIAL, 0);
    check_bin(0, 0, 0, fake.ram.bytes);
    ck_assert_uint_eq(record.bins[2].high_bytes, fake.ram.bytes);
}

/* It ran until two seconds ago: the last second is idle, the last three are not. */
TEST(cases, each_window_has_its_own_vcpu_time)
{
    static pid_t vcpus[] = {4243};

    fake.process.vcpus = vcpus;
    fake.process.n_vcpus = 1;
    fake.target.process = &fake.process;
    fake_write(&fake, "proc/4242/task/4243/schedstat", "1000000000 0 1\n");
    second(0, 1);
    fake_write(&fake, "proc/4242/task/4243/schedstat", "1500000000 0 1\n");
    second(0, 1);
    fill();
    ck_assert(!(record.sample.flags & FLAG_IDLE_GUEST));
    second(7, 6);
    second(7, 6);
    fill();
    ck_assert_uint_eq(record.sample.n_windows, 2);
    ck_assert_double_eq(record.sample.windows[0].vcpu_s, 0);
    ck_assert_uint_eq(record.sample.windows[0].wss_high_bytes, fake.ram.bytes);
    ck_assert_double_eq(record.sample.windows[1].vcpu_s, 0.5);
    ck_assert_uint_lt(record.sample.windows[1].wss_high_bytes, fake.ram.bytes);
    ck_assert_double_eq(record.sample.vcpu_s, 0.5);
    ck_assert(record.sample.flags & FLAG_IDLE_GUEST);
    ck_assert(!(record.sample.flags & FLAG_PAUSED));
}

/* A panel of few base pages, half of which are touched in each second. While cohorts are replaced,
 * and while the panel is too young for the longest window. */
TEST(cases, no_window_says_less_than_a_shorter_one)
{
    size_t n_long = 0;

    panel_close(panel);
    order = 0;
    begin(60, 3);
    for (int s = 0; s < 100; s++) {
        second(0, HUGE_PAGES / 2 - 1);
        fill();
        if (record.sample.n_windows < 2)
            continue;
        n_long++;
        ck_assert_uint_ge(record.sample.windows[1].wss_bytes, record.sample.windows[0].wss_bytes);
        ck_assert_uint_ge(record.sample.windows[1].wss_high_bytes,
                          record.sample.windows[0].wss_high_bytes);
    }
    ck_assert_uint_ge(n_long, 97);
}
