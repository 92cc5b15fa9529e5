// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file libvirt.h  What the files of this room that speak libvirt share; others use domain.h. */
#pragma once

#include "domain/domain.h"

#include <libvirt/libvirt.h>

struct domain_connection {
    virConnectPtr conn;
    char uri[512];
    bool qemu;         /* its domains are QEMU processes of this machine */
    char pid_dir[512]; /* where libvirt keeps NAME.pid, relative to the root; empty if unknown */
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

/** Fills all of @p info but the pid. -ENOENT when the domain has just gone. */
int libvirt_describe(const struct domain_connection *connection, virDomainPtr domain,
                     struct domain_info *info, struct error *error);

/** The directory in which the driver at @p uri keeps its pid files, without a leading slash;
 * source: libvirt src/qemu/qemu_conf.c virQEMUDriverConfigNew(), stateDir. False for a driver that
 * is not known, or whose URI names a socket of its own. */
bool libvirt_pid_dir(const char *uri, char *dir, size_t size);

/** The pid in the domain's pid file when that process is a QEMU, else 0. */
pid_t libvirt_pid_from_file(const struct domain_connection *connection, const struct fsroot *root,
                            const char *name);

/** Is it the process of this domain, by -uuid and -name guest=? libvirt gives both to every QEMU.
 */
bool libvirt_is_process_of(const struct qemu_process *process, const struct domain_info *info);

/** Of a domain that is migrated from one libvirtd of this machine to another there are two
 * processes, and nothing that tells
 *  which of them is whose. */
#define LIBVIRT_TWO_PIDS (-1)

/** Looks through all QEMU processes for the domain's; 0 when there is none, LIBVIRT_TWO_PIDS. For
 * domains without a usable pid file: the run directory is elsewhere, or libvirt has escaped a
 * character of the name in the file's, as it does with "&" (src/util/virpidfile.c
 * virPidFileBuildPath()). */
pid_t libvirt_pid_by_search(const struct fsroot *root, const struct domain_info *info);
