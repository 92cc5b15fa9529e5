// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file domain_mark.h  The mark is the size of a running domain's balloon before it was first set.
 * It is in the domain's own metadata, and so (unlike the journal) moves with the guest to another
 * host.
 *
 * The mark is an element as in domain_metadata.h, in a namespace of its own. It is in the live
 * definition only, which a migration and a save transfer (libvirt: formatdomain, "metadata";
 * migration, "live XML").
 */
#pragma once

#include "guest/domain/domain.h"

#define DOMAIN_MARK_URI "urn:vmwss:balloon:1"
#define DOMAIN_MARK_KEY "vmwss-balloon"

#define DOMAIN_MARK_PARTS 4

struct domain_mark {
    uint64_t before_bytes; /* 0: there is no mark */
    uint64_t set_bytes;
    /* The part of before_bytes that was memory of another device than the balloon; bytes 0:
     * none. */
    struct {
        /* name of the attribute, an input of domain_mark_get(), too; NULL: none */
        const char *name;
        uint64_t bytes;
    } parts[DOMAIN_MARK_PARTS];
};

/** Replaces the domain's mark with @p mark; removes it if before_bytes is 0. The connection must be
 * writable. 0; or negative as domain_metadata_set(). */
int domain_mark_set(struct domain_connection *connection, const char *uuid,
                    const struct domain_mark *mark, struct error *error);

/** Reads the domain's mark, with the parts whose names are set. Any program that may write to the
 * domain may have written it. 0, also if there is no mark or if it is not valid; -ENOENT no such
 * domain; -ENOTCONN; -EIO. */
int domain_mark_get(struct domain_connection *connection, const char *uuid,
                    struct domain_mark *mark, struct error *error);
