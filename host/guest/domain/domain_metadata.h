// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file domain_metadata.h  Our element in the metadata of running domains, which `virsh metadata`
 * shows.
 *
 * The element is in the live definition only: it ends with the guest, and libvirt's files of
 * persistent domains never contain it. libvirt reports every write by a metadata event, to which
 * domain_events.h does not subscribe. Source: libvirt-domain.h, virDomainSetMetadata();
 * src/conf/domain_conf.c virDomainDefSetMetadata(), which checks the text and gives it the
 * namespace.
 */
#pragma once

#include "guest/domain/domain.h"

/** An urn, so no host has to resolve it. The number changes when attributes change their
 * meaning. */
#define DOMAIN_METADATA_URI "urn:vmwss:domain:1"
#define DOMAIN_METADATA_KEY "vmwss"

/**
 * Replaces our element in the running domain of this UUID by @p element, or adds it.
 * @param connection  from domain_connect_writable()
 * @param element     XML of one element without a namespace; libvirt refuses XML that is not
 *                    well-formed
 * @return 0; -ENOENT no such domain; -EBUSY a migration, a save or a dump is under way: libvirt
 *         would let the call wait for 30 s and then fail; -ENOTCONN; -EIO libvirt failed, for
 *         example because the domain does not run
 */
int domain_metadata_set(struct domain_connection *connection, const char *uuid, const char *element,
                        struct error *error);

/**
 * Removes our element from every running domain of the connection that has it.
 * @return number of domains that had it; -EBUSY if one could not be changed, as above; -ENOTCONN;
 * -EIO
 */
ssize_t domain_metadata_clear(struct domain_connection *connection, struct error *error);
