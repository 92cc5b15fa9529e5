// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_starved.c  Windows in which the vCPUs did not run, or only while pages were marked:
 * a census by a method made for the test, from the vCPUs' CPU time to the record. */
#include "fake_kernel.h"
#include "fixture.h"
#include "guest/domain/qemu_vcpus.h"
#include "made_method.h"
#include "measure/record/sample_record.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PAGES 1000
#define HOT 100
#define SECOND 1000000000ULL

static struct fake_kernel fake;
static struct sample_result result;
static struct sample_record record;
static struct error error;
static pid_t vcpus[] = {4243};

/* How long the vCPU runs, at once, and from which reading on pages read touched. */
static uint64_t ran_ns;
static uint64_t ran_in_marking_ns;
static uint64_t ran_in_window_ns[2];
static size_t seen_from;
static size_t readings;
static bool waited; /* in this window */

static void run_vcpu(uint64_t ns)
{
    ran_ns += ns;

    const char *text = TEXT_OF(64, "%" PRIu64 " 0 1\n", ran_ns);

    fake_write(&fake, "proc/4242/task/4243/schedstat", text);
}

static int starved_mark(void *state, struct error *e)
{
    struct page_set *set = state;

    (void)e;
    for (uint64_t i = 0; i < set->n; i++) {
        page_set_note_unit(set, i, 0, page_set_hva(set, i));
        set->state[i] = PAGE_IDLE;
    }
    run_vcpu(ran_in_marking_ns);
    return 0;
}

static void wait_a_little(double elapsed_s, double total_s, void *context)
{
    (void)elapsed_s;
    (void)total_s;
    (void)context;
    if (!waited)
        run_vcpu(ran_in_window_ns[readings]);
    waited = true;
}

static int starved_collect(void *state, struct tally *tally, struct error *e)
{
    struct page_set *set = state;

    (void)e;
    for (uint64_t i = 0; i < HOT && readings >= seen_from; i++)
        set->state[i] = PAGE_TOUCHED;
    page_set_tally(set, tally);
    readings++;
    waited = false;
    return 0;
}

static struct method starved = {
    .name = "starved",
    .census = true,
    .needs_pages = true,
    .open = made_open,
    .mark = starved_mark,
    .collect = starved_collect,
    .close = made_close,
};

static const struct sample_plan plan = {.method = &starved,
                                        .census = true,
                                        .presence = 1,
                                        .n_windows = 2,
                                        .window_s = {0.15, 0.3},
                                        .progress = wait_a_little};

static void setup(void)
{
    char path[128];

    fake_kernel_make(&fake, PAGES);
    fake_write(&fake, "proc/4242/stat", "4242 (qemu) S 1 1 1 0 -1 0 0 0 0 0 1 1 0 0 20 0 1 0 0\n");
    snprintf(path, sizeof(path), "%s/proc/4242/exe", fake.path);
    snprintf(fake.process.exe, sizeof(fake.process.exe), "/usr/bin/qemu-system-x86_64");
    ck_assert_int_eq(symlink(fake.process.exe, path), 0);
    fake.process.vcpus = vcpus;
    fake.process.n_vcpus = 1;
    fake.process.vcpus_known = true;
    ran_ns = ran_in_marking_ns = 0;
    ran_in_window_ns[0] = ran_in_window_ns[1] = 0;
    seen_from = readings = 0;
    starved.sees_qemu = false;
    run_vcpu(SECOND);
}

static void measure(void)
{
    const struct subject subject = {
        .root = &fake.root, .guest = {.process = fake.process}, .ram = fake.ram};

    ck_assert_msg(sample_run(&fake.target, &plan, &result, &error) == 0, "%s", error.text);
    for (size_t w = 0; w < plan.n_windows; w++)
        result.windows[w].now = (struct resident_now){.mapped_bytes = fake.ram.bytes,
                                                      .resident_bytes = fake.ram.bytes};
    ck_assert_msg(sample_record_fill(&record, &subject, &plan, &result, &error) == 0, "%s",
                  error.text);
}

static void check_window(size_t w, double vcpu_s, uint64_t bytes, uint64_t high_bytes)
{
    ck_assert_double_eq_tol(record.windows[w].vcpu_s, vcpu_s, 1e-6);
    ck_assert_uint_eq(record.windows[w].wss_bytes, bytes);
    ck_assert_uint_eq(record.windows[w].wss_high_bytes, high_bytes);
}

FIXTURE(cases, .setup = setup);

TEST(cases, all_the_time)
{
    ran_in_window_ns[0] = ran_in_window_ns[1] = SECOND;
    measure();
    check_window(0, 1, HOT * base_page_bytes(), HOT * base_page_bytes());
    check_window(1, 2, HOT * base_page_bytes(), HOT * base_page_bytes());
    ck_assert_uint_eq(record.flags, 0);
}

/* The window in which the guest stood still does not tell what it needs when it runs. */
TEST(cases, not_in_the_first_window)
{
    seen_from = 1;
    ran_in_window_ns[1] = SECOND;
    measure();
    check_window(0, 0, 0, fake.ram.bytes);
    check_window(1, 1, HOT * base_page_bytes(), HOT * base_page_bytes());
    ck_assert_uint_eq(record.flags, FLAG_IDLE_GUEST);
}

/* A guest that QEMU loads, and that then runs. */
TEST(cases, touched_though_it_did_not_run)
{
    starved.sees_qemu = true;
    ran_in_window_ns[1] = SECOND;
    measure();
    check_window(0, 0, HOT * base_page_bytes(), fake.ram.bytes);
    ck_assert_uint_eq(record.windows[0].wss_low_bytes, 0);
    check_window(1, 1, HOT * base_page_bytes(), HOT * base_page_bytes());
    ck_assert_uint_eq(record.windows[1].wss_low_bytes, HOT * base_page_bytes());
    ck_assert_uint_eq(record.flags, FLAG_IDLE_GUEST);
}

/* Half of marking is in the est window, and what a page was touched before it was marked is not
 * seen: nor is the method blind to the guest, which then stood still. */
TEST(cases, only_while_it_was_marked)
{
    seen_from = 2;
    ran_in_marking_ns = SECOND;
    measure();
    check_window(0, 0.5, 0, fake.ram.bytes);
    check_window(1, 0.5, 0, fake.ram.bytes);
    ck_assert_uint_eq(record.flags, FLAG_IDLE_GUEST);
}

/* It ran and must have touched something, and the later window shows that the method sees that. */
TEST(cases, nothing_seen_of_a_vcpu_that_ran)
{
    seen_from = 1;
    ran_in_window_ns[0] = SECOND;
    measure();
    check_window(0, 1, 0, fake.ram.bytes);
    check_window(1, 1, HOT * base_page_bytes(), HOT * base_page_bytes());
    ck_assert_uint_eq(record.flags, FLAG_PARTIAL);
}

TEST(cases, blind_to_the_end)
{
    seen_from = 2;
    ran_in_window_ns[0] = SECOND;
    ck_assert_int_eq(sample_run(&fake.target, &plan, &result, &error), -ENOMSG);
}

/* TCG's vCPUs run translated code in QEMU's own memory, and need not touch guest RAM. */
TEST(cases, a_tcg_guest_that_spins)
{
    seen_from = 2;
    ran_in_window_ns[0] = SECOND;
    fake.process.accel = ACCEL_TCG;
    measure();
    check_window(0, 1, 0, 0);
    check_window(1, 1, 0, 0);
    ck_assert_uint_eq(record.flags, FLAG_IDLE_GUEST);
}

/* A starved guest may touch nothing in the little that it runs, which is more than 1 %. */
TEST(cases, nothing_seen_of_a_vcpu_that_hardly_ran)
{
    seen_from = 2;
    ran_in_window_ns[0] = SECOND / 100;
    measure();
    check_window(0, 0.01, 0, 0);
    ck_assert_uint_eq(record.flags, FLAG_IDLE_GUEST);
}

/* The kernel adds to the CPU time at ticks. */
TEST(cases, what_the_clock_can_tell)
{
    ck_assert(!vcpus_hardly_ran(0, 0.01));
    ck_assert(vcpus_hardly_ran(0, 0.02));
    ck_assert(vcpus_hardly_ran(0.019, 2));
    ck_assert(!vcpus_hardly_ran(0.021, 2));
}
