// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_payload_layout.c  Where the payload's region lies, by machine type. */
#include "../../../vm-images/payload/layout.h"

#include "fixture.h"

#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)

static struct layout layout_by(const char *text)
{
    struct params params;
    const char *where = "";

    ck_assert_ptr_null(params_parse(&params, text, &where));
    return layout_of(&params);
}

/* (a text; where the page lies, in guest-physical memory and in RAM) */
static void is_at(const char *text, uint64_t page, uint64_t gpa, uint64_t offset)
{
    struct layout layout = layout_by(text);

    ck_assert_uint_eq(layout_gpa(&layout, page), gpa);
    ck_assert_uint_eq(layout_ram_offset(&layout, page), offset);
}

TEST(plain, pc_has_ram_from_0_on)
{
    is_at("machine=pc", 0, 16 * MIB, 16 * MIB);
    is_at("machine=pc memory=6G", 3 * GIB / 4096, 4 * GIB + 18 * MIB, 3 * GIB + 18 * MIB);
    is_at("machine=pc memory=4G start=4G", 7, 4 * GIB + 7 * 4096, 3 * GIB + 7 * 4096);
}

TEST(plain, virt_has_one_stretch_from_1_gib_on)
{
    is_at("machine=virt", 0, GIB + 16 * MIB, 16 * MIB);
    is_at("machine=virt start=1G", 5, 2 * GIB + 5 * 4096, GIB + 5 * 4096);
    /* Nothing is left out where a PC has its hole. */
    is_at("machine=virt memory=6G total=5G", 4 * GIB / 4096, 5 * GIB + 16 * MIB,
          4 * GIB + 16 * MIB);
}

TEST(plain, a_region_may_end_with_ram)
{
    struct layout virt = layout_by("machine=virt memory=256M total=240M");

    ck_assert(layout_fits(&virt, 240 * MIB / 4096));
    ck_assert(!layout_fits(&virt, 242 * MIB / 4096));
}

TEST(plain, a_machine_that_is_not_known)
{
    struct params params;
    const char *where = "";

    ck_assert_ptr_nonnull(params_parse(&params, "machine=virtual", &where));
    ck_assert_ptr_nonnull(params_parse(&params, "machine=sbsa-ref", &where));
}
