// SPDX-License-Identifier: LGPL-2.1-or-later
#include "guest/ram/plugged.h"

#include "base/array.h"
#include "base/bytes.h"
#include "guest/ram/candidates.h"
#include "guest/ram/own_memory.h"

#include <errno.h>
#include <string.h>

/* A walk of maps that visits the mappings with a guard behind them. */
struct walk {
    const struct guest_ram *ram;
    struct vma before;
    uint64_t covered_bytes; /* covered by the blocks */
    size_t n;
    struct ram_other *found;
    size_t at;  /* index in the known others; both lists have ascending addresses */
    bool fresh; /* an unknown mapping was seen */
};

static const struct ram_other *find_other(struct walk *walk, const struct vma *vma)
{
    const struct guest_ram *ram = walk->ram;

    while (walk->at < ram->n_others && ram->others[walk->at].end < vma->end)
        walk->at++;
    return walk->at < ram->n_others && ram->others[walk->at].end == vma->end &&
                   ram->others[walk->at].last_hva == vma->start
               ? &ram->others[walk->at]
               : NULL;
}

static bool can_be_plugged(const struct vma *vma)
{
    const uint64_t bytes = vma->end - vma->start;

    if (!candidates_mapped_like_ram(vma) || bytes < RAM_PLUGGED_MIN_BYTES)
        return false;
    return vma->inode != 0 || bytes >= RAM_DIMM_MIN_BYTES || bytes % CANDIDATE_ANON_UNIT_BYTES == 0;
}

static int add_found(struct walk *walk, const struct vma *vma)
{
    const struct ram_other *known = find_other(walk, vma);
    struct ram_other *larger = array_grow(walk->found, walk->n, sizeof(*larger));

    if (!larger)
        return -ENOMEM;
    walk->found = larger;
    walk->found[walk->n++] = known ? *known
                                   : (struct ram_other){.end = vma->end, .last_hva = vma->start};
    walk->fresh |= !known;
    return 0;
}

static void add_covered(struct walk *walk, const struct vma *vma)
{
    const struct guest_ram *ram = walk->ram;

    for (size_t b = 0; b < ram->n_blocks && candidates_mapped_like_ram(vma); b++)
        walk->covered_bytes += less(smaller(vma->end, ram->blocks[b].hva + ram->blocks[b].bytes),
                                    larger(vma->start, ram->blocks[b].hva));
}

static int visit(const struct vma *vma, void *context)
{
    struct walk *walk = context;
    const struct vma *before = &walk->before;
    int rc = 0;

    if (!vma) {
        free(walk->found);
        *walk = (struct walk){.ram = walk->ram};
        return 0;
    }
    add_covered(walk, vma);
    if (candidates_is_guard(vma) && vma->start == before->end && can_be_plugged(before) &&
        !guest_ram_overlaps(walk->ram, before->start, before->end))
        rc = add_found(walk, before);
    walk->before = *vma;
    return rc;
}

/* Decides whether the new mapping @p other could be RAM: it could if it is the candidate @p c,
 * which also shows where it begins. */
static void classify(struct ram_other *other, const struct candidate *c)
{
    other->unclaimed = c && c->whole.end == other->end && c->last_start == other->last_hva &&
                       !candidate_is_auxiliary(c);
    other->hva = other->unclaimed ? c->whole.start : other->last_hva;
}

static int classify_all(const struct fsroot *root, pid_t pid, struct walk *walk,
                        struct error *error)
{
    struct candidates candidates = {0};
    int rc = walk->fresh ? candidates_collect(root, pid, &candidates, error) : 0;
    size_t at = 0;

    for (size_t i = 0; rc == 0 && i < walk->n; i++) {
        struct ram_other *other = &walk->found[i];

        while (at < candidates.n && candidates.at[at].whole.end < other->end)
            at++;
        if (other->hva == 0)
            classify(other, at < candidates.n ? &candidates.at[at] : NULL);
    }
    candidates_free(&candidates);
    return rc;
}

static uint64_t whole_bytes(const struct guest_ram *ram)
{
    uint64_t sum = 0;

    for (size_t b = 0; b < ram->n_blocks; b++)
        sum += ram->blocks[b].bytes;
    return sum;
}

int guest_ram_find_plugged(const struct fsroot *root, pid_t pid, struct guest_ram *ram,
                           struct error *error)
{
    struct walk walk = {.ram = ram};
    int rc = maps_walk(root, pid, visit, &walk, error);

    if (rc == 0)
        rc = classify_all(root, pid, &walk, error);
    if (rc == 0 && walk.covered_bytes < whole_bytes(ram))
        rc = error_set(error, -ESTALE, "process %d: RAM was unplugged meanwhile; measure again",
                       (int)pid);
    if (rc < 0) {
        free(walk.found);
        return rc;
    }
    free(ram->others);
    ram->others = walk.found;
    ram->n_others = walk.n;
    return 0;
}

void guest_ram_count_unclaimed(const struct fsroot *root, pid_t pid, struct guest_ram *ram,
                               uint64_t unseen_bytes)
{
    ram->unclaimed_bytes = ram->unclaimed_resident_bytes = unseen_bytes;
    for (size_t i = 0; i < ram->n_others; i++) {
        const struct ram_other *other = &ram->others[i];
        uint64_t bytes = other->end - other->hva;

        if (!other->unclaimed)
            continue;
        ram->unclaimed_bytes += bytes;
        mapped_bytes_between(root, pid, other->hva, other->end, &bytes);
        ram->unclaimed_resident_bytes += bytes;
    }
}
