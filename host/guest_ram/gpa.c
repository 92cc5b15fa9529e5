// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file gpa.c  See gpa.h. */
#include "guest_ram/gpa.h"

#include <errno.h>
#include <string.h>

#define GIB (1ULL << 30)
#define HOLE_END (4 * GIB)

static bool is_machine(const char *machine, const char *family)
{
    return !strncmp(machine, family, strlen(family));
}

/* pc_init1(): up to 3.5 GiB all RAM is low; from there on 3 GiB, aligned for huge pages. */
static uint64_t low_limit_pc(uint64_t boot_bytes, uint64_t max_below_4g)
{
    uint64_t limit = max_below_4g ? max_below_4g : 0xe0000000ULL;

    if (boot_bytes >= limit && limit > 3 * GIB)
        limit = 3 * GIB;
    return limit;
}

/* pc_q35_init(): the window for PCI Express begins at 0xb0000000. */
static uint64_t low_limit_q35(uint64_t boot_bytes, uint64_t max_below_4g)
{
    uint64_t limit = boot_bytes >= 0xb0000000ULL ? 2 * GIB : 0xb0000000ULL;

    return max_below_4g && max_below_4g < limit ? max_below_4g : limit;
}

static uint64_t boot_ram_bytes(const struct guest_ram *ram)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < ram->n_blocks; i++)
        if (!ram->blocks[i].dimm)
            bytes += ram->blocks[i].bytes;
    return bytes;
}

int gpa_layout_deduce(const struct qemu_process *process, const struct guest_ram *ram,
                      struct gpa_layout *out, struct error *error)
{
    const char *machine = process->config.machine;
    uint64_t max_below_4g = process->config.max_ram_below_4g_bytes;
    uint64_t boot_bytes = boot_ram_bytes(ram);
    uint64_t limit;

    if (!*machine || !strcmp(machine, "pc") || is_machine(machine, "pc-i440fx"))
        limit = low_limit_pc(boot_bytes, max_below_4g);
    else if (!strcmp(machine, "q35") || is_machine(machine, "pc-q35"))
        limit = low_limit_q35(boot_bytes, max_below_4g);
    else if (is_machine(machine, "microvm"))
        limit = max_below_4g ? max_below_4g : 3 * GIB;
    else
        return error_set(error, -ENOTSUP,
                         "machine type %s: where its RAM lies in guest-physical "
                         "memory is not known",
                         machine);

    out->boot_bytes = boot_bytes;
    out->low_bytes = boot_bytes < limit ? boot_bytes : limit;
    return 0;
}

/* Pages of boot RAM are numbered without the DIMMs between them, should there be any. */
static uint64_t dimm_pages_before(const struct guest_ram *ram, uint64_t page)
{
    uint64_t pages = 0;

    for (size_t i = 0; i < ram->n_blocks && ram->blocks[i].first_page <= page; i++)
        if (ram->blocks[i].dimm)
            pages += ram->blocks[i].bytes / BASE_PAGE_BYTES;
    return pages;
}

uint64_t gpa_of_page(const struct gpa_layout *layout, const struct guest_ram *ram, uint64_t page)
{
    if (guest_ram_block(ram, page)->dimm)
        return GPA_NONE;

    uint64_t offset = (page - dimm_pages_before(ram, page)) * BASE_PAGE_BYTES;

    return offset < layout->low_bytes ? offset : offset - layout->low_bytes + HOLE_END;
}

uint64_t gpa_to_page(const struct gpa_layout *layout, const struct guest_ram *ram, uint64_t gpa)
{
    uint64_t offset;

    if (gpa < layout->low_bytes)
        offset = gpa;
    else if (gpa >= HOLE_END && gpa - HOLE_END < layout->boot_bytes - layout->low_bytes)
        offset = gpa - HOLE_END + layout->low_bytes;
    else
        return GPA_NONE;

    for (size_t i = 0; i < ram->n_blocks; i++) {
        const struct ram_block *block = &ram->blocks[i];

        if (block->dimm)
            continue;
        if (offset < block->bytes)
            return block->first_page + offset / BASE_PAGE_BYTES;
        offset -= block->bytes;
    }
    return GPA_NONE;
}
