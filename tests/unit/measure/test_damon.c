// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_damon.c  Method damon and DAMON's sysfs over a fake kernel: refusals, configuration,
 * giving back, and what is believed. What the real kernel does with it is shown in the lab
 * (tests/lab/measure/damon.sh). */
#include "fake_kernel.h"
#include "fixture.h"

#include "base/run_lock.h"

#include "measure/kernel/kpageflags.h"
#include "measure/method/damon.c" // NOLINT(bugprone-suspicious-include): its judgement is tested without a kernel

#include <signal.h>
#include <sys/wait.h>

#define KDAMONDS "sys/kernel/mm/damon/admin/kdamonds/"
#define KDAMOND KDAMONDS "0/"
#define CONTEXT KDAMOND "contexts/0/"
#define EVENT_DIR "sys/kernel/tracing/events/damon/damon_aggregated/"

static struct fake_kernel fake;
static struct error error;
static const struct lock_wait at_once = {.pidfd = -1};
static const struct lock_wait patiently = {.seconds = 10, .pidfd = -1};

/* The files that the kernel makes when they are asked for. */
static void make_damon(void)
{
    static const char *const files[] = {
        KDAMONDS "nr_kdamonds",
        KDAMOND "contexts/nr_contexts",
        CONTEXT "operations",
        CONTEXT "monitoring_attrs/intervals/sample_us",
        CONTEXT "monitoring_attrs/intervals/aggr_us",
        CONTEXT "monitoring_attrs/intervals/update_us",
        CONTEXT "monitoring_attrs/nr_regions/min",
        CONTEXT "monitoring_attrs/nr_regions/max",
        CONTEXT "targets/nr_targets",
        CONTEXT "targets/0/pid_target",
        CONTEXT "targets/0/regions/nr_regions",
    };

    for (size_t i = 0; i < COUNT(files); i++)
        fake_write(&fake, files[i], "0\n");
    for (unsigned i = 0; i < 8; i++) {
        char path[128];

        snprintf(path, sizeof(path), CONTEXT "targets/0/regions/%u/start", i);
        fake_write(&fake, path, "0\n");
        snprintf(path, sizeof(path), CONTEXT "targets/0/regions/%u/end", i);
        fake_write(&fake, path, "0\n");
    }
    fake_write(&fake, KDAMOND "state", "off\n");
    fake_write(&fake, KDAMOND "pid", "77\n");
    fake_write(&fake, "proc/77/stat", "77 (kdamond.0) I 2 0 0\n");
}

static void setup(void)
{
    fake_kernel_make(&fake, 1024);
    make_damon();
    fake_write(&fake, "run/empty", "");
}

static void holds(const char *path, const char *wanted)
{
    char text[64];

    ck_assert_msg(fsroot_read(&fake.root, text, sizeof(text), "%s", path) >= 0, "%s", path);
    ck_assert_msg(!strcmp(text, wanted), "%s: '%s' is not '%s'", path, text, wanted);
}

static void refused(int rc, const char *part)
{
    error = (struct error){0};
    ck_assert_int_eq(damon_sysfs_free(&fake.root, &error), rc);
    ck_assert_msg(strstr(error.text, part), "'%s' is not in '%s'", part, error.text);
}

/* --- others ----------------------------------------------------------------------------------- */

FIXTURE(cases, .setup = setup);

TEST(cases, refuses_what_is_not_there)
{
    struct fake_kernel empty;

    fake_kernel_make(&empty, 16);
    ck_assert_error(damon_sysfs_free(&empty.root, &error), -ENOENT, "CONFIG_DAMON_SYSFS");
}

TEST(cases, refuses_while_others_use_it)
{
    ck_assert_int_eq(damon_sysfs_free(&fake.root, &error), 0);

    fake_write(&fake, KDAMONDS "nr_kdamonds", "2\n");
    fake_write(&fake, KDAMONDS "1/state", "on\n");
    fake_write(&fake, KDAMONDS "1/contexts/0/targets/0/pid_target", "4711\n");
    fake_write(&fake, "proc/4711/comm", "redis-server\n");
    refused(-EBUSY, "kdamond 1 is on and watches process 4711 (redis-server)");
    refused(-EBUSY, "kdamonds/1/state");
    fake_write(&fake, KDAMONDS "1/state", "off\n");
    refused(-EBUSY, "2 kdamonds, none of them on");
    holds(KDAMONDS "nr_kdamonds", "2");

    fake_write(&fake, KDAMONDS "nr_kdamonds", "0\n");
    fake_write(&fake, "sys/module/damon_reclaim/parameters/enabled", "N\n");
    ck_assert_int_eq(damon_sysfs_free(&fake.root, &error), 0);
    fake_write(&fake, "sys/module/damon_stat/parameters/enabled", "Y\n");
    refused(-EBUSY, "echo N > /sys/module/damon_stat/parameters/enabled");
}

TEST(cases, refuses_a_second_vmwss)
{
    struct damon_slot *slot;
    struct run_lock theirs = RUN_LOCK_NONE;

    ck_assert_int_eq(run_lock_host(&theirs, &fake.root, "damon", &at_once, &error), 0);
    refused(-EBUSY, "there is one damon per host");
    ck_assert_int_eq(damon_slot_take(&fake.root, FAKE_PID, &slot, &error), -EBUSY);
    holds(KDAMONDS "nr_kdamonds", "0");
    run_lock_release(&theirs);
    ck_assert_int_eq(damon_sysfs_free(&fake.root, &error), 0);
}

/* --- configuring, and giving back ------------------------------------------------------------- */

static struct damon_slot *take(void)
{
    struct damon_slot *slot = NULL;

    ck_assert_msg(damon_slot_take(&fake.root, FAKE_PID, &slot, &error) == 0, "%s", error.text);
    return slot;
}

TEST(cases, configures_and_gives_back)
{
    const uint64_t pages[] = {0x7f0000000000, 0x7f0000005000};
    pid_t kdamond = 0;
    struct damon_slot *slot = take();

    holds(KDAMONDS "nr_kdamonds", "8");
    holds(CONTEXT "operations", "fvaddr");
    holds(CONTEXT "targets/0/pid_target", "4242");
    holds(CONTEXT "monitoring_attrs/intervals/sample_us", "3600000000");
    holds(CONTEXT "monitoring_attrs/intervals/aggr_us", "3600000000");
    ck_assert_int_eq(damon_slot_set_pages(slot, pages, 2, &error), 0);
    holds(CONTEXT "targets/0/regions/nr_regions", "2");
    holds(CONTEXT "targets/0/regions/1/start", "139637976748032");
    holds(CONTEXT "targets/0/regions/1/end", "139637976752128");
    holds(CONTEXT "monitoring_attrs/nr_regions/min", "3"); /* fewer are not accepted */
    holds(CONTEXT "monitoring_attrs/nr_regions/max", "3");
    ck_assert_int_eq(damon_slot_on(slot, &kdamond, &error), 0);
    ck_assert_int_eq(kdamond, 77);
    holds(KDAMOND "state", "on");
    damon_slot_give_back(slot);
    holds(KDAMOND "state", "off");
    holds(KDAMONDS "nr_kdamonds", "0");
}

TEST(cases, says_when_the_thread_is_gone)
{
    pid_t kdamond = 0;
    struct damon_slot *slot = take();

    fake_write(&fake, "proc/77/stat", "");
    ck_assert_int_eq(damon_slot_on(slot, &kdamond, &error), -ESRCH);
    damon_slot_give_back(slot);
    holds(KDAMONDS "nr_kdamonds", "0");
}

TEST(cases, leaves_alone_what_others_made_meanwhile)
{
    char ours[128];
    const uint64_t page = FAKE_HVA;
    struct damon_slot *slot = take();

    snprintf(ours, sizeof(ours), "%s/" KDAMONDS "0", fake.path);

    const char *aside = TEXT_OF(128, "%s/gone", fake.path);

    ck_assert_int_eq(rename(ours, aside), 0);
    fake_write(&fake, KDAMOND "state", "on\n");
    damon_slot_give_back(slot);
    holds(KDAMOND "state", "on");
    holds(KDAMONDS "nr_kdamonds", "8");

    make_damon();
    slot = take();
    ck_assert_int_eq(unlink(strcat(ours, "/contexts/0/targets/0/regions/nr_regions")), 0);
    ck_assert_error(damon_slot_set_pages(slot, &page, 1, &error), -EBUSY,
                    "another program has reconfigured DAMON");
    damon_slot_give_back(slot);
}

TEST(cases, gives_back_after_kill)
{
    pid_t pid = fork();
    struct run_lock after = RUN_LOCK_NONE;

    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        pid_t kdamond;

        setpgid(0, 0);
        children_outlive = true;
        damon_slot_on(take(), &kdamond, NULL);
        kill(getpid(), SIGKILL);
    }
    ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
    /* The guardian holds the lock until it is done. */
    ck_assert_int_eq(run_lock_host(&after, &fake.root, "damon", &patiently, &error), 0);
    run_lock_release(&after);
    holds(KDAMOND "state", "off");
    holds(KDAMONDS "nr_kdamonds", "0");
}

TEST(cases, reads_the_format_of_the_event)
{
    static const char format[] =
        "name: damon_aggregated\nID: 734\nformat:\n"
        "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
        "\tfield:unsigned long start;\toffset:24;\tsize:8;\tsigned:0;\n"
        "\tfield:unsigned long end;\toffset:32;\tsize:8;\tsigned:0;\n"
        "\tfield:unsigned int nr_accesses;\toffset:40;\tsize:%d;\tsigned:0;\n";
    char text[512];

    ck_assert_error(damon_trace_host(&fake.root, &error), -ENOENT, "mount -t tracefs");
    fake_write(&fake, EVENT_DIR "id", "734\n");
    snprintf(text, sizeof(text), format, 4);
    fake_write(&fake, EVENT_DIR "format", text);
    ck_assert_int_eq(damon_trace_host(&fake.root, &error), 0);
    snprintf(text, sizeof(text), format, 8);
    fake_write(&fake, EVENT_DIR "format", text);
    ck_assert_int_eq(damon_trace_host(&fake.root, &error), -EBADMSG);
}

/* --- what is believed ------------------------------------------------------------------------- */

#define MARKED (KPF_LRU | KPF_IDLE)

/* A panel of all pages; those of @p pages present with frames 100, 101, ... */
static struct damon *open_on(struct page_set *set, const uint64_t *pages, size_t n)
{
    void *state = NULL;

    ck_assert_int_eq(page_set_panel(set, &fake.ram, fake.ram.n_pages, 1), 0);
    for (size_t i = 0; i < n; i++)
        fake_map(&fake, pages[i], 100 + i, MARKED);
    ck_assert_msg(method_damon.open(&fake.target, set, &state, &error) == 0, "%s", error.text);
    return state;
}

static void finish(struct damon *damon, struct page_set *set)
{
    method_damon.close(damon);
    page_set_free(set);
    holds(KDAMONDS "nr_kdamonds", "0");
}

/* As begin() and the kdamond leave them. */
static void marked_and_told(struct damon *damon)
{
    ck_assert_int_eq(damon_read_frames(damon, &error), 0);
    for (uint64_t r = 0; r < damon->n_regions; r++) {
        damon->regions[r].marked = damon->regions[r].told = true;
        damon->regions[r].pfn = damon->pfn[r];
    }
}

TEST(cases, believes_only_what_is_proven)
{
    static const uint64_t pages[] = {3, 4, 5, 6, 7, 8, 9};
    struct page_set set;
    struct damon *damon = open_on(&set, pages, 7);

    ck_assert_uint_eq(damon->n_regions, 7);
    marked_and_told(damon);
    damon_see_region(FAKE_HVA + 4 * base_page_bytes(), 1, damon);
    damon_see_region(FAKE_HVA + 5 * base_page_bytes(), 0, damon);
    damon_see_region(FAKE_HVA + 900 * base_page_bytes(), 1, damon); /* no page of ours */
    damon->regions[3].told = false;                                 /* page 6 */
    damon->regions[4].marked = false;                               /* page 7 */
    damon->regions[4].accessed = true;
    fake_set_u64(&fake, "proc/kpageflags", 105, KPF_IDLE); /* page 8 is off the LRU */
    fake_set_u64(&fake, "proc/4242/pagemap", base_pages(FAKE_HVA) + 9, 0);
    fake_map(&fake, 10, 200, KPF_LRU); /* came meanwhile */
    ck_assert_int_eq(damon_judge_regions(damon, &error), 0);
    ck_assert_int_eq(set.state[3], PAGE_IDLE);
    ck_assert_int_eq(set.state[4], PAGE_TOUCHED);
    ck_assert_int_eq(set.state[5], PAGE_IDLE);
    ck_assert_int_eq(set.state[6], PAGE_UNMEASURABLE);
    ck_assert_int_eq(set.state[7], PAGE_UNMEASURABLE);
    ck_assert_int_eq(set.state[8], PAGE_UNMEASURABLE);
    ck_assert_int_eq(set.state[9], PAGE_ABSENT);
    ck_assert_int_eq(set.state[10], PAGE_TOUCHED);

    /* Records were lost: then nothing is known to be idle. */
    damon->lost = 1;
    ck_assert_int_eq(damon_judge_regions(damon, &error), 0);
    ck_assert_int_eq(set.state[3], PAGE_UNMEASURABLE);
    ck_assert_int_eq(set.state[4], PAGE_TOUCHED);

    /* The next period: page 10 has no region, so there must be new ones. */
    ck_assert(forget_touches(damon));
    ck_assert_int_eq(set.state[4], PAGE_IDLE);
    finish(damon, &set);
}

/* KVM's accessed bit is lost on the way, if the kernel is not known to carry it. */
static void migrate_two(const char *release, enum page_state idle_one)
{
    static const uint64_t pages[] = {3, 4};
    struct page_set set;

    fake_write(&fake, "proc/sys/kernel/osrelease", release);

    struct damon *damon = open_on(&set, pages, 2);

    marked_and_told(damon);
    damon_see_region(FAKE_HVA + 4 * base_page_bytes(), 1, damon);
    fake_map(&fake, 3, 300, MARKED);
    fake_map(&fake, 4, 301, MARKED);
    ck_assert_int_eq(damon_judge_regions(damon, &error), 0);
    ck_assert_int_eq(set.state[3], idle_one);
    ck_assert_int_eq(set.state[4], PAGE_TOUCHED);
    finish(damon, &set);
}

TEST(cases, idle_page_that_was_migrated_is_unmeasurable)
{
    migrate_two("6.13.0-1-amd64\n", PAGE_UNMEASURABLE);
}

TEST(cases, idle_page_that_was_migrated_is_idle_where_the_bit_is_carried)
{
    migrate_two("6.12.117-amd64\n", PAGE_IDLE);
}

TEST(cases, one_region_for_a_huge_page)
{
    static const uint64_t pages[] = {3, 4, 5, 512, 513};
    struct page_set set;

    fake.block.page_bytes = 2ULL << 20;
    fake.block.backing = RAM_BACKING_HUGETLB;
    fake.process.accel = ACCEL_TCG;

    struct damon *damon = open_on(&set, pages, 5);

    ck_assert_uint_eq(damon->n_regions, 2);
    holds(CONTEXT "targets/0/regions/nr_regions", "2");
    holds(CONTEXT "targets/0/regions/0/start", "139637976739840"); /* page 3 */
    ck_assert_int_eq(set.order[5], 9);
    for (uint64_t i = 0; i < 5; i++)
        fake_set_u64(&fake, "proc/kpageflags", 100 + i, KPF_HUGE | KPF_IDLE);
    marked_and_told(damon);
    damon_see_region(damon->regions[0].hva, 0, damon);
    damon_see_region(damon->regions[1].hva, 1, damon);
    ck_assert_int_eq(damon_judge_regions(damon, &error), 0);
    ck_assert_int_eq(set.state[3], PAGE_IDLE);
    ck_assert_int_eq(set.state[5], PAGE_IDLE);
    ck_assert_int_eq(set.state[512], PAGE_TOUCHED);
    ck_assert_int_eq(set.state[513], PAGE_TOUCHED);
    finish(damon, &set);
}

/* KVM maps it in pages of 4 KiB, of which DAMON would ask about one. */
TEST(cases, first_huge_page_of_a_kvm_guest_is_unmeasurable)
{
    static const uint64_t pages[] = {3, 4, 512};
    struct page_set set;

    fake.block.page_bytes = 2ULL << 20;
    fake.block.backing = RAM_BACKING_HUGETLB;
    fake.process.accel = ACCEL_KVM;

    struct damon *damon = open_on(&set, pages, 3);

    ck_assert_uint_eq(damon->n_regions, 1);
    ck_assert_int_eq(set.state[3], PAGE_UNMEASURABLE);
    ck_assert_int_eq(set.state[4], PAGE_UNMEASURABLE);
    ck_assert_int_eq(set.state[512], PAGE_IDLE);
    ck_assert(!forget_touches(damon)); /* nor in the next period */
    ck_assert_int_eq(set.state[3], PAGE_UNMEASURABLE);
    finish(damon, &set);
}

TEST(cases, a_trial_must_see_something)
{
    const struct trial seen = {.pages = {[PAGE_IDLE] = 200, [PAGE_TOUCHED] = 1},
                               .vcpu_ns = 9000000};
    const struct trial asleep = {.pages = {[PAGE_IDLE] = 200}, .vcpu_ns = 0};
    const struct trial blind = {.pages = {[PAGE_IDLE] = 200}, .vcpu_ns = 9000000};
    const struct trial none = {.pages = {[PAGE_UNMEASURABLE] = 200}};
    const struct trial empty = {.pages = {[PAGE_ABSENT] = 200}};

    ck_assert_int_eq(trial_judge(&seen, NULL), 0);
    ck_assert_int_eq(trial_judge(&asleep, NULL), 0);
    ck_assert_error(trial_judge(&blind, &error), -ENOTSUP, "ran for 9 ms, but none of 200");
    ck_assert_int_eq(trial_judge(&none, NULL), -ENOTSUP);
    ck_assert_int_eq(trial_judge(&empty, NULL), -ENODATA);
}

/* A PC's high RAM begins at 4 GiB, so where QEMU has it in another place of a huge page, KVM maps
 * pieces. */
static const char *judged(uint64_t hva, unsigned order, enum accel accel)
{
    const struct trial trial = {.pages = {[PAGE_IDLE] = 56, [PAGE_UNMEASURABLE] = 200},
                                .vcpu_ns = 9000000,
                                .huge_unmeasurable = 199,
                                .huge_page = 600,
                                .huge_order = order};

    snprintf(fake.process.config.machine, sizeof(fake.process.config.machine), "pc");
    snprintf(fake.process.exe, sizeof(fake.process.exe), "/usr/bin/qemu-system-x86_64");
    fake.process.accel = accel;
    fake.block.hva = hva;
    error = (struct error){0};
    ck_assert_int_eq(damon_trial_judge(&fake.target, &trial, &error), -ENOTSUP);
    return error.text;
}

TEST(cases, huge_pages_in_pieces_are_no_blindness)
{
    const char *text = judged(3 << 20, 9, ACCEL_KVM);

    ck_assert_msg(!strstr(text, "blind"), "%s", text);
    ck_assert_msg(strstr(text, "199 of 256 pages are in huge pages of 2048 KiB"), "%s", text);
    ck_assert_msg(strstr(text, "KVM maps in smaller pieces"), "%s", text);
    ck_assert_msg(strstr(text, "zap"), "%s", text);
    ck_assert_ptr_nonnull(strstr(judged(2 << 20, 4, ACCEL_KVM), "pages of 64 KiB that KVM maps"));

    /* Elsewhere nothing is known. */
    ck_assert_ptr_nonnull(strstr(judged(2 << 20, 9, ACCEL_KVM), "blind"));
    ck_assert_ptr_nonnull(strstr(judged(3 << 20, 9, ACCEL_TCG), "blind"));
}

TEST(cases, a_trial_counts_huge_pages_that_it_could_not_look_at)
{
    uint8_t state[] = {PAGE_UNMEASURABLE, PAGE_IDLE, PAGE_UNMEASURABLE, PAGE_TOUCHED};
    uint8_t order[] = {9, 9, 0, 0};
    uint64_t page[] = {700, 1200, 3, 4};
    const struct page_set set = {
        .ram = &fake.ram, .n = 4, .page = page, .state = state, .order = order};
    struct trial trial = {0};

    trial_count(&trial, &set);
    trial_count(&trial, &set); /* after each step */
    ck_assert_uint_eq(trial_pages(&trial), 4);
    ck_assert_uint_eq(trial.pages[PAGE_UNMEASURABLE], 2);
    ck_assert_uint_eq(trial.huge_unmeasurable, 1);
    ck_assert_uint_eq(trial.huge_page, 700);
    ck_assert_uint_eq(trial.huge_order, 9);
}

TEST(cases, probe_names_the_remedy)
{
    ck_assert_int_lt(method_damon.probe(&fake.target, &error),
                     0); /* the tree has no PAGEMAP_SCAN */
    ck_assert_ptr_nonnull(strstr(error.text, "6.7"));
}
