// SPDX-License-Identifier: LGPL-2.1-or-later
#include "measure/method/first_mapping.h"

#include "base/bytes.h"
#include "base/cleanup.h"
#include "guest/domain/qemu_io.h"
#include "measure/kernel/backing_file.h"
#include "measure/kernel/kpage_shared.h"
#include "measure/kernel/kpageflags.h"
#include "measure/kernel/pagemap.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define PAGES_AT_ONCE 4096ULL
#define BITS 64

/* Consecutive pages of one block. A batch ends at the end of an aligned range of PAGES_AT_ONCE
 * pages, so that two batches never share a fault-around range. */
struct batch {
    const struct ram_block *block;
    uint64_t first, n;
    uint64_t entry[PAGES_AT_ONCE];
    bool held[PAGES_AT_ONCE]; /* not mapped, though the file has the page */
};

/* A run of pages that one fault may have mapped. */
struct run {
    uint64_t window, page, pfn;
    uint64_t of_file;
    uint64_t fresh; /* base pages that the file did not have at the beginning */
    bool own_fault; /* the fault may have been for a page that counts as it is */
    bool tail;      /* its first page belongs to the folio of the previous run */
};

struct first_mapping {
    const struct target *target;
    int pagemap_fd, flags_fd;
    int *file_fds;    /* one for each block; -1: no file, or the file's pages are not known */
    uint64_t *held;   /* a bit for each page of guest RAM: in the file at the beginning */
    uint64_t *mapped; /* a bit for each page of guest RAM: mapped at the beginning */
    uint64_t around;  /* fault-around range, in pages */
    uint64_t faults;  /* qemu_process_faults() at the beginning */
    struct file_walk file;
    struct batch batch;
};

static bool bit(const uint64_t *bits, uint64_t i)
{
    return bits[i / BITS] & (1ULL << (i % BITS));
}

static void put_bit(uint64_t *bits, uint64_t i, bool value)
{
    const uint64_t mask = 1ULL << (i % BITS);

    bits[i / BITS] = value ? bits[i / BITS] | mask : bits[i / BITS] & ~mask;
}

/* --- mapped pages, and pages of the file ------------------------------------------------------ */

static bool is_mapped(uint64_t entry)
{
    return (entry & PAGEMAP_PRESENT) || PAGEMAP_IN_MOTION(entry);
}

static void find_held(struct first_mapping *first)
{
    struct batch *batch = &first->batch;
    const int fd = first->file_fds[batch->block - first->target->ram->blocks];

    for (uint64_t k = 0; k < batch->n; k++) {
        uint64_t at = batch->first + k - batch->block->first_page;

        batch->held[k] = !is_mapped(batch->entry[k]) &&
                         (fd < 0 ||
                          file_walk_holds(&first->file, fd,
                                          batch->block->file_offset + at * base_page_bytes()));
    }
}

static int read_batch(struct first_mapping *first, const struct ram_block *block, uint64_t page)
{
    struct batch *batch = &first->batch;
    const uint64_t number = base_pages(block->hva) + page - block->first_page;
    const uint64_t left = block->first_page + base_pages(block->bytes) - page;

    batch->block = block;
    batch->first = page;
    batch->n = smaller(left, PAGES_AT_ONCE - number % PAGES_AT_ONCE);

    int rc = pagemap_read_range(first->pagemap_fd, first->target->ram, page, batch->n,
                                batch->entry);

    if (rc == 0)
        find_held(first);
    return rc;
}

static int each_batch(struct first_mapping *first,
                      int (*visit)(struct first_mapping *first, void *context), void *context)
{
    const struct guest_ram *ram = first->target->ram;
    int rc = 0;

    for (size_t b = 0; rc == 0 && b < ram->n_blocks; b++) {
        const struct ram_block *block = &ram->blocks[b];
        const uint64_t end = block->first_page + base_pages(block->bytes);

        first->file = (struct file_walk){.whole = true};
        for (uint64_t page = block->first_page; rc == 0 && ram_block_is_file(block) && page < end;
             page += first->batch.n) {
            rc = read_batch(first, block, page);
            if (rc == 0)
                rc = visit(first, context);
        }
    }
    return rc;
}

static int note_batch(struct first_mapping *first, void *context)
{
    const struct batch *batch = &first->batch;
    const bool on_disk = batch->block->backing == RAM_BACKING_FILE;

    (void)context;
    for (uint64_t k = 0; k < batch->n; k++) {
        const bool mapped = is_mapped(batch->entry[k]);

        /* a hole in a file on a disk becomes pages of its page cache, too, when it is read */
        put_bit(first->held, batch->first + k, batch->held[k] || (on_disk && !mapped));
        put_bit(first->mapped, batch->first + k, mapped);
    }
    return 0;
}

int first_mapping_begin(struct first_mapping *first)
{
    /* read first, so that the fault of each page that comes later is counted */
    first->faults = qemu_process_faults(first->target->root, first->target->process);
    return each_batch(first, note_batch, NULL);
}

/* --- counting --------------------------------------------------------------------------------- */

struct counting {
    struct first_mapped *out;
    struct run run;
    uint64_t fresh;        /* pages of all runs */
    uint64_t fresh_ranges; /* runs that have any */
};

static void end_run(struct counting *counting)
{
    const struct run *run = &counting->run;

    counting->fresh += run->fresh;
    counting->fresh_ranges += run->fresh > 0;
    counting->out->touched += run->of_file > 0 && !run->own_fault && !run->tail;
}

/* Returns true if the page was mapped since the beginning. */
static bool has_come(const struct first_mapping *first, uint64_t k)
{
    return (first->batch.entry[k] & PAGEMAP_PRESENT) && !bit(first->mapped, first->batch.first + k);
}

/* Reads the flags of the newly mapped frames into their places. */
static int read_flags(const struct first_mapping *first, uint64_t *flags)
{
    const struct batch *batch = &first->batch;
    cleanup_free uint64_t *pfn = calloc(2 * PAGES_AT_ONCE, sizeof(*pfn));
    uint64_t n = 0;

    if (!pfn)
        return -ENOMEM;
    for (uint64_t k = 0; k < batch->n; k++)
        if (has_come(first, k))
            pfn[n++] = PAGEMAP_PFN(batch->entry[k]);

    if (n == 0 || first->flags_fd < 0)
        return 0;

    int rc = kpageflags_read(first->flags_fd, pfn, n, pfn + PAGES_AT_ONCE);

    n = 0;
    for (uint64_t k = 0; rc == 0 && k < batch->n; k++)
        flags[k] = has_come(first, k) ? pfn[PAGES_AT_ONCE + n++] : 0;
    return rc;
}

static void count_page(struct first_mapping *first, struct counting *counting, uint64_t k,
                       uint64_t flags)
{
    const uint64_t entry = first->batch.entry[k];
    const uint64_t page = first->batch.first + k;
    const uint64_t window = base_pages(guest_ram_hva(first->target->ram, page)) / first->around;
    struct run *run = &counting->run;

    if (window != run->window) {
        const bool tail = run->of_file > 0 && (flags & KPF_COMPOUND_TAIL) &&
                          PAGEMAP_PFN(entry) - run->pfn == page - run->page;

        end_run(counting);
        *run = (struct run){.window = window, .tail = tail};
    }
    counting->out->all++;
    if (!(entry & PAGEMAP_OF_FILE) || !bit(first->held, page)) {
        run->own_fault = true;
        /* one fault maps a folio */
        run->fresh += !(flags & (KPF_COMPOUND_HEAD | KPF_COMPOUND_TAIL));
        return;
    }
    run->page = page;
    run->pfn = PAGEMAP_PFN(entry);
    run->of_file++;
    counting->out->pages++;
}

static int count_batch(struct first_mapping *first, void *context)
{
    const struct batch *batch = &first->batch;
    const bool known = first->file_fds[batch->block - first->target->ram->blocks] >= 0;
    cleanup_free uint64_t *flags = calloc(PAGES_AT_ONCE, sizeof(*flags));
    int rc = flags ? read_flags(first, flags) : -ENOMEM;
    struct counting *counting = context;

    for (uint64_t k = 0; rc == 0 && k < batch->n; k++) {
        if (has_come(first, k))
            count_page(first, counting, k, flags[k]);
        /* a private page that was discarded leaves the file's page unmapped */
        counting->out->unmapped += known && batch->block->shared && batch->held[k] &&
                                   bit(first->mapped, batch->first + k);
    }
    return rc;
}

/* Four standard deviations: chance alone exceeds them in one reading of 31,000. */
#define Z_BEYOND_CHANCE 4.0

bool faults_are_fewer(const struct faults *faults, uint64_t units, double each)
{
    const double chance = each > 1 ? Z_BEYOND_CHANCE * sqrt((double)units) : 0;

    return faults->begun != UINT64_MAX && faults->now != UINT64_MAX &&
           ((double)units - chance) * each > (double)less(faults->now, faults->begun);
}

/* Each page that the file did not have, and each range of others, cost QEMU a fault. If there were
 * fewer, others have put pages into the file, and a fault mapped a range of those, too; or other
 * processes' own reads of QEMU's memory have mapped them, and the guest may have touched none. */
static void compare_faults(const struct first_mapping *first, const struct counting *counting,
                           struct first_mapped *out)
{
    const struct faults faults = {first->faults,
                                  qemu_process_faults(first->target->root, first->target->process)};

    if (!faults_are_fewer(&faults, out->touched + counting->fresh, 1))
        return;
    out->pages += counting->fresh;
    out->touched += counting->fresh_ranges;
    if (!faults_are_fewer(&faults, out->touched, 1))
        return;
    out->pages = out->all;
    out->touched = 0;
}

int first_mapping_count(struct first_mapping *first, struct first_mapped *out)
{
    struct counting counting = {.out = out, .run = {.window = UINT64_MAX}};

    *out = (struct first_mapped){0};

    int rc = each_batch(first, count_batch, &counting);

    end_run(&counting);
    compare_faults(first, &counting, out);
    return rc;
}

bool first_mapping_held(const struct first_mapping *first, uint64_t page)
{
    return bit(first->held, page);
}

uint64_t first_mapping_reach(const struct first_mapping *first, uint64_t mapped_pages)
{
    return guest_ram_on_disk(first->target->ram) ? larger(mapped_pages, 1) : first->around;
}

/* --- opening ---------------------------------------------------------------------------------- */

static uint64_t around_pages(const struct fsroot *root)
{
    uint64_t bytes = 0;

    if (fsroot_read_u64(root, &bytes, "sys/kernel/debug/fault_around_bytes") < 0)
        bytes = FAULT_AROUND_BYTES;
    return smaller(larger(base_pages(bytes), 1), PAGES_AT_ONCE);
}

static int open_files(struct first_mapping *first, struct error *error)
{
    const struct guest_ram *ram = first->target->ram;

    for (size_t b = 0; b < ram->n_blocks; b++)
        if (ram_block_is_file(&ram->blocks[b]))
            first->file_fds[b] = backing_file_open(first->target, &ram->blocks[b], NULL);
    first->flags_fd = kpageflags_share(first->target->root, NULL);
    first->pagemap_fd = pagemap_open(first->target, error);
    return first->pagemap_fd < 0 ? first->pagemap_fd : 0;
}

static bool any_file(const struct guest_ram *ram)
{
    for (size_t b = 0; b < ram->n_blocks; b++)
        if (ram_block_is_file(&ram->blocks[b]))
            return true;
    return false;
}

int first_mapping_open(const struct target *target, struct first_mapping **out, struct error *error)
{
    const struct guest_ram *ram = target->ram;
    struct first_mapping *first;

    *out = NULL;
    if (!target->root->live || !any_file(ram))
        return 0;
    first = calloc(1, sizeof(*first));
    if (!first)
        return error_set(error, -ENOMEM, "out of memory");
    first->target = target;
    first->pagemap_fd = first->flags_fd = -1;
    first->around = around_pages(target->root);
    first->file_fds = calloc(ram->n_blocks, sizeof(*first->file_fds));
    for (size_t b = 0; first->file_fds && b < ram->n_blocks; b++)
        first->file_fds[b] = -1;
    first->held = calloc(ram->n_pages / BITS + 1, sizeof(*first->held));
    first->mapped = calloc(ram->n_pages / BITS + 1, sizeof(*first->mapped));

    int rc = first->file_fds && first->held && first->mapped
                 ? open_files(first, error)
                 : error_set(error, -ENOMEM, "out of memory");

    if (rc < 0)
        first_mapping_close(first);
    else
        *out = first;
    return rc;
}

void first_mapping_close(struct first_mapping *first)
{
    if (!first)
        return;
    for (size_t b = 0; first->file_fds && b < first->target->ram->n_blocks; b++)
        cleanup_close_at(&first->file_fds[b]);
    cleanup_close_at(&first->pagemap_fd);
    kpage_release(&first->flags_fd);
    free(first->file_fds);
    free(first->held);
    free(first->mapped);
    free(first);
}
