// SPDX-License-Identifier: LGPL-2.1-or-later
#include "measure/method/zap_trial.h"

#include "base/clock.h"
#include "guest/domain/qemu_vcpus.h"
#include "measure/method.h"
#include "measure/method/zap_scout.h"
#include "measure/method/zap_state.h"

#include <errno.h>
#include <inttypes.h>

#define TRIAL_PAGES 1024
#define TRIAL_STEPS 25
#define TRIAL_STEP_MS 10

static uint64_t count_touched(const struct page_set *set)
{
    uint64_t count = 0;

    for (uint64_t i = 0; i < set->n; i++)
        count += set->state[i] == PAGE_TOUCHED;
    return count;
}

/* Drops the pages of @p zap's set and waits for the guest to touch at least @p wanted of them. */
static int drop_and_watch(struct zap *zap, uint64_t wanted, uint64_t *touched, struct error *why)
{
    int rc = method_zap.mark(zap, why);

    for (unsigned i = 0; rc == 0 && i < TRIAL_STEPS && count_touched(zap->set) < wanted; i++) {
        clock_sleep(TRIAL_STEP_MS * 1000000ULL);
        method_zap.wake.poll(zap, why);
    }
    *touched = count_touched(zap->set);
    return rc;
}

static int trial(const struct target *target, struct page_set *set, uint64_t wanted,
                 uint64_t *touched, struct error *why)
{
    void *state = NULL;
    int rc = method_zap.open(target, set, &state, why);

    if (rc < 0)
        return rc;
    rc = drop_and_watch(state, wanted, touched, why);
    method_zap.close(state);
    return rc;
}

/* --- a guest whose working set is so small that random pages miss it -------------------------- */

/* Pages that faulted when a stretch around them was dropped are dropped alone, and must fault
 * again. */
#define FEW_TRIALS 4 /* a guest that sleeps wakes at intervals */

/* Fills @p few with pages that faulted when they were dropped. */
static int find_few(const struct target *target, struct page_set *few, uint64_t *dropped_bytes,
                    struct error *why)
{
    void *state = NULL;
    int rc = method_zap.open(target, few, &state, why);

    if (rc < 0)
        return rc;

    const struct zap *zap = state;
    const struct zap_scout scout = {target, &zap->layout, zap->trace, zap->pagemap_fd};

    rc = zap_scout(&scout, few, dropped_bytes, why);
    method_zap.close(state);
    return rc;
}

static int refuse_unseen(uint64_t vcpu_ns, uint64_t dropped_bytes, struct error *why)
{
    if (vcpu_ns <= 1000000)
        return 0; /* a guest that does not run touches nothing, so nothing can be proven */
    return error_set(
        why, -ENOTSUP,
        "%" PRIu64 " MiB of guest RAM were dropped and the vCPUs ran for %.0f ms, but no "
        "fault was seen: its working set is too small for a proof, or this kernel does "
        "not tell KVM, or the guest-physical layout is not the deduced one",
        dropped_bytes >> 20, (double)vcpu_ns / 1e6);
}

static int prove_on_stretches(const struct target *target, struct error *why)
{
    struct page_set few;
    struct vcpu_clock vcpus = {0};
    uint64_t dropped_bytes = 0;
    uint64_t touched = 0;
    int rc = page_set_blank(&few, target->ram, TRIAL_PAGES);

    if (rc < 0)
        return error_set(why, rc, "out of memory");
    vcpu_clock_read(&vcpus, target->root, target->process);
    rc = find_few(target, &few, &dropped_bytes, why);
    for (unsigned n = 0; rc == 0 && few.n > 0 && touched == 0 && n < FEW_TRIALS; n++)
        rc = trial(target, &few, 1, &touched, why);
    page_set_free(&few);
    if (rc < 0 || touched > 0)
        return rc;
    return refuse_unseen(vcpu_clock_read(&vcpus, target->root, target->process), dropped_bytes,
                         why);
}

int zap_sees_guest(const struct target *target, struct error *why)
{
    struct page_set set;
    uint64_t touched = 0;
    int rc = page_set_panel(&set, target->ram, TRIAL_PAGES, target->process->start_ticks);

    if (rc < 0)
        return error_set(why, rc, "out of memory");
    rc = trial(target, &set, 3, &touched, why);
    page_set_free(&set);
    if (rc < 0 || touched >= 3)
        return rc;
    return prove_on_stretches(target, why);
}
