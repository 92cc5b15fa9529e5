// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file fuzz_domain_xml.c  Domain XML, which libvirt hands out and anybody may have defined. */
#include "fuzz.h"
#include "guest/domain/domain_xml.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct domain_description description;
    struct error error = {0};
    uint64_t bytes = 0;

    if (domain_xml_parse((const char *)data, size, &description, &error) < 0) {
        CLAIM(error.code < 0 && *error.text);
        return 0;
    }
    CLAIM(*description.name && memchr(description.name, 0, sizeof(description.name)));
    for (size_t i = 0; i < description.ram.n_backends; i++)
        bytes += description.ram.backends[i].size_bytes;
    CLAIM(bytes == description.ram.total_bytes && bytes <= RAM_CONFIG_MAX_BYTES);
    CLAIM(memchr(description.agent_port.path, 0, sizeof(description.agent_port.path)));
    CLAIM(description.agent_port.vsock_cid == 0 || description.agent_port.vsock_cid >= 3);
    domain_description_free(&description);
    return 0;
}
