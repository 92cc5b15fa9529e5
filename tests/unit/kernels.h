// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file kernels.h  A fake host of each kernel there is by the sizes of its pages, with a guest of
 * a few huge pages. */
#pragma once

#include "fake_kernel.h"
#include "fixture.h"

#include "base/page_sizes.h"

#include <unistd.h>

#define N_HUGE 3
#define HUGE_SIZE "sys/kernel/mm/transparent_hugepage/hpage_pmd_size"

static const struct {
    uint64_t base, huge;
    unsigned order;
} kernels[] = {
    {4096, 2ULL << 20, 9},
    {16384, 32ULL << 20, 11},
    {65536, 512ULL << 20, 13},
    {65536, 2ULL << 20, 5}, /* no such kernel is known: the two are independent */
};

#define N_KERNELS COUNT(kernels)

static struct fake_kernel fake;
static uint64_t base, huge, per_huge;

static inline void kernels_begin(void)
{
    fake_kernel_make(&fake, 1);
}

/* The sizes are this host's again. */
static inline void kernels_end(void)
{
    cleanup_root struct fsroot root;

    ck_assert_int_eq(fsroot_open(&root, "/"), 0);
    page_sizes_read(&root, (uint64_t)sysconf(_SC_PAGESIZE));
}

/* A host of kernel number @p k, with a guest of N_HUGE huge pages. */
static inline void boot(int k)
{
    base = kernels[k].base;
    huge = kernels[k].huge;
    per_huge = huge / base;

    const char *text = TEXT_OF(32, "%llu\n", (unsigned long long)huge);

    fake_write(&fake, HUGE_SIZE, text);
    page_sizes_read(&fake.root, base);
    fake_kernel_make(&fake, N_HUGE * per_huge);
    ck_assert_uint_eq(fake.ram.bytes, N_HUGE * huge);
}
