// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file qemu_blocks.c  Selects the memory backends that are the guest's RAM: the machine's
 * memory-backend, else those of the NUMA nodes, else the one that QEMU makes itself from -m and
 * -mem-path; and those of the DIMMs. Backends of NVDIMMs and ivshmem are not RAM, but mapped like
 * it.
 */
#include "guest/domain/qemu_cmdline_private.h"

#include "base/array.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* --- RAM that the command line does not name -------------------------------------------------- */

/* The RAM that QEMU's machine types have without -m.
 *
 * Source: default_ram_size of the machine classes of QEMU 7.2 to 11.1; those of x86 and Arm were
 * also queried (query-memory-size-summary, 7.2). A distribution may have changed them, so RAM of
 * such a size counts as known only after a mapping of the same size was found (struct ram_config,
 * assumed). */

struct default_ram {
    const char *target;  /* as in the name of QEMU's executable */
    const char *machine; /* it, or its versions ("virt" and "virt-7.2"); "" the default */
    uint64_t mib;
    uint64_t flash_mib; /* each of its flash memories, at most two; 0: none as large as RAM */
    bool vga;           /* without options its graphics is a VGA (default_display "std") */
};

static const struct default_ram defaults[] = {
    {"x86_64", "", 128, 0, true},
    {"x86_64", "pc", 128, 0, true},
    {"x86_64", "q35", 128, 0, true},
    {"x86_64", "isapc", 128, 0, false},
    {"x86_64", "microvm", 128, 0, false},
    {"arm", "virt", 128, 64, false},
    {"arm", "versatileab", 128, 64, false},
    {"arm", "versatilepb", 128, 64, false},
    {"arm", "vexpress", 128, 64, false},
    {"arm", "raspi0", 512, 0, false},
    {"arm", "raspi1ap", 512, 0, false},
    {"arm", "raspi2b", 1024, 0, false},
    {"arm", "raspi3ap", 512, 0, false},
    {"arm", "raspi3b", 1024, 0, false},
    {"arm", "orangepi", 1024, 0, false},
    {"arm", "sbsa", 1024, 256, false},
    {"riscv", "virt", 128, 32, false},
    {"ppc64", "", 512, 0, true},
    {"ppc64", "pseries", 512, 0, true},
    {"ppc64", "powernv", 1024, 0, false},
    {"ppc64", "powernv8", 1024, 0, false},
    {"ppc64", "powernv9", 1024, 0, false},
    {"ppc64", "powernv10", 1024, 0, false},
    {"s390x", "", 128, 0, false},
    {"s390x", "s390-ccw-virtio", 128, 0, false},
    {"loongarch64", "", 1024, 0, false},
    {"loongarch64", "virt", 1024, 16, false},
};

/* Targets that have the machine types of another one. */
static const struct {
    const char *begin, *target;
} targets[] = {
    {"x86_64", "x86_64"}, {"i386", "x86_64"}, {"amd64", "x86_64"},
    {"aarch64", "arm"},   {"arm", "arm"},     {"riscv", "riscv"},
    {"ppc64", "ppc64"},   {"s390x", "s390x"}, {"loongarch64", "loongarch64"},
};

/* "qemu-kvm", and any other name without an architecture, emulates that of the host. */
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
    for (size_t i = 0; i < COUNT(targets); i++)
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

static const struct default_ram *find_machine(const char *exe, const char *machine)
{
    const char *target = target_of(exe);

    for (size_t i = 0; i < COUNT(defaults); i++)
        if (strcmp(defaults[i].target, target) == 0 && is_version_of(machine, defaults[i].machine))
            return &defaults[i];
    return NULL;
}

/*
 * @param exe      the path of QEMU's executable
 * @param machine  as given to -machine; empty: the target's default
 * @return bytes; 0: not known
 */
static uint64_t qemu_default_ram_bytes(const char *exe, const char *machine)
{
    const struct default_ram *found = find_machine(exe, machine);

    return found ? found->mib << 20 : 0;
}

/* The size of each of the two flash memories that the machine type has, and maps like RAM; 0: none
 * as large as RAM. Source: hw/arm/virt.c, hw/arm/sbsa-ref.c, hw/riscv/virt.c, hw/loongarch/virt.c.
 */
static uint64_t qemu_machine_flash_bytes(const char *exe, const char *machine)
{
    const struct default_ram *found = find_machine(exe, machine);

    return found ? found->flash_mib << 20 : 0;
}

/* The size of the machine type's RAM that only its firmware reaches; 0: none as large as RAM. */
static uint64_t secure_bytes(const struct reading *r, const struct default_ram *machine)
{
    if (machine && strcmp(machine->machine, "sbsa") == 0)
        return 512ULL << 20;
    return r->secure ? 16ULL << 20 : 0; /* hw/arm/virt.c VIRT_SECURE_MEM */
}

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

/* QEMU also takes the path of a backend, whole or in part: "/objects/ram0"
 * (qom/object.c object_resolve_path()). No id has a slash. */
static const char *id_of(const struct reference *as)
{
    const char *slash = strrchr(as->id, '/');

    return slash ? slash + 1 : as->id;
}

static int add_object(struct reading *r, const struct reference *as, struct error *error)
{
    for (size_t i = 0; i < r->n_objects; i++) {
        struct ram_backend *object = &r->objects[i];

        if (strcmp(object->id, id_of(as)) != 0)
            continue;
        object->virtio_mem = as->use == USE_VIRTIO_MEM;
        object->dimm = as->use == USE_DIMM || object->virtio_mem;
        object->node = as->node;
        object->spare = false;
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

static const char *exe_of(const struct reading *r)
{
    return r->files ? r->files->exe : "";
}

/* Finds the size of the block that QEMU makes if it was given no backend; 0: it is not known. */
static uint64_t default_size(struct reading *r)
{
    if (r->memory.size_bytes)
        return r->memory.size_bytes;
    if (r->machine_memory.size_bytes)
        return r->machine_memory.size_bytes;

    uint64_t bytes = qemu_default_ram_bytes(exe_of(r), r->out->machine);

    r->out->ram.assumed = true;
    if (bytes == 0)
        reading_set_unknown(
            r,
            "its RAM has no size in its options, and that of QEMU's machine type %s "
            "without one is not known; start it with -m",
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

static void add_memory_of_board(struct reading *r, const char *id, uint64_t bytes)
{
    struct ram_backend memory = {
        .source = RAM_SOURCE_ANON, .order = ORDER_FLASH, .size_bytes = bytes};

    snprintf(memory.id, sizeof(memory.id), "%s", id);
    if (bytes)
        ram_config_add_device(&r->out->ram, &memory);
}

/* The board's own, mapped like RAM: two flash memories, what only firmware reaches, graphics, and
 * under TCG tags of four bits for each 16 bytes of RAM (hw/arm/virt.c create_tag_ram()). */
static void add_board(struct reading *r, uint64_t boot_bytes)
{
    const uint64_t flash_bytes = qemu_machine_flash_bytes(exe_of(r), r->out->machine);
    const struct default_ram *machine = find_machine(exe_of(r), r->out->machine);

    add_memory_of_board(r, "flash", flash_bytes);
    add_memory_of_board(r, "flash", flash_bytes);
    add_memory_of_board(r, "secure-ram", secure_bytes(r, machine));
    add_memory_of_board(r, "tag", r->mte ? boot_bytes / 32 : 0);
    if (machine && machine->vga)
        reading_add_default_graphics(r);
}

static int add_devices(struct reading *r, struct error *error)
{
    const uint64_t boot_bytes = r->out->ram.total_bytes;

    for (size_t i = 0; i < r->n_references; i++) {
        const struct reference *reference = &r->references[i];
        int rc = reference->use != USE_BOOT ? add_object(r, reference, error) : 0;

        if (rc < 0)
            return rc;
    }
    for (size_t i = 0; i < r->n_objects; i++)
        if (r->objects[i].spare)
            ram_config_add_device(&r->out->ram, &r->objects[i]);
    add_board(r, boot_bytes);
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
