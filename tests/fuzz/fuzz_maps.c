// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file fuzz_maps.c  /proc/PID/maps and smaps, divided by a NUL, as guest RAM is looked for in
 * them. */
#include "below.h"
#include "guest/ram/guest_ram.h"
#include "guest/ram/own_memory.h"
#include "guest/ram/plugged.h"

#include <errno.h>

static struct ram_backend backends[] = {
    {.id = "pc.ram", .size_bytes = 4 << 20},
    {.id = "dimm0", .size_bytes = 2 << 20, .dimm = true},
};
static const struct ram_config config = {
    .total_bytes = 6 << 20, .n_backends = 2, .backends = backends};

static void check(const struct guest_ram *ram)
{
    uint64_t bytes = 0;

    CLAIM(ram->n_blocks >= 1 && ram->n_blocks <= 2);
    for (size_t b = 0; b < ram->n_blocks; b++) {
        const struct ram_block *block = &ram->blocks[b];

        CLAIM(block->hva + block->bytes > block->hva && block->page_bytes >= base_page_bytes());
        CLAIM(block->first_page * base_page_bytes() == bytes);
        bytes += block->bytes;
    }
    CLAIM(bytes == ram->bytes && ram->n_pages == base_pages(bytes));
}

/* They are ascending, and none is a block. */
static void check_others(struct guest_ram *ram)
{
    if (guest_ram_find_plugged(below_root(), 1, ram, NULL) < 0)
        return;
    for (size_t i = 0; i < ram->n_others; i++) {
        const struct ram_other *other = &ram->others[i];

        CLAIM(other->hva <= other->last_hva && other->last_hva < other->end);
        CLAIM(i == 0 || ram->others[i - 1].end < other->end);
        CLAIM(!guest_ram_overlaps(ram, other->last_hva, other->end));
    }
    guest_ram_count_unclaimed(below_root(), 1, ram, 0);
    CLAIM(ram->unclaimed_resident_bytes <= ram->unclaimed_bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct qemu_process process = {.pid = 1, .pidfd = -1};
    const uint8_t *nul = size ? memchr(data, 0, size) : NULL;
    size_t n = nul ? (size_t)(nul - data) : size;
    struct guest_ram ram = {0};
    struct error error = {0};
    struct own_memory own;

    below_write("proc/1/maps", data, n);
    below_write("proc/1/smaps", nul ? nul + 1 : data, nul ? size - n - 1 : size);
    below_write("proc/1/pagemap", data, size);

    int rc = guest_ram_locate(below_root(), &process, &config, &ram, &error);

    CLAIM(rc == 0 || (rc < 0 && *error.text));
    if (rc == 0) {
        check(&ram);
        check_others(&ram);
    }
    if (own_memory_read(below_root(), 1, &ram, (1U << N_PAGE_KINDS) - 1, &own) == 0)
        for (size_t kind = 0; kind < N_PAGE_KINDS; kind++)
            CLAIM(own.bytes[kind] % base_page_bytes() == 0);
    guest_ram_free(&ram);
    return 0;
}
