// SPDX-License-Identifier: LGPL-2.1-or-later
#include "measure/fine.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/compare.h"
#include "base/guardian.h"
#include "base/random.h"
#include "measure/kernel/huge_split.h"
#include "measure/kernel/pagemap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A huge page with a larger share of unmeasurable base pages is not counted. */
#define MAX_UNMEASURABLE (huge_page_pages() / 8)

/* The pages that the guardian has to join; written before splitting. */
struct split_list {
    size_t n;
    uint64_t hva[FINE_MAX_HUGE_PAGES];
};

struct fine {
    const struct target *target;
    struct fine_result *result;
    int pidfd;
    int pagemap_fd;
    size_t n;                          /* huge pages drawn and, later, split */
    uint64_t hva[FINE_MAX_HUGE_PAGES]; /* ascending */
};

int fine_check(const struct target *target, struct error *error)
{
    if (target->root->live && page_sizes_check(base_page_bytes(), 0, "it", error) < 0)
        return error_prefix(error, "--fine");

    for (size_t b = 0; b < target->ram->n_blocks; b++) {
        const struct ram_block *block = &target->ram->blocks[b];

        if (block->backing == RAM_BACKING_HUGETLB)
            return error_set(
                error, -ENOTSUP,
                "--fine: the guest's RAM is hugetlb memory, whose pages cannot be split");
        if (block->locked)
            return error_set(error, -ENOTSUP,
                             "--fine: the guest's RAM is locked, and the kernel splits no huge "
                             "pages of locked memory for us");
        if (block->huge_bytes > 0 && (block->shared || block->backing != RAM_BACKING_ANON))
            return error_set(error, -ENOTSUP,
                             "--fine: the guest's RAM is a file (%s), whose huge pages others may "
                             "map too; only those of anonymous memory are split",
                             ram_backing_name(block->backing));
    }
    return 0;
}

/* --- drawing ---------------------------------------------------------------------------------- */

static bool is_candidate(const struct page_set *set, uint64_t i)
{
    return set->state[i] == PAGE_TOUCHED && set->order[i] == huge_page_order();
}

static bool within_block(const struct guest_ram *ram, uint64_t page, uint64_t unit)
{
    const struct ram_block *block = guest_ram_block(ram, page);

    return unit >= block->hva && unit + huge_page_bytes() <= block->hva + block->bytes;
}

/* Finds the huge pages that were touched, each once: their pages are neighbours in the set. The
 * caller frees. */
static uint64_t *find_candidates(const struct page_set *set, uint64_t *n)
{
    uint64_t *unit = calloc(set->n + 1, sizeof(*unit));

    *n = 0;
    for (uint64_t i = 0; unit && i < set->n; i++) {
        uint64_t at = page_set_hva(set, i) & ~(huge_page_bytes() - 1);

        if (is_candidate(set, i) && (*n == 0 || unit[*n - 1] != at) &&
            within_block(set->ram, page_set_page(set, i), at))
            unit[(*n)++] = at;
    }
    return unit;
}

static int draw_huge_pages(struct fine *fine, const struct page_set *set, size_t n, uint64_t seed)
{
    uint64_t left = 0;
    cleanup_free uint64_t *unit = find_candidates(set, &left);

    if (!unit)
        return -ENOMEM;
    for (fine->n = 0; fine->n < n && left > 0; left--) {
        uint64_t k = random_below(&seed, left);

        fine->hva[fine->n++] = unit[k];
        unit[k] = unit[left - 1];
    }
    qsort(fine->hva, fine->n, sizeof(*fine->hva), compare_u64);
    return 0;
}

/* Keeps only pages that are mapped as huge pages now. */
static int keep_huge(struct fine *fine)
{
    size_t kept = 0;

    for (size_t i = 0; i < fine->n; i++) {
        struct page_mapping mapping = {0};
        int rc = pagemap_mapping(fine->pagemap_fd, fine->hva[i], &mapping);

        if (rc < 0)
            return rc;
        if (mapping.huge && !mapping.zero)
            fine->hva[kept++] = fine->hva[i];
    }
    fine->result->tally.n_lost += fine->n - kept;
    fine->n = kept;
    return 0;
}

/* --- splitting and joining -------------------------------------------------------------------- */

static double seconds_since(uint64_t ns)
{
    return (double)(clock_ns() - ns) / 1e9;
}

static void join_list(void *shared, void *context)
{
    struct split_list *list = shared;
    struct fine *fine = context;

    fine->result->not_joined = huge_join_all(fine->pidfd, fine->pagemap_fd, list->hva, list->n);
}

/* Keeps only pages that were split. */
static int split_all(struct fine *fine, struct split_list *list)
{
    uint64_t begin_ns = clock_ns();
    size_t kept = 0;

    for (size_t i = 0; i < fine->n; i++) {
        list->hva[list->n] = fine->hva[i];
        __atomic_store_n(&list->n, list->n + 1, __ATOMIC_RELEASE);

        int rc = huge_split(fine->pidfd, fine->pagemap_fd, fine->hva[i]);

        if (rc < 0 && rc != -EBUSY)
            return rc;
        if (rc == 0)
            fine->hva[kept++] = fine->hva[i];
    }
    fine->result->tally.n_lost += fine->n - kept;
    fine->n = kept;
    fine->result->split_s = seconds_since(begin_ns);
    return 0;
}

/* Proves that joining works before anything is split: joining a page that is huge already succeeds
 * and changes nothing, if joining is possible. */
static int prove_joining(const struct fine *fine, struct error *error)
{
    int rc = huge_join(fine->pidfd, fine->hva[0]);

    if (rc == 0)
        return 0;
    if (rc == -EINVAL)
        return error_set(error, -ENOTSUP,
                         "--fine: huge pages that were split could not be joined again: "
                         "MADV_COLLAPSE needs Linux 6.1, and memory that may have huge pages");
    return error_set(error, rc, "--fine: MADV_COLLAPSE: %s", strerror(-rc));
}

/* --- measuring base pages --------------------------------------------------------------------- */

static int make_set(const struct fine *fine, struct page_set *set)
{
    int rc = page_set_blank(set, fine->target->ram, fine->n * huge_page_pages());

    for (uint64_t i = 0; rc == 0 && i < set->n; i++)
        set->page[i] = guest_ram_page_at(set->ram, fine->hva[i / huge_page_pages()]) +
                       i % huge_page_pages();
    /* The pages must ascend; the blocks may lie in QEMU's memory in another order. */
    if (rc == 0)
        qsort(set->page, set->n, sizeof(*set->page), compare_u64);
    return rc;
}

/* Counts one huge page, whose base pages begin at the i-th page of the set. */
static void count_huge_page(struct fine *fine, const struct page_set *set, uint64_t i)
{
    struct page_mapping mapping = {.huge = true};
    const uint64_t pages = huge_page_pages();
    uint64_t touched = 0;
    uint64_t lost = 0;

    for (uint64_t k = i; k < i + pages; k++) {
        touched += set->state[k] == PAGE_TOUCHED;
        lost += set->state[k] == PAGE_UNMEASURABLE || set->order[k] > 0;
    }
    pagemap_mapping(fine->pagemap_fd, page_set_hva(set, i), &mapping);
    /* khugepaged may have joined it again; its base pages then had no accessed bits of their own */
    if (mapping.huge || lost > MAX_UNMEASURABLE)
        fine->result->tally.n_lost++;
    else
        fine->result->tally.touched[fine->result->tally.n++] = (double)touched /
                                                               (double)(pages - lost);
}

static int measure_split(struct fine *fine, const struct sample_plan *plan, struct error *error)
{
    struct sample_plan again = *plan;
    struct sample_result *result = calloc(1, sizeof(*result));
    struct page_set set = {0};
    int rc = result ? make_set(fine, &set) : -ENOMEM;

    again.census = false;
    again.n_windows = 1;
    again.window_s[0] = plan->window_s[plan->n_windows - 1];
    if (rc == 0)
        rc = sample_run_set(fine->target, &again, &set, result, error);
    else
        error_set(error, rc, "out of memory");
    for (uint64_t i = 0; rc == 0 && i < set.n; i += huge_page_pages())
        count_huge_page(fine, &set, i);
    if (rc == 0) {
        fine->result->est_window_s = result->windows[0].est_window_s;
        fine->result->doubts = result->windows[0].tally.doubts;
    }
    page_set_free(&set);
    free(result);
    return rc;
}

/* Runs under the guardian: after the first split, everything is joined again in every case. */
static int split_and_measure(struct fine *fine, const struct sample_plan *plan, struct error *error)
{
    struct guardian *guardian;
    int rc = guardian_post(&guardian, sizeof(struct split_list), join_list, fine, error);

    if (rc < 0)
        return rc;

    struct split_list *list = guardian_shared(guardian);

    rc = split_all(fine, list);
    if (rc < 0)
        error_set(error, rc, "--fine: MADV_COLD: %s", strerror(-rc));
    else if (fine->n > 0)
        rc = measure_split(fine, plan, error);

    uint64_t begin_ns = clock_ns();

    join_list(list, fine);
    fine->result->join_s = seconds_since(begin_ns);
    guardian_dismiss(guardian);
    return rc;
}

static int refine(struct fine *fine, const struct sample_plan *plan, const struct page_set *set,
                  size_t n, struct error *error)
{
    cleanup_close int pagemap_fd = pagemap_open(fine->target, error);
    int rc = pagemap_fd < 0 ? pagemap_fd : draw_huge_pages(fine, set, n, plan->seed);

    fine->pagemap_fd = pagemap_fd;
    if (rc == -ENOMEM)
        error_set(error, rc, "out of memory");
    if (rc == 0) {
        rc = keep_huge(fine);
        if (rc < 0)
            error_set(error, rc, "--fine: %s",
                      rc == -ENOTTY ? "which pages are huge is not reported before Linux 6.7"
                                    : strerror(-rc));
    }
    if (rc < 0 || fine->n == 0)
        return rc;
    rc = prove_joining(fine, error);
    return rc < 0 ? rc : split_and_measure(fine, plan, error);
}

int fine_run(const struct target *target, const struct sample_plan *plan, size_t n,
             struct sample_result *result, struct fine_result *out, struct error *error)
{
    struct fine fine = {.target = target, .result = out, .pidfd = target->process->pidfd};
    struct page_set set;
    int rc = sample_make_set(target, plan, &set, error);

    memset(out, 0, sizeof(*out));
    out->window_s = plan->window_s[plan->n_windows - 1];
    if (rc < 0)
        return rc;
    rc = sample_run_set(target, plan, &set, result, error);
    if (rc == 0) {
        double cpu_s = own_cpu_s();

        rc = refine(&fine, plan, &set, n, error);
        out->cpu_s = own_cpu_s() - cpu_s;
    }
    page_set_free(&set);
    return rc;
}
