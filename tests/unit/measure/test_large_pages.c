// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_large_pages.c  Kernels with pages of 4, 16 and 64 KiB, and huge pages of 2, 32 and
 * 512 MiB: all that addresses memory does so in their units. Counting: test_large_counts.c. */
#include "kernels.h"

#include "measure/kernel/huge_split.c" // NOLINT(bugprone-suspicious-include): its holes
#include "measure/method/zap.c" // NOLINT(bugprone-suspicious-include): its units, without a KVM
#include "measure/method/zap_scout.h"

#include "guest/ram/own_memory.h"
#include "measure/method/tlb_flush.h"

#include "unit.h"

#include <stdlib.h>

static struct error error;

/* --- a kernel that maps huge pages, and notes what is dropped ----------------------------------
 */

static struct {
    uint64_t huge_hva; /* the one huge page there is; 0: none */
    unsigned asked;    /* how often a mapping was asked for */
    unsigned drops;
    uint64_t next, most; /* where the last drop ended, the largest drop */
    bool in_order;       /* each began where the last ended */
    uint64_t dropped_bytes;
    unsigned dropped[N_HUGE + 1]; /* how often a drop began in this huge page's first byte */
    uint64_t advised_bytes;
} model;

int __wrap_pagemap_mapping(int fd, uint64_t hva, struct page_mapping *out);
int __wrap_pagemap_mapping(int fd, uint64_t hva, struct page_mapping *out)
{
    (void)fd;
    model.asked++;
    *out = (struct page_mapping){.huge = model.huge_hva && hva >= model.huge_hva &&
                                         hva < model.huge_hva + huge};
    return 0;
}

int __wrap_pagemap_invalidate(int fd, uint64_t hva, uint64_t bytes);
int __wrap_pagemap_invalidate(int fd, uint64_t hva, uint64_t bytes)
{
    (void)fd;
    model.in_order &= model.drops == 0 || hva == model.next;
    model.drops++;
    model.next = hva + bytes;
    model.most = larger(model.most, bytes);
    model.dropped_bytes += bytes;
    if ((hva - FAKE_HVA) % huge == 0 && (hva - FAKE_HVA) / huge <= N_HUGE)
        model.dropped[(hva - FAKE_HVA) / huge]++;
    return 0;
}

int __wrap_process_advise(int pidfd, int advice, const struct iovec *range, uint64_t n);
int __wrap_process_advise(int pidfd, int advice, const struct iovec *range, uint64_t n)
{
    (void)pidfd;
    (void)advice;
    for (uint64_t i = 0; i < n; i++)
        model.advised_bytes += range[i].iov_len;
    return 0;
}

int __wrap_fault_trace_enable(struct fault_trace *trace, bool on, struct error *why);
int __wrap_fault_trace_enable(struct fault_trace *trace, bool on, struct error *why)
{
    (void)trace;
    (void)on;
    (void)why;
    return 0;
}

void __wrap_fault_trace_drain(struct fault_trace *trace, void (*visit)(uint64_t gpa, void *context),
                              void *context);
void __wrap_fault_trace_drain(struct fault_trace *trace, void (*visit)(uint64_t gpa, void *context),
                              void *context)
{
    (void)trace;
    (void)visit;
    (void)context;
}

/* --- the machine ------------------------------------------------------------------------------ */

static void setup(void)
{
    kernels_begin();
    model = (__typeof__(model)){.in_order = true};
}

static void teardown(void)
{
    kernels_end();
}

/* --- addresses -------------------------------------------------------------------------------- */

FIXTURE(cases, .setup = setup, .teardown = teardown);

TEST_EACH(cases, pages_are_found_in_the_page_table, 0, N_KERNELS)
{
    const uint64_t page[] = {0, 5, per_huge};
    uint64_t entry[3];
    uint64_t range[2];

    boot(_i);
    ck_assert_uint_eq(guest_ram_hva(&fake.ram, 5), FAKE_HVA + 5 * base);
    fake_set_u64(&fake, "proc/4242/pagemap", FAKE_HVA / base + 5, PAGEMAP_PRESENT | 1234);
    fake_set_u64(&fake, "proc/4242/pagemap", FAKE_HVA / base + 6, PAGEMAP_PRESENT | 1235);

    cleanup_close int fd = pagemap_open(&fake.target, &error);

    ck_assert_int_eq(pagemap_read(fd, &fake.ram, page, 2, entry), 0);
    ck_assert_uint_eq(entry[0], 0);
    ck_assert_uint_eq(entry[1], PAGEMAP_PRESENT | 1234);
    ck_assert_int_eq(pagemap_read_range(fd, &fake.ram, 5, 2, range), 0);
    ck_assert_uint_eq(range[1], PAGEMAP_PRESENT | 1235);
}

TEST_EACH(cases, pages_are_found_by_guest_physical_address, 0, N_KERNELS)
{
    struct gpa_layout layout = {.boot_bytes = N_HUGE * kernels[_i].huge,
                                .low_begin = 1ULL << 30,
                                .low_bytes = kernels[_i].huge,
                                .high_begin = 1ULL << 40};

    boot(_i);
    ck_assert_uint_eq(gpa_of_page(&layout, &fake.ram, 3), (1ULL << 30) + 3 * base);
    ck_assert_uint_eq(gpa_of_page(&layout, &fake.ram, per_huge + 3), (1ULL << 40) + 3 * base);
    ck_assert_uint_eq(gpa_to_page(&layout, &fake.ram, (1ULL << 40) + 4 * base - 1), per_huge + 3);

    fake.block.dimm = true; /* pages behind a DIMM are numbered without it */
    struct ram_block blocks[] = {fake.block, fake.block};
    struct guest_ram ram = {.n_blocks = 2, .blocks = blocks, .n_pages = 2 * N_HUGE * per_huge};

    blocks[1].dimm = false;
    blocks[1].first_page = N_HUGE * per_huge;
    ck_assert_uint_eq(gpa_of_page(&layout, &ram, N_HUGE * per_huge + 3), (1ULL << 30) + 3 * base);
}

struct seen {
    uint64_t n, unit_hva[8];
    unsigned order[8];
};

static void see(void *context, uint64_t i, const struct page_probe *probe)
{
    struct seen *seen = context;

    seen->n++;
    seen->order[i] = probe->order;
    seen->unit_hva[i] = probe->unit_hva;
}

/* Two pages of the first huge page, the last one that it maps, and one behind it. */
static struct seen probe_four(void)
{
    struct seen seen = {0};
    struct page_set set;
    const uint64_t page[] = {1, 2, per_huge - 1, per_huge + 1};

    ck_assert_int_eq(page_set_blank(&set, &fake.ram, 4), 0);
    for (int i = 0; i < 4; i++) {
        set.page[i] = page[i];
        fake_set_u64(&fake, "proc/4242/pagemap", FAKE_HVA / base + page[i], PAGEMAP_PRESENT | 9);
    }

    int fd = pagemap_open(&fake.target, &error);

    ck_assert_int_eq(page_probe_each(fd, &set, page_any, true, see, &seen), 0);
    close(fd);
    page_set_free(&set);
    ck_assert_uint_eq(seen.n, 4);
    return seen;
}

TEST_EACH(cases, a_huge_page_is_asked_for_once, 0, N_KERNELS)
{
    boot(_i);
    model.huge_hva = FAKE_HVA;

    struct seen seen = probe_four();

    for (int i = 0; i < 3; i++) {
        ck_assert_uint_eq(seen.order[i], kernels[_i].order);
        ck_assert_uint_eq(seen.unit_hva[i], FAKE_HVA);
    }
    ck_assert_uint_eq(seen.order[3], 0);
    ck_assert_uint_eq(seen.unit_hva[3], FAKE_HVA + (per_huge + 1) * base);
    ck_assert_uint_eq(model.asked, 2);
}

TEST_EACH(cases, hugetlb_has_its_own_size, 0, N_KERNELS)
{
    boot(_i);
    fake.block.page_bytes = 4 * base;

    struct seen seen = probe_four();

    for (int i = 0; i < 4; i++)
        ck_assert_uint_eq(seen.order[i], 2);
    ck_assert_uint_eq(seen.unit_hva[1], FAKE_HVA);
    ck_assert_uint_eq(seen.unit_hva[2], FAKE_HVA + (per_huge - 4) * base);
    ck_assert_uint_eq(model.asked, 0);
}

/* Neither present nor swapped: the last page of a huge page counts, and the next one's does not. */
TEST_EACH(cases, holes_are_looked_for_in_all_of_it, 0, N_KERNELS)
{
    boot(_i);
    for (uint64_t i = 0; i < per_huge; i++)
        fake_set_u64(&fake, "proc/4242/pagemap", FAKE_HVA / base + i, PAGEMAP_PRESENT | 7);

    cleanup_close int fd = pagemap_open(&fake.target, &error);

    ck_assert_int_eq(has_holes(fd, FAKE_HVA), 0);
    ck_assert_int_eq(has_holes(fd, FAKE_HVA + base), 1);
    fake_set_u64(&fake, "proc/4242/pagemap", FAKE_HVA / base + per_huge - 1, 0);
    ck_assert_int_eq(has_holes(fd, FAKE_HVA), 1);
}

/* Three anonymous pages of QEMU's own. */
TEST_EACH(cases, own_memory_is_in_its_units, 0, N_KERNELS)
{
    struct own_memory own;
    const uint64_t begin = 0x550000000000ULL;

    boot(_i);

    const char *text = TEXT_OF(128, "%llx-%llx rw-p 00000000 00:00 0 \n", (unsigned long long)begin,
                               (unsigned long long)(begin + 8 * base));

    fake_write(&fake, "proc/4242/maps", text);
    for (uint64_t i = 2; i < 5; i++)
        fake_set_u64(&fake, "proc/4242/pagemap", begin / base + i, PAGEMAP_PRESENT | (40 + i));
    ck_assert_zero(
        own_memory_read(&fake.root, FAKE_PID, &fake.ram, PAGE_KIND_BIT(PAGE_KIND_ANON), &own));
    ck_assert_uint_eq(own.bytes[PAGE_KIND_ANON], 3 * base);
}

/* A file whose huge pages lie as the mapping's do is not split by advice. */
TEST_EACH(cases, advice_knows_how_huge_pages_lie, 0, N_KERNELS)
{
    boot(_i);
    fake_write(&fake, "sys/kernel/mm/transparent_hugepage/shmem_enabled", "[always] never\n");
    fake.block.backing = RAM_BACKING_SHMEM;
    fake.block.file_offset = 5 * huge;
    ck_assert(!advice_splits(&fake.root, &fake.block));
    fake.block.file_offset = huge / 2;
    ck_assert(advice_splits(&fake.root, &fake.block));
    fake.block.hva += huge / 2;
    ck_assert(!advice_splits(&fake.root, &fake.block));
}

/* --- zap -------------------------------------------------------------------------------------- */

static struct zap zap_of(struct page_set *set)
{
    struct zap zap = {.target = &fake.target, .set = set};

    zap.layout = (struct gpa_layout){.boot_bytes = fake.ram.bytes, .low_bytes = fake.ram.bytes};
    zap.near = calloc(set->n, sizeof(*zap.near));
    ck_assert_ptr_nonnull(zap.near);
    return zap;
}

/* A fault in the second of the guest's huge pages, of which the set has only single pages. */
TEST_EACH(cases, a_fault_is_near_in_its_huge_page, 0, N_KERNELS)
{
    cleanup_page_set struct page_set set;

    boot(_i);
    ck_assert_int_eq(page_set_census(&set, &fake.ram), 0);
    memset(set.state, PAGE_IDLE, set.n);

    struct zap zap = zap_of(&set);

    zap_see_fault((per_huge + 3) * base + 77, &zap);
    for (uint64_t i = 0; i < set.n; i++) {
        ck_assert_int_eq(zap.near[i], i / per_huge == 1);
        ck_assert_int_eq(set.state[i], i == per_huge + 3 ? PAGE_TOUCHED : PAGE_IDLE);
    }
    free(zap.near);
}

/* ... and where they are mapped by a PMD it is all of the unit. */
TEST_EACH(cases, a_fault_touches_its_unit, 0, N_KERNELS)
{
    cleanup_page_set struct page_set set;

    boot(_i);
    ck_assert_int_eq(page_set_census(&set, &fake.ram), 0);
    memset(set.state, PAGE_IDLE, set.n);
    for (uint64_t i = per_huge; i < 2 * per_huge; i++)
        page_set_note_unit(&set, i, kernels[_i].order, FAKE_HVA + huge);

    struct zap zap = zap_of(&set);

    zap_see_fault((per_huge + 3) * base, &zap);
    for (uint64_t i = 0; i < set.n; i++)
        ck_assert_int_eq(set.state[i], i / per_huge == 1 ? PAGE_TOUCHED : PAGE_IDLE);
    free(zap.near);
}

TEST_EACH(cases, a_census_drops_huge_page_by_huge_page, 0, N_KERNELS)
{
    cleanup_page_set struct page_set set;

    boot(_i);
    ck_assert_int_eq(page_set_census(&set, &fake.ram), 0);

    struct zap zap = zap_of(&set);

    ck_assert_int_eq(zap_ranges(&zap), 0);
    ck_assert_uint_eq(model.drops, N_HUGE);
    ck_assert_uint_eq(model.most, huge);
    ck_assert(model.in_order);
    free(zap.near);
}

/* RAM and its GPA do not lie alike: KVM maps no huge page, and holds its lock for few base pages.
 */
TEST_EACH(cases, a_census_drops_few_pages_at_a_time, 0, N_KERNELS)
{
    cleanup_page_set struct page_set set;

    boot(_i);
    ck_assert_int_eq(page_set_census(&set, &fake.ram), 0);

    struct zap zap = zap_of(&set);

    zap.layout.low_begin = base;
    ck_assert_int_eq(zap_ranges(&zap), 0);
    ck_assert_uint_eq(model.most, smaller(512 * base, huge));
    ck_assert_uint_eq(model.dropped_bytes, fake.ram.bytes);
    ck_assert(model.in_order);
    free(zap.near);
}

/* A page that has come as part of a huge page, near which there was a fault. */
TEST_EACH(cases, what_came_with_a_huge_page_is_of_its_order, 0, N_KERNELS)
{
    cleanup_page_set struct page_set set;
    struct page_probe probe = {.state = PAGE_IDLE};

    boot(_i);
    model.huge_hva = FAKE_HVA + huge;
    ck_assert_int_eq(page_set_blank(&set, &fake.ram, 1), 0);
    set.page[0] = 2 * per_huge - 1;
    set.state[0] = PAGE_ABSENT;

    struct zap zap = zap_of(&set);

    zap.near[0] = true;
    see_new(&zap, 0, &probe);
    ck_assert_int_eq(set.state[0], PAGE_TOUCHED);
    ck_assert_uint_eq(set.order[0], kernels[_i].order);
    ck_assert_uint_eq(set.unit[0], FAKE_HVA + huge);
    free(zap.near);
}

TEST_EACH(cases, a_panel_drops_whole_units, 0, N_KERNELS)
{
    cleanup_page_set struct page_set set;
    bool to_drop[2] = {true, true};

    boot(_i);
    ck_assert_int_eq(page_set_blank(&set, &fake.ram, 2), 0);
    set.page[0] = 1;
    set.page[1] = per_huge;
    memset(set.state, PAGE_IDLE, 2);
    page_set_note_unit(&set, 0, 0, FAKE_HVA + base);
    page_set_note_unit(&set, 1, kernels[_i].order, FAKE_HVA + huge);

    struct zap zap = zap_of(&set);

    zap.to_drop = to_drop;
    ck_assert_int_eq(zap_panel(&zap), 0);
    ck_assert_uint_eq(model.dropped_bytes, base + huge);
    free(zap.near);
}

/* Stretches in a scattered order: all of RAM, nothing twice, and nothing behind its end, which need
 * not be that of a huge page. */
TEST_EACH(cases, the_scout_drops_all_of_ram, 0, N_KERNELS)
{
    struct gpa_layout layout = {0};
    const struct zap_scout scout = {.target = &fake.target, .layout = &layout, .pagemap_fd = -1};
    cleanup_page_set struct page_set few;
    uint64_t dropped_bytes = 0;

    boot(_i);
    fake_kernel_make(&fake, N_HUGE * per_huge + 3);
    ck_assert_int_eq(page_set_blank(&few, &fake.ram, 16), 0);
    ck_assert_int_eq(zap_scout(&scout, &few, &dropped_bytes, &error), 0);
    ck_assert_uint_eq(dropped_bytes, fake.ram.bytes);
    ck_assert_uint_eq(model.dropped_bytes, N_HUGE * huge + 3 * base);
    ck_assert_uint_eq(model.most, smaller(huge, 64ULL << 20));
    for (int i = 0; i <= N_HUGE; i++)
        ck_assert_uint_eq(model.dropped[i], 1);
}

TEST_EACH(cases, a_page_of_it_splits_a_huge_page, 0, N_KERNELS)
{
    boot(_i);
    ck_assert_int_eq(huge_split(-1, -1, FAKE_HVA), 0);
    ck_assert_uint_eq(model.advised_bytes, base);
}

TEST_EACH(cases, a_flush_drops_single_pages, 0, N_KERNELS)
{
    cleanup_page_set struct page_set set;

    boot(_i);
    ck_assert_int_eq(page_set_panel(&set, &fake.ram, 40, 7), 0);
    memset(set.state, PAGE_IDLE, set.n);
    ck_assert(tlb_flush(&fake.target, &set, -1));
    ck_assert_uint_eq(model.drops, set.n);
    ck_assert_uint_eq(model.most, base);
}
