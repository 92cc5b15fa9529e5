// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file qemu_cmdline.c  See qemu_cmdline.h.
 *
 * The options are read into struct reading, in any order; assemble() then selects the memory
 * backends that are the guest's RAM: the machine's memory-backend, else those of the NUMA nodes,
 * else the one that QEMU makes itself from -m and -mem-path; and those of the DIMMs. Backends of
 * NVDIMMs, ivshmem and SGX are not RAM and are left out.
 */
#include "guest/domain/qemu_cmdline.h"

#include "base/cleanup.h"
#include "base/parse.h"
#include "guest/domain/qemu_monitor.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define MIB (1ULL << 20)
#define DEFAULT_RAM_BYTES (128 * MIB) /* hw/core/machine.c: default_ram_size */
#define RAM_ALIGN_BYTES 8192ULL       /* softmmu/vl.c: ram_size is rounded up to it */

#define cleanup_option __attribute__((cleanup(qemu_option_close)))

/* A "memdev=" reference to a backend. */
struct reference {
    char id[64];
    bool dimm;
    unsigned node; /* node plus 1; 0: no node */
};

#define MAX_NODES 128 /* QEMU's default */

struct reading {
    struct qemu_cmdline *out;
    uint64_t ram_bytes; /* -m */
    char machine_backend[64];
    bool no_machine;   /* -machine none */
    bool mem_path;     /* -mem-path was given */
    bool accel_option; /* -accel beats -machine accel= and -enable-kvm */
    size_t n_objects, n_references;
    unsigned n_nodes; /* number of NUMA nodes so far */
    struct ram_backend objects[RAM_CONFIG_MAX_BACKENDS];
    struct reference references[RAM_CONFIG_MAX_BACKENDS];
    struct qemu_monitors monitors;
    char smbios_uuid[37];
};

const char *accel_name(enum accel accel)
{
    static const char *const names[] = {
        [ACCEL_UNKNOWN] = "unknown",
        [ACCEL_KVM] = "kvm",
        [ACCEL_TCG] = "tcg",
    };

    return names[accel];
}

/* Takes the first of a colon-separated list, which QEMU tries first. */
static enum accel accel_of(const char *list)
{
    size_t length = strcspn(list, ":");

    if (length == 3 && memcmp(list, "kvm", 3) == 0)
        return ACCEL_KVM;
    if (length == 3 && memcmp(list, "tcg", 3) == 0)
        return ACCEL_TCG;
    return ACCEL_UNKNOWN;
}

/* 0 if it is absent, or if QEMU would not have accepted it. */
static uint64_t size_of(const struct qemu_option *option, const char *key, uint64_t unit)
{
    char text[64];
    uint64_t value = 0;

    if (qemu_option_get(option, NULL, key, text, sizeof(text)) != 1 ||
        qemu_size_parse(text, unit, &value) < 0)
        return 0;
    return value;
}

static int read_memory(struct reading *r, const struct qemu_option *option, struct error *error)
{
    char text[64];
    int rc = qemu_option_get(option, "size", "size", text, sizeof(text));

    r->out->max_ram_bytes = size_of(option, "maxmem", MIB);
    r->out->memory_slots = size_of(option, "slots", 1);
    if (rc == 0)
        return 0; /* "-m slots=2,maxmem=4G" leaves the size alone */
    if (rc == 1)
        rc = qemu_size_parse(text, MIB, &r->ram_bytes);
    if (rc < 0 || r->ram_bytes > RAM_CONFIG_MAX_BYTES)
        return error_set(error, -EINVAL, "QEMU option -m %.80s: not a memory size", option->text);
    return 0;
}

static int read_machine(struct reading *r, const struct qemu_option *option, struct error *error)
{
    char *type = r->out->machine;
    char accel[64];
    char below[32];

    if (qemu_option_get(option, "type", "type", type, sizeof(r->out->machine)) == 1)
        r->no_machine = strcmp(type, "none") == 0;
    if (qemu_option_get(option, "type", "max-ram-below-4g", below, sizeof(below)) == 1)
        qemu_size_parse(below, 1, &r->out->max_ram_below_4g_bytes);
    r->out->cxl |= qemu_option_is_on(option, "cxl");
    if (r->ram_bytes == 0) /* -m takes precedence, wherever it stands */
        r->ram_bytes = size_of(option, "memory.size", 1);
    if (r->out->max_ram_bytes == 0)
        r->out->max_ram_bytes = size_of(option, "memory.max-size", 1);
    if (r->out->memory_slots == 0)
        r->out->memory_slots = size_of(option, "memory.slots", 1);
    if (!r->accel_option && qemu_option_get(option, "type", "accel", accel, sizeof(accel)) == 1)
        r->out->accel = accel_of(accel);
    if (qemu_option_get(option, "type", "memory-backend", r->machine_backend,
                        sizeof(r->machine_backend)) < 0)
        return error_set(error, -EINVAL,
                         "QEMU option -machine: the memory-backend's id is too long");
    return 0;
}

static int read_accel(struct reading *r, const struct qemu_option *option, struct error *error)
{
    char accel[64];

    (void)error;
    if (!r->accel_option && qemu_option_get(option, "accel", "accel", accel, sizeof(accel)) == 1)
        r->out->accel = accel_of(accel);
    r->accel_option = true; /* among several -accel QEMU tries the first one first */
    return 0;
}

static int read_enable_kvm(struct reading *r, const struct qemu_option *option, struct error *error)
{
    (void)option;
    (void)error;
    if (!r->accel_option)
        r->out->accel = ACCEL_KVM;
    return 0;
}

static int read_cpu(struct reading *r, const struct qemu_option *option, struct error *error)
{
    (void)error;
    qemu_option_get(option, "model", "vendor", r->out->cpu_vendor, sizeof(r->out->cpu_vendor));
    return 0;
}

static int read_global(struct reading *r, const struct qemu_option *option, struct error *error)
{
    static const char *const names[] = {"q35-pcihost.pci-hole64-size",
                                        "i440FX-pcihost.pci-hole64-size"};
    char property[32];
    uint64_t bytes = 0;

    (void)error;
    if (qemu_option_get(option, NULL, "property", property, sizeof(property)) == 1 &&
        strcmp(property, "pci-hole64-size") == 0)
        bytes = size_of(option, "value", 1);
    for (size_t i = 0; bytes == 0 && i < sizeof(names) / sizeof(names[0]); i++)
        bytes = size_of(option, names[i], 1);
    if (bytes > 0)
        r->out->pci_hole64_bytes = bytes;
    return 0;
}

static enum ram_source source_of(const char *type)
{
    if (strcmp(type, "memory-backend-ram") == 0)
        return RAM_SOURCE_ANON;
    if (strcmp(type, "memory-backend-memfd") == 0)
        return RAM_SOURCE_MEMFD;
    if (strcmp(type, "memory-backend-file") == 0)
        return RAM_SOURCE_FILE;
    return RAM_SOURCE_UNKNOWN;
}

/* Recognises the objects for -machine confidential-guest-support= whose private memory is in
 * guest_memfd (QEMU target/i386/sev.c and kvm/tdx.c: require_guest_memfd). Memory of sev-guest is
 * the backend's own, encrypted in its place. */
static void read_protection(struct reading *r, const char *type)
{
    if (strcmp(type, "sev-snp-guest") == 0)
        r->out->ram.in_guest_memfd = "SEV-SNP";
    else if (strcmp(type, "tdx-guest") == 0)
        r->out->ram.in_guest_memfd = "TDX";
}

static int read_object(struct reading *r, const struct qemu_option *option, struct error *error)
{
    static const char prefix[] = "memory-backend-";
    char type[64];
    char size[64];

    if (qemu_option_get(option, "qom-type", "qom-type", type, sizeof(type)) != 1)
        return 0;
    read_protection(r, type);
    if (strcmp(type, "monitor-qmp") == 0)
        qemu_monitors_add_object(&r->monitors, option);
    if (strncmp(type, prefix, sizeof(prefix) - 1) != 0)
        return 0;
    if (r->n_objects == RAM_CONFIG_MAX_BACKENDS)
        return error_set(error, -EINVAL, "QEMU options: more than %d memory backends",
                         RAM_CONFIG_MAX_BACKENDS);

    struct ram_backend *b = &r->objects[r->n_objects];

    if (qemu_option_get(option, NULL, "id", b->id, sizeof(b->id)) != 1 ||
        qemu_option_get(option, NULL, "size", size, sizeof(size)) != 1 ||
        qemu_size_parse(size, 1, &b->size_bytes) < 0 || b->size_bytes == 0 ||
        b->size_bytes > RAM_CONFIG_MAX_BYTES)
        return error_set(error, -EINVAL, "QEMU option -object %.200s: no usable id and size",
                         option->text);
    b->source = source_of(type);
    if (b->source == RAM_SOURCE_ANON && qemu_option_is_on(option, "share"))
        b->source = RAM_SOURCE_SHARED;
    b->hugetlb = qemu_option_is_on(option, "hugetlb");
    r->n_objects++;
    return 0;
}

/* The number under @p key, plus 1; 0: no such key. */
static unsigned node_of(const struct qemu_option *option, const char *key)
{
    char text[16];
    uint64_t node;

    return qemu_option_get(option, NULL, key, text, sizeof(text)) == 1 &&
                   parse_u64(text, 0, MAX_NODES - 1, &node) == 0
               ? (unsigned)node + 1
               : 0;
}

/* Notes the backend of the option's memdev= as RAM. @p node: its node, plus 1. */
static int refer(struct reading *r, const struct qemu_option *option, bool dimm, unsigned node,
                 struct error *error)
{
    struct reference *reference = &r->references[r->n_references];

    if (r->n_references == RAM_CONFIG_MAX_BACKENDS)
        return error_set(error, -EINVAL, "QEMU options: more than %d uses of memory backends",
                         RAM_CONFIG_MAX_BACKENDS);

    int rc = qemu_option_get(option, NULL, "memdev", reference->id, sizeof(reference->id));

    if (rc < 0)
        return error_set(error, -EINVAL, "QEMU option %.200s: the memdev's id is too long",
                         option->text);
    reference->dimm = dimm;
    reference->node = node;
    r->n_references += rc == 1;
    return 0;
}

static int read_numa(struct reading *r, const struct qemu_option *option, struct error *error)
{
    char type[16];

    if (qemu_option_get(option, "type", "type", type, sizeof(type)) != 1 ||
        strcmp(type, "node") != 0)
        return 0;

    unsigned node = node_of(option, "nodeid");

    if (r->n_nodes++ == MAX_NODES)
        return error_set(error, -EINVAL, "QEMU options: more than %d NUMA nodes", MAX_NODES);
    return refer(r, option, false, node ? node : r->n_nodes, error);
}

static int read_device(struct reading *r, const struct qemu_option *option, struct error *error)
{
    char driver[64];

    if (qemu_option_get(option, "driver", "driver", driver, sizeof(driver)) != 1)
        return 0;
    if (strncmp(driver, "virtio-balloon", 14) == 0)
        r->out->free_page_reporting |= qemu_option_is_on(option, "free-page-reporting");
    if (strcmp(driver, "pc-dimm") != 0 && strncmp(driver, "virtio-mem", 10) != 0)
        return 0;
    return refer(r, option, true, node_of(option, "node"), error);
}

static int read_mem_path(struct reading *r, const struct qemu_option *option, struct error *error)
{
    (void)option;
    (void)error;
    r->mem_path = true;
    return 0;
}

static int read_overcommit(struct reading *r, const struct qemu_option *option, struct error *error)
{
    char lock[16];

    (void)error;
    if (qemu_option_get(option, NULL, "mem-lock", lock, sizeof(lock)) == 1)
        r->out->ram.locked = strcmp(lock, "off") != 0; /* "on", since QEMU 9.2 also "on-fault" */
    return 0;
}

static int read_qmp(struct reading *r, const struct qemu_option *option, struct error *error)
{
    (void)error;
    qemu_monitors_add_qmp(&r->monitors, option->text);
    return 0;
}

static int read_chardev(struct reading *r, const struct qemu_option *option, struct error *error)
{
    (void)error;
    qemu_monitors_add_chardev(&r->monitors, option);
    return 0;
}

static int read_mon(struct reading *r, const struct qemu_option *option, struct error *error)
{
    (void)error;
    qemu_monitors_add_mon(&r->monitors, option);
    return 0;
}

static int read_name(struct reading *r, const struct qemu_option *option, struct error *error)
{
    (void)error;
    qemu_option_get(option, "guest", "guest", r->out->name, sizeof(r->out->name));
    return 0;
}

static int read_uuid(struct reading *r, const struct qemu_option *option, struct error *error)
{
    (void)error;
    snprintf(r->out->uuid, sizeof(r->out->uuid), "%s", option->text);
    return 0;
}

/* Reads the UUID that the guest sees; with Proxmox VE it is the only one. -uuid takes precedence,
 * wherever it stands. */
static int read_smbios(struct reading *r, const struct qemu_option *option, struct error *error)
{
    char type[8];
    char uuid[sizeof(r->smbios_uuid)];

    (void)error;
    if (qemu_option_get(option, NULL, "type", type, sizeof(type)) == 1 && !strcmp(type, "1") &&
        qemu_option_get(option, NULL, "uuid", uuid, sizeof(uuid)) == 1)
        memcpy(r->smbios_uuid, uuid, sizeof(uuid));
    return 0;
}

/* Skips an argument that may look like an option. */
static int read_nothing(struct reading *r, const struct qemu_option *option, struct error *error)
{
    (void)r;
    (void)option;
    (void)error;
    return 0;
}

struct reader {
    const char *name;
    bool has_argument;
    bool raw; /* the argument is one text, even if it begins with '{' */
    int (*read)(struct reading *r, const struct qemu_option *option, struct error *error);
};

static const struct reader readers[] = {
    {"m", true, false, read_memory},
    {"machine", true, false, read_machine},
    {"M", true, false, read_machine},
    {"accel", true, false, read_accel},
    {"cpu", true, false, read_cpu},
    {"global", true, false, read_global},
    {"enable-kvm", false, true, read_enable_kvm},
    {"object", true, false, read_object},
    {"numa", true, false, read_numa},
    {"device", true, false, read_device},
    {"mem-path", true, true, read_mem_path},
    {"overcommit", true, false, read_overcommit},
    {"name", true, true, read_name},
    {"uuid", true, true, read_uuid},
    {"smbios", true, false, read_smbios},
    {"qmp", true, true, read_qmp},
    {"qmp-pretty", true, true, read_qmp},
    {"chardev", true, false, read_chardev},
    {"mon", true, false, read_mon},
    {"append", true, true, read_nothing},
};

/* The reader for argument "-x" or "--x", NULL for any other. */
static const struct reader *reader_for(const char *argument)
{
    if (argument[0] != '-')
        return NULL;
    argument += argument[1] == '-' ? 2 : 1;
    for (size_t i = 0; i < sizeof(readers) / sizeof(readers[0]); i++)
        if (strcmp(argument, readers[i].name) == 0)
            return &readers[i];
    return NULL;
}

static int read_one(struct reading *r, const struct reader *reader, const char *argument,
                    struct error *error)
{
    if (reader->raw)
        return reader->read(r, &(struct qemu_option){.text = argument}, error);

    cleanup_option struct qemu_option option = {0};

    if (qemu_option_open(&option, argument) < 0)
        return error_set(error, -EINVAL, "QEMU option -%s: malformed JSON: %.200s", reader->name,
                         argument);
    return reader->read(r, &option, error);
}

/* Only options with a reader have an argument that may begin with '-'. So every other argument that
 * begins with '-' is an option, and this file needs no list of the many options that it does not
 * know. */
static int read_all(struct reading *r, const char *cmdline, size_t length, struct error *error)
{
    const char *end = cmdline + length;
    const char *at = cmdline + strnlen(cmdline, length) + 1; /* behind argv[0] */

    while (at < end) {
        const struct reader *reader = reader_for(at);

        at += strlen(at) + 1;
        if (!reader || (reader->has_argument && at >= end))
            continue;

        int rc = read_one(r, reader, reader->has_argument ? at : "", error);

        if (rc < 0)
            return rc;
        if (reader->has_argument)
            at += strlen(at) + 1;
    }
    return 0;
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

static int add_object(struct reading *r, const char *id, bool dimm, unsigned node,
                      struct error *error)
{
    for (size_t i = 0; i < r->n_objects; i++) {
        if (strcmp(r->objects[i].id, id) == 0) {
            r->objects[i].dimm = dimm;
            r->objects[i].node = node;
            return add_backend(&r->out->ram, &r->objects[i], error);
        }
    }
    return error_set(error, -EINVAL, "QEMU options: memory backend %s is used but not defined", id);
}

/* Adds the block that QEMU makes if it was given no backend. */
static int add_default(struct reading *r, struct error *error)
{
    struct ram_backend backend = {
        .id = "pc.ram",
        .size_bytes = r->ram_bytes ? r->ram_bytes : DEFAULT_RAM_BYTES,
        .source = r->mem_path ? RAM_SOURCE_FILE : RAM_SOURCE_ANON,
    };

    backend.size_bytes = (backend.size_bytes + RAM_ALIGN_BYTES - 1) & -RAM_ALIGN_BYTES;
    return add_backend(&r->out->ram, &backend, error);
}

static int add_dimms(struct reading *r, struct error *error)
{
    for (size_t i = 0; i < r->n_references; i++) {
        const struct reference *reference = &r->references[i];
        int rc = reference->dimm ? add_object(r, reference->id, true, reference->node, error) : 0;

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

            if (!reference->dimm && reference->node == node)
                rc = add_object(r, reference->id, false, node, error);
            if (rc < 0)
                return rc;
        }
    return 0;
}

static void find_monitor(struct reading *r)
{
    const struct qemu_chardev *found = qemu_monitors_find(&r->monitors);

    r->out->qmp_unreachable = found ? found->unreachable : "there is none";
    if (found && !found->unreachable)
        memcpy(r->out->qmp_path, found->path, sizeof(r->out->qmp_path));
}

static int assemble(struct reading *r, struct error *error)
{
    find_monitor(r);
    if (r->no_machine)
        return error_set(error, -EINVAL, "QEMU option -machine none: there is no guest in it");

    int rc = r->machine_backend[0] ? add_object(r, r->machine_backend, false, 0, error)
                                   : add_nodes(r, error);

    if (rc == 0 && r->out->ram.n_backends == 0)
        rc = add_default(r, error);
    return rc < 0 ? rc : add_dimms(r, error);
}

int qemu_cmdline_parse(const char *cmdline, size_t length, struct qemu_cmdline *out,
                       struct error *error)
{
    cleanup_free struct reading *r = calloc(1, sizeof(*r));
    cleanup_free char *copy = malloc(length + 1); /* makes sure that it ends with a NUL */

    if (!r || !copy)
        return error_set(error, -ENOMEM, "QEMU command line: out of memory");
    if (length == 0)
        return error_set(error, -EINVAL, "QEMU command line: empty");
    memcpy(copy, cmdline, length);
    copy[length] = '\0';
    memset(out, 0, sizeof(*out));
    r->out = out;

    int rc = read_all(r, copy, length, error);

    if (!*out->uuid)
        memcpy(out->uuid, r->smbios_uuid, sizeof(out->uuid));
    if (rc == 0)
        rc = assemble(r, error);
    if (rc < 0)
        qemu_cmdline_free(out);
    return rc;
}

void qemu_cmdline_free(struct qemu_cmdline *cmdline)
{
    ram_config_free(&cmdline->ram);
}
