/* SPDX-License-Identifier: LGPL-2.1-or-later */
/**
 * @file layout.h  Where QEMU puts guest RAM in guest-physical space, for host tools.
 *
 * RAM is cut in two when it would reach the PCI hole: pc keeps 3 GiB below 4 GiB once there are 3.5
 * GiB, q35 2 GiB once there are 2.75 GiB (hw/i386/pc_piix.c, pc_q35.c). SeaBIOS reserves less than
 * 2 MiB at the end of the lower part; the payload uses whole aligned 2 MiB pieces only, so the last
 * one is lost to it. What is above the hole begins at 4 GiB or, for an AMD vCPU whose map reaches
 * 1012 GiB, at 1 TiB (pc.c, pc_memory_init()): that a region begins there or above says so.
 *
 * virt of arm64 has one stretch from 1 GiB on (hw/arm/virt.c, extended_memmap[]), and no firmware.
 */
#ifndef VMWSS_LAYOUT_H
#define VMWSS_LAYOUT_H

#include "params.h"

#define LAYOUT_4G (UINT64_C(4) << 30)
#define LAYOUT_1T (UINT64_C(1) << 40)
#define LAYOUT_VIRT_BEGIN (UINT64_C(1) << 30)

struct layout {
    uint64_t ram_begin;  /**< GPA of the first page of RAM */
    uint64_t low_start;  /**< GPA of the region's first page below the hole */
    uint64_t low_pages;  /**< of the region below the hole */
    uint64_t high_start; /**< GPA of its first page above the hole */
    uint64_t high_pages; /**< of the largest region above the hole */
    uint64_t low_bytes;  /**< of RAM below the hole */
    uint64_t high_begin; /**< GPA of what is above it */
};

static inline uint64_t layout_whole_pieces(uint64_t start, uint64_t end)
{
    if (end <= start)
        return 0;
    return (end - start) / PARAMS_HUGE_SIZE * (PARAMS_HUGE_SIZE / PARAMS_PAGE_SIZE);
}

static inline struct layout layout_of_virt(const struct params *params)
{
    uint64_t ram = params->memory_bytes, start = LAYOUT_VIRT_BEGIN + params->start;

    return (struct layout){
        .ram_begin = LAYOUT_VIRT_BEGIN,
        .low_start = start,
        .low_pages = ram ? layout_whole_pieces(start, LAYOUT_VIRT_BEGIN + ram) : UINT64_MAX,
        .low_bytes = ram,
        .high_begin = UINT64_MAX,
    };
}

static inline struct layout layout_of_pc(const struct params *params)
{
    uint64_t ram = params->memory_bytes, mib = UINT64_C(1) << 20;
    uint64_t threshold = params->q35 ? 2816 * mib : 3584 * mib;
    struct layout layout = {.low_start = params->start,
                            .low_bytes = ram,
                            .high_begin = params->start < LAYOUT_1T ? LAYOUT_4G : LAYOUT_1T};

    if (ram == 0) {
        layout.low_pages = UINT64_MAX;
        return layout;
    }
    if (ram >= threshold)
        layout.low_bytes = params->q35 ? 2048 * mib : 3072 * mib;
    layout.high_start = params->start > layout.high_begin ? params->start : layout.high_begin;
    layout.low_pages = layout_whole_pieces(params->start + PARAMS_HUGE_SIZE, layout.low_bytes);
    layout.high_pages = layout_whole_pieces(layout.high_start,
                                            layout.high_begin + ram - layout.low_bytes);
    return layout;
}

/** Without a memory size everything is taken to lie below the hole. */
static inline struct layout layout_of(const struct params *params)
{
    return params->virt ? layout_of_virt(params) : layout_of_pc(params);
}

/** Whether the guest has RAM for the whole region. */
static inline bool layout_fits(const struct layout *layout, uint64_t total_pages)
{
    return total_pages <= layout->low_pages ||
           total_pages - layout->low_pages <= layout->high_pages;
}

/** The GPA of a page of the region. */
static inline uint64_t layout_gpa(const struct layout *layout, uint64_t page)
{
    if (page < layout->low_pages)
        return layout->low_start + page * PARAMS_PAGE_SIZE;
    return layout->high_start + (page - layout->low_pages) * PARAMS_PAGE_SIZE;
}

/** Its offset in guest RAM, as in a single memory backend. */
static inline uint64_t layout_ram_offset(const struct layout *layout, uint64_t page)
{
    uint64_t gpa = layout_gpa(layout, page);

    return gpa < layout->high_begin ? gpa - layout->ram_begin
                                    : gpa - layout->high_begin + layout->low_bytes;
}

#endif
