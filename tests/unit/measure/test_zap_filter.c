// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_zap_filter.c  Of which faults zap is told: those on guest RAM, all of them and no
 * others. */
#include "measure/kernel/fault_trace.h"

#include "fixture.h"

#include <inttypes.h>
#include <string.h>

#define GIB (1ULL << 30)
#define MIB (1ULL << 20)

static const struct {
    const struct arch *arch;
    struct gpa_layout layout; /* bytes, first stretch: begin, bytes; second: begin */
    const char *text;
} guests[] = {
    {&arch_x86_64,
     {512 * MIB, 0, 512 * MIB, 4 * GIB},
     "(fault_address >= 0x0 && fault_address < 0x20000000)"},
    {&arch_x86_64,
     {8 * GIB, 0, 3 * GIB, 4 * GIB},
     "(fault_address >= 0x0 && fault_address < 0xc0000000) || "
     "(fault_address >= 0x100000000 && fault_address < 0x240000000)"},
    {&arch_x86_64,
     {8 * GIB, 0, 2 * GIB, 1024 * GIB},
     "(fault_address >= 0x0 && fault_address < 0x80000000) || "
     "(fault_address >= 0x10000000000 && fault_address < 0x10180000000)"},
    {&arch_arm64, {8 * GIB, GIB, 8 * GIB, 9 * GIB}, "(ipa >= 0x40000000 && ipa < 0x240000000)"},
};

TEST_EACH(plain, filters_are_what_the_kernel_reads, 0, COUNT(guests))
{
    char text[FAULT_FILTER_BYTES];

    fault_filter(guests[_i].arch, &guests[_i].layout, text, sizeof(text));
    ck_assert_str_eq(text, guests[_i].text);
}

/* As the kernel would: one of the stretches holds it. */
static bool passes(const char *filter, const char *field, uint64_t gpa)
{
    uint64_t begin;
    uint64_t end;
    const char *form = TEXT_OF(96, "(%s >= 0x%%" SCNx64 " && %s < 0x%%" SCNx64 ")", field, field);

    for (const char *at = filter; at; at = strstr(at + 1, "(")) {
        ck_assert_int_eq(sscanf(at, form, &begin, &end), 2);
        if (gpa >= begin && gpa < end)
            return true;
    }
    return false;
}

TEST_EACH(plain, only_ram_passes, 0, COUNT(guests))
{
    const struct gpa_layout *layout = &guests[_i].layout;
    const char *field = guests[_i].arch->fault_field;
    const uint64_t low_end = layout->low_begin + layout->low_bytes;
    const uint64_t high_bytes = layout->boot_bytes - layout->low_bytes;
    char text[FAULT_FILTER_BYTES];

    fault_filter(guests[_i].arch, layout, text, sizeof(text));
    ck_assert(passes(text, field, layout->low_begin));
    ck_assert(passes(text, field, low_end - 1));
    ck_assert(!passes(text, field, low_end));
    ck_assert(layout->low_begin == 0 || !passes(text, field, layout->low_begin - 1));
    ck_assert(!passes(text, field, layout->high_begin - 1) || layout->high_begin == low_end);
    ck_assert(passes(text, field, layout->high_begin) == (high_bytes > 0));
    ck_assert(!passes(text, field, layout->high_begin + high_bytes));
}

/* The largest numbers there can be: it fits, and is not cut. */
TEST(plain, the_longest_fits)
{
    const struct gpa_layout layout = {.boot_bytes = (1ULL << 63) + 1,
                                      .low_begin = 1ULL << 60,
                                      .low_bytes = 1ULL << 62,
                                      .high_begin = 1ULL << 63};
    char text[FAULT_FILTER_BYTES];

    fault_filter(&arch_x86_64, &layout, text, sizeof(text));
    ck_assert_uint_lt(strlen(text), sizeof(text) - 1);
    ck_assert_int_eq(text[strlen(text) - 1], ')');
}
