// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_subject.c  When the configuration of a guest's RAM is to be asked for again. */
#include "measure/subject.h"

#include "base/clock.h"
#include "fake_kernel.h"
#include "fixture.h"
#include "guest/domain/qemu_vcpus.h"

#include <errno.h>
#include <string.h>

#define MIB (1ULL << 20)
#define ELEVEN_SECONDS 11000000000ULL

static struct resident_now with_address_space(uint64_t mib)
{
    return (struct resident_now){.address_bytes = mib * MIB};
}

TEST(plain, what_stays_the_same_raises_no_doubt)
{
    struct subject subject = {0};
    struct resident_now now = with_address_space(900);

    ck_assert(!subject_in_doubt(&subject, &now));
    ck_assert(!subject_in_doubt(&subject, &now));
}

TEST(plain, a_change_is_doubted_until_it_is_old)
{
    struct subject subject = {0};
    struct resident_now before = with_address_space(900);
    struct resident_now after = with_address_space(1028);

    subject_in_doubt(&subject, &before);
    ck_assert(subject_in_doubt(&subject, &after));
    subject_answered(&subject, &after); /* too early: the device may come after its memory */
    ck_assert(subject_in_doubt(&subject, &after));
    subject.doubted_ns = clock_ns() - ELEVEN_SECONDS;
    subject_answered(&subject, &after);
    ck_assert(!subject_in_doubt(&subject, &after));
    ck_assert(subject_in_doubt(&subject, &before)); /* unplugged */
}

TEST(plain, what_was_given_back_needs_no_answer)
{
    struct subject subject = {0};
    struct resident_now before = with_address_space(900);
    struct resident_now stack = with_address_space(908);

    subject_in_doubt(&subject, &before);
    ck_assert(subject_in_doubt(&subject, &stack));
    ck_assert(!subject_in_doubt(&subject, &before));
    ck_assert_uint_eq(subject.doubted_ns, 0);
}

static struct ram_config two_backends(const char *id)
{
    struct ram_backend boot = {.id = "ram-node0", .size_bytes = 256 * MIB};
    struct ram_backend dimm = {.size_bytes = 128 * MIB, .dimm = true};
    struct ram_config config = {0};

    strcpy(dimm.id, id);
    ck_assert_int_eq(ram_config_add(&config, &boot), 0);
    ck_assert_int_eq(ram_config_add(&config, &dimm), 0);
    ck_assert_uint_eq(config.total_bytes, 384 * MIB);
    return config;
}

TEST(plain, configurations_differ_by_any_backend)
{
    cleanup_ram_config struct ram_config a = two_backends("memdimm0");
    cleanup_ram_config struct ram_config b = two_backends("memdimm0");
    struct ram_config other = two_backends("memdimm1"); /* one went, another of its size came */

    ck_assert(ram_config_equal(&a, &b));
    ck_assert(!ram_config_equal(&a, &other));
    ram_config_move(&b, &other);
    ck_assert_uint_eq(other.n_backends, 0);
    ck_assert_uint_eq(other.total_bytes, 0);
    ck_assert_str_eq(b.backends[1].id, "memdimm1");
    b.n_backends = 1;
    ck_assert(!ram_config_equal(&a, &b));
}

TEST(plain, a_configuration_has_bounds)
{
    const struct ram_backend large = {.size_bytes = RAM_CONFIG_MAX_BYTES};
    const struct ram_backend small = {.size_bytes = 1};
    struct ram_config config = {0};

    ck_assert_int_eq(ram_config_add(&config, &large), 0);
    ck_assert_int_eq(ram_config_add(&config, &small), -E2BIG);
    ck_assert_uint_eq(config.n_backends, 1);
    ram_config_free(&config);
    for (int i = 0; i < RAM_CONFIG_MAX_BACKENDS; i++)
        ck_assert_int_eq(ram_config_add(&config, &small), 0);
    ck_assert_int_eq(ram_config_add(&config, &small), -E2BIG);
    ck_assert_uint_eq(config.total_bytes, RAM_CONFIG_MAX_BACKENDS);
    ram_config_free(&config);
    ck_assert_uint_eq(config.n_backends, 0);
}

/* Each proof drops thousands of pages. The fake process has no page map, so each fails. */
TEST(plain, a_proof_that_failed_is_tried_again_ever_later)
{
    static const uint64_t waits_s[] = {30, 60, 120, 240, 480, 600, 600};
    struct guest guest = {.process = {.pid = 4242, .other_vmm = true}};
    struct ram_trial trial = {0};
    struct fake_kernel kernel;
    struct guest_ram ram;

    fake_kernel_make(&kernel, 1);
    for (size_t i = 0; i < sizeof(waits_s) / sizeof(*waits_s); i++) {
        struct error error = {0};

        ck_assert_int_lt(ram_find(&kernel.root, &guest, &ram, &trial, &error), 0);
        ck_assert_uint_eq(trial.wait_ns, waits_s[i] * 1000000000);
        ck_assert_ptr_nonnull(strstr(error.text, trial.why.text));
        strcpy(trial.why.text, "the former reason");
        ck_assert_int_eq(ram_find(&kernel.root, &guest, &ram, &trial, &error), trial.why.code);
        ck_assert_ptr_nonnull(strstr(error.text, "the former reason"));
        ck_assert_uint_eq(trial.wait_ns, waits_s[i] * 1000000000);
        trial.until_ns = 0;
    }
}

/* A QEMU whose address space is as large as that, with these mappings. */
static void write_qemu(struct fake_kernel *fake, unsigned mib, const char *smaps, const char *maps)
{
    char text[256];

    snprintf(text, sizeof(text),
             "Name:\tqemu\nState:\tS (sleeping)\nVmSize:\t%u kB\nRssAnon:\t9000 kB\n"
             "RssFile:\t0 kB\nRssShmem:\t0 kB\nHugetlbPages:\t0 kB\n",
             mib * 1024);
    fake_write(fake, "proc/4242/status", text);
    fake_write(fake, "proc/4242/smaps", smaps);
    fake_write(fake, "proc/4242/maps", maps);
}

#define MAPPED(range) range " rw-p 00000000 00:00 0 \n"
#define GUARD(range) range " ---p 00000000 00:00 0 \n"
#define IN_SMAPS(range, guard, flags) \
    MAPPED(range) "Rss: 1024 kB\nVmFlags: rd wr " flags "\n" GUARD(guard) "VmFlags: mr mw me\n"
#define RAM "10000000-10400000"
#define RAM_GUARD "10400000-10401000"
#define DIMM "20000000-20400000" /* as large as the RAM */
#define DIMM_GUARD "20400000-20401000"
#define STACK "30000000-307ff000" /* of a thread: a page less than 8 MiB */
#define STACK_GUARD "307ff000-30800000"
#define RAM_ALONE IN_SMAPS(RAM, RAM_GUARD, "dc"), MAPPED(RAM) GUARD(RAM_GUARD)

static struct fake_kernel fake;
static struct subject subject;

#define BOOTED 200 /* ticks of CPU time */
#define STAT "4242 (qemu) S 1 1 1 0 -1 0 0 0 0 0 %d 0 0 0 20 0 1 0 0\n"

static void has_run(int ticks)
{
    const char *stat = TEXT_OF(128, STAT, ticks);

    fake_write(&fake, "proc/4242/stat", stat);
    fake_write(&fake, "proc/4242/task/4242/stat", stat);
}

static void follow_at(int ticks)
{
    const struct ram_backend boot = {.id = "r", .size_bytes = 4 * MIB, .source = RAM_SOURCE_ANON};

    subject = (struct subject){0};
    fake_kernel_make(&fake, 4 * MIB / base_page_bytes());
    has_run(ticks);
    fake_write(&fake, "proc/4242/task/4242/comm", "qemu\n");
    write_qemu(&fake, 900, RAM_ALONE);
    subject.guest.process = fake.process;
    ck_assert_int_eq(qemu_vcpus_find(&fake.root, &subject.guest.process), 0);
    ck_assert_int_eq(ram_config_add(&subject.guest.ram, &boot), 0);
    ck_assert_ok(subject_locate(&subject, &fake.root, &error));
}

static void follow(void)
{
    follow_at(BOOTED);
}

static void let_go(void)
{
    subject_close(&subject);
}

static int refresh(void)
{
    struct resident_now now;

    return subject_refresh(&subject, &now, NULL);
}

static void plug(void)
{
    write_qemu(&fake, 904, IN_SMAPS(RAM, RAM_GUARD, "dc") IN_SMAPS(DIMM, DIMM_GUARD, "dc"),
               MAPPED(RAM) GUARD(RAM_GUARD) MAPPED(DIMM) GUARD(DIMM_GUARD));
}

/* A DIMM that is plugged while the guest is followed by --pid, between it was located and the first
 * look or later (_i), is told from RAM that is as large by its address. */
TEST_EACH(plain, what_is_plugged_meanwhile_is_found, 0, 2)
{
    follow();
    if (_i > 0)
        ck_assert_int_eq(refresh(), 0);
    ck_assert_uint_eq(subject.ram.unclaimed_bytes, 0);
    plug();
    fake_set_u64(&fake, "proc/4242/pagemap", base_pages(0x20000000) + 3, 1ULL << 63);
    ck_assert_int_eq(refresh(), 0);
    ck_assert_uint_eq(subject.ram.unclaimed_bytes, 4 * MIB);
    ck_assert_uint_eq(subject.ram.unclaimed_resident_bytes, base_page_bytes());
    /* The guest uses it, and QEMU's address space stays as it is. */
    fake_set_u64(&fake, "proc/4242/pagemap", base_pages(0x20000000) + 4, 1ULL << 63);
    ck_assert_int_eq(refresh(), 0);
    ck_assert_uint_eq(subject.ram.unclaimed_resident_bytes, 2 * base_page_bytes());
    write_qemu(&fake, 900, RAM_ALONE);
    ck_assert_int_eq(refresh(), 0);
    ck_assert_uint_eq(subject.ram.unclaimed_bytes, 0);
    let_go();
}

/* Firmware and tables of devices are made like RAM, and QEMU maps them after the RAM; once the
 * guest runs, nothing is mapped so but what is plugged. */
TEST_EACH(plain, what_qemu_maps_before_the_guest_runs_is_not_plugged, 0, 2)
{
    follow_at(1);
    if (_i > 0) {
        has_run(BOOTED);
        ck_assert_int_eq(refresh(), 0);
    }
    plug();
    ck_assert_int_eq(refresh(), 0);
    ck_assert_uint_eq(subject.ram.unclaimed_bytes, _i > 0 ? 4 * MIB : 0);
    let_go();
}

/* A guard follows a thread's stack, too; and memory of QEMU's may be as large as a DIMM. */
TEST(plain, what_is_not_made_like_ram_is_not)
{
    follow();
    write_qemu(&fake, 912,
               IN_SMAPS(RAM, RAM_GUARD, "dc") IN_SMAPS(DIMM, DIMM_GUARD, "")
                   IN_SMAPS(STACK, STACK_GUARD, ""),
               MAPPED(RAM) GUARD(RAM_GUARD) MAPPED(DIMM) GUARD(DIMM_GUARD) MAPPED(STACK)
                   GUARD(STACK_GUARD));
    ck_assert_int_eq(refresh(), 0);
    ck_assert_uint_eq(subject.ram.unclaimed_bytes, 0);
    let_go();
}

/* As long as nobody could look, all that was added may be RAM. */
TEST(plain, what_cannot_be_looked_at_may_be_plugged)
{
    follow();
    ck_assert_int_eq(refresh(), 0);
    write_qemu(&fake, 904, IN_SMAPS(RAM, RAM_GUARD, "dc"), "7f00 is no mapping\n");
    ck_assert_int_eq(refresh(), 0);
    ck_assert_uint_eq(subject.ram.unclaimed_bytes, 4 * MIB);
    ck_assert_uint_eq(subject.ram.unclaimed_resident_bytes, 4 * MIB);
    write_qemu(&fake, 904, "7f00 is no mapping\n",
               MAPPED(RAM) GUARD(RAM_GUARD) MAPPED(DIMM) GUARD(DIMM_GUARD));
    ck_assert_int_eq(refresh(), 0);
    ck_assert_uint_eq(subject.ram.unclaimed_resident_bytes, 4 * MIB);
    write_qemu(&fake, 904, IN_SMAPS(RAM, RAM_GUARD, "dc") IN_SMAPS(DIMM, DIMM_GUARD, ""),
               MAPPED(RAM) GUARD(RAM_GUARD) MAPPED(DIMM) GUARD(DIMM_GUARD));
    ck_assert_int_eq(refresh(), 0);
    ck_assert_uint_eq(subject.ram.unclaimed_bytes, 0);
    let_go();
}

TEST(plain, ram_that_is_mapped_no_more_is_stale)
{
    follow();
    ck_assert_int_eq(refresh(), 0);
    write_qemu(&fake, 896, IN_SMAPS(DIMM, DIMM_GUARD, "dc"), MAPPED(DIMM) GUARD(DIMM_GUARD));
    ck_assert_int_eq(refresh(), -ESTALE);
    let_go();
}
