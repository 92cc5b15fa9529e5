// SPDX-License-Identifier: LGPL-2.1-or-later
#include "guest/domain/domain_mark.h"

#include "base/cleanup.h"
#include "guest/domain/libvirt.h"

#include <errno.h>
#include <inttypes.h>
#include <libvirt/virterror.h>
#include <stdio.h>
#include <string.h>

static int write_mark(virDomainPtr domain, const char *element)
{
    return virDomainSetMetadata(domain, VIR_DOMAIN_METADATA_ELEMENT, element, DOMAIN_MARK_KEY,
                                DOMAIN_MARK_URI, VIR_DOMAIN_AFFECT_LIVE);
}

static char *read_mark(virDomainPtr domain)
{
    return virDomainGetMetadata(domain, VIR_DOMAIN_METADATA_ELEMENT, DOMAIN_MARK_URI,
                                VIR_DOMAIN_AFFECT_LIVE);
}

int domain_mark_set(struct domain_connection *connection, const char *uuid,
                    const struct domain_mark *mark, struct error *error)
{
    struct error missing = {0};
    cleanup_domain virDomainPtr domain = libvirt_lookup(connection, uuid, &missing);
    char element[512];
    int used;

    if (!domain)
        return error_set(error, missing.code, "%s", missing.text);
    if (libvirt_has_job(domain))
        return error_set(error, -EBUSY, "domain %s: it is being migrated, saved or dumped", uuid);
    used = snprintf(element, sizeof(element),
                    "<balloon before_bytes='%" PRIu64 "' set_bytes='%" PRIu64 "'",
                    mark->before_bytes, mark->set_bytes);
    for (size_t i = 0; i < DOMAIN_MARK_PARTS; i++)
        if (mark->parts[i].bytes > 0)
            used += snprintf(element + used, sizeof(element) - (size_t)used, " %s='%" PRIu64 "'",
                             mark->parts[i].name, mark->parts[i].bytes);
    snprintf(element + used, sizeof(element) - (size_t)used, "/>");
    return write_mark(domain, mark->before_bytes > 0 ? element : NULL) == 0
               ? 0
               : libvirt_failed(connection, virDomainGetName(domain), error);
}

/* Reads an attribute of an element without text, as libvirt returns it. */
static bool read_number(const char *element, const char *name, uint64_t *number)
{
    char blank[64];
    const char *at;

    snprintf(blank, sizeof(blank), " %s=", name);
    at = strstr(element, blank);
    return at && sscanf(at + strlen(blank), "%*1[\"']%" SCNu64, number) == 1;
}

int domain_mark_get(struct domain_connection *connection, const char *uuid,
                    struct domain_mark *mark, struct error *error)
{
    struct error missing = {0};
    cleanup_domain virDomainPtr domain = libvirt_lookup(connection, uuid, &missing);
    cleanup_free char *element = domain ? read_mark(domain) : NULL;

    mark->before_bytes = mark->set_bytes = 0;
    for (size_t i = 0; i < DOMAIN_MARK_PARTS; i++)
        mark->parts[i].bytes = 0;
    if (!domain)
        return error_set(error, missing.code, "%s", missing.text);
    if (!element && virGetLastErrorCode() != VIR_ERR_NO_DOMAIN_METADATA)
        return libvirt_failed(connection, virDomainGetName(domain), error);
    if (!element || !read_number(element, "before_bytes", &mark->before_bytes) ||
        !read_number(element, "set_bytes", &mark->set_bytes)) {
        mark->before_bytes = mark->set_bytes = 0;
        return 0;
    }
    for (size_t i = 0; i < DOMAIN_MARK_PARTS; i++)
        if (mark->parts[i].name &&
            !read_number(element, mark->parts[i].name, &mark->parts[i].bytes))
            mark->parts[i].bytes = 0;
    return 0;
}
