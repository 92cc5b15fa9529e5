// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_damon_others.c  Which kdamonds of others watch a guest, and which watch something
 * else, in a made tree. */
#include "fake_kernel.h"
#include "fixture.h"
#include "measure/kernel/damon_others.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define KDAMONDS "sys/kernel/mm/damon/admin/kdamonds"
#define CONTEXT KDAMONDS "/0/contexts/0"
#define TARGET CONTEXT "/targets/0"
#define PAGES 16
#define INODE 77

static struct fake_kernel fake;

static void put(const char *path, const char *text)
{
    fake_write(&fake, path, text);
}

static void put_region(uint64_t number, uint64_t start, uint64_t end)
{
    char path[128];
    char text[32];

    snprintf(path, sizeof(path), TARGET "/regions/%" PRIu64 "/start", number);
    snprintf(text, sizeof(text), "%" PRIu64 "\n", start);
    put(path, text);
    snprintf(path, sizeof(path), TARGET "/regions/%" PRIu64 "/end", number);
    snprintf(text, sizeof(text), "%" PRIu64 "\n", end);
    put(path, text);
    snprintf(text, sizeof(text), "%" PRIu64 "\n", number + 1);
    put(TARGET "/regions/nr_regions", text);
}

/* One kdamond, on, with one target of no regions. */
static void setup(void)
{
    fake_kernel_make(&fake, PAGES);
    for (uint64_t page = 0; page < PAGES; page++)
        fake_map(&fake, page, 1000 + page, 0);
    put(KDAMONDS "/nr_kdamonds", "1\n");
    put(KDAMONDS "/0/state", "on\n");
    put(KDAMONDS "/0/contexts/nr_contexts", "1\n");
    put(CONTEXT "/operations", "vaddr\n");
    put(CONTEXT "/targets/nr_targets", "1\n");
    put(TARGET "/pid_target", "500\n");
    put(TARGET "/regions/nr_regions", "0\n");
    put("proc/500/status", "Name:\tredis\nPPid:\t1\n");
    put("proc/500/maps", "55a68a16c000-55a68a16e000 r--p 00000000 fe:00 247134   /usr/bin/redis\n"
                         "7f0000000000-7f0000010000 rw-p 00000000 00:00 0 \n");
}

static bool watches(void)
{
    return damon_watches(&fake.target);
}

FIXTURE(cases_tests, .setup = setup);

TEST(cases_tests, nobody)
{
    put(KDAMONDS "/0/state", "off\n");
    put(TARGET "/pid_target", "4242\n");
    ck_assert(!watches());
    put(KDAMONDS "/nr_kdamonds", "0\n");
    put(KDAMONDS "/0/state", "on\n");
    ck_assert(!watches());
}

TEST(cases_tests, another_process)
{
    ck_assert(!watches());
    put(CONTEXT "/operations", "fvaddr\n");
    ck_assert(!watches());
}

/* Itself, or by one of its threads: their memory is the same. */
TEST(cases_tests, the_guest)
{
    put(TARGET "/pid_target", "4242\n");
    ck_assert(watches());
    put(TARGET "/pid_target", "4250\n");
    put("proc/4242/task/4250/comm", "CPU 0/KVM\n");
    put("proc/4250/status", "Name:\tqemu\nPPid:\t1\n");
    put("proc/4250/maps", "");
    ck_assert(watches());
}

/* Addresses of the guest's process disturb only if they have at least a byte of its RAM. */
TEST(cases_tests, fixed_addresses_of_the_guest)
{
    put(CONTEXT "/operations", "fvaddr\n");
    put(TARGET "/pid_target", "4242\n");
    put_region(0, FAKE_HVA - 8192, FAKE_HVA);
    ck_assert(!watches());
    put_region(1, FAKE_HVA + PAGES * base_page_bytes(), FAKE_HVA + 2 * PAGES * base_page_bytes());
    ck_assert(!watches());
    put_region(2, FAKE_HVA + PAGES * base_page_bytes() - 1,
               FAKE_HVA + PAGES * base_page_bytes() + 1);
    ck_assert(watches());
    put(CONTEXT "/operations", "vaddr\n");
    put_region(0, FAKE_HVA - 8192, FAKE_HVA);
    ck_assert(watches());
}

/* A back end of vhost-user, or another guest of the same template; and one that is not known to
 * have executed its program yet. */
TEST(cases_tests, a_process_that_shares_guest_ram)
{
    fake.block.inode = INODE;
    ck_assert(!watches());
    put("proc/500/maps", "7f0000000000-7f0000010000 rw-s 00000000 00:01 77 /memfd:ram (deleted)\n");
    ck_assert(watches());
    fake.block.inode = INODE + 1;
    ck_assert(!watches());
    put("proc/500/status", "Name:\tqemu\nPPid:\t4242\n");
    ck_assert(watches());
}

TEST(cases_tests, host_memory)
{
    const uint64_t ram = 1000 * base_page_bytes();

    put(CONTEXT "/operations", "paddr\n");
    put_region(0, 4096, ram);
    ck_assert(!watches());
    put_region(1, ram + PAGES * base_page_bytes(), UINT64_MAX);
    ck_assert(!watches());
    put_region(1, ram + (PAGES - 1) * base_page_bytes(), UINT64_MAX);
    ck_assert(watches());
    /* The same in units of a page. */
    put_region(1, 1000 + PAGES, 1000000);
    put_region(0, 1, 1000);
    put_region(1, 1000 + PAGES, 1000000);
    put(CONTEXT "/addr_unit", "4096\n");
    ck_assert(!watches());
    put_region(0, 1, 1001);
    put_region(1, 1000 + PAGES, 1000000);
    ck_assert(watches());
}

/* Nothing that is not told is taken for harmless. */
TEST(cases_tests, what_cannot_be_told)
{
    static const struct {
        const char *path, *text;
    } cases[] = {
        {KDAMONDS "/nr_kdamonds", "many\n"},
        {KDAMONDS "/nr_kdamonds", "2\n"}, /* the other has no files */
        {KDAMONDS "/0/contexts/nr_contexts", ""},
        {CONTEXT "/targets/nr_targets", ""},
        {CONTEXT "/operations", ""},
        {CONTEXT "/operations", "gpaddr\n"},
        {CONTEXT "/operations", "paddr\n"}, /* with no regions */
        {TARGET "/pid_target", "0\n"},
        {TARGET "/pid_target", "501\n"}, /* is not there */
        {"proc/500/maps", ""},
        {"proc/500/status", ""},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        setup();
        ck_assert(!watches());
        put(cases[i].path, cases[i].text);
        ck_assert_msg(watches(), "%s: %s", cases[i].path, cases[i].text);
    }
}

/* Frame numbers are 0 to those that may not see them; of a large guest looking them up takes long.
 */
TEST(cases_tests, frames_that_are_not_known)
{
    put(CONTEXT "/operations", "paddr\n");
    put_region(0, 4096, 8192);
    ck_assert(!watches());
    fake.ram.bytes = 2ULL << 30;
    ck_assert(watches());
    fake.ram.bytes = PAGES * base_page_bytes();
    fake_map(&fake, 3, 0, 0);
    ck_assert(watches());
}

TEST(cases_tests, a_module_watches_all)
{
    ck_assert(!watches());
    put("sys/module/damon_stat/parameters/enabled", "Y\n");
    ck_assert(watches());
}
