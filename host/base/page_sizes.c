// SPDX-License-Identifier: LGPL-2.1-or-later
#include "base/page_sizes.h"

#include "base/error.h"
#include "base/fsroot.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#define ENTRY_SHIFT 3 /* size of a page table entry: 8 bytes */
#define LARGEST_SHIFT 34

/* The sizes of x86-64, used if the real ones cannot be read. */
struct page_sizes page_sizes_now = {.base_shift = 12, .huge_shift = 21};

static bool is_power_of_two(uint64_t bytes)
{
    return bytes > 0 && (bytes & (bytes - 1)) == 0;
}

static unsigned shift_of(uint64_t bytes)
{
    return (unsigned)__builtin_ctzll(bytes);
}

/* An order must fit into a byte, and the base pages of a huge page must be countable. */
static bool is_huge(uint64_t bytes, unsigned base_shift)
{
    return is_power_of_two(bytes) && shift_of(bytes) > base_shift &&
           shift_of(bytes) <= LARGEST_SHIFT;
}

void page_sizes_read(const struct fsroot *root, uint64_t base_bytes)
{
    uint64_t huge_bytes = 0;

    if (!is_power_of_two(base_bytes) || shift_of(base_bytes) <= ENTRY_SHIFT ||
        2 * shift_of(base_bytes) - ENTRY_SHIFT > LARGEST_SHIFT)
        return;

    const unsigned base_shift = shift_of(base_bytes);
    int rc = fsroot_read_u64(root, &huge_bytes,
                             "sys/kernel/mm/transparent_hugepage/hpage_pmd_size");
    const bool known = rc == 0 && is_huge(huge_bytes, base_shift);

    page_sizes_now = (struct page_sizes){
        .base_shift = base_shift,
        .huge_shift = known ? shift_of(huge_bytes) : 2 * base_shift - ENTRY_SHIFT,
    };
}

/* "4, 16 and 64" */
static void kib_text(uint64_t sizes, char text[64])
{
    size_t used = 0;

    for (uint64_t left = sizes; left > 0 && used < 48; left &= left - 1) {
        const char *before = used == 0 ? "" : (left & (left - 1)) == 0 ? " and " : ", ";

        used += (size_t)snprintf(text + used, 64 - used, "%s%llu", before,
                                 1ULL << shift_of(left) >> 10);
    }
}

int page_sizes_check(uint64_t base_bytes, uint64_t verified, const char *what, struct error *error)
{
    const uint64_t sizes = verified ? verified : BASE_4K;
    char text[64] = "";

    if (is_power_of_two(base_bytes) && (base_bytes & sizes))
        return 0;
    kib_text(sizes, text);
    return error_set(error, -ENOTSUP,
                     "this host's base pages have %" PRIu64
                     " KiB, and %s is known to be right only with those of %s KiB",
                     base_bytes / 1024, what, text);
}

/* Runs before main() and before any thread starts: the sizes are constant afterwards. */
__attribute__((constructor)) static void read_this_host(void)
{
    cleanup_root struct fsroot root;

    if (fsroot_open(&root, "/") == 0)
        page_sizes_read(&root, (uint64_t)sysconf(_SC_PAGESIZE));
}
