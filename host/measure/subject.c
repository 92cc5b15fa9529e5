// SPDX-License-Identifier: LGPL-2.1-or-later
#include "measure/subject.h"

#include "base/bytes.h"
#include "base/clock.h"
#include "base/debug.h"
#include "guest/domain/qemu_vcpus.h"
#include "guest/ram/plugged.h"

#include <errno.h>
#include <inttypes.h>

/* Time from a backend's mapping to its device in the configuration: a management tool takes a
 * second at most. */
#define DOUBT_NS 10000000000ULL

/* No machine uses this CPU time before it boots: its vCPU threads only initialise themselves. It is
 * that of all of QEMU if these threads are not known or do not exist yet. */
#define BUILT_NS 50000000ULL
#define ALL_BUILT_NS 1000000000ULL

/* Under TCG a halted vCPU looks like a stopped one. */
static bool is_built(const struct subject *subject)
{
    const struct qemu_process *process = &subject->guest.process;

    if (process->accel == ACCEL_KVM && process->vcpus_known)
        return !qemu_process_vcpus_stopped(subject->root, process);
    return qemu_process_vcpu_ns(subject->root, process) >=
           (process->vcpus_known ? BUILT_NS : ALL_BUILT_NS);
}

static int refuse_stopped(const struct subject *subject, struct error *error)
{
    const struct qemu_process *process = &subject->guest.process;

    if (!qemu_process_stopped(subject->root, process))
        return 0;
    return error_set(error, -ENODEV,
                     "process %d is stopped by a signal or a debugger: its vCPUs do not "
                     "run, so nothing is touched; let it continue (kill -CONT %d)",
                     process->pid, process->pid);
}

static void forget(struct subject *subject)
{
    resident_meter_free(&subject->resident);
    guest_ram_free(&subject->ram);
    subject->ram = (struct guest_ram){0};
}

static void debug_ram(const struct guest_ram *ram)
{
    for (size_t i = 0; i < ram->n_blocks; i++) {
        const struct ram_block *block = &ram->blocks[i];

        debug_log("RAM block %zu '%s': %s%s, pages of %" PRIu64 ", %" PRIu64 " bytes at %" PRIx64
                  ", resident %" PRIu64 ", huge %" PRIu64 ", swapped %" PRIu64,
                  i, block->id, ram_backing_name(block->backing), block->locked ? ", locked" : "",
                  block->page_bytes, block->bytes, block->hva, block->resident_bytes,
                  block->huge_bytes, block->swapped_bytes);
    }
}

/* libvirt's configuration at the time of locating has all of the RAM; all other mappings belong to
 * a graphics card. */
static void trust_configuration(struct guest_ram *ram)
{
    for (size_t i = 0; i < ram->n_others; i++)
        ram->others[i].unclaimed = false;
    ram->unclaimed_bytes = ram->unclaimed_resident_bytes = 0;
}

int subject_locate(struct subject *subject, const struct fsroot *root, struct error *error)
{
    const struct guest *guest = &subject->guest;

    subject->root = root;
    subject->ram = (struct guest_ram){0};
    subject->resident = (struct resident_meter){0};
    subject->address_bytes = 0;
    subject->checked_bytes = 0;
    subject->doubted_ns = 0;
    subject->built = is_built(subject);

    int rc = refuse_stopped(subject, error);

    if (rc == 0)
        rc = ram_find(root, guest, &subject->ram, &subject->trial, error);
    if (rc < 0)
        return rc;
    debug_ram(&subject->ram);
    if (guest->from_libvirt && subject->ram.n_slots == 0) /* else it did not tell the RAM */
        trust_configuration(&subject->ram);
    rc = resident_meter_init(&subject->resident, root, guest->process.pid, &subject->ram);
    if (rc < 0)
        forget(subject);
    return rc < 0 ? error_set(error, rc, "process %d: the guest vanished", guest->process.pid) : 0;
}

int subject_reopen(struct subject *subject, struct error *error)
{
    forget(subject);
    subject->trial = (struct ram_trial){0};
    return guest_reopen(subject->root, &subject->guest, error);
}

void subject_close(struct subject *subject)
{
    forget(subject);
    guest_close(&subject->guest);
}

struct target subject_target(const struct subject *subject)
{
    return (struct target){
        .root = subject->root,
        .process = &subject->guest.process,
        .ram = &subject->ram,
        .meter = &subject->resident,
    };
}

/* Mappings that QEMU makes while it builds the machine are treated as in guest_ram_locate(): only
 * one as large as a DIMM may be RAM. */
static void ignore_devices(const struct qemu_process *process, struct guest_ram *ram)
{
    const uint64_t least_bytes = ram_dimm_min_bytes(process);

    for (size_t i = 0; i < ram->n_others; i++)
        ram->others[i].unclaimed &= ram->others[i].end - ram->others[i].hva >= least_bytes;
}

/* An assigned device maps its registers into QEMU's address space, and a DIMM its memory. Mappings
 * that cannot be examined are examined later; meanwhile everything that was added may be RAM. */
static int check_changes(struct subject *subject, uint64_t address_bytes, struct error *error)
{
    struct guest *guest = &subject->guest;
    struct guest_ram *ram = &subject->ram;
    const pid_t pid = guest->process.pid;
    const bool was_built = subject->built;
    int rc = 0;

    subject->built = was_built || is_built(subject);
    if (subject->checked_bytes != address_bytes)
        guest->vfio = qemu_process_has_vfio(subject->root, &guest->process);
    if (guest->process.other_vmm)
        rc = -ENOTSUP; /* it is not known how another VMM maps what it plugs */
    else if (subject->checked_bytes != address_bytes)
        rc = guest_ram_find_plugged(subject->root, pid, ram, error);
    if (rc == 0 && !was_built)
        ignore_devices(&guest->process, ram);
    if (rc == -ESTALE && !guest->from_libvirt)
        return rc;
    if (rc == 0)
        subject->checked_bytes = address_bytes;
    guest_ram_count_unclaimed(subject->root, pid, ram,
                              rc < 0 ? less(address_bytes, subject->resident.address_bytes) : 0);
    return 0;
}

int subject_refresh(struct subject *subject, struct resident_now *now, struct error *error)
{
    struct qemu_process *process = &subject->guest.process;
    int rc = qemu_vcpus_find(subject->root, process);

    if (rc == 0)
        rc = resident_meter_read(&subject->resident, subject->root, process->pid, now);
    if (rc < 0)
        return error_set(error, rc, "the guest vanished");
    subject->guest.jobs |= qemu_process_jobs_found(subject->root, process);
    return check_changes(subject, now->address_bytes, error);
}

bool subject_in_doubt(struct subject *subject, const struct resident_now *now)
{
    if (subject->address_bytes == 0)
        subject->address_bytes = now->address_bytes;
    if (subject->address_bytes == now->address_bytes)
        subject->doubted_ns = 0;
    else if (subject->doubted_ns == 0)
        subject->doubted_ns = clock_ns();
    return subject->doubted_ns != 0;
}

void subject_answered(struct subject *subject, const struct resident_now *now)
{
    if (clock_ns() - subject->doubted_ns < DOUBT_NS)
        return;
    subject->address_bytes = now->address_bytes;
    subject->doubted_ns = 0;
}

int subject_relocate(struct subject *subject, struct ram_config *config, struct error *error)
{
    const uint64_t address_bytes = subject->address_bytes;
    const uint64_t doubted_ns = subject->doubted_ns;

    forget(subject);
    ram_config_move(&subject->guest.ram, config);

    int rc = subject_locate(subject, subject->root, error);

    /* more changes may follow */
    subject->address_bytes = address_bytes;
    subject->doubted_ns = doubted_ns;
    return rc;
}
