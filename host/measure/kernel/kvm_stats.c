// SPDX-License-Identifier: LGPL-2.1-or-later
#include "measure/kernel/kvm_stats.h"

#include "base/cleanup.h"
#include "base/open_dir.h"
#include "guest/arch/arch.h"

#include <errno.h>
#include <string.h>

#define KVM_DEBUGFS "sys/kernel/debug/kvm"

/* The directory is named after the thread that made the VM and its file descriptor: "1234-12". */
static int find_directory(const struct target *target, char *name, size_t size)
{
    cleanup_dir DIR *dir = NULL;
    char prefix[16];
    struct dirent *entry;
    int rc = fsroot_opendir(target->root, &dir, KVM_DEBUGFS);

    if (rc < 0)
        return rc;
    snprintf(prefix, sizeof(prefix), "%d-", target->process->pid);
    while ((entry = readdir(dir)))
        if (!strncmp(entry->d_name, prefix, strlen(prefix))) {
            snprintf(name, size, "%s", entry->d_name);
            return 0;
        }
    return -ENOENT;
}

int kvm_stats_host(const struct fsroot *root, struct error *error)
{
    if (!fsroot_exists(root, "sys/module/kvm"))
        return error_set(error, -ENOENT, "KVM is not loaded (/sys/module/kvm is missing)");
    if (!arch_host()->counts_mapped)
        return error_set(error, -ENOTSUP,
                         "KVM on %s has no counters pages_4k, pages_2m and pages_1g; use zap",
                         arch_host()->name);
    if (!fsroot_exists(root, KVM_DEBUGFS))
        return error_set(error, -ENOENT,
                         "KVM's counters are not visible (/" KVM_DEBUGFS
                         " is missing): mount -t debugfs none /sys/kernel/debug, as root");
    return 0;
}

static int counter_missing(const struct target *target, struct error *error)
{
    int rc = kvm_stats_host(target->root, error);

    if (rc < 0)
        return rc;
    return error_set(error, -ENOENT,
                     "/" KVM_DEBUGFS "/%d-*: no counters pages_4k, pages_2m and "
                     "pages_1g for this VM; they need Linux 5.15",
                     target->process->pid);
}

int kvm_mapped_sizes(const struct target *target, uint64_t bytes[KVM_SIZES], struct error *error)
{
    static const char *const files[KVM_SIZES] = {"pages_4k", "pages_2m", "pages_1g"};
    char name[64];

    if (find_directory(target, name, sizeof(name)) < 0)
        return counter_missing(target, error);
    for (size_t i = 0; i < KVM_SIZES; i++) {
        uint64_t count;

        if (fsroot_read_u64(target->root, &count, KVM_DEBUGFS "/%s/%s", name, files[i]) < 0)
            return counter_missing(target, error);
        bytes[i] = count * kvm_size_bytes[i];
    }
    return 0;
}

int kvm_mapped_bytes(const struct target *target, uint64_t *bytes, struct error *error)
{
    uint64_t sizes[KVM_SIZES];
    int rc = kvm_mapped_sizes(target, sizes, error);

    if (rc == 0)
        *bytes = sizes[0] + sizes[1] + sizes[2];
    return rc;
}

static uint64_t read_counter(const struct target *target, const char *counter)
{
    char name[64];
    uint64_t value = 0;

    if (find_directory(target, name, sizeof(name)) == 0)
        fsroot_read_u64(target->root, &value, KVM_DEBUGFS "/%s/%s", name, counter);
    return value;
}

/* Since Linux 5.16 the requests include those for which no vCPU had to be kicked. */
int kvm_tlb_flushes(const struct target *target, uint64_t *count)
{
    char name[64];
    int rc = find_directory(target, name, sizeof(name));

    if (rc == 0)
        rc = fsroot_read_u64(target->root, count, KVM_DEBUGFS "/%s/remote_tlb_flush_requests",
                             name);
    return rc < 0 ? -ENOENT : 0;
}

uint64_t kvm_faults_fixed(const struct target *target)
{
    return read_counter(target, "pf_fixed");
}

bool kvm_runs_nested(const struct target *target)
{
    return read_counter(target, "nested_run") > 0;
}
