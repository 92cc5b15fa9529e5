// SPDX-License-Identifier: LGPL-2.1-or-later
#include "guest/domain/migration_asked.h"

#include "guest/domain/libvirt.h"
#include "guest/domain/qmp.h"

#include <errno.h>
#include <jansson.h>

#define CONNECT_MS 1000
#define QUERY_MS 1000

int domain_allowed_downtime(struct domain_connection *connection, const char *name, double *seconds,
                            struct error *error)
{
    cleanup_domain virDomainPtr domain = libvirt_lookup(connection, name, error);
    unsigned long long ms;

    if (!domain)
        return error->code;
    if (libvirt_is_busy(domain))
        return error_set(error, -EBUSY, "domain %s: another job runs on it", name);
    if (virDomainMigrateGetMaxDowntime(domain, &ms, 0) < 0)
        return libvirt_failed(connection, name, error);
    *seconds = (double)ms / 1000;
    return 0;
}

int qemu_ask_migration(const struct fsroot *root, const struct qemu_process *process,
                       struct migration_answers *answers, struct error *error)
{
    struct qmp *qmp = NULL;
    int rc = qmp_open(root, process, CONNECT_MS, &qmp, error);

    *answers = (struct migration_answers){0};
    if (rc < 0)
        return rc;
    rc = qmp_execute(qmp, "query-migrate-capabilities", QUERY_MS, &answers->capabilities, error);
    if (rc == 0)
        rc = qmp_execute(qmp, "query-migrate-parameters", QUERY_MS, &answers->parameters, error);
    if (rc == 0)
        rc = qmp_execute(qmp, "query-migrate", QUERY_MS, &answers->status, error);
    qmp_close(qmp);
    return rc;
}

void migration_answers_free(struct migration_answers *answers)
{
    json_decref(answers->capabilities);
    json_decref(answers->parameters);
    json_decref(answers->status);
}
