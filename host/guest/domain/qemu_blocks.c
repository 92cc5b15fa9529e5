// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file qemu_blocks.c  Selects the memory backends that are the guest's RAM: the machine's
 * memory-backend, else those of the NUMA nodes, else the one that QEMU makes itself from -m and
 * -mem-path; and those of the DIMMs. Backends of NVDIMMs and ivshmem are not RAM, but mapped like
 * it.
 */
#include "guest/domain/qemu_cmdline_private.h"
#include "guest/domain/qemu_default_ram.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define RAM_ALIGN_BYTES 8192ULL /* QEMU rounds ram_size up to this: softmmu/vl.c */

void reading_set_unknown(struct reading *r, const char *format, ...)
{
    va_list args;

    if (*r->out->ram.unknown)
        return;
    va_start(args, format);
    vsnprintf(r->out->ram.unknown, sizeof(r->out->ram.unknown), format, args);
    va_end(args);
}

static int add_backend(struct ram_config *ram, const struct ram_backend *backend,
                       struct error *error)
{
    int rc = ram_config_add(ram, backend);

    if (rc == -E2BIG && ram->n_backends == RAM_CONFIG_MAX_BACKENDS)
        return error_set(error, -EINVAL, "QEMU options: more than %d RAM blocks",
                         RAM_CONFIG_MAX_BACKENDS);
    if (rc == -E2BIG)
        return error_set(error, -EINVAL, "QEMU options: more bytes of RAM than is possible");
    return rc < 0 ? error_set(error, rc, "QEMU options: out of memory") : 0;
}

static int add_object(struct reading *r, const struct reference *as, struct error *error)
{
    for (size_t i = 0; i < r->n_objects; i++) {
        struct ram_backend *object = &r->objects[i];

        if (strcmp(object->id, as->id) != 0)
            continue;
        object->dimm = as->use == USE_DIMM;
        object->node = as->node;
        if (as->use != USE_DEVICE)
            return add_backend(&r->out->ram, object, error);
        ram_config_add_device(&r->out->ram, object); /* without it, it counts as unknown */
        return 0;
    }
    if (as->use == USE_DEVICE)
        return 0;
    return error_set(error, -EINVAL, "QEMU options: memory backend %s is used but not defined",
                     as->id);
}

/* Finds the size of the block that QEMU makes if it was given no backend; 0: it is not known. */
static uint64_t default_size(struct reading *r)
{
    if (r->memory.size_bytes)
        return r->memory.size_bytes;
    if (r->machine_memory.size_bytes)
        return r->machine_memory.size_bytes;

    uint64_t bytes = qemu_default_ram_bytes(r->files ? r->files->exe : "", r->out->machine);

    r->out->ram.assumed = true;
    if (bytes == 0)
        reading_set_unknown(r,
                            "its RAM has no size (-m) in its options, and that of QEMU's machine "
                            "type %s without one is not known",
                            *r->out->machine ? r->out->machine : "by default");
    return bytes;
}

static int add_default(struct reading *r, struct error *error)
{
    const uint64_t bytes = default_size(r);
    struct ram_backend backend = {
        .id = "pc.ram",
        .order = ORDER_DEFAULT,
        .size_bytes = (bytes + RAM_ALIGN_BYTES - 1) & -RAM_ALIGN_BYTES,
        .source = r->mem_path ? RAM_SOURCE_FILE : RAM_SOURCE_ANON,
    };

    memcpy(backend.path, r->path, sizeof(backend.path));
    return bytes ? add_backend(&r->out->ram, &backend, error) : 0;
}

static int add_devices(struct reading *r, struct error *error)
{
    for (size_t i = 0; i < r->n_references; i++) {
        const struct reference *reference = &r->references[i];
        int rc = reference->use != USE_BOOT ? add_object(r, reference, error) : 0;

        if (rc < 0)
            return rc;
    }
    return 0;
}

/* Boot RAM lies in the order of the nodes, independent of the order of the options (QEMU
 * hw/core/numa.c, numa_init_memdev_container()). */
static int add_nodes(struct reading *r, struct error *error)
{
    for (unsigned node = 1; node <= MAX_NODES; node++)
        for (size_t i = 0; i < r->n_references; i++) {
            const struct reference *reference = &r->references[i];
            int rc = 0;

            if (reference->use == USE_BOOT && reference->node == node)
                rc = add_object(r, reference, error);
            if (rc < 0)
                return rc;
        }
    return 0;
}

/* A machine without RAM of its own: "none" is for queries; "x-remote" emulates devices of another
 * QEMU's guest, whose RAM it maps (hw/remote/machine.c). */
static int check_machine(const struct reading *r, struct error *error)
{
    const char *machine = r->out->machine;

    if (strcmp(machine, "none") == 0)
        return error_set(error, -EINVAL, "QEMU option -machine none: there is no guest in it");
    if (strcmp(machine, "x-remote") == 0)
        return error_set(error, -EINVAL,
                         "QEMU option -machine x-remote: there is no guest in it, only devices of "
                         "another QEMU's guest");
    return 0;
}

static uint64_t either(uint64_t one, uint64_t other)
{
    return one ? one : other;
}

int reading_select_blocks(struct reading *r, struct error *error)
{
    struct reference boot = {.use = USE_BOOT};
    int rc = check_machine(r, error);

    r->out->max_ram_bytes = either(r->memory.max_bytes, r->machine_memory.max_bytes);
    r->out->memory_slots = either(r->memory.slots, r->machine_memory.slots);
    r->out->ram.assumed = r->from_file;
    if (rc < 0 || *r->out->ram.unknown)
        return rc;
    memcpy(boot.id, r->machine_backend, sizeof(boot.id));
    rc = *boot.id ? add_object(r, &boot, error) : add_nodes(r, error);
    if (rc == 0 && r->out->ram.n_backends == 0)
        rc = add_default(r, error);
    if (rc == 0 && !*r->out->ram.unknown)
        rc = add_devices(r, error);
    return rc;
}
