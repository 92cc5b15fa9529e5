// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file domain_metadata.h  Our element in the metadata of running domains, which `virsh metadata`
 * shows.
 *
 * Of the live definition only: it ends with the guest, and libvirt's files of persistent domains
 * never hold it. libvirt tells of every write by a metadata event, which domain_events.h does not
 * ask for. Source: libvirt-domain.h, virDomainSetMetadata(); src/conf/domain_conf.c
 * virDomainDefSetMetadata(), which checks the text and gives it the namespace.
 */
#pragma once

#include "guest/domain/domain.h"

/** A name that no host has to answer for. The number changes when attributes change their
 * meaning. */
#define DOMAIN_METADATA_URI "urn:vmwss:domain:1"
#define DOMAIN_METADATA_KEY "vmwss"

/**
 * Puts @p element in the place of the one that the running domain of this UUID has, or adds it.
 * @param connection  from domain_connect_writable()
 * @param element     XML of one element without a namespace; libvirt refuses what is not
 *                    well-formed
 * @return 0; -ENOENT no such domain; -EBUSY a migration, a save or a dump is under way: libvirt
 *         would have the call wait for 30 s, and fail; -ENOTCONN; -EIO libvirt failed, as when the
 *         domain does not run
 */
int domain_metadata_set(struct domain_connection *connection, const char *uuid, const char *element,
                        struct error *error);

/**
 * Removes our element from every running domain of the connection that has it.
 * @return how many had it; -EBUSY when one could not be changed as above; -ENOTCONN; -EIO
 */
ssize_t domain_metadata_clear(struct domain_connection *connection, struct error *error);
