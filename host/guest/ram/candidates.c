// SPDX-License-Identifier: LGPL-2.1-or-later
#include "guest/ram/candidates.h"

#include "base/array.h"
#include "base/page_sizes.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define END_OF_WALK 1
#define MEASURES "vmwss" /* subject of the messages of page_sizes_check() */

/* The state of the walk: a run of pieces whose guard has not been seen yet. */
struct walk {
    struct candidates *out;
    bool open;
    struct candidate run;
    uint64_t end; /* no guard of a RAM block lies beyond this address */
};

bool candidates_mapped_like_ram(const struct vma *vma)
{
    return strcmp(vma->perms, "rw-p") == 0 || strcmp(vma->perms, "rw-s") == 0;
}

static bool looks_like_ram(const struct vma *vma)
{
    return vma->dont_copy && candidates_mapped_like_ram(vma);
}

bool candidates_is_guard(const struct vma *vma)
{
    return strcmp(vma->perms, "---p") == 0 && vma->inode == 0;
}

static bool same_file(const struct vma *a, const struct vma *b)
{
    return a->inode == b->inode && device_number_equal(a->device, b->device);
}

/* Returns true if @p next is the piece that continues @p whole. In a file the offsets must
 * continue, too. */
static bool continues(const struct vma *whole, const struct vma *next)
{
    if (whole->end != next->start || strcmp(whole->perms, next->perms) != 0 ||
        whole->hugetlb != next->hugetlb || !same_file(whole, next))
        return false;
    return whole->inode == 0 || whole->offset + (whole->end - whole->start) == next->offset;
}

static void extend(struct candidate *run, const struct vma *next)
{
    struct vma *whole = &run->whole;

    run->last_start = next->start;
    whole->end = next->end;
    whole->rss_bytes += next->rss_bytes;
    whole->referenced_bytes += next->referenced_bytes;
    whole->swap_bytes += next->swap_bytes;
    whole->swap_pss_bytes += next->swap_pss_bytes;
    whole->locked_bytes += next->locked_bytes;
    whole->anon_huge_bytes += next->anon_huge_bytes;
    whole->shmem_pmd_bytes += next->shmem_pmd_bytes;
    whole->file_pmd_bytes += next->file_pmd_bytes;
    whole->hugetlb_bytes += next->hugetlb_bytes;
    whole->thp_eligible |= next->thp_eligible;
    whole->mergeable |= next->mergeable;
    whole->locked |= next->locked;
}

static int push(struct candidates *out, const struct candidate *candidate)
{
    return array_put(&out->at, &out->n, candidate, sizeof(*candidate));
}

static int begin_again(struct walk *walk)
{
    candidates_free(walk->out);
    walk->open = false;
    return 0;
}

static int visit_vma(const struct vma *vma, void *context)
{
    struct walk *walk = context;
    int rc = 0;

    if (!vma)
        return begin_again(walk);
    if (walk->open && looks_like_ram(vma) && continues(&walk->run.whole, vma)) {
        extend(&walk->run, vma);
        return 0;
    }
    if (walk->open && candidates_is_guard(vma) && vma->start == walk->run.whole.end)
        rc = push(walk->out, &walk->run);
    walk->open = looks_like_ram(vma);
    if (walk->open)
        walk->run = (struct candidate){.first = *vma, .whole = *vma, .last_start = vma->start};
    return rc == 0 && vma->end >= walk->end ? END_OF_WALK : rc;
}

/* Finds the end of the last guard that could belong to RAM. */
struct guards {
    uint64_t before; /* end of the previous VMA if it is mapped like RAM */
    uint64_t end;
};

static int visit_map(const struct vma *vma, void *context)
{
    struct guards *guards = context;

    if (!vma) {
        *guards = (struct guards){0};
        return 0;
    }
    if (candidates_is_guard(vma) && vma->start == guards->before)
        guards->end = vma->end;
    guards->before = candidates_mapped_like_ram(vma) ? vma->end : 0;
    return 0;
}

/* The address behind which smaps need not be read: QEMU's libraries are mapped behind its RAM and
 * are most of the work in smaps. UINT64_MAX where there are no maps, as in a captured tree. */
static uint64_t last_guard(const struct fsroot *root, pid_t pid)
{
    struct guards guards = {0};

    return maps_walk(root, pid, visit_map, &guards, NULL) < 0 || guards.end == 0 ? UINT64_MAX
                                                                                 : guards.end;
}

int candidates_collect(const struct fsroot *root, pid_t pid, struct candidates *out,
                       struct error *error)
{
    struct walk walk = {.out = out, .end = last_guard(root, pid)};

    memset(out, 0, sizeof(*out));
    int rc = smaps_walk(root, pid, visit_vma, &walk, error);

    if (rc == -ENOMEM)
        error_set(error, rc, "/proc/%d/smaps: out of memory", (int)pid);
    return rc == END_OF_WALK ? 0 : rc;
}

/* A smaller mapping is the stack or the heap of a thread, a vCPU's state, or firmware. */
#define ANY_MIN_BYTES (1ULL << 20)

static int push_any(struct walk *walk)
{
    const struct vma *whole = &walk->run.whole;
    const bool wanted = walk->open && whole->end - whole->start >= ANY_MIN_BYTES &&
                        whole->rss_bytes + whole->hugetlb_bytes > 0 && whole->path[0] != '[';

    walk->open = false;
    walk->run.any = true;
    return wanted ? push(walk->out, &walk->run) : 0;
}

static int visit_any(const struct vma *vma, void *context)
{
    struct walk *walk = context;

    if (!vma)
        return begin_again(walk);
    if (walk->open && candidates_mapped_like_ram(vma) && continues(&walk->run.whole, vma)) {
        extend(&walk->run, vma);
        return 0;
    }

    int rc = push_any(walk);

    walk->open = candidates_mapped_like_ram(vma);
    if (walk->open)
        walk->run = (struct candidate){.first = *vma, .whole = *vma, .last_start = vma->start};
    return rc;
}

int candidates_collect_any(const struct fsroot *root, pid_t pid, struct candidates *out,
                           struct error *error)
{
    struct walk walk = {.out = out};

    memset(out, 0, sizeof(*out));

    int rc = smaps_walk(root, pid, visit_any, &walk, error);

    if (rc == 0)
        rc = push_any(&walk);
    return rc == -ENOMEM ? error_set(error, rc, "/proc/%d/smaps: out of memory", (int)pid) : rc;
}

/* The size must be a power of two and at least one base page; otherwise the kernel did not print
 * it. */
static int check_huge_size(uint64_t page_bytes, struct error *error)
{
    if (page_bytes >= base_page_bytes() && (page_bytes & (page_bytes - 1)) == 0)
        return 0;
    return error_set(error, -EUCLEAN, "smaps: huge pages of %" PRIu64 " bytes", page_bytes);
}

/* All counts are in this host's base pages; a captured tree may come from another host. */
static int check_base_page(uint64_t page_bytes, struct error *error)
{
    if (page_bytes == base_page_bytes())
        return 0;
    return error_set(error, -ENOTSUP,
                     "smaps: RAM in base pages of %" PRIu64
                     " KiB, but those of this host have %" PRIu64 " KiB: is it of another host?",
                     page_bytes / 1024, base_page_bytes() / 1024);
}

int candidates_check_pages(const struct fsroot *root, const struct candidates *candidates,
                           struct error *error)
{
    int rc = root->live ? page_sizes_check(base_page_bytes(), BASE_ALL, MEASURES, error) : 0;

    for (size_t i = 0; rc == 0 && i < candidates->n; i++) {
        const struct vma *v = &candidates->at[i].whole;

        /* a device mapping (DAX) prints the device's own page size */
        if (!v->hugetlb && v->inode == 0 && v->page_bytes)
            rc = check_base_page(v->page_bytes, error);
        else if (v->hugetlb && v->page_bytes)
            rc = check_huge_size(v->page_bytes, error);
    }
    return rc;
}

bool candidate_is_memfd(const struct candidate *c)
{
    return strncmp(c->whole.path, "/memfd:", 7) == 0;
}

/* By the group's descriptor, or by the device's own (Documentation/driver-api/vfio.rst). */
static bool is_assigned_device(const struct candidate *c)
{
    return strncmp(c->whole.path, "anon_inode:[vfio", 16) == 0 ||
           strncmp(c->whole.path, "/dev/vfio/", 10) == 0;
}

bool candidate_is_auxiliary(const struct candidate *c)
{
    static const char objects[] = "/memfd:/objects/";

    return is_assigned_device(c) || (candidate_is_memfd(c) && strchr(c->whole.path + 7, '/') &&
                                     strncmp(c->whole.path, objects, sizeof(objects) - 1) != 0);
}

void candidates_free(struct candidates *candidates)
{
    free(candidates->at);
    memset(candidates, 0, sizeof(*candidates));
}
