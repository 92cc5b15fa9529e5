// SPDX-License-Identifier: LGPL-2.1-or-later
#include "guest/domain/domain_metadata.h"

#include "base/cleanup.h"
#include "guest/domain/libvirt.h"

#include <errno.h>

/* @p element NULL removes it. */
static int put_element(const struct domain_connection *connection, virDomainPtr domain,
                       const char *element, struct error *error)
{
    const char *name = virDomainGetName(domain);

    if (libvirt_has_job(domain))
        return error_set(error, -EBUSY, "domain %s: it is being migrated, saved or dumped", name);
    if (virDomainSetMetadata(domain, VIR_DOMAIN_METADATA_ELEMENT, element, DOMAIN_METADATA_KEY,
                             DOMAIN_METADATA_URI, VIR_DOMAIN_AFFECT_LIVE) == 0)
        return 0;

    int rc = libvirt_failed(connection, name, error);

    return rc == -EIO && virDomainIsActive(domain) == 0
               ? error_set(error, -ENOENT, "domain %s: it does not run any more", name)
               : rc;
}

int domain_metadata_set(struct domain_connection *connection, const char *uuid, const char *element,
                        struct error *error)
{
    struct error missing = {0};
    cleanup_domain virDomainPtr domain = libvirt_lookup(connection, uuid, &missing);

    if (!domain)
        return error_set(error, missing.code, "%s", missing.text);
    return put_element(connection, domain, element, error);
}

/* 1: it had the element, which is removed now. */
static int clear_element(const struct domain_connection *connection, virDomainPtr domain,
                         struct error *error)
{
    cleanup_free char *there = virDomainGetMetadata(domain, VIR_DOMAIN_METADATA_ELEMENT,
                                                    DOMAIN_METADATA_URI, VIR_DOMAIN_AFFECT_LIVE);

    if (!there) /* it has no element, or has ended meanwhile */
        return 0;

    int rc = put_element(connection, domain, NULL, error);

    return rc < 0 ? rc : 1;
}

ssize_t domain_metadata_clear(struct domain_connection *connection, struct error *error)
{
    virDomainPtr *domains = NULL;
    int n = virConnectListAllDomains(connection->conn, &domains, VIR_CONNECT_LIST_DOMAINS_ACTIVE);
    ssize_t cleared = 0;
    int failed = 0;

    if (n < 0)
        return libvirt_failed(connection, NULL, error);
    for (int i = 0; i < n; i++) {
        int rc = failed == -ENOTCONN ? 0 : clear_element(connection, domains[i], error);

        if (rc < 0)
            failed = rc;
        else
            cleared += rc;
        virDomainFree(domains[i]);
    }
    free(domains);
    return failed < 0 ? failed : cleared;
}
