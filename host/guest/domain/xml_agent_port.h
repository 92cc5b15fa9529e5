// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file xml_agent_port.h  Reads a struct agent_port from a domain's live XML; for domain_xml.c. */
#pragma once

#include "guest/domain/agent_port.h"
#include "guest/domain/xml_tree.h"

/** Reads the port from <devices>, which may be NULL. A malformed port, or a path that is too long
 * for a socket, counts as absent. The caller adds the domain's UUID. */
void xml_agent_port_read(const xmlNode *devices, struct agent_port *out);
