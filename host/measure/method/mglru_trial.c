// SPDX-License-Identifier: LGPL-2.1-or-later
#include "measure/method/mglru_trial.h"

#include "base/clock.h"
#include "base/kernel_version.h"
#include "guest/domain/qemu_vcpus.h"

#include <errno.h>
#include <inttypes.h>

#define RELEASE "proc/sys/kernel/osrelease"
#define STEPS 25
#define STEP_MS 20
#define RAN_NS 20000000

/* Limit for QEMU's own memory: smaps misses touches between its reading and the ageing, which are
 * some pages, but never this many. */
#define PROOF_BYTES (256ULL << 10)

bool mglru_ages_kvm(const char *release)
{
    return kernel_version(release) >= KERNEL(6, 12);
}

bool mglru_leaves_referenced(const struct fsroot *root)
{
    return kernel_version_of(root) >= KERNEL(6, 14);
}

/* Waits until the vCPUs have run for long enough. */
static uint64_t let_run(const struct target *target)
{
    struct vcpu_clock vcpus = {0};
    uint64_t ran_ns = vcpu_clock_read(&vcpus, target->root, target->process);

    for (unsigned n = 0; n < STEPS && ran_ns < RAN_NS; n++) {
        clock_sleep(STEP_MS * 1000000ULL);
        ran_ns = vcpu_clock_read(&vcpus, target->root, target->process);
    }
    return ran_ns;
}

static int try_it(const struct target *target, uint64_t *ran_ns, struct tally *tally,
                  struct error *why)
{
    void *state = NULL;
    int rc = method_mglru.open(target, NULL, &state, why);

    if (rc < 0)
        return rc;
    rc = method_mglru.mark(state, why);
    *ran_ns = let_run(target);
    if (rc == 0)
        rc = method_mglru.collect(state, tally, why);
    method_mglru.close(state);
    return rc;
}

int mglru_sees_guest(const struct target *target, struct error *why)
{
    char release[128] = "?";
    uint64_t ran_ns = 0;
    struct tally tally = {0};

    if (target->process->accel != ACCEL_KVM)
        return 0;
    fsroot_read(target->root, release, sizeof(release), RELEASE);
    if (mglru_ages_kvm(release))
        return 0;

    int rc = try_it(target, &ran_ns, &tally, why);

    /* Linux 6.1 cannot prove a complete walk either */
    if (rc == -EBUSY)
        return error_set(
            why, -ENOTSUP,
            "blind to KVM guests on Linux %s: MGLRU takes KVM's accessed bits since 6.12, and here no walk "
            "of QEMU's page tables came to its end; use zap or zap-all",
            release);
    if (rc < 0 || tally.touched_bytes >= PROOF_BYTES)
        return rc;
    return error_set(
        why, -ENOTSUP,
        "blind to KVM guests on Linux %s: MGLRU takes KVM's accessed bits since 6.12, and here it saw "
        "%" PRIu64 " KiB touched while the vCPUs ran for %.0f ms; use zap or zap-all",
        release, tally.touched_bytes >> 10, (double)ran_ns / 1e6);
}
