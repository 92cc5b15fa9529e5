// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file domain_mark.h  What a running domain's balloon had before it was set, in the domain's own
 * metadata: it goes with the guest to another host, as its balloon does, and no journal does.
 *
 * An element as in domain_metadata.h, in a namespace of its own: of the live definition only, which
 * a migration and a save take along (libvirt: formatdomain, "metadata"; migration, "live XML").
 */
#pragma once

#include "domain/domain.h"

#define DOMAIN_MARK_URI "urn:vmwss:balloon:1"
#define DOMAIN_MARK_KEY "vmwss-balloon"

struct domain_mark {
    uint64_t before_bytes; /* 0: there is no mark */
    uint64_t set_bytes;
};

/** Puts it there, in place of what is there; with before_bytes 0 it is removed. The connection is a
 * writable one. 0; or negative as domain_metadata_set(). */
int domain_mark_set(struct domain_connection *connection, const char *uuid,
                    const struct domain_mark *mark, struct error *error);

/** What is there; whoever may write the domain wrote it. 0, also of none and of what cannot be
 * read; -ENOENT no such domain; -ENOTCONN; -EIO. */
int domain_mark_get(struct domain_connection *connection, const char *uuid,
                    struct domain_mark *mark, struct error *error);
