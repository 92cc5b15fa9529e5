// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file layout.h  The file that the plugin writes and the reader maps: which guest pages were
 * touched, when.
 *
 * A ring of slots, each some milliseconds long. A slot holds one byte per guest page and kind, not
 * 0 when the page was touched: a plain store, so vCPU threads race for nothing. The plugin's clock
 * thread clears a slot before its turn comes again.
 *
 * Offset in the file: header | slot 0: kind 0: page 0, 1, ... | slot 0: kind 1: ... | slot 1: ...
 * A page's number is its offset in guest RAM / 4096, as `payload-truth --list-ram` and vmwss count.
 * Of a lab (see plugin.c) it is the lab's own frame number, as its /proc/PID/pagemap has it: its
 * RAM begins at address 0 and is one range, because it ends below the PCI hole.
 */
#pragma once

#include <stdint.h>

#define ORACLE_MAGIC 0x34656c6361726f56ULL /* "Voracle4" */
#define ORACLE_PAGE_BYTES 4096ULL
#define ORACLE_HUGE_PAGES 512ULL /* 4 KiB pages in one of 2 MiB */
#define ORACLE_MAX_SLOTS 4096
#define ORACLE_MAX_PAGES (1ULL << 28) /* 1 TiB of RAM */
#define ORACLE_MAX_LAB_BYTES \
    (3ULL << 30) /* machine pc keeps that much in one range below the hole */

enum oracle_kind {
    ORACLE_DATA,      /* loads and stores of executed instructions */
    ORACLE_FETCH,     /* executed instructions lie there */
    ORACLE_TRANSLATE, /* the emulator read code there: the only fetches that the host can see under
                         TCG */
    ORACLE_HOST,      /* of a lab: loads and stores outside of guest mode, by user addresses: by the
                         nested QEMU */
    ORACLE_WALK,      /* of a lab: page tables of the nested guest, walked by the emulated MMU */
    ORACLE_STORE,     /* stores of executed instructions, which are data, too */
    ORACLE_KINDS,
};

/* Times are in ns. A slot is valid while its sequence is not 0; the running one has no end yet.
 * Neighbours overlap by the nanoseconds that the change takes: whatever is marked in a slot
 * happened within its times. */
struct oracle_slot {
    uint64_t sequence; /* 1, 2, ...; slot number = sequence modulo the number of slots */
    uint64_t begin_realtime_ns, end_realtime_ns;
    uint64_t begin_monotonic_ns, end_monotonic_ns;
};

struct oracle_header {
    uint64_t magic;
    uint64_t kinds; /* ORACLE_KINDS */
    uint64_t pages; /* of guest RAM */
    uint64_t slots;
    uint64_t slot_ns; /* wanted length */
    uint64_t maps_at; /* offset of slot 0's first map: a multiple of 4096 */
    uint64_t pid;     /* of QEMU */
    uint64_t
        unresolved; /* accesses whose RAM page QEMU could not tell: 0, or the truth is not exact */
    uint64_t
        lab; /* 1: data and fetch are those of nested guests only; the pages are the lab's frames */
    uint64_t unwalked; /* of a lab: walks that could not be followed, for the lab had just unmapped
                          a table */
    uint64_t wanted;   /* set by the reader of a lab's map: note what is touched from now on */
    uint64_t noted_since_ns; /* CLOCK_REALTIME; 0: nothing is noted yet */
    struct oracle_slot slot[];
};

static inline uint64_t oracle_maps_at(uint64_t slots)
{
    uint64_t end = sizeof(struct oracle_header) + slots * sizeof(struct oracle_slot);

    return (end + ORACLE_PAGE_BYTES - 1) / ORACLE_PAGE_BYTES * ORACLE_PAGE_BYTES;
}

static inline uint64_t oracle_file_bytes(uint64_t slots, uint64_t pages)
{
    return oracle_maps_at(slots) + slots * ORACLE_KINDS * pages;
}
