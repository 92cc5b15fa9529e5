// SPDX-License-Identifier: LGPL-2.1-or-later
#include "guest/ram/unclaimed.h"

#include <errno.h>
#include <stdlib.h>

#define MIB (1ULL << 20)

/* hw/i386/acpi-build.c ACPI_BUILD_TABLE_MAX_SIZE */
#define ACPI_TABLES_BYTES (2 * MIB)

/* Returns how many of the others of its size come before it, those with the least resident first:
 * the bounds then hold whichever of them is QEMU's own. */
static size_t rank_of(const struct candidates *candidates, const struct candidate *c)
{
    size_t rank = 0;

    for (size_t i = 0; i < candidates->n; i++) {
        const struct candidate *other = &candidates->at[i];

        if (other != c && !other->taken && other->whole.inode == 0 &&
            candidate_bytes(other) == candidate_bytes(c))
            rank += other->whole.rss_bytes < c->whole.rss_bytes ||
                    (other->whole.rss_bytes == c->whole.rss_bytes && other < c);
    }
    return rank;
}

/* The size of a module is a multiple of its alignment (hw/mem/memory-device.c), which those of
 * QEMU's ROMs are not, but for ACPI's tables and firmware that an option names. */
static bool may_be_small_module(const struct qemu_process *process,
                                const struct candidates *candidates, const struct candidate *c)
{
    const uint64_t bytes = candidate_bytes(c);
    const size_t others = (size_t)(bytes == ACPI_TABLES_BYTES) + process->config.firmware;

    if (c->whole.inode != 0)
        return bytes >= MIB;
    return bytes >= CANDIDATE_ANON_UNIT_BYTES && bytes % CANDIDATE_ANON_UNIT_BYTES == 0 &&
           rank_of(candidates, c) >= others;
}

static bool may_be_module(const struct qemu_process *process, const struct candidates *candidates,
                          const struct candidate *c)
{
    if (c->any || c->taken || candidate_is_auxiliary(c))
        return false;
    return candidate_bytes(c) >= ram_dimm_min_bytes(process) ||
           (ram_can_be_plugged(process) && may_be_small_module(process, candidates, c));
}

int guest_ram_note_others(const struct qemu_process *process, const struct candidates *candidates,
                          struct guest_ram *out)
{
    out->others = calloc(candidates->n + 1, sizeof(*out->others));
    if (!out->others)
        return -ENOMEM;
    for (size_t i = 0; i < candidates->n; i++) {
        const struct candidate *c = &candidates->at[i];
        const bool unclaimed = c->unclaimed || may_be_module(process, candidates, c);

        if (c->taken && !c->device)
            continue;
        out->others[out->n_others++] = (struct ram_other){.hva = c->whole.start,
                                                          .end = c->whole.end,
                                                          .last_hva = c->last_start,
                                                          .unclaimed = unclaimed};
        if (!unclaimed)
            continue;
        out->unclaimed_bytes += candidate_bytes(c);
        out->unclaimed_resident_bytes += c->whole.hugetlb ? c->whole.hugetlb_bytes
                                                          : c->whole.rss_bytes;
    }
    return 0;
}
