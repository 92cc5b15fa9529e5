// SPDX-License-Identifier: LGPL-2.1-or-later
#include "guest/domain/xml_owner.h"

#include "base/array.h"

#include <stdio.h>
#include <string.h>

#define PART_BYTES 128

static bool set_project(const xmlNode *element, const char *name, struct guest_owner *out)
{
    char project[PART_BYTES];
    char part[PART_BYTES];
    char text[2 * PART_BYTES];

    (void)name;
    if (xml_text(xml_child(element, "name"), part, sizeof(part)) != 1)
        return false;
    if (xml_text(xml_child(xml_child(element, "owner"), "project"), project, sizeof(project)) != 1)
        project[0] = '\0';
    snprintf(text, sizeof(text), "%s%s%s", project, *project ? "/" : "", part);
    return owner_set(out, "nova", text);
}

static bool set_namespaced(const xmlNode *element, const char *name, struct guest_owner *out)
{
    char text[OWNER_NAME_BYTES];

    (void)element;
    snprintf(text, sizeof(text), "%s", name);
    return owner_namespaced(text) && owner_set(out, "kubevirt", text);
}

static bool set_name(const xmlNode *element, const char *name, struct guest_owner *out)
{
    (void)element;
    return owner_set(out, "ovirt", name);
}

/* Sources: the output of virsh dumpxml on hosts of Nova and oVirt; kubevirt
 * pkg/virt-launcher/virtwrap/api/schema.go, Metadata. */
static const struct {
    const char *namespace;
    const char *element;
    bool (*set)(const xmlNode *element, const char *name, struct guest_owner *out);
} known[] = {
    {"http://openstack.org/xmlns/libvirt/nova/1.0", "instance", set_project},
    {"http://kubevirt.io", "kubevirt", set_namespaced},
    {"http://ovirt.org/vm/1.0", "vm", set_name},
};

void xml_owner_read(const xmlNode *domain, const char *name, struct guest_owner *out)
{
    const xmlNode *metadata = xml_child(domain, "metadata");

    *out = (struct guest_owner){0};
    for (size_t i = 0; i < COUNT(known); i++) {
        const xmlNode *element = xml_child(metadata, known[i].element);

        while (element &&
               (!element->ns || strcmp((const char *)element->ns->href, known[i].namespace) != 0))
            element = xml_next(element);
        if (element && known[i].set(element, name, out))
            return;
    }
}
