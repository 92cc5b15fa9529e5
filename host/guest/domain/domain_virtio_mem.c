// SPDX-License-Identifier: LGPL-2.1-or-later
#include "guest/domain/domain_virtio_mem.h"

#include "base/bytes.h"
#include "base/cleanup.h"
#include "guest/domain/libvirt.h"
#include "guest/domain/xml_tree.h"

#include <errno.h>
#include <inttypes.h>
#include <libvirt/virterror.h>
#include <libxml/tree.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- the XML ---------------------------------------------------------------------------------- */

/* 0, or negative: there is no such size. */
static int read_size(const xmlNode *parent, const char *name, uint64_t *bytes)
{
    const xmlNode *node = xml_child(parent, name);
    char text[32];

    return node && xml_text(node, text, sizeof(text)) == 1 ? xml_scaled_bytes(node, text, bytes)
                                                           : -EINVAL;
}

static const xmlNode *next_device(const xmlNode *node)
{
    while (node && !xml_attribute_is(node, "model", "virtio-mem"))
        node = xml_next(node);
    return node;
}

static const xmlNode *first_device(const xmlDoc *doc)
{
    return next_device(xml_child(xml_child(xmlDocGetRootElement(doc), "devices"), "memory"));
}

static int add_device(struct domain_virtio_mem *out, const xmlNode *device)
{
    const xmlNode *target = xml_child(device, "target");
    uint64_t size = 0;
    uint64_t block = 0;
    uint64_t requested = 0;
    uint64_t current = 0;
    int rc = read_size(target, "size", &size);

    rc = rc ? rc : read_size(target, "block", &block);
    rc = rc ? rc : read_size(target, "requested", &requested);
    rc = rc ? rc : read_size(target, "current", &current);
    if (rc < 0 || block == 0 || requested > size || current > size ||
        size > INT64_MAX - out->size_bytes)
        return -EINVAL;
    if (out->n++ == 0 &&
        xml_attribute(xml_child(device, "alias"), "name", out->alias, sizeof(out->alias)) < 0)
        return -EINVAL;
    out->size_bytes += size;
    out->requested_bytes += requested;
    out->current_bytes += current;
    out->block_bytes = larger(out->block_bytes, block);
    return 0;
}

static int read_devices(const xmlDoc *doc, struct domain_virtio_mem *out)
{
    const xmlNode *domain = xmlDocGetRootElement(doc);
    const xmlNode *balloon = xml_child(xml_child(domain, "devices"), "memballoon");
    int rc = 0;

    for (const xmlNode *node = first_device(doc); rc == 0 && node;
         node = next_device(xml_next(node)))
        rc = add_device(out, node);
    if (rc < 0 || out->n == 0)
        return rc;
    out->balloon = balloon && !xml_attribute_is(balloon, "model", "none");
    rc = read_size(domain, "currentMemory", &out->total_bytes);
    return rc == 0 && out->total_bytes < out->current_bytes ? -EINVAL : rc;
}

int domain_virtio_mem_parse(const char *xml, size_t length, struct domain_virtio_mem *out,
                            struct error *error)
{
    xmlDocPtr doc = NULL;
    int rc = xml_tree_parse(xml, length, &doc, error);

    *out = (struct domain_virtio_mem){0};
    if (rc < 0)
        return rc;
    rc = read_devices(doc, out);
    xmlFreeDoc(doc);
    if (rc == 0)
        return 0;
    *out = (struct domain_virtio_mem){0};
    return error_set(error, -EINVAL,
                     "virtio-mem: a device without size, block, requested or "
                     "current size");
}

/* libvirt compares the whole device, except this member, with its own copy. */
static char *with_request(const char *device, uint64_t bytes)
{
    const char *from = strstr(device, "<requested");
    const char *to = from ? strstr(from, "</requested>") : NULL;
    char *text = NULL;

    if (!to || asprintf(&text, "%.*s<requested unit='b'>%" PRIu64 "%s", (int)(from - device),
                        device, bytes, to) < 0)
        return NULL;
    return text;
}

static char *dump_device(xmlDocPtr doc, const xmlNode *device, uint64_t bytes)
{
    xmlBufferPtr buffer = xmlBufferCreate();
    char *text = NULL;

    if (buffer && xmlNodeDump(buffer, doc, (xmlNodePtr)device, 0, 0) > 0)
        text = with_request((const char *)xmlBufferContent(buffer), bytes);
    xmlBufferFree(buffer);
    return text;
}

char *domain_virtio_mem_device(const char *xml, size_t length, uint64_t bytes, struct error *error)
{
    xmlDocPtr doc = NULL;
    char *text = NULL;

    if (xml_tree_parse(xml, length, &doc, error) < 0)
        return NULL;

    const xmlNode *device = first_device(doc);

    if (!device || next_device(xml_next(device)))
        error_set(error, -EINVAL, "virtio-mem: the domain has %s device",
                  device ? "more than one" : "no");
    else if ((text = dump_device(doc, device, bytes)) == NULL)
        error_set(error, -ENOMEM, "virtio-mem: out of memory");
    xmlFreeDoc(doc);
    return text;
}

/* --- libvirt ---------------------------------------------------------------------------------- */

int domain_virtio_mem_read(struct domain_connection *connection, const char *name,
                           struct domain_virtio_mem *out, struct error *error)
{
    cleanup_free char *xml = NULL;
    struct error invalid = {0};
    int rc = domain_xml_fetch(connection, name, &xml, error);

    *out = (struct domain_virtio_mem){0};
    if (rc < 0)
        return rc;
    rc = domain_virtio_mem_parse(xml, strlen(xml), out, &invalid);
    return rc == 0 ? 0 : error_set(error, rc, "domain %s: %s", name, invalid.text);
}

static int update(struct domain_connection *connection, virDomainPtr domain, const char *device,
                  struct error *error)
{
    if (libvirt_is_busy(domain))
        return error_set(error, -EBUSY, "domain %s: another job runs on it",
                         virDomainGetName(domain));
    if (virDomainUpdateDeviceFlags(domain, device, VIR_DOMAIN_AFFECT_LIVE) == 0)
        return 0;

    int code = virGetLastErrorCode();
    int rc = libvirt_failed(connection, virDomainGetName(domain), error);

    if (rc != -EIO || (code != VIR_ERR_INVALID_ARG && code != VIR_ERR_CONFIG_UNSUPPORTED &&
                       code != VIR_ERR_OPERATION_UNSUPPORTED))
        return rc;
    if (error)
        error->code = -EOPNOTSUPP;
    return -EOPNOTSUPP;
}

int domain_virtio_mem_request(struct domain_connection *connection, const char *name,
                              uint64_t bytes, struct error *error)
{
    struct error invalid = {0};
    cleanup_domain virDomainPtr domain = libvirt_lookup(connection, name, &invalid);

    if (!domain)
        return error_set(error, invalid.code, "%s", invalid.text);

    cleanup_free char *xml = virDomainGetXMLDesc(domain, 0);

    if (!xml)
        return libvirt_failed(connection, name, error);

    cleanup_free char *device = domain_virtio_mem_device(xml, strlen(xml), bytes, &invalid);

    return device ? update(connection, domain, device, error)
                  : error_set(error, invalid.code, "domain %s: %s", name, invalid.text);
}
