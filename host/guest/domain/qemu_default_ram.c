// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file qemu_default_ram.c  See qemu_default_ram.h.
 *
 * Source: default_ram_size of the machine classes of QEMU 7.2 to 11.1; those of x86 and Arm were
 * also queried (query-memory-size-summary, 7.2). A distribution may have changed them, so RAM of
 * such a size counts as known only after a mapping of the same size was found (struct ram_config,
 * assumed).
 */
#include "guest/domain/qemu_default_ram.h"

#include <stddef.h>
#include <string.h>

struct default_ram {
    const char *target;  /* as in the name of QEMU's executable */
    const char *machine; /* it, or its versions ("virt" and "virt-7.2"); "" the default */
    uint64_t mib;
};

static const struct default_ram defaults[] = {
    {"x86_64", "", 128},
    {"x86_64", "pc", 128},
    {"x86_64", "q35", 128},
    {"x86_64", "isapc", 128},
    {"x86_64", "microvm", 128},
    {"arm", "virt", 128},
    {"arm", "versatileab", 128},
    {"arm", "versatilepb", 128},
    {"arm", "vexpress", 128},
    {"arm", "raspi0", 512},
    {"arm", "raspi1ap", 512},
    {"arm", "raspi2b", 1024},
    {"arm", "raspi3ap", 512},
    {"arm", "raspi3b", 1024},
    {"arm", "orangepi", 1024},
    {"arm", "sbsa", 1024},
    {"riscv", "virt", 128},
    {"ppc64", "", 512},
    {"ppc64", "pseries", 512},
    {"ppc64", "powernv", 1024},
    {"ppc64", "powernv8", 1024},
    {"ppc64", "powernv9", 1024},
    {"ppc64", "powernv10", 1024},
    {"s390x", "", 128},
    {"s390x", "s390-ccw-virtio", 128},
    {"loongarch64", "", 1024},
    {"loongarch64", "virt", 1024},
};

/* Targets that have the machine types of another one. */
static const struct {
    const char *begin, *target;
} targets[] = {
    {"x86_64", "x86_64"}, {"i386", "x86_64"}, {"amd64", "x86_64"},
    {"aarch64", "arm"},   {"arm", "arm"},     {"riscv", "riscv"},
    {"ppc64", "ppc64"},   {"s390x", "s390x"}, {"loongarch64", "loongarch64"},
};

/* "qemu-kvm" and names that say nothing emulate the host's architecture. */
static const char *target_of(const char *exe)
{
    static const char prefix[] = "qemu-system-";
    const char *slash = strrchr(exe, '/');
    const char *found = strstr(slash ? slash : exe, prefix);

    if (!found)
#ifdef __x86_64__
        return "x86_64";
#else
        return "arm";
#endif
    for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++)
        if (strncmp(found + sizeof(prefix) - 1, targets[i].begin, strlen(targets[i].begin)) == 0)
            return targets[i].target;
    return "";
}

static int is_version_of(const char *machine, const char *type)
{
    size_t length = strlen(type);

    return strncmp(machine, type, length) == 0 &&
           (machine[length] == '\0' || (length > 0 && machine[length] == '-'));
}

uint64_t qemu_default_ram_bytes(const char *exe, const char *machine)
{
    const char *target = target_of(exe);

    for (size_t i = 0; i < sizeof(defaults) / sizeof(defaults[0]); i++)
        if (strcmp(defaults[i].target, target) == 0 && is_version_of(machine, defaults[i].machine))
            return defaults[i].mib << 20;
    return 0;
}
