// SPDX-License-Identifier: LGPL-2.1-or-later
#include "guest/ram/gpa.h"

#include "base/bytes.h"

#include <errno.h>
#include <stdbool.h>

static uint64_t boot_ram_bytes(const struct guest_ram *ram)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < ram->n_blocks; i++)
        if (!ram->blocks[i].dimm)
            bytes += ram->blocks[i].bytes;
    return bytes;
}

/* From the lowest to the highest address of a slot. */
static struct gpa_layout slots_layout(const struct guest_ram *ram)
{
    uint64_t begin = UINT64_MAX;
    uint64_t end = 0;

    for (size_t i = 0; i < ram->n_slots; i++) {
        begin = smaller(begin, ram->slots[i].gpa);
        end = larger(end, ram->slots[i].gpa + ram->slots[i].bytes);
    }
    return (struct gpa_layout){
        .boot_bytes = end - begin, .low_begin = begin, .low_bytes = end - begin, .high_begin = end};
}

int gpa_layout_deduce(const struct fsroot *root, const struct qemu_process *process,
                      const struct guest_ram *ram, struct gpa_layout *out, struct error *error)
{
    const struct arch *arch = arch_of_emulator(process->exe);

    if (ram->n_slots) {
        *out = slots_layout(ram);
        return 0;
    }

    if (!arch)
        return error_set(
            error, -ENOTSUP,
            "%s: where its machine types have RAM in guest-physical memory is not known",
            process->exe);
    *out = (struct gpa_layout){.boot_bytes = boot_ram_bytes(ram)};
    return arch->lay_out(root, &process->config, out, error);
}

/* --- there and back --------------------------------------------------------------------------- */

/* The numbers of boot RAM pages do not count the DIMMs that may lie between them. */
static uint64_t dimm_pages_before(const struct guest_ram *ram, uint64_t page)
{
    uint64_t pages = 0;

    for (size_t i = 0; i < ram->n_blocks && ram->blocks[i].first_page <= page; i++)
        if (ram->blocks[i].dimm)
            pages += base_pages(ram->blocks[i].bytes);
    return pages;
}

static uint64_t slot_gpa(const struct guest_ram *ram, uint64_t hva)
{
    for (size_t i = 0; i < ram->n_slots; i++)
        if (hva >= ram->slots[i].hva && hva - ram->slots[i].hva < ram->slots[i].bytes)
            return ram->slots[i].gpa + (hva - ram->slots[i].hva);
    return GPA_NONE;
}

static uint64_t slot_page(const struct guest_ram *ram, uint64_t gpa)
{
    for (size_t i = 0; i < ram->n_slots; i++)
        if (gpa >= ram->slots[i].gpa && gpa - ram->slots[i].gpa < ram->slots[i].bytes)
            return guest_ram_page_at(ram, ram->slots[i].hva + (gpa - ram->slots[i].gpa));
    return GPA_NONE;
}

uint64_t gpa_of_page(const struct gpa_layout *layout, const struct guest_ram *ram, uint64_t page)
{
    if (ram->n_slots)
        return slot_gpa(ram, guest_ram_hva(ram, page));
    if (guest_ram_block(ram, page)->dimm)
        return GPA_NONE;

    uint64_t offset = (page - dimm_pages_before(ram, page)) * base_page_bytes();

    return offset < layout->low_bytes ? layout->low_begin + offset
                                      : offset - layout->low_bytes + layout->high_begin;
}

uint64_t gpa_to_page(const struct gpa_layout *layout, const struct guest_ram *ram, uint64_t gpa)
{
    uint64_t offset;

    if (ram->n_slots)
        return slot_page(ram, gpa);
    if (gpa >= layout->low_begin && gpa - layout->low_begin < layout->low_bytes)
        offset = gpa - layout->low_begin;
    else if (gpa >= layout->high_begin &&
             gpa - layout->high_begin < layout->boot_bytes - layout->low_bytes)
        offset = gpa - layout->high_begin + layout->low_bytes;
    else
        return GPA_NONE;

    for (size_t i = 0; i < ram->n_blocks; i++) {
        const struct ram_block *block = &ram->blocks[i];

        if (block->dimm)
            continue;
        if (offset < block->bytes)
            return block->first_page + base_pages(offset);
        offset -= block->bytes;
    }
    return GPA_NONE;
}

/* --- how KVM maps it -------------------------------------------------------------------------- */

/* The guest's memory and KVM's memory slot end at the same address. */
static bool is_in_slot(const struct guest_ram *ram, uint64_t page, uint64_t bytes)
{
    const struct ram_block *block = guest_ram_block(ram, page);
    const uint64_t begin = guest_ram_hva(ram, page) & ~(bytes - 1);

    return begin >= block->hva && begin + bytes <= block->hva + block->bytes - block->beyond_bytes;
}

unsigned gpa_kvm_order(const struct gpa_layout *layout, const struct guest_ram *ram, uint64_t page,
                       unsigned order)
{
    const uint64_t gpa = gpa_of_page(layout, ram, page);

    if (order == 0 || gpa == GPA_NONE)
        return order;
    for (unsigned levels = 2; levels > 0; levels--) {
        const unsigned piece = levels * huge_page_order();
        const uint64_t bytes = base_page_bytes() << piece;

        if (piece <= order && ((gpa ^ guest_ram_hva(ram, page)) & (bytes - 1)) == 0 &&
            is_in_slot(ram, page, bytes))
            return piece;
    }
    return 0;
}
