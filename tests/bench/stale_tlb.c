// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file stale_tlb.c  What a TLB that is not flushed hides from page_idle.
 *
 * stale_tlb PID WINDOW_MS ROUNDS: marks all frames of a guest idle, once without a flush and once
 * with it (a few pages dropped from KVM, as method idle does), in turn, and prints how many MiB
 * were touched in the window. Run by stale-tlb in the lab; measure/method/idle.c states the result.
 */
#include "base/cleanup.h"
#include "guest/domain/domain.h"
#include "guest/ram/guest_ram.h"
#include "measure/kernel/idle_bitmap.h"
#include "measure/kernel/pagemap.h"

#include <stdio.h>
#include <unistd.h>

#define DROPS 16

struct bench {
    struct fsroot root;
    struct guest guest;
    struct guest_ram ram;
    int pagemap_fd, bitmap_fd;
    uint64_t *pfn; /* of the present pages, ascending */
    uint64_t n;
};

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

static int read_frames(struct bench *bench)
{
    bench->pfn = calloc(bench->ram.n_pages, sizeof(*bench->pfn));
    bench->n = 0;
    for (uint64_t page = 0; bench->pfn && page < bench->ram.n_pages; page++) {
        uint64_t entry = 0;

        if (pagemap_read(bench->pagemap_fd, &bench->ram, &page, 1, &entry) == 0 &&
            (entry & PAGEMAP_PRESENT))
            bench->pfn[bench->n++] = PAGEMAP_PFN(entry);
    }
    if (bench->n > 0)
        qsort(bench->pfn, bench->n, sizeof(*bench->pfn), by_value);
    return bench->n > 0 ? 0 : -1;
}

static int prepare(struct bench *bench, pid_t pid)
{
    struct error error = {0};
    int rc = fsroot_open(&bench->root, "/");

    if (rc == 0)
        rc = guest_open_pid(&bench->root, pid, &bench->guest, &error);
    if (rc == 0)
        rc = guest_ram_locate(&bench->root, &bench->guest.process, &bench->guest.ram, &bench->ram,
                              &error);
    if (rc == 0) {
        const struct target target = {
            .root = &bench->root, .process = &bench->guest.process, .ram = &bench->ram};

        bench->pagemap_fd = pagemap_open(&target, &error);
        bench->bitmap_fd = idle_bitmap_open(&bench->root, &error);
        rc = bench->pagemap_fd < 0 || bench->bitmap_fd < 0 ? -1 : read_frames(bench);
    }
    if (rc < 0)
        fprintf(stderr, "%s\n", error.text);
    return rc;
}

static void flush(const struct bench *bench)
{
    const struct ram_block *block = &bench->ram.blocks[0];

    for (uint64_t i = 0; i < DROPS; i++)
        pagemap_invalidate(bench->pagemap_fd,
                           block->hva + (block->bytes / DROPS * i & ~(base_page_bytes() - 1)),
                           base_page_bytes());
}

static double touched_mib(const struct bench *bench, useconds_t window_us, int with_flush)
{
    cleanup_free uint8_t *idle = calloc(bench->n, 1);
    uint64_t touched = 0;

    if (!idle || idle_bitmap_mark(bench->bitmap_fd, bench->pfn, bench->n) < 0)
        return -1;
    if (with_flush)
        flush(bench);
    usleep(window_us);
    if (idle_bitmap_read(bench->bitmap_fd, bench->pfn, bench->n, idle) < 0)
        return -1;
    for (uint64_t i = 0; i < bench->n; i++)
        touched += idle[i] == 0;
    return (double)touched * base_page_bytes() / 1048576;
}

int main(int argc, char **argv)
{
    static struct bench bench;

    if (argc != 4 || prepare(&bench, atoi(argv[1])) < 0)
        return 1;
    for (int flushed = 0; flushed < 2; flushed++) {
        printf("idle, %-16s", flushed ? "flushed:" : "not flushed:");
        for (int round = 0; round < atoi(argv[3]); round++)
            printf(" %.2f", touched_mib(&bench, (useconds_t)atoi(argv[2]) * 1000, flushed));
        putchar('\n');
    }
    return 0;
}
