// SPDX-License-Identifier: LGPL-2.1-or-later
#include "measure/method/trial.h"

#include "base/clock.h"
#include "guest/domain/qemu_vcpus.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define STEPS 5
#define STEP_MS 20
#define RAN_NS 1000000

void trial_count(struct trial *trial, const struct page_set *set)
{
    memset(trial->pages, 0, sizeof(trial->pages));
    trial->huge_unmeasurable = 0;
    for (uint64_t i = 0; i < set->n; i++) {
        trial->pages[set->state[i]]++;
        if (set->state[i] == PAGE_UNMEASURABLE && set->order[i] > 0) {
            trial->huge_unmeasurable++;
            trial->huge_page = page_set_page(set, i);
            trial->huge_order = set->order[i];
        }
    }
}

uint64_t trial_pages(const struct trial *trial)
{
    uint64_t n = 0;

    for (int state = 0; state < PAGE_STATES; state++)
        n += trial->pages[state];
    return n;
}

typedef int (*trial_work)(const struct method *method, void *state, const struct page_set *set,
                          struct trial *trial, struct error *why);

static int mark_pages(const struct method *method, void *state, const struct page_set *set,
                      struct trial *trial, struct error *why)
{
    int rc = method->mark(state, why);

    trial_count(trial, set);
    return rc;
}

static int watch_pages(const struct method *method, void *state, const struct page_set *set,
                       struct trial *trial, struct error *why)
{
    int rc = method->mark(state, why);

    for (unsigned n = 0; rc == 0 && n < STEPS && trial->pages[PAGE_TOUCHED] == 0; n++) {
        struct tally tally;

        clock_sleep(STEP_MS * 1000000ULL);
        rc = method->collect(state, &tally, why);
        trial_count(trial, set);
    }
    return rc;
}

/* Does the work on a panel of @p trial->n random pages. */
static int try_panel(const struct method *method, const struct target *target, trial_work work,
                     struct trial *trial, struct error *why)
{
    struct page_set set;
    void *state = NULL;
    int rc = page_set_panel(&set, target->ram, trial->n, target->process->start_ticks);

    if (rc < 0)
        return error_set(why, rc, "out of memory");
    rc = method->open(target, &set, &state, why);
    if (rc == 0) {
        rc = work(method, state, &set, trial, why);
        method->close(state);
    }
    page_set_free(&set);
    return rc;
}

int trial_mark(const struct method *method, const struct target *target, uint64_t n,
               struct trial *trial, struct error *why)
{
    *trial = (struct trial){.n = n};
    return try_panel(method, target, mark_pages, trial, why);
}

int trial_run(const struct method *method, const struct target *target, uint64_t n,
              struct trial *trial, struct error *why)
{
    struct vcpu_clock vcpus = {0};

    *trial = (struct trial){.n = n};
    vcpu_clock_read(&vcpus, target->root, target->process);

    int rc = try_panel(method, target, watch_pages, trial, why);

    trial->vcpu_ns = vcpu_clock_read(&vcpus, target->root, target->process);
    return rc;
}

int trial_judge(const struct trial *trial, struct error *why)
{
    uint64_t seen = trial->pages[PAGE_IDLE] + trial->pages[PAGE_TOUCHED];

    if (seen == 0 && trial->pages[PAGE_UNMEASURABLE] > 0)
        return error_set(why, -ENOTSUP, "could look at none of %" PRIu64 " pages",
                         trial->pages[PAGE_UNMEASURABLE]);
    if (seen == 0)
        return error_set(why, -ENODATA, "none of the pages looked at is resident");
    if (trial->pages[PAGE_TOUCHED] == 0 && trial->vcpu_ns > RAN_NS)
        return error_set(
            why, -ENOTSUP,
            "the vCPUs ran for %.0f ms, but none of %" PRIu64
            " pages was seen touched: the working set is too small for a proof, or the "
            "method is blind to this guest",
            (double)trial->vcpu_ns / 1e6, seen);
    return 0;
}
