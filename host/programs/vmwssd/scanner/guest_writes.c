// SPDX-License-Identifier: LGPL-2.1-or-later
#include "programs/vmwssd/scanner/guest_writes.h"

#include "base/run_lock.h"
#include "measure/record/flag_memory.h"
#include "measure/record/write_record.h"

#include <errno.h>
#include <string.h>

static int choose_method(const struct target *target, struct sample_plan *plan, struct error *error)
{
    const struct method_needs needs = {.census = true, .writes = true};

    if (target->ram->bytes > GUEST_WRITES_MAX_BYTES)
        return error_set(error, -E2BIG, "its RAM is larger than 64 GiB: see writes in vmwssd(8)");
    plan->method = method_auto(target, &needs, error);
    return plan->method ? 0 : -ENOTSUP;
}

static int fill_record(struct subject *subject, const struct sample_plan *plan,
                       const struct sample_result *result, struct sample_record *record,
                       struct error *error)
{
    struct resident_now now;
    int rc = subject_refresh(subject, &now, error);

    if (rc == 0)
        rc = sample_record_fill(record, subject, plan, result, error);
    if (rc < 0)
        return rc;
    flag_memory_apply_own(record);
    write_record_take(record);
    return qemu_process_verify(subject->root, &subject->guest.process, error);
}

static int measure(struct subject *subject, struct sample_plan *plan, struct write_curve *curve,
                   struct error *error)
{
    const struct target target = subject_target(subject);
    struct sample_result result;
    struct sample_record record;
    int rc = choose_method(&target, plan, error);

    if (rc == 0)
        rc = sample_run(&target, plan, &result, error);
    if (rc == 0)
        rc = fill_record(subject, plan, &result, &record, error);
    if (rc == 0)
        *curve = record.writes;
    return rc;
}

int guest_writes_measure(const struct guest_writes *writes, struct guest *guest,
                         const struct scan_writes *params, struct write_curve *curve,
                         struct error *error)
{
    const struct fsroot *root = writes->root;
    const struct lock_wait at_once = {.pidfd = -1};
    struct subject subject = {.root = root};
    struct run_lock lock = RUN_LOCK_NONE;
    struct sample_plan plan = {.census = true,
                               .interrupted = writes->interrupted,
                               .n_windows = params->n_windows,
                               .jobs = &subject.guest.jobs};

    memcpy(plan.window_s, params->window_s, params->n_windows * sizeof(plan.window_s[0]));
    guest_move(&subject.guest, guest);
    lock.beside = writes->keep_panel;

    int rc = run_lock_guest(&lock, root, subject.guest.process.pid, &at_once, error);

    if (rc == 0)
        rc = subject_locate(&subject, root, error);
    if (rc == 0)
        rc = measure(&subject, &plan, curve, error);
    run_lock_give_back(&lock);
    subject_close(&subject);
    return rc;
}
