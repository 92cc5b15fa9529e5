// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_gpa.c  Guest-physical layout: every page there and back, and known corners. */
#include "guest_ram/gpa.h"

#include "fixture.h"

#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define MIB (1ULL << 20)
#define GIB (1ULL << 30)

static struct ram_block blocks[3];
static struct guest_ram ram;
static struct qemu_process process;
static struct gpa_layout layout;

static void make(const char *machine, const uint64_t *bytes, size_t n)
{
    ram = (struct guest_ram){.blocks = blocks, .n_blocks = n};
    for (size_t b = 0; b < n; b++) {
        blocks[b] = (struct ram_block){.bytes = bytes[b], .first_page = ram.n_pages};
        ram.bytes += bytes[b];
        ram.n_pages += bytes[b] / BASE_PAGE_BYTES;
    }
    snprintf(process.config.machine, sizeof(process.config.machine), "%s", machine);
    ck_assert_int_eq(gpa_layout_deduce(&process, &ram, &layout, NULL), 0);
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
};

START_TEST(known_corners)
{
    make(corners[_i].machine, &corners[_i].ram_bytes, 1);
    ck_assert_uint_eq(layout.low_bytes, corners[_i].low_bytes);
    ck_assert_uint_eq(gpa_of_page(&layout, &ram, 0), 0);

    uint64_t last = ram.n_pages - 1;
    uint64_t high = corners[_i].ram_bytes - corners[_i].low_bytes;
    uint64_t end = high ? 4 * GIB + high : corners[_i].low_bytes;

    ck_assert_uint_eq(gpa_of_page(&layout, &ram, last), end - BASE_PAGE_BYTES);
    ck_assert_uint_eq(gpa_to_page(&layout, &ram, end), GPA_NONE);
    if (high)
        ck_assert_uint_eq(gpa_to_page(&layout, &ram, layout.low_bytes), GPA_NONE);
}
END_TEST

START_TEST(there_and_back)
{
    make("q35", (uint64_t[]){GIB, 3 * GIB, GIB}, 3);
    for (uint64_t page = 0; page < ram.n_pages; page += 4093)
        ck_assert_uint_eq(gpa_to_page(&layout, &ram, gpa_of_page(&layout, &ram, page) + 123), page);
}
END_TEST

START_TEST(dimms_have_no_deducible_address)
{
    make("pc", (uint64_t[]){GIB, 512 * MIB, GIB}, 3);
    blocks[1].dimm = true;
    ck_assert_int_eq(gpa_layout_deduce(&process, &ram, &layout, NULL), 0);
    ck_assert_uint_eq(layout.boot_bytes, 2 * GIB);
    ck_assert_uint_eq(gpa_of_page(&layout, &ram, blocks[1].first_page), GPA_NONE);
    ck_assert_uint_eq(gpa_of_page(&layout, &ram, blocks[2].first_page), GIB);
    ck_assert_uint_eq(gpa_to_page(&layout, &ram, GIB), blocks[2].first_page);
}
END_TEST

START_TEST(unknown_machine_is_refused_by_name)
{
    struct error error = {0};

    snprintf(process.config.machine, sizeof(process.config.machine), "virt");
    ck_assert_int_eq(gpa_layout_deduce(&process, &ram, &layout, &error), -ENOTSUP);
    ck_assert_ptr_nonnull(strstr(error.text, "virt"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("gpa");
    TCase *tcase = tcase_create("gpa");

    tcase_add_loop_test(tcase, known_corners, 0, sizeof(corners) / sizeof(corners[0]));
    tcase_add_test(tcase, there_and_back);
    tcase_add_test(tcase, dimms_have_no_deducible_address);
    tcase_add_test(tcase, unknown_machine_is_refused_by_name);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
