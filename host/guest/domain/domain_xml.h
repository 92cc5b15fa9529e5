// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file domain_xml.h  Reads the live XML of a libvirt domain (libxml2, no network, no entities).
 *
 * Source of the format: libvirt, docs/formatdomain.rst: "Memory Allocation", "Memory Backing",
 * "CPU model and topology" (NUMA cells), "Memory devices".
 */
#pragma once

#include "base/error.h"
#include "guest/domain/agent_port.h"
#include "guest/domain/owner.h"
#include "guest/domain/ram_config.h"

struct domain_description {
    char name[256];
    char uuid[37];    /* lower case with dashes; empty if the XML has no UUID */
    bool accel_known; /* domain/@type is kvm, qemu or hvf...; the process itself decides */
    bool kvm;
    struct ram_config ram;
    struct agent_port agent_port;
    struct guest_owner owner; /* by its metadata */
};

/** Frees the members. */
void domain_description_free(struct domain_description *description);

/**
 * Parses @p length bytes of domain XML, at most 16 MiB. The XML is untrusted: entities, external
 * references and oversized numbers are refused.
 * @return 0: free it with domain_description_free(); -EINVAL if it is not the XML of a domain (the
 * message names the missing part); -E2BIG for more backends or bytes than is possible.
 */
int domain_xml_parse(const char *xml, size_t length, struct domain_description *out,
                     struct error *error);
