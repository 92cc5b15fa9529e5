// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file ram_proof_sample.c  Samples of a mapping, and hypotheses of them; see ram_proof.h. */
#include "base/clock.h"
#include "measure/ram_proof_private.h"

#include "base/array.h"
#include "base/bytes.h"
#include "base/compare.h"
#include "base/random.h"
#include "measure/kernel/pagemap.h"

#include <stdlib.h>

#define SEEDS 4 /* number of faults from which hypotheses are made */
#define STEP_MS 5
#define SAMPLE_STEPS 40 /* maximum steps of waiting for the faults of a sample */

/* --- dropping, and the faults that follow ----------------------------------------------------- */

static void note_fault(uint64_t gpa, void *context)
{
    struct proof *proof = context;
    const uint64_t page = proof_down(gpa, base_page_bytes());

    proof->cost.faults++;
    for (size_t i = 0; i < proof->n_faults; i++)
        if (proof->faults[i] == page)
            return;
    if (proof->n_faults < PROOF_MAX_FAULTS)
        proof->faults[proof->n_faults++] = page;
}

void proof_forget(struct proof *proof)
{
    fault_trace_drain(proof->trace, note_fault, proof);
    proof->n_faults = 0;
}

void proof_wait(struct proof *proof)
{
    clock_sleep(STEP_MS * 1000000ULL);
    fault_trace_drain(proof->trace, note_fault, proof);
}

int proof_drop(struct proof *proof, uint64_t hva)
{
    proof->cost.dropped_pages++;
    return pagemap_invalidate(proof->pagemap_fd, hva, base_page_bytes());
}

uint64_t proof_unit(const struct candidate *c)
{
    const struct vma *v = &c->whole;

    if (v->hugetlb)
        return v->page_bytes;
    return v->anon_huge_bytes + v->shmem_pmd_bytes + v->file_pmd_bytes ? huge_page_bytes()
                                                                       : base_page_bytes();
}

static uint64_t count_units(const struct candidate *c, uint64_t unit)
{
    return (c->whole.end - c->whole.start + unit - 1) / unit;
}

/* KVM maps huge pages of the host by base pages if their addresses are not aligned alike. So a
 * sample larger than the number of huge pages draws base pages; otherwise a guest that touches few
 * of them would not be seen. */
static uint64_t unit_to_draw(const struct candidate *c, size_t n)
{
    const uint64_t unit = proof_unit(c);

    return n == PROOF_FIRST_SAMPLE || n <= count_units(c, unit) / 2 ? unit : base_page_bytes();
}

/* Draws pages of a mapping, no more than half of its units, so that the drawn ones differ from
 * their neighbours. */
static void draw_pages(struct proof *proof, const struct candidate *c, size_t n)
{
    const uint64_t unit = unit_to_draw(c, n);
    const uint64_t units = count_units(c, unit);
    size_t kept = 0;

    n = smaller(n, (units + 1) / 2);
    for (size_t i = 0; i < n; i++) {
        uint64_t hva = c->whole.start + random_below(&proof->random, units) * unit;

        hva = smaller(proof_down(hva, unit) +
                          random_below(&proof->random, base_pages(unit)) * base_page_bytes(),
                      c->whole.end - base_page_bytes());
        proof->pages[i] = larger(hva, c->whole.start);
    }
    qsort(proof->pages, n, sizeof(*proof->pages), compare_u64);
    for (size_t i = 0; i < n; i++)
        if (kept == 0 || proof->pages[kept - 1] != proof->pages[i])
            proof->pages[kept++] = proof->pages[i];
    proof->n_pages = kept;
}

/* Waits as long as more faults come. */
int proof_sample(struct proof *proof, const struct candidate *c, size_t n)
{
    size_t quiet = 0;
    int rc = 0;

    draw_pages(proof, c, n);
    proof_forget(proof);
    for (size_t i = 0; rc == 0 && i < proof->n_pages; i++)
        rc = proof_drop(proof, proof->pages[i]);
    for (unsigned i = 0; rc == 0 && i < SAMPLE_STEPS && quiet < 4; i++) {
        const size_t before = proof->n_faults;

        proof_wait(proof);
        quiet = before > 0 && proof->n_faults == before ? quiet + 1 : 0;
    }
    qsort(proof->faults, proof->n_faults, sizeof(*proof->faults), compare_u64);
    return rc;
}

bool proof_note_unexplained(const struct proof *proof, struct unexplained *known)
{
    const size_t before = known->n;

    for (size_t i = 0; i < proof->n_faults && known->n < COUNT(known->gpa); i++) {
        size_t k = 0;

        while (k < known->n && known->gpa[k] != proof->faults[i])
            k++;
        if (k == known->n)
            known->gpa[known->n++] = proof->faults[i];
    }
    return known->n > before;
}

/* --- hypotheses ------------------------------------------------------------------------------- */

static bool is_dropped(const struct proof *proof, uint64_t hva, uint64_t unit)
{
    size_t low = 0;
    size_t high = proof->n_pages;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (proof->pages[middle] < hva)
            low = middle + 1;
        else
            high = middle;
    }
    return low < proof->n_pages && proof_down(proof->pages[low], unit) == hva;
}

bool proof_explains(const struct proof *proof, const struct hypothesis *h, uint64_t gpa)
{
    return is_dropped(proof, proof_down(gpa, h->unit) + h->offset, h->unit);
}

/* The number of units that were dropped and, by this hypothesis, faulted. */
static size_t count_votes(const struct proof *proof, const struct hypothesis *h)
{
    size_t votes = 0;
    uint64_t last = UINT64_MAX;

    for (size_t i = 0; i < proof->n_faults; i++) {
        const uint64_t unit = proof_down(proof->faults[i], h->unit);

        votes += unit != last && proof_explains(proof, h, unit);
        last = unit;
    }
    return votes;
}

static int compare_votes(const void *a, const void *b)
{
    const struct hypothesis *x = a;
    const struct hypothesis *y = b;

    return (x->votes < y->votes) - (x->votes > y->votes);
}

/* Keeps the best hypotheses. */
static void offer(struct hypothesis best[PROOF_MAX_TRIES], const struct hypothesis *h)
{
    for (size_t i = 0; i < PROOF_MAX_TRIES; i++)
        if (best[i].votes && best[i].offset == h->offset && best[i].unit == h->unit)
            return;
    if (h->votes > best[PROOF_MAX_TRIES - 1].votes) {
        best[PROOF_MAX_TRIES - 1] = *h;
        qsort(best, PROOF_MAX_TRIES, sizeof(*best), compare_votes);
    }
}

/* Makes a hypothesis from each pair of a fault and a dropped page. */
void proof_hypotheses(const struct proof *proof, uint64_t unit,
                      struct hypothesis best[PROOF_MAX_TRIES])
{
    for (size_t s = 0; s < SEEDS && s < proof->n_faults; s++) {
        const uint64_t gpa = proof->faults[s * proof->n_faults / SEEDS % proof->n_faults];

        for (size_t i = 0; i < proof->n_pages; i++) {
            struct hypothesis h = {proof_down(proof->pages[i], unit) - proof_down(gpa, unit), unit,
                                   0};

            h.votes = count_votes(proof, &h);
            offer(best, &h);
        }
    }
}
