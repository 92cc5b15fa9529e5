// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file xml_agent_port.h  Reads agent_port.h off a domain's live XML; for domain_xml.c. */
#pragma once

#include "guest/domain/agent_port.h"
#include "guest/domain/xml_tree.h"

/** Reads it off <devices>, which may be NULL. What is malformed, or too long to be a socket, counts
 * as not there.
 *  The domain's UUID is the caller's to add. */
void xml_agent_port_read(const xmlNode *devices, struct agent_port *out);
