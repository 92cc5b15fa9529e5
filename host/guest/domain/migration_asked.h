// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file migration_asked.h  Asks what is set for a guest's next migration, and sets nothing.
 *
 * libvirt gives the allowed downtime to a read-only connection, and the speed only to one that may
 * write; which of QEMU's capabilities it will use depends on the flags of the migration, and asking
 * QEMU through libvirt taints the domain (libvirt 9.0, libvirt-domain.c
 * virDomainMigrateGetMaxDowntime(), virDomainMigrateGetMaxSpeed(); qemu_domain.c
 * qemuDomainObjTaint()). A QEMU without libvirt is asked by QMP.
 */
#pragma once

#include "guest/domain/domain.h"

struct json_t;

/** The allowed downtime that libvirt has set. 0; -ENOENT; -EBUSY another job runs on the domain,
 * for which libvirt would wait for half a minute; -EIO or -ENOTCONN with libvirt's message. */
int domain_allowed_downtime(struct domain_connection *connection, const char *name, double *seconds,
                            struct error *error);

/** QEMU's answers to query-migrate-capabilities, query-migrate-parameters and query-migrate. */
struct migration_answers {
    struct json_t *capabilities, *parameters, *status;
};

/** Asks QEMU. Free the answers with migration_answers_free(), also after an error. QEMU serves one
 * client at a time: the connection is closed at once. Errors as qmp_open() and qmp_execute(). */
int qemu_ask_migration(const struct fsroot *root, const struct qemu_process *process,
                       struct migration_answers *answers, struct error *error);

/** Frees the answers; each may be NULL. */
void migration_answers_free(struct migration_answers *answers);
