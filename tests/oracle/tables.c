// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tables.h"

#include <string.h>

#define PRESENT 1ULL
#define LARGE (1ULL << 7)
#define ADDRESS 0x000ffffffffff000ULL
#define PAGE_SHIFT 12
#define LEVEL_SHIFT 9
#define LEVELS 4

static bool read_entry(const struct tables_ram *ram, uint64_t at, uint64_t *entry)
{
    if (at > ram->bytes - sizeof(*entry))
        return false;
    memcpy(entry, ram->host + at, sizeof(*entry));
    return (*entry & PRESENT) != 0;
}

static unsigned shift_of(unsigned level)
{
    return PAGE_SHIFT + LEVEL_SHIFT * (level - 1);
}

static uint64_t entry_offset(uint64_t address, unsigned level)
{
    return (address >> shift_of(level) & 511) * 8;
}

/* The lab's address of a guest-physical one. */
static bool nested_translate(const struct tables_ram *ram, uint64_t nested_cr3, uint64_t gpa,
                             uint64_t *out)
{
    uint64_t table = nested_cr3 & ADDRESS, entry;
    unsigned level = LEVELS;

    for (;; level--) {
        if (!read_entry(ram, table + entry_offset(gpa, level), &entry))
            return false;
        table = entry & ADDRESS;
        if (level == 1 || (entry & LARGE && level < LEVELS))
            break;
    }

    uint64_t within = (1ULL << shift_of(level)) - 1;

    *out = (table & ~within) | (gpa & within);
    return true;
}

bool tables_walk(const struct tables_ram *ram, uint64_t nested_cr3, uint64_t cr3, uint64_t vaddr,
                 void (*touch)(uint64_t frame))
{
    uint64_t table = cr3 & ADDRESS, entry, at;

    for (unsigned level = LEVELS; level > 0; level--) {
        if (!nested_translate(ram, nested_cr3, table + entry_offset(vaddr, level), &at))
            return false;
        touch(at >> PAGE_SHIFT);
        if (!read_entry(ram, at, &entry))
            return false;
        if (entry & LARGE && level > 1 && level < LEVELS)
            break;
        table = entry & ADDRESS;
    }
    return true;
}
