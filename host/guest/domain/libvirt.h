// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file libvirt.h  What the files of this room that speak libvirt share; others use domain.h. */
#pragma once

#include "guest/domain/domain.h"

#include <libvirt/libvirt.h>

struct domain_connection {
    virConnectPtr conn;
    char uri[512];
    bool qemu;         /* its domains are QEMU processes of this machine */
    char pid_dir[512]; /* where libvirt keeps NAME.pid, relative to the root; empty if unknown */
    pid_t (*find)(const struct domain_name *domain, void *context); /* NULL: we do */
    void *find_context;
};

static inline void cleanup_domain_at(virDomainPtr *domain)
{
    if (*domain)
        virDomainFree(*domain);
}

#define cleanup_domain __attribute__((cleanup(cleanup_domain_at)))

/** Sets @p error to "domain NAME: libvirt's own words", with the URI if @p name is NULL; -ENOENT
 * when libvirt says there is no such domain, -ENOTCONN when the connection is lost, else -EIO. */
int libvirt_failed(const struct domain_connection *connection, const char *name,
                   struct error *error);

/** Finds a domain by id, UUID or name, in virsh's order. NULL and @p error when there is none. */
virDomainPtr libvirt_lookup(const struct domain_connection *connection, const char *name,
                            struct error *error);

/** Does a job of that operation (virDomainJobOperation) read guest RAM? A backup reads disks. */
bool libvirt_reads_ram(int operation);

/** Is a migration, a save or a dump under way? Each reads or moves guest memory. */
bool libvirt_has_job(virDomainPtr domain);

/** Is a job under way that keeps its memory from being set? A backup does not. */
bool libvirt_is_busy(virDomainPtr domain);

/** Fills all of @p info but the pid. -ENOENT when the domain has just gone. */
int libvirt_describe(const struct domain_connection *connection, virDomainPtr domain,
                     struct domain_info *info, struct error *error);

/** The directory in which the driver at @p uri keeps its pid files, without a leading slash;
 * source: libvirt src/qemu/qemu_conf.c virQEMUDriverConfigNew(), stateDir. False for a driver that
 * is not known, or whose URI names a socket of its own. */
bool libvirt_pid_dir(const char *uri, char *dir, size_t size);
