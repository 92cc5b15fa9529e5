// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file xml_agent_port.c  See xml_agent_port.h. */
#include "guest/domain/xml_agent_port.h"

#include "base/parse.h"
#include "base/wire/wire.h"

#include <string.h>

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

void xml_agent_port_read(const xmlNode *devices, struct agent_port *out)
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
