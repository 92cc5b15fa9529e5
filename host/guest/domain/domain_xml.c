// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file domain_xml.c  See domain_xml.h.
 *
 * <memory> of live XML is the sum of the boot memory and of all memory devices, including those
 * that are not RAM (libvirt src/conf/domain_postparse.c virDomainDefPostParseMemory()). So the boot
 * memory is that of the NUMA cells if there are any, else <memory> minus the devices.
 */
#include "guest/domain/domain_xml.h"

#include "base/parse.h"
#include "base/wire/wire.h"
#include "guest/domain/agent_port.h"
#include "guest/domain/xml_owner.h"
#include "guest/domain/xml_tree.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* --- the agent's channel ---------------------------------------------------------------------- */

/* With mode='connect' QEMU is the client. */
static bool is_served_by_qemu(const xmlNode *channel, const xmlNode *source)
{
    return xml_attribute_is(channel, "type", "unix") &&
           !xml_attribute_is(source, "mode", "connect");
}

static void read_channel(const xmlNode *channel, const xmlNode *target, struct agent_port *out)
{
    const xmlNode *source = xml_child(channel, "source");

    out->present = true;
    out->closed = xml_attribute_is(target, "state", "disconnected");
    if (!is_served_by_qemu(channel, source) ||
        xml_attribute(source, "path", out->path, sizeof(out->path)) != 1)
        out->path[0] = '\0';
}

static void read_vsock(const xmlNode *vsock, struct agent_port *out)
{
    char text[16];
    uint64_t cid;

    /* CIDs 0 to 2 and the highest do not belong to guests: include/uapi/linux/vm_sockets.h */
    if (xml_attribute(xml_child(vsock, "cid"), "address", text, sizeof(text)) == 1 &&
        parse_u64(text, 3, UINT32_MAX - 1, &cid) == 0)
        out->vsock_cid = (uint32_t)cid;
}

/* Reads the port from <devices>, which may be NULL. A malformed port, or a path that is too long
 * for a socket, counts as absent. The caller adds the domain's UUID. */
static void xml_agent_port_read(const xmlNode *devices, struct agent_port *out)
{
    *out = (struct agent_port){0};
    for (const xmlNode *c = xml_child(devices, "channel"); c && !out->present; c = xml_next(c)) {
        const xmlNode *target = xml_child(c, "target");

        if (xml_attribute_is(target, "type", "virtio") &&
            xml_attribute_is(target, "name", WIRE_PORT))
            read_channel(c, target, out);
    }
    read_vsock(xml_child(devices, "vsock"), out);
}

#define MAX_XML_BYTES (16UL << 20)
#define BASE_PAGE_KIB 4

/* The settings of <memoryBacking> for all backends. */
struct backing {
    enum ram_source source;
    bool hugetlb;
};

static void cleanup_doc_at(xmlDocPtr *doc)
{
    xmlFreeDoc(*doc);
}

#define cleanup_doc __attribute__((cleanup(cleanup_doc_at)))

static int bad_size(struct error *error, int rc, const char *what)
{
    if (rc == -ERANGE)
        return error_set(error, -E2BIG, "domain XML: %s: more bytes than is possible", what);
    return error_set(error, -EINVAL, "domain XML: %s: not a memory size", what);
}

/* Reads the text of a size element. @p node may be NULL, which is an error, too. */
static int element_bytes(const xmlNode *node, const char *what, uint64_t *bytes,
                         struct error *error)
{
    char text[32];

    if (!node)
        return error_set(error, -EINVAL, "domain XML: %s is missing", what);
    int rc = xml_text(node, text, sizeof(text));

    if (rc == 1)
        rc = xml_scaled_bytes(node, text, bytes);
    return rc < 0 ? bad_size(error, rc, what) : 0;
}

static int add_backend(struct ram_config *ram, const struct ram_backend *backend,
                       struct error *error)
{
    int rc = ram_config_add(ram, backend);

    if (rc == -E2BIG && ram->n_backends == RAM_CONFIG_MAX_BACKENDS)
        return error_set(error, rc, "domain XML: more than %d NUMA cells and memory devices",
                         RAM_CONFIG_MAX_BACKENDS);
    if (rc == -E2BIG)
        return error_set(error, rc, "domain XML: more bytes of memory than is possible");
    return rc < 0 ? error_set(error, rc, "domain XML: out of memory") : 0;
}

/* True for <hugepages> without <page>, or with pages for all nodes that are larger than the base
 * page. With pages for some nodes only, it is left open. */
static bool all_hugetlb(const xmlNode *hugepages, bool *open)
{
    const xmlNode *page = xml_child(hugepages, "page");
    bool huge = hugepages && !page;

    *open = false;
    for (; page; page = xml_next(page)) {
        char text[64];
        uint64_t bytes = 0;

        *open |= xml_attribute(page, "nodeset", text, sizeof(text)) != 0;
        if (xml_attribute(page, "size", text, sizeof(text)) == 1 &&
            xml_scaled_bytes(page, text, &bytes) == 0)
            huge |= bytes > BASE_PAGE_KIB * 1024ULL;
    }
    return huge && !*open;
}

/* "anonymous" does not decide: with access or huge pages set, libvirt uses a file all the same
 * (src/qemu/qemu_command.c qemuBuildMemoryBackendProps()). */
static struct backing read_backing(const xmlNode *memory_backing)
{
    const xmlNode *source = xml_child(memory_backing, "source");
    struct backing backing = {.source = RAM_SOURCE_UNKNOWN};
    bool open;

    backing.hugetlb = all_hugetlb(xml_child(memory_backing, "hugepages"), &open);
    if (open)
        return backing;
    if (xml_attribute_is(source, "type", "memfd"))
        backing.source = RAM_SOURCE_MEMFD;
    else if (backing.hugetlb || xml_attribute_is(source, "type", "file"))
        backing.source = RAM_SOURCE_FILE;
    return backing;
}

static int add_cell(const xmlNode *cell, unsigned index, const struct backing *backing,
                    struct ram_config *ram, struct error *error)
{
    struct ram_backend backend = {.source = backing->source, .hugetlb = backing->hugetlb};
    char id[16];
    char number[32];

    if (xml_attribute(cell, "id", id, sizeof(id)) != 1)
        snprintf(id, sizeof(id), "%u", index);
    snprintf(backend.id, sizeof(backend.id), "ram-node%s", id);
    int rc = xml_attribute(cell, "memory", number, sizeof(number));

    if (rc == 0)
        return error_set(error, -EINVAL, "domain XML: NUMA cell %s has no memory attribute", id);
    if (rc == 1)
        rc = xml_scaled_bytes(cell, number, &backend.size_bytes);
    if (rc < 0)
        return bad_size(error, rc, "memory of a NUMA cell");
    return backend.size_bytes ? add_backend(ram, &backend, error) : 0;
}

static int add_cells(const xmlNode *numa, const struct backing *backing, struct ram_config *ram,
                     struct error *error)
{
    unsigned index = 0;

    for (const xmlNode *cell = xml_child(numa, "cell"); cell; cell = xml_next(cell)) {
        int rc = add_cell(cell, index++, backing, ram, error);

        if (rc < 0)
            return rc;
    }
    return 0;
}

/* A guest does not count NVDIMM, virtio-pmem and SGX memory as RAM. */
static bool is_ram_device(const xmlNode *memory)
{
    return xml_attribute_is(memory, "model", "dimm") ||
           xml_attribute_is(memory, "model", "virtio-mem");
}

static int add_device(const xmlNode *memory, const struct backing *backing, uint64_t bytes,
                      struct ram_config *ram, struct error *error)
{
    struct ram_backend backend = {
        .size_bytes = bytes,
        .source = backing->source,
        .hugetlb = backing->hugetlb,
        .dimm = true,
    };
    char alias[56];

    /* its own page size may differ from the domain's: then only the mapping tells */
    if (xml_child(xml_child(memory, "source"), "pagesize")) {
        backend.source = RAM_SOURCE_UNKNOWN;
        backend.hugetlb = false;
    }
    if (xml_attribute(xml_child(memory, "alias"), "name", alias, sizeof(alias)) == 1)
        snprintf(backend.id, sizeof(backend.id), "mem%s", alias);
    return bytes ? add_backend(ram, &backend, error) : 0;
}

/* Adds the DIMMs, and adds every memory device's size to @p all_bytes. */
static int add_devices(const xmlNode *devices, const struct backing *backing,
                       struct ram_config *ram, uint64_t *all_bytes, struct error *error)
{
    for (const xmlNode *m = xml_child(devices, "memory"); m; m = xml_next(m)) {
        uint64_t bytes = 0;
        int rc = element_bytes(xml_child(xml_child(m, "target"), "size"), "size of a memory device",
                               &bytes, error);

        if (rc == 0 && __builtin_add_overflow(*all_bytes, bytes, all_bytes))
            rc = bad_size(error, -ERANGE, "memory devices");
        if (rc == 0 && is_ram_device(m))
            rc = add_device(m, backing, bytes, ram, error);
        if (rc < 0)
            return rc;
    }
    return 0;
}

/* Inserts the single block of a domain without NUMA cells before its DIMMs. */
static int insert_boot_memory(const xmlNode *domain, const struct backing *backing,
                              uint64_t devices_bytes, struct ram_config *ram, struct error *error)
{
    struct ram_backend boot = {
        .id = "pc.ram", .source = backing->source, .hugetlb = backing->hugetlb};
    int rc = element_bytes(xml_child(domain, "memory"), "<memory>", &boot.size_bytes, error);

    if (rc < 0)
        return rc;
    if (boot.size_bytes <= devices_bytes)
        return error_set(error, -EINVAL, "domain XML: <memory> leaves no memory to boot with");
    boot.size_bytes -= devices_bytes;
    rc = add_backend(ram, &boot, error);
    if (rc < 0)
        return rc;
    memmove(&ram->backends[1], &ram->backends[0], (ram->n_backends - 1) * sizeof(boot));
    ram->backends[0] = boot;
    return 0;
}

/* type='sev' leaves the memory in its place, encrypted (formatdomain, "Launch Security"). */
static const char *read_protection(const xmlNode *launch_security)
{
    if (xml_attribute_is(launch_security, "type", "sev-snp"))
        return "SEV-SNP";
    return xml_attribute_is(launch_security, "type", "tdx") ? "TDX" : NULL;
}

static int read_ram(const xmlNode *domain, struct ram_config *ram, struct error *error)
{
    const xmlNode *memory_backing = xml_child(domain, "memoryBacking");
    struct backing backing = read_backing(memory_backing);
    uint64_t devices_bytes = 0;
    int rc = add_cells(xml_child(xml_child(domain, "cpu"), "numa"), &backing, ram, error);
    bool cells = ram->n_backends > 0;

    ram->locked = xml_child(memory_backing, "locked") != NULL;
    ram->in_guest_memfd = read_protection(xml_child(domain, "launchSecurity"));
    if (rc == 0)
        rc = add_devices(xml_child(domain, "devices"), &backing, ram, &devices_bytes, error);
    if (rc == 0 && !cells)
        rc = insert_boot_memory(domain, &backing, devices_bytes, ram, error);
    return rc;
}

/* Checks 8-4-4-4-12 hexadecimal digits, and converts them to lower case. */
static bool fix_uuid(char uuid[37])
{
    static const char form[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";

    for (size_t i = 0; i < sizeof(form) - 1; i++) {
        unsigned char c = (unsigned char)uuid[i];

        if (form[i] == '-' ? c != '-' : !isxdigit(c))
            return false;
        uuid[i] = (char)tolower(c);
    }
    return uuid[36] == '\0';
}

static int read_identity(const xmlNode *domain, struct domain_description *out, struct error *error)
{
    char type[16];
    int named = xml_text(xml_child(domain, "name"), out->name, sizeof(out->name));

    if (named != 1 || !out->name[0])
        return error_set(error, -EINVAL, "domain XML: <name> is %s",
                         named < 0 ? "too long" : "missing");

    int has_uuid = xml_text(xml_child(domain, "uuid"), out->uuid, sizeof(out->uuid));

    if (has_uuid < 0 || (has_uuid == 1 && !fix_uuid(out->uuid)))
        return error_set(error, -EINVAL, "domain XML of %s: <uuid> is malformed", out->name);
    if (xml_attribute(domain, "type", type, sizeof(type)) == 1) {
        out->kvm = strcmp(type, "kvm") == 0;
        out->accel_known = out->kvm || strcmp(type, "qemu") == 0 || strcmp(type, "hvf") == 0;
    }
    return 0;
}

int domain_xml_parse(const char *xml, size_t length, struct domain_description *out,
                     struct error *error)
{
    cleanup_doc xmlDocPtr doc = NULL;

    memset(out, 0, sizeof(*out));
    if (length > MAX_XML_BYTES)
        return error_set(error, -E2BIG, "domain XML: larger than %lu MiB", MAX_XML_BYTES >> 20);

    int rc = xml_tree_parse(xml, length, &doc, error);

    if (rc < 0) {
        error_prefix(error, "domain XML");
        return rc;
    }
    const xmlNode *domain = xmlDocGetRootElement(doc);

    if (!domain || strcmp((const char *)domain->name, "domain") != 0)
        return error_set(error, -EINVAL, "domain XML: the root element is not <domain>");
    rc = read_identity(domain, out, error);
    if (rc < 0)
        return rc;
    xml_owner_read(domain, out->name, &out->owner);
    xml_agent_port_read(xml_child(domain, "devices"), &out->agent_port);
    memcpy(out->agent_port.uuid, out->uuid, sizeof(out->agent_port.uuid));
    rc = read_ram(domain, &out->ram, error);
    if (rc < 0) {
        error_prefix(error, "domain %s", out->name);
        domain_description_free(out);
    }
    return rc;
}

void domain_description_free(struct domain_description *description)
{
    ram_config_free(&description->ram);
}
