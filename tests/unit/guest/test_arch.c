// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_arch.c  What differs by architecture: which one a guest has, where its RAM lies, and
 * what KVM shows there. The corners of x86-64's layouts are in test_gpa.c. */
#include "guest/arch/arch.h"

#include "fake_kernel.h"
#include "fixture.h"
#include "guest/ram/gpa.h"
#include "measure/kernel/carried_bits.h"
#include "measure/kernel/fault_trace.h"
#include "measure/kernel/kvm_stats.h"
#include "measure/method.h"
#include "measure/method/tlb_flush.h"

#include <errno.h>
#include <string.h>

#define GIB (1ULL << 30)

static const struct arch *host = &arch_x86_64;
static struct fake_kernel fake;
static struct error error;

const struct arch *__real_arch_host(void);
const struct arch *__wrap_arch_host(void);
const struct arch *__wrap_arch_host(void)
{
    return host;
}

static void setup(void)
{
    fake_kernel_make(&fake, GIB / base_page_bytes() * 8);
}

static int lay_out(const char *exe, const char *machine, struct gpa_layout *layout)
{
    snprintf(fake.process.exe, sizeof(fake.process.exe), "%s", exe);
    snprintf(fake.process.config.machine, sizeof(fake.process.config.machine), "%s", machine);
    return gpa_layout_deduce(&fake.root, &fake.process, &fake.ram, layout, &error);
}

FIXTURE(cases, .setup = setup);

TEST(cases, this_program_was_built_for_one)
{
#if defined(__x86_64__)
    ck_assert_ptr_eq(__real_arch_host(), &arch_x86_64);
#elif defined(__aarch64__)
    ck_assert_ptr_eq(__real_arch_host(), &arch_arm64);
#endif
    ck_assert(!(arch_x86_64.host && arch_arm64.host));
}

TEST(cases, emulators_are_known)
{
    ck_assert_ptr_eq(arch_of_emulator("/usr/bin/qemu-system-x86_64"), &arch_x86_64);
    ck_assert_ptr_eq(arch_of_emulator("qemu-system-x86_64-microvm"), &arch_x86_64);
    ck_assert_ptr_eq(arch_of_emulator("/opt/q-1/qemu-system-i386"), &arch_x86_64);
    ck_assert_ptr_eq(arch_of_emulator("/usr/bin/qemu-system-x86_64.real"), &arch_x86_64);
    ck_assert_ptr_eq(arch_of_emulator("/opt/qemu-system-x86_64_v8"), &arch_x86_64);
    ck_assert_ptr_eq(arch_of_emulator("/opt/qemu-system-aarch64+sve"), &arch_arm64);
    ck_assert_ptr_eq(arch_of_emulator("/usr/bin/qemu-system-aarch64"), &arch_arm64);
    ck_assert_ptr_eq(arch_of_emulator("/usr/bin/qemu-system-arm"), &arch_arm64);
    ck_assert_ptr_null(arch_of_emulator("/usr/bin/qemu-system-riscv64"));
    ck_assert_ptr_null(arch_of_emulator("/usr/bin/qemu-system-armeb"));
    ck_assert_ptr_null(arch_of_emulator("/usr/bin/qemu-system-x86_640"));
    ck_assert_ptr_null(arch_of_emulator("/usr/bin/qemu-system-"));
    ck_assert_ptr_eq(arch_of_emulator("/usr/libexec/qemu-kvm"), __real_arch_host());
    ck_assert_ptr_eq(arch_of_emulator("/usr/bin/kvm"), __real_arch_host());
    ck_assert_ptr_eq(arch_of_emulator(""), __real_arch_host());
}

/* 8 GiB, which on x86-64 would be in two pieces. */
TEST_EACH(cases, ram_of_virt_is_one_stretch, 0, 3)
{
    static const char *const machines[] = {"virt", "virt-7.2", "virt-rhel9.2.0"};
    struct gpa_layout layout;
    uint64_t last = fake.ram.n_pages - 1;

    ck_assert_int_eq(lay_out("/usr/bin/qemu-system-aarch64", machines[_i], &layout), 0);
    ck_assert_uint_eq(layout.low_begin, GIB);
    ck_assert_uint_eq(layout.low_bytes, 8 * GIB);
    ck_assert_uint_eq(gpa_of_page(&layout, &fake.ram, 0), GIB);
    ck_assert_uint_eq(gpa_of_page(&layout, &fake.ram, last), 9 * GIB - base_page_bytes());
    ck_assert_uint_eq(gpa_to_page(&layout, &fake.ram, GIB - 1), GPA_NONE);
    ck_assert_uint_eq(gpa_to_page(&layout, &fake.ram, 0), GPA_NONE);
    ck_assert_uint_eq(gpa_to_page(&layout, &fake.ram, 9 * GIB), GPA_NONE);
    for (uint64_t page = 0; page <= last; page += 4093)
        ck_assert_uint_eq(
            gpa_to_page(&layout, &fake.ram, gpa_of_page(&layout, &fake.ram, page) + 77), page);
}

TEST_EACH(cases, other_machines_are_refused, 0, 6)
{
    static const struct {
        const char *exe, *machine, *named;
    } others[] = {
        {"/usr/bin/qemu-system-aarch64", "", "default"},
        {"/usr/bin/qemu-system-aarch64", "q35", "q35"},
        {"/usr/bin/qemu-system-aarch64", "virtual", "virtual"},
        {"/usr/bin/qemu-system-aarch64", "sbsa-ref", "sbsa-ref"},
        {"/usr/bin/qemu-system-x86_64", "virt", "virt"},
        {"/usr/bin/qemu-system-riscv64", "virt", "qemu-system-riscv64"},
    };
    struct gpa_layout layout;

    ck_assert_int_eq(lay_out(others[_i].exe, others[_i].machine, &layout), -ENOTSUP);
    ck_assert_ptr_nonnull(strstr(error.text, others[_i].named));
}

/* Red Hat's has no architecture in its name, and machine types of its own. */
TEST_EACH(cases, qemu_kvm_is_of_the_host, 0, 2)
{
#if defined(__x86_64__)
    static const char *const machines[] = {"pc-q35-rhel9.2.0", "pc-i440fx-rhel7.6.0"};
#else
    static const char *const machines[] = {"virt-rhel9.2.0", "virt"};
#endif
    static const char *const exes[] = {"/usr/libexec/qemu-kvm", "/usr/bin/kvm"};
    struct gpa_layout layout;

    for (size_t i = 0; i < 2; i++)
        ck_assert_msg(lay_out(exes[i], machines[_i], &layout) == 0, "%s", error.text);
}

#define FORMAT(field) "\tfield:u64 " field ";\toffset:24;\tsize:8;\tsigned:0;\n"

static void make_event(const char *name, const char *format)
{
    char path[128];

    snprintf(path, sizeof(path), "sys/kernel/tracing/events/kvm/%s/id", name);
    fake_write(&fake, path, "77\n");
    snprintf(path, sizeof(path), "sys/kernel/tracing/events/kvm/%s/format", name);
    fake_write(&fake, path, format);
}

TEST(cases, each_has_its_tracepoint)
{
    ck_assert_int_eq(fault_trace_host(&fake.root, &error), -ENOENT);
    make_event("kvm_page_fault", FORMAT("fault_address"));
    ck_assert_int_eq(fault_trace_host(&fake.root, &error), 0);

    host = &arch_arm64;
    ck_assert_int_eq(fault_trace_host(&fake.root, &error), -ENOENT);
    ck_assert_ptr_nonnull(strstr(error.text, "kvm/kvm_guest_fault"));
    make_event("kvm_guest_fault", FORMAT("hxfar"));
    ck_assert_error(fault_trace_host(&fake.root, &error), -EBADMSG, "no field ipa");
    make_event("kvm_guest_fault", FORMAT("ipa"));
    ck_assert_int_eq(fault_trace_host(&fake.root, &error), 0);
}

TEST(cases, arm64_counts_no_mappings)
{
    fake_write(&fake, "sys/module/kvm/parameters/any", "Y\n");
    fake_write(&fake, "sys/kernel/debug/kvm/4242-11/pages_4k", "1\n");
    ck_assert_int_eq(kvm_stats_host(&fake.root, &error), 0);
    host = &arch_arm64;
    ck_assert_error(kvm_stats_host(&fake.root, &error), -ENOTSUP, "arm64");
}

/* Also where files of those names are: what they would count there is not known. */
TEST(cases, zap_all_is_refused_on_arm64)
{
    fake_write(&fake, "proc/self/clear_refs", "");
    fake_write(&fake, "proc/4242/clear_refs", "");
    fake_write(&fake, "sys/module/kvm/parameters/any", "Y\n");
    fake_write(&fake, "sys/kernel/debug/kvm/4242-11/pages_4k", "1\n");
    fake_write(&fake, "sys/kernel/debug/kvm/4242-11/pages_2m", "0\n");
    fake_write(&fake, "sys/kernel/debug/kvm/4242-11/pages_1g", "0\n");
    ck_assert_int_eq(method_host(&method_zap_all, &fake.root, &error), 0);
    ck_assert_int_eq(method_zap_all.probe(&fake.target, &error), 0);

    host = &arch_arm64;
    ck_assert_int_eq(method_host(&method_zap_all, &fake.root, &error), -ENOTSUP);
    ck_assert_ptr_nonnull(strstr(error.text, "arm64 has no counters pages_4k"));
    error = (struct error){0};
    ck_assert_error(method_zap_all.probe(&fake.target, &error), -ENOTSUP,
                    "arm64 has no counters pages_4k");
}

/* --- what follows after accessed bits were cleared -------------------------------------------- */

static uint64_t dropped, dropped_bytes, units, unit_bytes, unit_shift;

int __wrap_pagemap_invalidate(int fd, uint64_t hva, uint64_t bytes);
int __wrap_pagemap_invalidate(int fd, uint64_t hva, uint64_t bytes)
{
    (void)fd;
    ck_assert_uint_ge(hva, fake.block.hva);
    ck_assert_uint_le(hva + bytes, fake.block.hva + fake.block.bytes);
    if (host == &arch_arm64 && hva > fake.block.hva)
        ck_assert_uint_eq((hva - unit_shift) % unit_bytes, 0);
    dropped++;
    dropped_bytes += bytes;
    return 0;
}

static bool flush_panel_of(uint64_t n, unsigned order)
{
    struct page_set set;

    ck_assert_int_eq(page_set_panel(&set, &fake.ram, n, 1), 0);
    memset(set.state, PAGE_IDLE, set.n);
    unit_bytes = base_page_bytes() << order;
    units = 0;
    for (uint64_t i = 0; i < set.n; i++) {
        const uint64_t unit = (page_set_hva(&set, i) - unit_shift) / unit_bytes * unit_bytes;

        page_set_note_unit(&set, i, order, unit + unit_shift);
        units += i == 0 || set.unit[i] != set.unit[i - 1];
    }
    dropped = dropped_bytes = 0;

    bool flushed = tlb_flush(&fake.target, &set, -1);

    page_set_free(&set);
    return flushed;
}

static bool flush_panel(uint64_t n)
{
    return flush_panel_of(n, 0);
}

/* KVM's counter of flushes cannot be read. On x86-64 some drops are believed to have ended in one;
 * on arm64 none does, so every page must be dropped, or it is in doubt. */
TEST(cases, drops_that_flush_the_vm)
{
    ck_assert(flush_panel(1000));
    ck_assert_uint_eq(dropped, 128);

    host = &arch_arm64;
    ck_assert(flush_panel(1000));
    ck_assert_uint_eq(dropped, 1000);
    ck_assert(flush_panel(4095));
    ck_assert_uint_eq(dropped, 4095);
}

/* More than are dropped: the rest would stay stale, so that each fault would be for nothing. */
TEST(cases, too_many_are_not_dropped_on_arm64)
{
    host = &arch_arm64;
    ck_assert(!flush_panel(10000));
    ck_assert_uint_eq(dropped, 0);
}

/* A huge page has one idle flag. Where KVM maps it as one, one drop is enough; where it may map it
 * in pieces all of them must go, or touches of the others stay unseen. */
TEST(cases, units_are_dropped_whole_on_arm64)
{
    const unsigned huge = huge_page_order();
    struct gpa_layout layout;

    host = &arch_arm64;
    ck_assert_int_eq(lay_out("qemu-system-aarch64", "virt", &layout), 0);
    ck_assert_uint_eq(gpa_kvm_order(&layout, &fake.ram, 0, huge), huge);
    ck_assert(flush_panel_of(100, huge));
    ck_assert_uint_eq(dropped_bytes, units * huge_page_bytes());
    /* KVM has no huge pages of 64 KiB. */
    ck_assert(flush_panel_of(100, 4));
    ck_assert_uint_eq(dropped_bytes, units * base_page_bytes() << 4);
    ck_assert(!flush_panel_of(300, 4));
    ck_assert_uint_eq(dropped_bytes, 0);
    /* Folios of a file that do not lie alike in QEMU's memory. */
    unit_shift = 3 * base_page_bytes();
    ck_assert(flush_panel_of(100, 4));
    ck_assert_uint_gt(dropped_bytes, (units - 2) * base_page_bytes() << 4);
    unit_shift = 0;
    /* RAM of a machine with an unknown layout may be in pieces. */
    ck_assert_int_eq(lay_out("qemu-system-aarch64", "other", &layout), -ENOTSUP);
    ck_assert(!flush_panel_of(100, huge));
    ck_assert_uint_eq(dropped_bytes, 0);
}

/* A page that was touched and then migrated. */
TEST(cases, a_drop_carries_the_accessed_bit_on_x86_64_alone)
{
    fake.process.accel = ACCEL_KVM;
    fake_write(&fake, "proc/sys/kernel/osrelease", "6.12.0\n");
    ck_assert(accessed_bits_are_carried(&fake.target));
    host = &arch_arm64;
    ck_assert(!accessed_bits_are_carried(&fake.target));
    host = &arch_x86_64;
    fake_write(&fake, "proc/sys/kernel/osrelease", "6.13.0\n");
    ck_assert(!accessed_bits_are_carried(&fake.target));
}
