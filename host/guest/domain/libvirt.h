// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file libvirt.h  Shared by the files of this folder that use libvirt; other files use
 * domain.h. */
#pragma once

#include "guest/domain/domain.h"

#include <libvirt/libvirt.h>

struct domain_connection {
    virConnectPtr conn;
    char uri[512];
    bool qemu; /* its domains are QEMU processes of this machine */
    /* directory in which libvirt keeps NAME.pid, relative to the root; empty if unknown */
    char pid_dir[512];
    /* the only process that a domain can be, see pods.h; 0: any */
    pid_t pid;
    /* NULL: this process itself finds the process */
    pid_t (*find)(const struct domain_name *domain, void *context);
    void *find_context;
};

static inline void cleanup_domain_at(virDomainPtr *domain)
{
    if (*domain)
        virDomainFree(*domain);
}

#define cleanup_domain __attribute__((cleanup(cleanup_domain_at)))

/** Sets @p error to "domain NAME: " and libvirt's own message, with the URI if @p name is NULL;
 * returns -ENOENT if libvirt reports no such domain, -ENOTCONN if the connection is lost, else
 * -EIO. */
int libvirt_failed(const struct domain_connection *connection, const char *name,
                   struct error *error);

/** Finds a domain by id, UUID or name, in virsh's order. NULL and @p error if there is no such
 * domain. */
virDomainPtr libvirt_lookup(const struct domain_connection *connection, const char *name,
                            struct error *error);

/** Returns true if a job of that operation (virDomainJobOperation) reads guest RAM. A backup reads
 * disks. */
bool libvirt_reads_ram(int operation);

/** Returns true if a migration, a save or a dump is in progress. Each reads or moves guest
 * memory. */
bool libvirt_has_job(virDomainPtr domain);

/** Returns true if a job is in progress that prevents setting the memory. A backup does not. */
bool libvirt_is_busy(virDomainPtr domain);

/** Fills all of @p info except the pid. -ENOENT if the domain has just ended. */
int libvirt_describe(const struct domain_connection *connection, virDomainPtr domain,
                     struct domain_info *info, struct error *error);

/** The directory in which the driver at @p uri keeps its pid files, without a leading slash;
 * source: libvirt src/qemu/qemu_conf.c virQEMUDriverConfigNew(), stateDir. Returns false for an
 * unknown driver, or if the URI names its own socket. */
bool libvirt_pid_dir(const char *uri, char *dir, size_t size);
