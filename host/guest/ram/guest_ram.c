// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file guest_ram.c  Queries about located RAM; see guest_ram.h and locate.c. */
#include "guest/ram/guest_ram.h"

#include "base/bytes.h"

#include <stdlib.h>
#include <string.h>

const char *ram_backing_name(enum ram_backing backing)
{
    static const char *const names[] = {
        [RAM_BACKING_ANON] = "anon",
        [RAM_BACKING_SHMEM] = "shmem",
        [RAM_BACKING_HUGETLB] = "hugetlb",
        [RAM_BACKING_FILE] = "file",
    };

    return names[backing];
}

bool ram_block_is_file(const struct ram_block *block)
{
    return block->backing == RAM_BACKING_SHMEM || block->backing == RAM_BACKING_FILE;
}

bool guest_ram_on_disk(const struct guest_ram *ram)
{
    for (size_t b = 0; b < ram->n_blocks; b++)
        if (ram->blocks[b].backing == RAM_BACKING_FILE)
            return true;
    return false;
}

bool guest_ram_has_huge_pages(const struct guest_ram *ram)
{
    for (size_t b = 0; b < ram->n_blocks; b++)
        if (ram->blocks[b].huge_bytes > 0)
            return true;
    return false;
}

void guest_ram_free(struct guest_ram *ram)
{
    free(ram->blocks);
    free(ram->others);
    free(ram->slots);
    memset(ram, 0, sizeof(*ram));
}

bool guest_ram_overlaps(const struct guest_ram *ram, uint64_t start, uint64_t end)
{
    for (size_t i = 0; i < ram->n_blocks; i++)
        if (start < ram->blocks[i].hva + ram->blocks[i].bytes && end > ram->blocks[i].hva)
            return true;
    return false;
}

/* Finds the last block that begins at or before the page; blocks are few, but this is called
 * often. */
const struct ram_block *guest_ram_block(const struct guest_ram *ram, uint64_t page)
{
    size_t low = 0;
    size_t high = ram->n_blocks;

    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;

        if (ram->blocks[middle].first_page <= page)
            low = middle;
        else
            high = middle;
    }
    return &ram->blocks[low];
}

uint64_t guest_ram_hva(const struct guest_ram *ram, uint64_t page)
{
    const struct ram_block *block = guest_ram_block(ram, page);

    return block->hva + (page - block->first_page) * base_page_bytes();
}

uint64_t guest_ram_page_at(const struct guest_ram *ram, uint64_t hva)
{
    for (size_t i = 0; i < ram->n_blocks; i++) {
        const struct ram_block *block = &ram->blocks[i];

        if (hva >= block->hva && hva - block->hva < block->bytes)
            return block->first_page + base_pages(hva - block->hva);
    }
    return UINT64_MAX;
}

uint64_t guest_ram_proved_bytes(const struct guest_ram *ram, uint64_t resident_bytes)
{
    return larger(ram->bytes - ram->unproved_bytes, smaller(resident_bytes, ram->bytes));
}

uint64_t guest_ram_resident_bytes(const struct guest_ram *ram)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < ram->n_blocks; i++)
        sum += ram->blocks[i].resident_bytes;
    return sum;
}

static int compare_spans(const void *a, const void *b)
{
    const struct taken_span *x = a;
    const struct taken_span *y = b;

    return (x->hva > y->hva) - (x->hva < y->hva);
}

uint64_t taken_sort(struct taken_span *spans, uint64_t n)
{
    uint64_t kept = 0;

    qsort(spans, n, sizeof(*spans), compare_spans);
    for (uint64_t i = 0; i < n; i++)
        if (kept == 0 || spans[i].hva != spans[kept - 1].hva)
            spans[kept++] = spans[i];
    return kept;
}

bool taken_has(const struct taken *taken, uint64_t hva)
{
    uint64_t low = 0;
    uint64_t high = taken->n;

    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        const struct taken_span *span = &taken->spans[middle];

        if (hva < span->hva)
            high = middle;
        else if (hva - span->hva >= span->bytes)
            low = middle + 1;
        else
            return true;
    }
    return false;
}

double taken_share(const struct taken *taken, const struct guest_ram *ram)
{
    uint64_t bytes = 0;

    for (uint64_t i = 0; i < taken->n; i++)
        bytes += taken->spans[i].bytes;
    return bytes < ram->bytes ? (double)bytes / (double)ram->bytes : 1;
}
