// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file damon_trial.c  See damon_trial.h. */
#include "measure/method/damon_trial.h"

#include "base/page_sizes.h"
#include "guest/ram/gpa.h"

#include <errno.h>
#include <inttypes.h>

#define TRIAL_PAGES 256
#define LARGE_TRIAL_PAGES 4096 /* for a guest whose hot pages are hardly one in a hundred */

/* Returns true if KVM maps these pages in pieces by gpa_kvm_order(). This does not cover the first
 * huge page of a PC, which KVM does not map whole either. */
static bool in_pieces(const struct target *target, const struct trial *trial)
{
    struct gpa_layout layout;

    return target->process->accel == ACCEL_KVM && trial->huge_unmeasurable > 0 &&
           gpa_layout_deduce(target->root, target->process, target->ram, &layout, NULL) == 0 &&
           gpa_kvm_order(&layout, target->ram, trial->huge_page, trial->huge_order) <
               trial->huge_order;
}

int damon_trial_judge(const struct target *target, const struct trial *trial, struct error *why)
{
    const int rc = trial_judge(trial, why);

    if (rc == 0 || !in_pieces(target, trial))
        return rc;
    return error_set(
        why, -ENOTSUP,
        "%" PRIu64 " of %" PRIu64 " pages are in huge pages of %" PRIu64
        " KiB that KVM maps in smaller pieces, as it has none of that size, or they are not "
        "aligned alike in the guest's memory and in QEMU's: DAMON would look at one piece of each, "
        "so it counts them as unmeasurable; none of the other pages was seen touched. zap looks at "
        "every piece",
        trial->huge_unmeasurable, trial_pages(trial), base_page_bytes() << trial->huge_order >> 10);
}

int damon_sees_guest(const struct target *target, struct error *why)
{
    struct trial trial = {0};
    int rc = trial_run(&method_damon, target, TRIAL_PAGES, &trial, why);

    if (rc < 0 || trial_judge(&trial, NULL) == 0)
        return rc;
    rc = trial_run(&method_damon, target, LARGE_TRIAL_PAGES, &trial, why);
    return rc < 0 ? rc : damon_trial_judge(target, &trial, why);
}
