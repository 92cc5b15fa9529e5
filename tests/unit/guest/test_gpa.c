// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_gpa.c  Guest-physical layout: every page there and back, and known corners. */
#include "guest/ram/gpa.h"

#include "fake_kernel.h"
#include "fixture.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define MIB (1ULL << 20)
#define GIB (1ULL << 30)

static struct ram_block blocks[3];
static struct guest_ram ram;
static struct qemu_process process;
static struct gpa_layout layout;
static struct fake_kernel fake;

static void setup(void)
{
    fake_kernel_make(&fake, 1);
}

static void make(const char *machine, const uint64_t *bytes, size_t n)
{
    ram = (struct guest_ram){.blocks = blocks, .n_blocks = n};
    for (size_t b = 0; b < n; b++) {
        blocks[b] = (struct ram_block){.bytes = bytes[b], .first_page = ram.n_pages};
        ram.bytes += bytes[b];
        ram.n_pages += base_pages(bytes[b]);
    }
    snprintf(process.config.machine, sizeof(process.config.machine), "%s", machine);
    ck_assert_int_eq(gpa_layout_deduce(&fake.root, &process, &ram, &layout, NULL), 0);
}

static const struct {
    const char *machine;
    uint64_t ram_bytes, low_bytes;
} corners[] = {
    {"", 512 * MIB, 512 * MIB},
    {"pc", 3583 * MIB, 3583 * MIB},
    {"pc-i440fx-7.2", 3584 * MIB, 3 * GIB},
    {"pc", 8 * GIB, 3 * GIB},
    {"q35", 2815 * MIB, 2815 * MIB},
    {"pc-q35-7.2", 2816 * MIB, 2 * GIB},
    {"q35", 6 * GIB, 2 * GIB},
    {"microvm", 4 * GIB, 3 * GIB},
    {"pc-i440fx-2.0", 3584 * MIB, 3 * GIB},
    /* as "info mtree" of QEMU 7.2 shows */
    {"isapc", 3584 * MIB, 3584 * MIB},
    {"isapc", 8 * GIB, 3584 * MIB},
    {"pc-i440fx-1.7", 3584 * MIB, 3584 * MIB},
    {"pc-i440fx-1.4", 8 * GIB, 3584 * MIB},
    {"pc-1.3", 8 * GIB, 3584 * MIB},
    {"pc-i440fx-10.0", 8 * GIB, 3 * GIB},
    {"pc-i440fx-rhel7.6.0", 8 * GIB, 3 * GIB},
    {"pc-q35-rhel9.4.0", 6 * GIB, 2 * GIB},
    {"pc-i440fx-jammy-hpb", 8 * GIB, 3 * GIB},
    {"ubuntu-q35", 6 * GIB, 2 * GIB},
};

FIXTURE(cases, .setup = setup);

TEST_EACH(cases, known_corners, 0, COUNT(corners))
{
    make(corners[_i].machine, &corners[_i].ram_bytes, 1);
    ck_assert_uint_eq(layout.low_bytes, corners[_i].low_bytes);
    ck_assert_uint_eq(gpa_of_page(&layout, &ram, 0), 0);

    uint64_t last = ram.n_pages - 1;
    uint64_t high = corners[_i].ram_bytes - corners[_i].low_bytes;
    uint64_t end = high ? 4 * GIB + high : corners[_i].low_bytes;

    ck_assert_uint_eq(gpa_of_page(&layout, &ram, last), end - base_page_bytes());
    ck_assert_uint_eq(gpa_to_page(&layout, &ram, end), GPA_NONE);
    if (high)
        ck_assert_uint_eq(gpa_to_page(&layout, &ram, layout.low_bytes), GPA_NONE);
}

TEST(cases, there_and_back)
{
    make("q35", (uint64_t[]){GIB, 3 * GIB, GIB}, 3);
    for (uint64_t page = 0; page < ram.n_pages; page += 4093)
        ck_assert_uint_eq(gpa_to_page(&layout, &ram, gpa_of_page(&layout, &ram, page) + 123), page);
}

TEST(cases, dimms_have_no_deducible_address)
{
    make("pc", (uint64_t[]){GIB, 512 * MIB, GIB}, 3);
    blocks[1].dimm = true;
    ck_assert_int_eq(gpa_layout_deduce(&fake.root, &process, &ram, &layout, NULL), 0);
    ck_assert_uint_eq(layout.boot_bytes, 2 * GIB);
    ck_assert_uint_eq(gpa_of_page(&layout, &ram, blocks[1].first_page), GPA_NONE);
    ck_assert_uint_eq(gpa_of_page(&layout, &ram, blocks[2].first_page), GIB);
    ck_assert_uint_eq(gpa_to_page(&layout, &ram, GIB), blocks[2].first_page);
}

TEST(cases, unknown_machine_is_refused_by_name)
{
    snprintf(process.config.machine, sizeof(process.config.machine), "virt");
    ck_assert_error(gpa_layout_deduce(&fake.root, &process, &ram, &layout, &error), -ENOTSUP,
                    "virt");
}

/* A page of a mapping of this order: the order of the pieces in which KVM maps it. */
static const struct {
    unsigned base_shift, huge_shift;
    uint64_t hva, page;
    unsigned order, pieces;
} pieces[] = {
    {12, 21, 4 * MIB, 512, 0, 0},
    {12, 21, 4 * MIB, 700, 9, 9},
    {12, 21, 4 * MIB + 4096, 700, 9, 0},
    /* hugetlb: of 1 GiB; of 64 KiB and of 32 MiB, which only arm64 has */
    {12, 21, 8 * GIB, 512, 18, 18},
    {12, 21, 8 * GIB + 2 * MIB, 512, 18, 9},
    {12, 21, 4 * MIB, 512, 4, 0},
    {12, 21, 32 * MIB, 512, 13, 9},
    /* pages of 16 KiB, huge ones of 32 MiB, QEMU's alignment of 2 */
    {14, 25, 64 * MIB, 2048, 11, 11},
    {14, 25, 66 * MIB, 2048, 11, 0},
    {14, 25, 66 * MIB, 2048, 7, 0},
};

TEST_EACH(cases, kvm_maps_what_is_aligned_in_both, 0, COUNT(pieces))
{
    const struct page_sizes of_host = page_sizes_now;

    page_sizes_now = (struct page_sizes){pieces[_i].base_shift, pieces[_i].huge_shift};
    make("pc", (uint64_t[]){2 * GIB}, 1);
    blocks[0].hva = pieces[_i].hva;
    ck_assert_uint_eq(gpa_kvm_order(&layout, &ram, pieces[_i].page, pieces[_i].order),
                      pieces[_i].pieces);
    blocks[0].hva = 0;
    page_sizes_now = of_host;
}

/* A guest of 2 GiB less 1 MiB on hugetlb of 2 MiB: QEMU's last page is whole, the guest's is not.
 */
TEST(cases, a_page_that_the_guest_has_in_part_is_in_pieces)
{
    const uint64_t per_huge = huge_page_pages();

    make("pc", (uint64_t[]){2 * GIB}, 1);
    blocks[0].hva = 64 * MIB;
    ck_assert_uint_eq(gpa_kvm_order(&layout, &ram, ram.n_pages - 1, huge_page_order()),
                      huge_page_order());
    blocks[0].beyond_bytes = MIB;
    ck_assert_uint_eq(gpa_kvm_order(&layout, &ram, ram.n_pages - 1, huge_page_order()), 0);
    ck_assert_uint_eq(gpa_kvm_order(&layout, &ram, ram.n_pages - 1 - per_huge, huge_page_order()),
                      huge_page_order());
    blocks[0].beyond_bytes = blocks[0].hva = 0;
}

/* With an AMD vCPU, from machine type 7.1 on, high RAM begins at 1 TiB if the map reaches 1012
 * GiB. */
static const struct {
    const char *machine, *vendor;
    uint64_t ram_bytes, max_bytes, slots, hole_bytes;
    bool cxl;
    uint64_t high_begin; /* 0: refused */
} maps[] = {
    {"pc-i440fx-7.2", "", 8 * GIB, 0, 0, 0, false, 4 * GIB},
    /* 3 GiB low; 4 + 5, 990 to be plugged, 11 slots, 2 of PCI: 1012, the last one that fits. */
    {"pc-i440fx-7.2", "", 8 * GIB, 998 * GIB, 11, 0, false, 4 * GIB},
    {"pc-i440fx-7.2", "", 8 * GIB, 998 * GIB, 12, 0, false, 1024 * GIB},
    {"pc-i440fx-7.2", "", 8 * GIB, 999 * GIB, 11, 0, false, 1024 * GIB},
    {"pc-i440fx-7.1", "", 8 * GIB, 2048 * GIB, 1, 0, false, 1024 * GIB},
    {"pc-i440fx-7.0", "", 8 * GIB, 2048 * GIB, 1, 0, false, 4 * GIB},
    {"pc-i440fx-2.12", "", 8 * GIB, 2048 * GIB, 1, 0, false, 4 * GIB},
    {"pc-q35-10.0", "", 8 * GIB, 2048 * GIB, 1, 0, false, 1024 * GIB},
    /* Without anything to plug, 2 GiB low: RAM and 32 GiB of PCI. */
    {"pc-q35-7.2", "", 978 * GIB, 0, 0, 0, false, 4 * GIB},
    {"pc-q35-7.2", "", 979 * GIB, 0, 0, 0, false, 1024 * GIB},
    {"pc-q35-7.2", "", 979 * GIB, 0, 0, 16 * GIB, false, 4 * GIB},
    {"pc-q35-7.2", "", 8 * GIB, 0, 0, 1024 * GIB, false, 1024 * GIB},
    /* A vendor that was asked for beats the host's. */
    {"pc-q35-7.2", "GenuineIntel", 8 * GIB, 2048 * GIB, 1, 0, false, 4 * GIB},
    {"pc-q35-7.2", "AuthenticAMD", 8 * GIB, 2048 * GIB, 1, 0, false, 1024 * GIB},
    /* No high RAM, nothing to be moved. */
    {"q35", "", 2 * GIB, 2048 * GIB, 1, 0, false, 4 * GIB},
    {"microvm", "", 8 * GIB, 2048 * GIB, 1, 0, false, 4 * GIB},
    /* Not to be known. */
    {"q35", "", 8 * GIB, 16 * GIB, 1, 0, false, 4 * GIB},
    {"q35", "", 8 * GIB, 2048 * GIB, 1, 0, false, 0},
    {"", "", 8 * GIB, 2048 * GIB, 1, 0, false, 0},
    {"pc-q35-rhel9.4.0", "", 8 * GIB, 2048 * GIB, 1, 0, false, 0},
    {"pc-q35-7.2", "", 8 * GIB, 0, 0, 0, true, 0},
};

TEST_EACH(cases, high_ram_moves_to_1_tib, 0, COUNT(maps))
{
    struct error error = {0};

    fake_write(&fake, "proc/cpuinfo", "processor\t: 0\nvendor_id\t: AuthenticAMD\n");
    process.config.max_ram_bytes = 0;
    make("pc", &maps[_i].ram_bytes, 1);
    snprintf(process.config.machine, sizeof(process.config.machine), "%s", maps[_i].machine);
    snprintf(process.config.cpu_vendor, sizeof(process.config.cpu_vendor), "%s", maps[_i].vendor);
    process.config.max_ram_bytes = maps[_i].max_bytes;
    process.config.memory_slots = maps[_i].slots;
    process.config.pci_hole64_bytes = maps[_i].hole_bytes;
    process.config.cxl = maps[_i].cxl;
    if (!maps[_i].high_begin) {
        ck_assert_error(gpa_layout_deduce(&fake.root, &process, &ram, &layout, &error), -ENOTSUP,
                        "1 TiB");
        return;
    }
    ck_assert_int_eq(gpa_layout_deduce(&fake.root, &process, &ram, &layout, &error), 0);
    ck_assert_uint_eq(layout.high_begin, maps[_i].high_begin);

    uint64_t last = ram.n_pages - 1;
    uint64_t gpa = gpa_of_page(&layout, &ram, last);

    if (layout.low_bytes < ram.bytes)
        ck_assert_uint_eq(gpa, maps[_i].high_begin + ram.bytes - layout.low_bytes - 4096);
    ck_assert_uint_eq(gpa_to_page(&layout, &ram, gpa), last);
    if (maps[_i].high_begin > 4 * GIB)
        ck_assert_uint_eq(gpa_to_page(&layout, &ram, 4 * GIB), GPA_NONE);
}

TEST(cases, on_another_host_it_stays)
{
    fake_write(&fake, "proc/cpuinfo", "processor\t: 0\nvendor_id\t: GenuineIntel\n");
    process.config.max_ram_bytes = 2048 * GIB;
    make("pc-q35-7.2", (uint64_t[]){8 * GIB}, 1);
    ck_assert_uint_eq(layout.high_begin, 4 * GIB);
}

/* Two slots in one mapping, with an end that is not known, and a third in another. */
TEST(cases, slots_that_were_proved)
{
    struct ram_slot slots[] = {{5 * GIB + 0x3000, 0x10001000, MIB},
                               {0, 0x10001000 + MIB / 2, MIB},
                               {29 * GIB, 0x20000000, 2 * MIB}};

    ram = (struct guest_ram){.blocks = blocks, .n_blocks = 2, .slots = slots, .n_slots = 3};
    blocks[0] = (struct ram_block){.hva = 0x10001000, .bytes = 3 * MIB / 2};
    blocks[1] = (struct ram_block){
        .hva = 0x20000000, .bytes = 2 * MIB, .first_page = base_pages(blocks[0].bytes)};
    ram.n_pages = base_pages(blocks[0].bytes + blocks[1].bytes);
    ck_assert_int_eq(gpa_layout_deduce(&fake.root, &process, &ram, &layout, NULL), 0);
    ck_assert_uint_eq(layout.low_begin, 0);
    ck_assert_uint_eq(layout.low_bytes, 29 * GIB + 2 * MIB);
    ck_assert_uint_eq(layout.boot_bytes, layout.low_bytes);
    ck_assert_uint_eq(gpa_of_page(&layout, &ram, 0), 5 * GIB + 0x3000);
    ck_assert_uint_eq(gpa_of_page(&layout, &ram, base_pages(MIB)), MIB / 2);
    ck_assert_uint_eq(gpa_of_page(&layout, &ram, blocks[1].first_page + 1), 29 * GIB + 4096);
    /* a fault in the stretch that either slot may have counts, wherever it is */
    ck_assert_uint_eq(gpa_to_page(&layout, &ram, 5 * GIB + 0x3000 + MIB / 2), base_pages(MIB / 2));
    ck_assert_uint_eq(gpa_to_page(&layout, &ram, 0), base_pages(MIB / 2));
    ck_assert_uint_eq(gpa_to_page(&layout, &ram, MIB), GPA_NONE);
    ck_assert_uint_eq(gpa_to_page(&layout, &ram, 29 * GIB + 2 * MIB - 1), ram.n_pages - 1);
    ck_assert_uint_eq(gpa_to_page(&layout, &ram, 29 * GIB - 1), GPA_NONE);
}
