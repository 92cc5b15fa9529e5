// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_pagemap.c  Which pages are present, held against the entries of this process. */
#include "base/cleanup.h"
#include "measure/kernel/pagemap.h"

#include "fixture.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define N_PAGES 8192

static char *memory;
static struct ram_block block;
static struct guest_ram ram;
static int fd;

static void setup(void)
{
    memory = mmap(NULL, N_PAGES * base_page_bytes(), PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(memory, MAP_FAILED);
    madvise(memory, N_PAGES * base_page_bytes(), MADV_NOHUGEPAGE);
    block = (struct ram_block){.hva = (uintptr_t)memory, .bytes = N_PAGES * base_page_bytes()};
    ram = (struct guest_ram){
        .bytes = block.bytes, .n_pages = N_PAGES, .n_blocks = 1, .blocks = &block};
    fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    ck_assert_int_ge(fd, 0);
}

static void teardown(void)
{
    close(fd);
    munmap(memory, N_PAGES * base_page_bytes());
}

static void touch(uint64_t page)
{
    memory[page * base_page_bytes()] = 1;
}

/* Every @p step-th page is asked for. */
static void check_against_entries(uint64_t step)
{
    cleanup_free uint64_t *page = calloc(N_PAGES, sizeof(*page));
    cleanup_free uint64_t *entry = calloc(N_PAGES, sizeof(*entry));
    cleanup_free bool *present = malloc(N_PAGES * sizeof(*present));
    uint64_t n = 0;

    for (uint64_t i = 0; i < N_PAGES; i += step)
        page[n++] = i;
    memset(present, 1, N_PAGES * sizeof(*present));
    ck_assert_int_eq(pagemap_read(fd, &ram, page, n, entry), 0);
    ck_assert_int_eq(pagemap_present(fd, &ram, page, n, present), 0);
    for (uint64_t i = 0; i < n; i++)
        ck_assert_msg(present[i] == !!(entry[i] & PAGEMAP_PRESENT), "page %d of every %d",
                      (int)page[i], (int)step);
}

static void check_all_steps(void)
{
    static const uint64_t steps[] = {1, 2, 3, 7, 79, 80, 81, 1000, N_PAGES};

    for (size_t i = 0; i < COUNT(steps); i++)
        check_against_entries(steps[i]);
}

FIXTURE(cases, .setup = setup, .teardown = teardown);

TEST(cases, none_is_present)
{
    check_all_steps();
}

TEST(cases, all_are_present)
{
    for (uint64_t i = 0; i < N_PAGES; i++)
        touch(i);
    check_all_steps();
}

/* More runs of present pages than one walk has room for, and at its very end one. */
TEST(cases, many_runs_are_present)
{
    for (uint64_t i = 0; i < N_PAGES; i += 2)
        touch(i);
    touch(N_PAGES - 1);
    check_all_steps();
}

TEST(cases, runs_of_all_lengths_are_present)
{
    for (uint64_t i = 0, length = 1; i + length < N_PAGES; i += 2 * length++)
        for (uint64_t k = 0; k < length; k++)
            touch(i + k);
    check_all_steps();
}

TEST(cases, pages_in_any_order)
{
    static const uint64_t page[] = {5000, 3, 4, 3, 8191, 0};
    bool present[COUNT(page)];

    touch(3);
    touch(8191);
    ck_assert_int_eq(pagemap_present(fd, &ram, page, COUNT(page), present), 0);
    for (size_t i = 0; i < COUNT(page); i++)
        ck_assert_int_eq(present[i], page[i] == 3 || page[i] == 8191);
}
