// SPDX-License-Identifier: LGPL-2.1-or-later
#include "measure/kernel/ram_smaps.h"

#include "base/bytes.h"
#include "guest/ram/smaps.h"

#include <string.h>

#define ENDS_HERE 1

struct walk {
    const struct guest_ram *ram;
    struct ram_smaps *sums;
    bool own;     /* read all of QEMU's memory */
    uint64_t end; /* end of guest RAM */
};

static bool is_ram(const struct guest_ram *ram, const struct vma *vma)
{
    for (size_t i = 0; i < ram->n_blocks; i++)
        if (vma->start >= ram->blocks[i].hva &&
            vma->end <= ram->blocks[i].hva + ram->blocks[i].bytes)
            return true;
    return false;
}

static uint64_t leaves_of(const struct vma *vma, uint64_t huge_bytes)
{
    uint64_t huge = smaller(huge_bytes, vma->rss_bytes);

    if (vma->locked || vma->hugetlb)
        return 0;
    return base_pages(vma->rss_bytes - huge) + huge / huge_page_bytes();
}

static bool begins_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

/* Memory that KVM shares with QEMU is on no LRU list (kvm-vcpu was 3 of the 4 pages that a QEMU at
 * rest had referenced), and rings of asynchronous I/O are counted with the page cache. */
static bool is_unlisted(const struct vma *vma)
{
    return begins_with(vma->path, "anon_inode:") || begins_with(vma->path, "/[aio]");
}

static bool is_shared_memory(const struct vma *vma)
{
    return begins_with(vma->path, "/memfd:") || begins_with(vma->path, "/dev/shm/") ||
           begins_with(vma->path, "/dev/zero") || begins_with(vma->path, "/SYSV");
}

/* smaps sums up all references of a mapping, including those to pages of its file, which may stay
 * referenced long after a touch (PG_referenced). References in excess of the file's pages went to
 * other pages. The file of a shared mapping may be on a disk. */
static void add_own(const struct vma *vma, struct ram_smaps *sums)
{
    bool shared = vma->perms[3] == 's';
    uint64_t bytes = shared ? vma->rss_bytes : vma->anon_bytes;
    uint64_t of_file = shared && is_shared_memory(vma) ? 0 : less(vma->rss_bytes, vma->anon_bytes);
    uint64_t most = smaller(vma->referenced_bytes, bytes);
    uint64_t least = smaller(less(vma->referenced_bytes, of_file), most);

    if (is_unlisted(vma))
        return;
    sums->own_bytes += bytes;
    sums->own_referenced_bytes += least;
    sums->own_doubtful_bytes += most - least;
    if (vma->dont_copy)
        sums->own_mapped_bytes += bytes;
}

static int add_vma(const struct vma *vma, void *context)
{
    struct walk *walk = context;

    if (!vma) {
        memset(walk->sums, 0, sizeof(*walk->sums));
        return 0;
    }

    uint64_t huge_bytes = vma->anon_huge_bytes + vma->shmem_pmd_bytes + vma->file_pmd_bytes;

    if (!is_ram(walk->ram, vma)) {
        if (walk->own)
            add_own(vma, walk->sums);
        return walk->own || vma->start < walk->end ? 0 : ENDS_HERE;
    }
    walk->sums->resident_bytes += vma->rss_bytes;
    walk->sums->referenced_bytes += vma->referenced_bytes;
    walk->sums->hugetlb_bytes += vma->hugetlb_bytes;
    walk->sums->shared_bytes += vma->shared_bytes;
    walk->sums->swapped_bytes += vma->swap_bytes;
    walk->sums->huge_bytes += huge_bytes;
    walk->sums->leaves += leaves_of(vma, huge_bytes);
    return 0;
}

static uint64_t ram_end(const struct guest_ram *ram)
{
    uint64_t end = 0;

    for (size_t i = 0; i < ram->n_blocks; i++)
        end = larger(end, ram->blocks[i].hva + ram->blocks[i].bytes);
    return end;
}

static int read_sums(const struct target *target, bool own, struct ram_smaps *out,
                     struct error *error)
{
    struct walk walk = {.ram = target->ram, .sums = out, .own = own, .end = ram_end(target->ram)};

    memset(out, 0, sizeof(*out));

    int rc = smaps_walk(target->root, target->process->pid, add_vma, &walk, error);

    return rc == ENDS_HERE ? 0 : rc;
}

/* Stops after guest RAM, because QEMU's libraries follow and are most of the text. zap-all reads
 * smaps twice a period, and the whole of it took a third of the program's own time. */
int ram_smaps_read(const struct target *target, struct ram_smaps *out, struct error *error)
{
    return read_sums(target, false, out, error);
}

int ram_smaps_read_own(const struct target *target, struct ram_smaps *out, struct error *error)
{
    return read_sums(target, true, out, error);
}
