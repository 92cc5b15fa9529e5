// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file x86_64.c  x86-64: RAM of pc, q35 and microvm lies around the PCI hole.
 *
 * Boot RAM begins at address 0; the part that does not fit below the PCI hole continues at 4 GiB.
 * The amount below depends on the machine type and the amount of RAM. Machine types from 7.1 on,
 * with an AMD vCPU, continue at 1 TiB instead if the map would otherwise reach the 12 GiB below it,
 * which AMD's I/O virtualization reserves. The map includes pluggable memory (maxmem, plus 1 GiB
 * for each slot) and the hole for 64-bit PCI. Source: QEMU 7.2 hw/i386/pc_piix.c pc_init1(),
 * pc_q35.c pc_q35_init(), pc.c pc_memory_init() and pc_max_used_gpa(), microvm.c. Linux:
 * arch/x86/kvm/trace.h; x86.c, kvm_update_page_stats().
 */
#include "guest/arch/arch.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define GIB (1ULL << 30)
#define HOLE_END (4 * GIB)

/* HyperTransport's range ends at 1 TiB: hw/i386/pc.c AMD_HT_START, AMD_ABOVE_1TB_START. */
#define AMD_HT_BEGIN (1012 * GIB)
#define AMD_HT_END (1024 * GIB)

/* pcmc->gigabyte_align is false for isapc and for machine types of before 2.0. */
static bool is_gigabyte_aligned(const char *machine)
{
    return strcmp(machine, "isapc") != 0 && !arch_is_machine(machine, "pc-0.") &&
           !arch_is_machine(machine, "pc-1.") && !arch_is_machine(machine, "pc-i440fx-1.");
}

/* pc_init1(): RAM of up to 3.5 GiB is all low; with more RAM, 3 GiB are low, aligned for huge
 * pages. */
static uint64_t low_limit_pc(const char *machine, uint64_t boot_bytes, uint64_t max_below_4g)
{
    uint64_t limit = max_below_4g ? max_below_4g : 0xe0000000ULL;

    if (boot_bytes >= limit && limit > 3 * GIB && is_gigabyte_aligned(machine))
        limit = 3 * GIB;
    return limit;
}

/* pc_q35_init(): the window for PCI Express begins at 0xb0000000. */
static uint64_t low_limit_q35(uint64_t boot_bytes, uint64_t max_below_4g)
{
    uint64_t limit = boot_bytes >= 0xb0000000ULL ? 2 * GIB : 0xb0000000ULL;

    return max_below_4g && max_below_4g < limit ? max_below_4g : limit;
}

/* "pc-1.3" is of before 2.0; "ubuntu" and "ubuntu-q35" are Ubuntu's aliases; isapc is made by
 * pc_init1() too. */
static bool is_pc(const char *machine)
{
    return !*machine || !strcmp(machine, "pc") || !strcmp(machine, "ubuntu") ||
           !strcmp(machine, "isapc") || arch_is_machine(machine, "pc-i440fx") ||
           arch_is_machine(machine, "pc-0.") || arch_is_machine(machine, "pc-1.");
}

static bool is_q35(const char *machine)
{
    return !strcmp(machine, "q35") || !strcmp(machine, "ubuntu-q35") ||
           arch_is_machine(machine, "pc-q35");
}

static int low_limit(const struct qemu_cmdline *config, uint64_t boot_bytes, uint64_t *limit,
                     struct error *error)
{
    const char *machine = config->machine;
    uint64_t max_below_4g = config->max_ram_below_4g_bytes;

    if (is_pc(machine))
        *limit = low_limit_pc(machine, boot_bytes, max_below_4g);
    else if (is_q35(machine))
        *limit = low_limit_q35(boot_bytes, max_below_4g);
    else if (arch_is_machine(machine, "microvm"))
        *limit = max_below_4g ? max_below_4g : 3 * GIB;
    else
        return arch_refuse_machine(machine, error);
    return 0;
}

/* --- the move to 1 TiB ------------------------------------------------------------------------ */

static uint64_t round_up(uint64_t bytes, uint64_t unit)
{
    return (bytes + unit - 1) / unit * unit;
}

/* pc_max_used_gpa(): where the map would end. CXL windows are not counted: a guest that has them
 * may reach any address. */
static uint64_t map_end(const struct qemu_cmdline *config, uint64_t boot_bytes, uint64_t high_bytes)
{
    uint64_t hole = config->pci_hole64_bytes ? config->pci_hole64_bytes
                                             : (is_q35(config->machine) ? 32 : 2) * GIB;
    uint64_t end = round_up(HOLE_END + high_bytes, GIB);

    if (config->max_ram_bytes > boot_bytes)
        end += config->max_ram_bytes - boot_bytes + config->memory_slots * GIB;
    return config->cxl ? UINT64_MAX : round_up(end, GIB) + hole;
}

static bool host_is_amd(const struct fsroot *root)
{
    cleanup_close int fd = fsroot_openf(root, O_RDONLY, "proc/cpuinfo");
    char text[512]; /* all CPUs have the same vendor: the first is enough */
    ssize_t length = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

    text[length > 0 ? length : 0] = '\0';
    return strstr(text, "AuthenticAMD");
}

static bool vcpus_are_amd(const struct fsroot *root, const struct qemu_cmdline *config)
{
    return *config->cpu_vendor ? !strcmp(config->cpu_vendor, "AuthenticAMD") : host_is_amd(root);
}

/* Returns whether the RAM moves, by the version in the machine type's name: 1 yes, 0 no, -1 the
 * name has no version of QEMU (a distribution's own type, or an alias). Machine types up to 7.0 set
 * pcmc->enforce_amd_1tb_hole = false. */
static int machine_moves(const char *machine)
{
    unsigned major;
    unsigned minor;

    if (arch_is_machine(machine, "microvm"))
        return 0;
    if (sscanf(machine, "pc-i440fx-%u.%u", &major, &minor) != 2 &&
        sscanf(machine, "pc-q35-%u.%u", &major, &minor) != 2)
        return -1;
    return major > 7 || (major == 7 && minor >= 1);
}

static int find_high_begin(const struct fsroot *root, const struct qemu_cmdline *config,
                           struct gpa_layout *layout, struct error *error)
{
    uint64_t high_bytes = layout->boot_bytes - layout->low_bytes;
    int moves = machine_moves(config->machine);

    layout->high_begin = HOLE_END;
    if (high_bytes == 0 || moves == 0 ||
        map_end(config, layout->boot_bytes, high_bytes) <= AMD_HT_BEGIN ||
        !vcpus_are_amd(root, config))
        return 0;
    if (moves < 0 || config->cxl)
        return error_set(error, -ENOTSUP,
                         "machine type %s with an AMD vCPU and a map of 1012 GiB or more: whether "
                         "its RAM above 4 GiB begins at 1 TiB is not known",
                         *config->machine ? config->machine : "pc");
    layout->high_begin = AMD_HT_END;
    return 0;
}

static int lay_out(const struct fsroot *root, const struct qemu_cmdline *config,
                   struct gpa_layout *layout, struct error *error)
{
    uint64_t limit = 0;
    int rc = low_limit(config, layout->boot_bytes, &limit, error);

    if (rc < 0)
        return rc;
    layout->low_begin = 0;
    layout->low_bytes = layout->boot_bytes < limit ? layout->boot_bytes : limit;
    return find_high_begin(root, config, layout, error);
}

/* The holes below 1 MiB, and the pages that KVM keeps write-protected. Source: arch/x86/kvm/x86.c,
 * kvm_alloc_memslot_metadata(). The first memory slot of a PC begins at 0 and ends at 640 KiB. */
#define LEGACY_BYTES (2ULL << 20)

/* Two-dimensional paging, and an MMU without prefetching: only then is a fault's address a GPA and
 * every first touch a fault. */
static const struct kvm_parameter kvm_parameters[] = {
    {"sys/module/kvm_intel/parameters/ept", "load kvm_intel with ept=1"},
    {"sys/module/kvm_amd/parameters/npt", "load kvm_amd with npt=1"},
    {"sys/module/kvm/parameters/tdp_mmu", "load kvm with tdp_mmu=1"},
    {NULL, NULL},
};

const struct arch arch_x86_64 = {
    .name = "x86-64",
#ifdef __x86_64__
    .host = true,
#endif
    .emulators = (const char *const[]){"qemu-system-x86_64", "qemu-system-i386", NULL},
    .fault_event = "kvm/kvm_page_fault",
    .fault_event_perf = "kvm:kvm_page_fault",
    .fault_field = "fault_address",
    .kvm_parameters = kvm_parameters,
    .drop_flushes_vm = true,
    .drop_reports_accessed = true,
    .in_pieces_bytes = LEGACY_BYTES,
    .counts_mapped = true,
    .lay_out = lay_out,
};
