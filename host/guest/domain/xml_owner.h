// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file xml_owner.h  The owner of a domain (owner.h) by the metadata that its manager wrote into
 * its XML. */
#pragma once

#include "guest/domain/owner.h"
#include "guest/domain/xml_tree.h"

/**
 * Reads the metadata of OpenStack Nova ("project/name"), KubeVirt ("namespace/name", from the
 * domain's name) and oVirt (the domain's name). Without any, @p out is empty.
 * @param domain  the root element
 * @param name    of the domain
 */
void xml_owner_read(const xmlNode *domain, const char *name, struct guest_owner *out);
