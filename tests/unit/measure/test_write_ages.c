// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_write_ages.c  A panel that also follows writes, over a fake pagemap, against what was
 * really written when. The kernel's clearing of the bits is made by the test. */
#include "measure/record/ages_record.h"
#include "measure/record/flag_memory.h"

#include "fake_kernel.h"
#include "made_method.h"
#include "measure/kernel/pagemap_entry.h"
#include "measure/method.h"
#include "unit.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

#define PAGES 1024
#define PER_HUGE 512
#define PAGE 4096ULL
#define SECOND 1000000000ULL
#define WRITTEN (PAGEMAP_PRESENT | PAGEMAP_SOFT_DIRTY)

static struct fake_kernel fake;
static struct panel *panel;
static struct ages_record record;
static struct error error;
static uint64_t time_ns;
static uint64_t faults, faults_each; /* QEMU's, and how many more at each reading of them */

uint64_t __wrap_qemu_process_faults(const struct fsroot *root, const struct qemu_process *process);
uint64_t __wrap_qemu_process_faults(const struct fsroot *root, const struct qemu_process *process)
{
    (void)root;
    (void)process;
    return faults += faults_each;
}

static int quiet_mark(void *state, struct error *e)
{
    struct page_set *set = state;

    (void)e;
    memset(set->state, PAGE_IDLE, set->n);
    return 0;
}

static int quiet_collect(void *state, struct tally *tally, struct error *e)
{
    (void)e;
    page_set_tally(state, tally);
    return 0;
}

/* It sees no touch: here only the writes matter. */
static const struct method quiet_method = {
    .name = "quiet",
    .panel = true,
    .needs_pages = true,
    .open = made_open,
    .mark = quiet_mark,
    .collect = quiet_collect,
    .rearm = quiet_mark,
    .close = made_close,
};

static void entries(uint64_t first, uint64_t n, uint64_t value)
{
    for (uint64_t page = first; page < first + n; page++)
        fake_set_u64(&fake, "proc/4242/pagemap", FAKE_HVA / PAGE + page, value);
}

static void begin(void)
{
    const struct panel_plan plan = {.method = &quiet_method,
                                    .samples = 10,
                                    .presence = 1,
                                    .longest_s = 10,
                                    .tick_s = 1,
                                    .seed = 7,
                                    .clock = made_clock,
                                    .clock_context = &time_ns,
                                    .writes = true};

    time_ns = 100 * SECOND;
    ck_assert_msg(panel_open(&fake.target, &plan, &panel, &error) == 0, "%s", error.text);
}

static void setup(void)
{
    fake_kernel_make(&fake, PAGES);
    fake_write(&fake, "proc/4242/clear_refs", "");
    entries(0, PAGES, PAGEMAP_PRESENT);
    faults = faults_each = 0;
}

static void teardown(void)
{
    panel_close(panel);
}

FIXTURE(cases, .setup = setup, .teardown = teardown);

/* A second ends, and the kernel clears the bits. */
static void tick(void)
{
    time_ns += SECOND;
    ck_assert_msg(panel_tick(panel, 1, NULL, &error) == 0, "%s", error.text);
    entries(0, PAGES, PAGEMAP_PRESENT);
}

/* A second in which these pages are written. */
static void second(uint64_t first, uint64_t n)
{
    entries(first, n, WRITTEN);
    tick();
}

/* With windows of 1, 2 and 3 s. */
static const struct write_curve *fill(void)
{
    const struct sample_plan plan = {
        .method = &quiet_method, .n_windows = 3, .window_s = {1, 2, 3}};
    const struct resident_now now = {.mapped_bytes = fake.ram.bytes,
                                     .resident_bytes = fake.ram.bytes};
    const struct subject subject = {
        .root = &fake.root, .guest = {.process = fake.process}, .ram = fake.ram};
    const struct panel_reading reading = {panel, &now, 0};

    memset(&record, 0, sizeof(record));
    ck_assert_msg(ages_record_fill(&record, &subject, &plan, &reading, &error) == 0, "%s",
                  error.text);
    return &record.sample.writes;
}

static void check_point(size_t w, uint64_t low, uint64_t bytes, uint64_t high)
{
    const struct write_point *point = &record.sample.writes.points[w];

    ck_assert_uint_eq(point->low_bytes, low * PAGE);
    ck_assert_uint_eq(point->bytes, bytes * PAGE);
    ck_assert_uint_eq(point->high_bytes, high * PAGE);
}

/* Windows end with the last second; a page that is written again counts once. */
TEST(cases, windows_that_end_now)
{
    begin();
    second(0, 100);
    second(50, 60);
    second(500, 7);

    const struct write_curve *curve = fill();

    ck_assert_str_eq(curve->method, "soft-dirty");
    ck_assert_uint_eq(curve->n, 3);
    check_point(0, 7, 7, 7);
    check_point(1, 67, 67, 67);
    check_point(2, 117, 117, 117);
    ck_assert_double_eq_tol(curve->points[1].est_window_s, 2, 1e-6);
    ck_assert_uint_eq(record.sample.n_windows, 3);
    ck_assert_str_eq(record.sample.method, "quiet");
    second(0, 0);
    second(0, 0);
    fill();
    check_point(1, 0, 0, 0);
    check_point(2, 7, 7, 7);
}

TEST(cases, windows_that_have_not_passed_are_left_out)
{
    begin();
    second(0, 5);
    ck_assert_uint_eq(fill()->n, 1);
    check_point(0, 5, 5, 5);
    ck_assert_uint_ne(record.sample.writes.flags & FLAG_YOUNG_PANEL, 0);
}

/* A page that is first written between a reading and the marking, and never again, shows nowhere
 * but in the faults. The last reading has no marking yet that matters. */
TEST(cases, what_is_written_before_the_marking_is_in_the_upper_bound)
{
    begin();
    second(0, 100);
    faults_each = 9;
    second(0, 100);
    second(0, 100);
    fill();
    check_point(0, 100, 100, 100);
    check_point(1, 100, 100, 109);
    check_point(2, 100, 100, 109);
    second(0, 100);
    fill();
    check_point(2, 100, 100, 118);
}

/* One page of each huge page is certain to have been written. That stays so when it was split. */
TEST(cases, huge_pages_that_are_split_later)
{
    fake.block.huge_bytes = 2 << 20;
    begin();
    second(0, PER_HUGE);
    fake.block.huge_bytes = 0;
    second(PER_HUGE, 0);
    second(PER_HUGE, 0);
    fill();
    check_point(0, 0, 0, 0);
    check_point(2, 1, PER_HUGE, PER_HUGE);
    faults_each = 1;
    second(0, 0);
    second(0, 0);
    second(0, 0);
    fill();
    check_point(1, 0, 0, PER_HUGE);
}

/* Another process clears the bits in the second second, after they were seen. */
TEST(cases, bits_that_others_take_concern_windows_with_that_second)
{
    begin();
    second(0, 100);
    entries(0, 50, WRITTEN);
    ck_assert_int_eq(poll(&(struct pollfd){.fd = panel_wake_fd(panel), .events = POLLIN}, 1, -1),
                     1);
    ck_assert_int_eq(panel_poll(panel, &error), 0);
    entries(0, PAGES, PAGEMAP_PRESENT);
    second(0, 1);
    second(0, 1);
    fill();
    check_point(0, 1, 1, 1);
    check_point(1, 50, 50, PAGES);
    ck_assert_uint_ne(record.sample.writes.flags & FLAG_BITS_TAKEN, 0);
    ck_assert_uint_eq(record.sample.flags & FLAG_BITS_TAKEN, 0);
}

/* Memory that has left does not count; memory that comes back was written. */
TEST(cases, memory_that_leaves)
{
    begin();
    second(0, 10);
    entries(0, 4, 0);
    tick();
    entries(0, 2, 0);
    entries(2, 2, WRITTEN);
    time_ns += SECOND;
    ck_assert_int_eq(panel_tick(panel, 1, NULL, &error), 0);
    fill();
    check_point(0, 2, 2, 2);
    check_point(2, 8, 8, 8);
}

/* A migration reads and sends what it likes, and an incoming one writes. */
TEST(cases, jobs_of_qemu_take_the_lower_bound)
{
    struct flag_memory memory = {0};

    begin();
    second(0, 100);
    second(0, 60);
    second(0, 7);
    fill();
    flag_memory_note(&memory, FLAG_MIGRATING, 0.8);
    flag_memory_apply_ages(&memory, &record, 3);
    check_point(0, 7, 7, 7);
    check_point(1, 7, 60, 60);
    check_point(2, 7, 100, 100);
    ck_assert_uint_ne(record.sample.writes.flags & FLAG_MIGRATING, 0);
}

/* hugetlb pages keep their bits, whatever the marking. */
TEST(cases, hugetlb_stays_unmeasurable)
{
    struct page_set set;
    struct tally tally;
    void *state;

    fake.block.backing = RAM_BACKING_HUGETLB;
    entries(0, 10, WRITTEN);
    ck_assert_int_eq(page_set_census(&set, &fake.ram), 0);
    ck_assert_int_eq(method_soft_dirty.open(&fake.target, &set, &state, &error), 0);
    ck_assert_int_eq(method_soft_dirty.mark(state, &error), 0);
    ck_assert_int_eq(method_soft_dirty.collect(state, &tally, &error), 0);
    ck_assert_int_eq(method_soft_dirty.rearm(state, &error), 0);
    ck_assert_int_eq(method_soft_dirty.collect(state, &tally, &error), 0);
    ck_assert_uint_eq(tally.touched_bytes, 0);
    ck_assert_uint_eq(tally.unmeasurable_bytes, PAGES * PAGE);
    method_soft_dirty.close(state);
    page_set_free(&set);
}

/* Methods that lose the bits are not chosen beside a panel of writes, nor is the method that sees
 * only these for a panel of touches. */
TEST(cases, methods_beside_it)
{
    const struct method_needs needs = {.follow = true, .beside_writes = true};
    char names[128];

    ck_assert_error(method_try(&method_pageout, &fake.target, &needs, &error), -ENOTSUP,
                    "takes the bits that show writes");
    ck_assert_error(method_try(&method_zap_all, &fake.target, &needs, &error), -ENOTSUP,
                    "takes the bits that show writes");
    ck_assert_ptr_null(strstr(method_names(names, sizeof(names), true), "soft-dirty"));
    ck_assert_ptr_nonnull(strstr(method_names(names, sizeof(names), false), "soft-dirty"));
}
