// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file subject.c  See subject.h. */
#include "sample/subject.h"

#include "base/clock.h"
#include "base/debug.h"
#include "domain/qemu_vcpus.h"

#include <errno.h>
#include <inttypes.h>

/* From a backend's mapping to its device in the configuration: a management tool takes a second at
 * most. */
#define DOUBT_NS 10000000000ULL

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

int subject_locate(struct subject *subject, const struct fsroot *root, struct error *error)
{
    const struct guest *guest = &subject->guest;

    subject->root = root;
    subject->ram = (struct guest_ram){0};
    subject->resident = (struct resident_meter){0};
    subject->address_bytes = 0;
    subject->checked_bytes = 0;
    subject->doubted_ns = 0;

    int rc = refuse_stopped(subject, error);

    if (rc == 0)
        rc = guest_ram_locate(root, &guest->process, &guest->ram, &subject->ram, error);
    if (rc < 0)
        return rc;
    debug_ram(&subject->ram);
    rc = resident_meter_init(&subject->resident, root, guest->process.pid, &subject->ram);
    if (rc < 0)
        forget(subject);
    return rc < 0 ? error_set(error, rc, "process %d: the guest vanished", guest->process.pid) : 0;
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

/* Looks for what the configuration does not have; what was located stays. */
static void find_unclaimed(struct subject *subject)
{
    const struct guest *guest = &subject->guest;
    struct guest_ram ram = {0};

    if (guest_ram_locate(subject->root, &guest->process, &guest->ram, &ram, NULL) < 0)
        return;
    subject->ram.unclaimed_bytes = ram.unclaimed_bytes;
    subject->ram.unclaimed_resident_bytes = ram.unclaimed_resident_bytes;
    guest_ram_free(&ram);
}

/* A device that is assigned brings its registers into QEMU's address space, and a DIMM itself; of
 * --pid there is no libvirt to ask whether it was that. */
static void check_changes(struct subject *subject, uint64_t address_bytes)
{
    struct guest *guest = &subject->guest;
    uint64_t was_bytes = subject->checked_bytes;

    guest->vfio = qemu_process_has_vfio(subject->root, &guest->process);
    if (!guest->from_libvirt && was_bytes > 0 && address_bytes >= was_bytes + RAM_DIMM_MIN_BYTES)
        find_unclaimed(subject);
    subject->checked_bytes = address_bytes;
}

int subject_refresh(struct subject *subject, struct resident_now *now, struct error *error)
{
    struct qemu_process *process = &subject->guest.process;
    int rc = qemu_vcpus_find(subject->root, process);

    if (rc == 0)
        rc = resident_meter_read(&subject->resident, subject->root, process->pid, now);
    if (rc < 0)
        return error_set(error, rc, "the guest vanished");
    subject->guest.jobs |= qemu_process_jobs_found(process);
    if (subject->checked_bytes != now->address_bytes)
        check_changes(subject, now->address_bytes);
    return 0;
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

    /* There may be more to come. */
    subject->address_bytes = address_bytes;
    subject->doubted_ns = doubted_ns;
    return rc;
}
