// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_kvm_counted.c  Bookkeeping of zap-all, referenced and cold over a fake kernel. */
#include "base/page_sizes.h"
#include "fake_kernel.h"
#include "fixture.h"
#include "measure/method.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define COUNTERS "sys/kernel/debug/kvm/4242-11/"

/* One VMA of 2048 pages as QEMU maps its RAM, with 4 MiB resident and 1 MiB of it referenced. */
static const char smaps[] =
    "7f0000000000-7f0000800000 rw-p 00000000 00:00 0 \n"
    "Size:               8192 kB\nKernelPageSize:        4 kB\nMMUPageSize:           4 kB\n"
    "Rss:                4096 kB\nPss:                4096 kB\nReferenced:         1024 kB\n"
    "Anonymous:          4096 kB\nAnonHugePages:         0 kB\nSwap:                  0 kB\n"
    "SwapPss:               0 kB\nLocked:                0 kB\nTHPeligible:           0\n"
    "VmFlags: rd wr mr mw me dc ac sd mg \n"
    "7f0000800000-7f0000801000 ---p 00000000 00:00 0 \n"
    "Size:                  4 kB\nVmFlags: mr mw me sd \n"
    "7f0000900000-7f0000a00000 rw-p 00000000 00:00 0 \n"
    "Size:               1024 kB\nRss:                1024 kB\nReferenced:         1024 kB\n"
    "VmFlags: rd wr mr mw me ac sd \n";

static struct fake_kernel fake;

static void setup(void)
{
    fake_kernel_make(&fake, 2048);
    fake_write(&fake, "proc/4242/smaps", smaps);
    fake_write(&fake, "proc/4242/clear_refs", "");
    fake_write(&fake, "sys/module/kvm/parameters/tdp_mmu", "Y\n");
}

static void set_counters(const char *small, const char *large)
{
    fake_write(&fake, COUNTERS "pages_4k", small);
    fake_write(&fake, COUNTERS "pages_2m", large);
    fake_write(&fake, COUNTERS "pages_1g", "0\n");
}

FIXTURE(cases, .setup = setup);

TEST(cases, zap_all_adds_the_counters)
{
    struct tally tally;
    void *state;

    set_counters("100\n", "0\n");
    ck_assert_ok(method_zap_all.probe(&fake.target, &error));
    ck_assert_ok(method_zap_all.open(&fake.target, NULL, &state, &error));
    ck_assert_ok(method_zap_all.mark(state, &error));
    set_counters("20\n", "1\n");
    ck_assert_ok(method_zap_all.collect(state, &tally, &error));
    ck_assert_uint_eq(tally.touched_bytes, 20 * 4096 + (2 << 20));
    ck_assert_uint_eq(tally.resident_bytes, 4096 << 10); /* the third VMA is no guest RAM */
    ck_assert_uint_eq(tally_stratum(&tally, 4096)->touched_units, 20);
    ck_assert_uint_eq(tally_stratum(&tally, 2 << 20)->touched_units, 512);
    method_zap_all.close(state);
}

/* Looks at the counters 4k[0], 4k[1], ... and collects at the last. */
static struct tally watched(const char *const *small, size_t n, const char *smaps_then)
{
    struct tally tally;
    void *state;

    set_counters("1000\n", "0\n");
    ck_assert_ok(method_zap_all.open(&fake.target, NULL, &state, &error));
    fake_write(&fake, "sys/kernel/debug/kvm/4242-11/pf_fixed", "5\n");
    set_counters("10\n", "0\n"); /* a plain file does not fall by itself */
    ck_assert_ok(method_zap_all.mark(state, &error));
    for (size_t i = 0; i < n; i++) {
        set_counters(small[i], "0\n");
        if (i + 1 < n)
            ck_assert_ok(method_zap_all.wake.poll(state, &error));
    }
    fake_write(&fake, "proc/4242/smaps", smaps_then);
    ck_assert_ok(method_zap_all.collect(state, &tally, &error));
    method_zap_all.close(state);
    return tally;
}

/* Those that are not touched again are missing. */
TEST(cases, zap_all_says_when_mappings_were_dropped_meanwhile)
{
    static const char *const grows[] = {"300\n", "700\n", "698\n"};
    static const char *const falls[] = {"300\n", "700\n", "100\n", "400\n"};
    static const char *const split[] = {"600\n", "700\n"};
    cleanup_free char *with_huge = strdup(smaps);

    memcpy(strstr(with_huge, "AnonHugePages:         0"), "AnonHugePages:      2048", 24);
    ck_assert_uint_eq(watched(grows, 3, smaps).doubts, 0);
    ck_assert_uint_eq(watched(falls, 4, smaps).doubts, DOUBT_DROPPED);
    ck_assert_uint_eq(watched(falls, 4, smaps).hidden_units, HIDDEN_ANY);
    ck_assert_uint_eq(watched(split, 2, with_huge).doubts, DOUBT_DROPPED);
}

TEST(cases, zap_all_says_when_kvm_dropped_nothing)
{
    struct error error = {0};
    void *state;

    set_counters("1000\n", "0\n"); /* still the same after clear_refs: a plain file does nothing */
    ck_assert_int_eq(method_zap_all.open(&fake.target, NULL, &state, &error), 0);
    ck_assert_error(method_zap_all.mark(state, &error), -ENOTSUP, "did not drop");
    method_zap_all.close(state);
}

TEST(cases, zap_all_without_counters_names_the_remedy)
{
    ck_assert_error(method_zap_all.probe(&fake.target, &error), -ENOENT, "mount -t debugfs");
}

TEST(cases, kvm_methods_refuse_tcg)
{
    struct error error = {0};

    fake.process.accel = ACCEL_TCG;
    ck_assert_int_eq(method_zap_all.probe(&fake.target, &error), -ENOTSUP);
    ck_assert_error(method_zap.probe(&fake.target, &error), -ENOTSUP, "TCG");
}

TEST(cases, tcg_methods_refuse_kvm)
{
    struct error error = {0};

    ck_assert_int_eq(method_referenced.probe(&fake.target, &error), -ENOTSUP);
    ck_assert_ptr_nonnull(strstr(error.text, "blind to KVM guests"));
    ck_assert_error(method_cold.probe(&fake.target, &error), -ENOTSUP, "blind to KVM guests");
}

TEST(cases, referenced_counts_guest_ram_only)
{
    struct tally tally;
    void *state;
    char written[8];

    fake.process.accel = ACCEL_TCG;
    ck_assert_ok(method_referenced.probe(&fake.target, &error));
    ck_assert_ok(method_referenced.open(&fake.target, NULL, &state, &error));
    ck_assert_ok(method_referenced.mark(state, &error));
    ck_assert_int_gt(fsroot_read(&fake.root, written, sizeof(written), "proc/4242/clear_refs"), 0);
    /* 1 clears the accessed bits; 4, the last that is written, ends in the TLB flush. */
    ck_assert_str_eq(written, "4");
    ck_assert_ok(method_referenced.collect(state, &tally, &error));
    ck_assert_uint_eq(tally.touched_bytes, 1 << 20);
    ck_assert_uint_eq(tally.resident_bytes, 4 << 20);
    method_referenced.close(state);
}

/* Where DAMON takes what idle waits for, methods that do not care come first. */
TEST(cases, auto_minds_damon)
{
    const struct method_verdict all[] = {
        {.method = &method_idle}, {.method = &method_zap}, {.method = &method_cold}};

    ck_assert_ptr_eq(method_choose(&fake.target, all, 3), &method_idle);
    fake_write(&fake, "sys/module/damon_stat/parameters/enabled", "Y\n");
    ck_assert_ptr_eq(method_choose(&fake.target, all, 3), &method_zap);
    fake.process.accel = ACCEL_TCG;
    ck_assert_ptr_eq(method_choose(&fake.target, all, 3), &method_idle);
}

TEST(cases, auto_takes_the_first_that_proves_itself)
{
    struct error error = {0};

    set_counters("100\n", "0\n");
    /* idle: no page is present; zap: the tree has no PAGEMAP_SCAN; pageout: private memory. */
    ck_assert_ptr_eq(method_auto(&fake.target, &(struct method_needs){0}, &error), &method_zap_all);
    ck_assert_ptr_null(method_auto(&fake.target, &(struct method_needs){.panel = true},
                                   &error)); /* it has no panel */
    ck_assert_ptr_nonnull(strstr(error.text, "zap-all:"));
    fake.process.accel = ACCEL_TCG;
    ck_assert_ptr_eq(method_auto(&fake.target, &(struct method_needs){.census = true}, &error),
                     &method_referenced);
}

/* A method for writes never measures a working set, nor another one writes. */
TEST(cases, writes_are_not_working_sets)
{
    ck_assert_error(method_try(&method_soft_dirty, &fake.target, &(struct method_needs){0}, &error),
                    -ENOTSUP, "use --writes");
    ck_assert_error(
        method_try(&method_zap_all, &fake.target, &(struct method_needs){.writes = true}, &error),
        -ENOTSUP, "does not tell writes from reads");
}

static void is_order(enum method_order order, const char *expected)
{
    char text[128] = "";
    const struct method *method;

    for (size_t i = 0; (method = method_at(order, i)); i++)
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s", i ? ", " : "",
                 method->name);
    ck_assert_str_eq(text, expected);
}

/* As vmwss(1) and vmwssd(8) say it; and that no method is cut off by a gap between the places. */
TEST(cases, orders_are_as_documented)
{
    is_order(ORDER_KVM, "idle, damon, zap, pageout, zap-all");
    is_order(ORDER_KVM_AGEING, "zap, pageout, idle, damon, zap-all");
    is_order(ORDER_TCG, "idle, cold, pageout, referenced");
    is_order(ORDER_TCG_AGEING, "pageout, idle, cold, referenced");
    is_order(ORDER_DAEMON, "idle, pageout, zap");
    is_order(ORDER_DAEMON_AGEING, "pageout, zap, idle");
    is_order(ORDER_WRITES, "soft-dirty");
    for (int order = 0; order < N_METHOD_ORDERS; order++) {
        size_t ranked = 0;
        size_t places = 0;

        for (size_t i = 0; methods[i]; i++)
            ranked += methods[i]->rank[order] > 0;
        while (method_at((enum method_order)order, places))
            places++;
        ck_assert_uint_eq(places, ranked);
    }
}

/* A refusal concerns this method only: others measure on such a host. */
static void is_promised_where_measured(const struct method *method, unsigned base_shift,
                                       const char *refusal)
{
    const bool measured = method->verified_page_sizes & 1ULL << base_shift;
    struct error why = {0};

    page_sizes_now = (struct page_sizes){.base_shift = base_shift,
                                         .huge_shift = 2 * base_shift - 3};

    const char *text = TEXT_OF(64, "%s is known to be right only with", method->name);

    method_host(method, &fake.root, &why);
    ck_assert_msg((strstr(why.text, refusal) != NULL) == !measured, "%s: %s", text, why.text);
    ck_assert_msg((strstr(why.text, text) != NULL) == !measured, "%s: %s", text, why.text);
}

/* `doctor` promises nothing that measuring refuses. */
TEST(cases, no_method_is_promised_for_other_base_pages)
{
    const struct page_sizes of_host = page_sizes_now;

    for (size_t i = 0; methods[i]; i++) {
        struct error why = {0};

        page_sizes_now = (struct page_sizes){.base_shift = 17, .huge_shift = 31};
        ck_assert_int_eq(method_host(methods[i], &fake.root, &why), -ENOTSUP);
        ck_assert_msg(strstr(why.text, "base pages have 128 KiB") != NULL, "%s", why.text);
        is_promised_where_measured(methods[i], 14, "base pages have 16 KiB");
        is_promised_where_measured(methods[i], 16, "base pages have 64 KiB");
        page_sizes_now = (struct page_sizes){.base_shift = 12, .huge_shift = 21};
        why = (struct error){0};
        method_host(methods[i], &fake.root, &why);
        ck_assert_msg(strstr(why.text, "base pages") == NULL, "%s", why.text);
    }
    page_sizes_now = of_host;
}
