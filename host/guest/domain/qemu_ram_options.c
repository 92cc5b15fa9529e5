// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file qemu_ram_options.c  The options of QEMU that are about memory: -m, -object, -numa,
 * -device, -set. */
#include "guest/domain/qemu_cmdline_private.h"

#include "base/array.h"
#include "base/parse.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define MIB (1ULL << 20)

uint64_t reading_size(const struct qemu_option *option, const char *key, uint64_t unit)
{
    char text[64];
    uint64_t value = 0;

    if (qemu_option_get(option, NULL, key, text, sizeof(text)) != 1 ||
        qemu_size_parse(text, unit, &value) < 0)
        return 0;
    return value;
}

void reading_merge_size(const struct qemu_option *option, const char *key, uint64_t unit,
                        uint64_t *bytes)
{
    const uint64_t given = reading_size(option, key, unit);

    if (given)
        *bytes = given;
}

/* Each -m, and each section of a file, changes only what it names. */
void read_memory(struct reading *r, const struct qemu_option *option)
{
    char text[64];
    int rc = qemu_option_get(option, "size", "size", text, sizeof(text));

    reading_merge_size(option, "maxmem", MIB, &r->memory.max_bytes);
    reading_merge_size(option, "slots", 1, &r->memory.slots);
    if (rc == 0)
        return; /* "-m slots=2,maxmem=4G" leaves the size alone */
    if (rc == 1)
        rc = qemu_size_parse(text, MIB, &r->memory.size_bytes);
    if (rc < 0 || r->memory.size_bytes > RAM_CONFIG_MAX_BYTES)
        error_set(&r->error, -EINVAL, "QEMU option -m %.80s: not a memory size", option->text);
}

static enum ram_source source_of(const char *type)
{
    if (strcmp(type, "memory-backend-ram") == 0)
        return RAM_SOURCE_ANON;
    if (strcmp(type, "memory-backend-memfd") == 0)
        return RAM_SOURCE_MEMFD;
    if (strcmp(type, "memory-backend-file") == 0 || strcmp(type, "memory-backend-shm") == 0)
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

static void refer(struct reading *r, const struct qemu_option *option, const char *key,
                  struct reference as);

void read_object(struct reading *r, const struct qemu_option *option)
{
    static const char prefix[] = "memory-backend-";
    char type[64];
    char size[64];

    if (qemu_option_get(option, "qom-type", "qom-type", type, sizeof(type)) != 1)
        return;
    read_protection(r, type);
    if (strcmp(type, "monitor-qmp") == 0)
        qemu_monitors_add_object(&r->monitors, option);
    if (strncmp(type, prefix, sizeof(prefix) - 1) != 0)
        return;
    if (r->n_objects == RAM_CONFIG_MAX_BACKENDS) {
        error_set(&r->error, -EINVAL, "QEMU options: more than %d memory backends",
                  RAM_CONFIG_MAX_BACKENDS);
        return;
    }

    struct ram_backend *b = &r->objects[r->n_objects];

    if (qemu_option_get(option, NULL, "id", b->id, sizeof(b->id)) != 1 ||
        qemu_option_get(option, NULL, "size", size, sizeof(size)) != 1 ||
        qemu_size_parse(size, 1, &b->size_bytes) < 0 || b->size_bytes == 0 ||
        b->size_bytes > RAM_CONFIG_MAX_BYTES) {
        error_set(&r->error, -EINVAL, "QEMU option -object %.200s: no usable id and size",
                  option->text);
        return;
    }
    b->source = source_of(type);
    if (b->source == RAM_SOURCE_ANON && qemu_option_is_on(option, "share"))
        b->source = RAM_SOURCE_SHARED;
    b->hugetlb = qemu_option_is_on(option, "hugetlb");
    b->spare = true;
    if (qemu_option_get(option, NULL, "mem-path", b->path, sizeof(b->path)) != 1)
        b->path[0] = '\0';
    b->file_offset = reading_size(option, "offset", 1);
    b->order = (unsigned)++r->n_objects;
    /* SGX's enclaves, which -machine sgx-epc.N.memdev= names */
    if (strcmp(type, "memory-backend-epc") == 0)
        refer(r, option, "id", (struct reference){.use = USE_DEVICE});
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

/* Notes the use of the backend under @p key. @p node: its node, plus 1. */
static void refer(struct reading *r, const struct qemu_option *option, const char *key,
                  struct reference as)
{
    int rc = qemu_option_get(option, NULL, key, as.id, sizeof(as.id));

    if (r->n_references == RAM_CONFIG_MAX_BACKENDS)
        rc = error_set(&r->error, -EINVAL, "QEMU options: more than %d uses of memory backends",
                       RAM_CONFIG_MAX_BACKENDS);
    else if (rc < 0)
        error_set(&r->error, -EINVAL, "QEMU option %.200s: the memdev's id is too long",
                  option->text);
    if (rc < 0)
        return;
    if (rc == 0 && (as.use == USE_DIMM || as.use == USE_VIRTIO_MEM) && strcmp(key, "memdev") == 0)
        reading_set_unknown(r, "a memory device in its options has no memdev");
    qemu_option_get(option, NULL, "id", as.device, sizeof(as.device));
    r->references[r->n_references] = as;
    r->n_references += rc == 1;
}

void read_numa(struct reading *r, const struct qemu_option *option)
{
    char type[16];

    if (qemu_option_get(option, "type", "type", type, sizeof(type)) != 1 ||
        strcmp(type, "node") != 0)
        return;

    unsigned node = node_of(option, "nodeid");

    if (r->n_nodes++ == MAX_NODES)
        error_set(&r->error, -EINVAL, "QEMU options: more than %d NUMA nodes", MAX_NODES);
    refer(r, option, "memdev",
          (struct reference){.use = USE_BOOT, .node = node ? node : r->n_nodes});
}

/* --- devices ---------------------------------------------------------------------------------- */

/* Graphics memory, and its size without the option. */
static const struct {
    const char *driver, *property;
    uint64_t unit, default_mib;
} graphics[] = {
    {"VGA", "vgamem_mb", MIB, 16},
    {"secondary-vga", "vgamem_mb", MIB, 16},
    {"vmware-svga", "vgamem_mb", MIB, 16},
    {"ati-vga", "vgamem_mb", MIB, 16},
    {"cirrus-vga", "vgamem_mb", MIB, 4},
    {"isa-vga", "vgamem_mb", MIB, 8},
    {"isa-cirrus-vga", "vgamem_mb", MIB, 4},
    {"virtio-vga", "vgamem_mb", MIB, 8},
    {"virtio-vga-gl", "vgamem_mb", MIB, 8},
    {"bochs-display", "vgamem", 1, 16},
    {"qxl", "ram_size", 1, 64},
    {"qxl", "vram_size", 1, 64},
    {"qxl", "ram_size_mb", MIB, 0},
    {"qxl", "vram_size_mb", MIB, 0},
    {"qxl", "vram64_size_mb", MIB, 0},
    {"qxl-vga", "ram_size", 1, 64},
    {"qxl-vga", "vram_size", 1, 64},
    {"qxl-vga", "ram_size_mb", MIB, 0},
    {"qxl-vga", "vram_size_mb", MIB, 0},
    {"qxl-vga", "vram64_size_mb", MIB, 0},
};

/* QEMU makes it after all backends, and rounds its size up to a power of two (pow2ceil() of
 * hw/display/vga.c and qxl.c). */
static void add_graphics(struct reading *r, uint64_t bytes)
{
    struct ram_backend memory = {.id = "vram", .source = RAM_SOURCE_ANON, .size_bytes = MIB};

    while (memory.size_bytes < bytes && memory.size_bytes < RAM_CONFIG_MAX_BYTES)
        memory.size_bytes *= 2;
    memory.order = ORDER_GRAPHICS + (unsigned)r->out->ram.n_devices;
    if (bytes >= MIB)
        ram_config_add_device(&r->out->ram, &memory); /* without it, it counts as unknown */
}

static void add_graphics_of(struct reading *r, const char *driver, const struct qemu_option *option)
{
    for (size_t i = 0; i < COUNT(graphics); i++) {
        const uint64_t given = reading_size(option, graphics[i].property, graphics[i].unit);

        if (strcmp(driver, graphics[i].driver) == 0)
            add_graphics(r, given ? given : graphics[i].default_mib * MIB);
    }
}

/* "-vga std" makes the device without options of its own. */
void read_vga(struct reading *r, const struct qemu_option *option)
{
    static const char *const drivers[][2] = {{"std", "VGA"},
                                             {"cirrus", "cirrus-vga"},
                                             {"vmware", "vmware-svga"},
                                             {"qxl", "qxl-vga"},
                                             {"virtio", "virtio-vga"}};

    for (size_t i = 0; i < COUNT(drivers); i++)
        if (strcmp(option->text, drivers[i][0]) == 0)
            add_graphics_of(r, drivers[i][1], &(struct qemu_option){.text = ""});
}

/* These take the place of the default (softmmu/vl.c default_list). */
static bool is_default_graphics(const char *driver)
{
    return strcmp(driver, "secondary-vga") != 0 &&
           (strstr(driver, "vga") || strcmp(driver, "VGA") == 0);
}

void reading_add_default_graphics(struct reading *r)
{
    if (!(r->marks & MARK_NO_GRAPHICS))
        add_graphics_of(r, "VGA", &(struct qemu_option){.text = ""});
}

/* "-global DRIVER.PROPERTY=VALUE", or with driver=, property= and value=, as in a file. */
void reading_add_global_graphics(struct reading *r, const struct qemu_option *option)
{
    char driver[64] = "";
    char property[64] = "";
    char key[128];

    qemu_option_get(option, NULL, "driver", driver, sizeof(driver));
    qemu_option_get(option, NULL, "property", property, sizeof(property));
    for (size_t i = 0; i < COUNT(graphics); i++) {
        const bool split = !strcmp(driver, graphics[i].driver) &&
                           !strcmp(property, graphics[i].property);

        snprintf(key, sizeof(key), "%s.%s", graphics[i].driver, graphics[i].property);
        add_graphics(r, reading_size(option, split ? "value" : key, graphics[i].unit));
    }
}

/* Devices with memory of a backend, and under which key. */
static const struct {
    const char *driver, *key; /* the driver's begin */
    enum memory_use use;
} memory_devices[] = {
    {"pc-dimm", "memdev", USE_DIMM},
    {"virtio-mem", "memdev", USE_VIRTIO_MEM},
    {"hv-balloon", "memdev", USE_VIRTIO_MEM}, /* QEMU 8.2: Hyper-V's way of plugging */
    {"cxl-type3", "volatile-memdev", USE_DIMM},
    {"cxl-type3", "persistent-memdev", USE_DEVICE},
    {"cxl-type3", "memdev", USE_DEVICE},
    {"cxl-type3", "lsa", USE_DEVICE},
    {"nvdimm", "memdev", USE_DEVICE},
    {"virtio-pmem", "memdev", USE_DEVICE},
    {"ivshmem-plain", "memdev", USE_DEVICE},
    {"nvme", "pmrdev", USE_DEVICE},
};

static bool begins(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* Only hv-balloon works without memory. */
static bool lacks_memory(const char *driver, const struct qemu_option *option)
{
    char id[2];

    return begins(driver, "hv-balloon") &&
           qemu_option_get(option, NULL, "memdev", id, sizeof(id)) == 0;
}

void read_device(struct reading *r, const struct qemu_option *option)
{
    char driver[64];

    if (qemu_option_get(option, "driver", "driver", driver, sizeof(driver)) != 1)
        return;
    if (begins(driver, "virtio-balloon"))
        r->out->free_page_reporting |= qemu_option_is_on(option, "free-page-reporting");
    add_graphics_of(r, driver, option);
    r->marks |= is_default_graphics(driver) ? MARK_NO_GRAPHICS : 0;
    for (size_t i = 0; !r->error.code && i < COUNT(memory_devices); i++) {
        const struct reference as = {.use = memory_devices[i].use, .node = node_of(option, "node")};

        if (begins(driver, memory_devices[i].driver) && !lacks_memory(driver, option))
            refer(r, option, memory_devices[i].key, as);
    }
}

/* -set GROUP.ID.KEY=VALUE changes an option that stands before it; of those that matter here only
 * -device can have an id (softmmu/vl.c qemu_set_option()). */
void read_set(struct reading *r, const struct qemu_option *option)
{
    char group[64];
    char id[64];
    char key[64];
    int length = 0;

    if (sscanf(option->text, "%63[^.].%63[^.].%63[^=]=%n", group, id, key, &length) != 3 ||
        length == 0 || (strcmp(group, "device") != 0 && strcmp(group, "numa") != 0))
        return;
    for (size_t i = 0; i < r->n_references && strcmp(key, "memdev") == 0; i++)
        if (strcmp(r->references[i].device, id) == 0)
            snprintf(r->references[i].id, sizeof(r->references[i].id), "%s", option->text + length);
    if (strcmp(key, "memdev") != 0 && (strcmp(key, "driver") == 0 || strcmp(group, "numa") == 0))
        reading_set_unknown(r, "its option -set %.60s is not understood", option->text);
}
