// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file guest_domain.c  guest_open_domain(): from a domain's name to its QEMU process and RAM. */
#include "domain/libvirt.h"

#include "base/cleanup.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* 0 when it runs; else the reason and the remedy. */
static int must_run(const struct domain_info *info, struct error *error)
{
    if (info->state == DOMAIN_RUNNING)
        return 0;
    if (info->state == DOMAIN_PAUSED && info->migrating)
        return error_set(
            error, -ENODEV,
            "domain %s is paused for a job (migration, save or dump): try again when it is done",
            info->name);
    if (info->state == DOMAIN_PAUSED)
        return error_set(error, -ENODEV,
                         "domain %s is paused: its vCPUs do not run, so nothing is touched; resume "
                         "it (virsh resume %s)",
                         info->name, info->name);
    return error_set(error, -ENODEV, "domain %s is not running (%s); start it (virsh start %s)",
                     info->name, domain_state_name(info->state), info->name);
}

/* Opens @p pid if it is this domain's process. */
static int open_if_ours(const struct fsroot *root, pid_t pid, const struct domain_info *info,
                        struct qemu_process *process, struct error *error)
{
    int rc = qemu_process_open(root, pid, process, error);

    if (rc < 0 || libvirt_is_process_of(process, info))
        return rc;
    qemu_process_close(process);
    return error_set(error, -ESRCH, "process %d is another guest's", (int)pid);
}

static int open_process(const struct domain_connection *connection, const struct fsroot *root,
                        const struct domain_info *info, struct qemu_process *process,
                        struct error *error)
{
    pid_t pid = libvirt_pid_from_file(connection, root, info->name);
    int rc = pid ? open_if_ours(root, pid, info, process, error) : -ESRCH;

    if (rc == -ESRCH) { /* no pid file, or an old one */
        pid = libvirt_pid_by_search(root, info);
        if (pid == LIBVIRT_TWO_PIDS)
            rc = error_set(error, -EAGAIN,
                           "two QEMU processes are this domain: it is being migrated within this "
                           "machine; try again when it is done");
        else
            rc = pid ? open_if_ours(root, pid, info, process, error)
                     : error_set(error, rc, "its QEMU process was not found; has it just ended?");
    }
    if (rc < 0)
        error_prefix(error, "domain %s", info->name);
    return rc;
}

static int read_xml(const struct domain_connection *connection, virDomainPtr domain,
                    const char *name, struct domain_description *description, struct error *error)
{
    cleanup_free char *xml = virDomainGetXMLDesc(domain, 0);

    if (!xml)
        return libvirt_failed(connection, name, error);
    return domain_xml_parse(xml, strlen(xml), description, error);
}

static int open_described(const struct domain_connection *connection, const struct fsroot *root,
                          virDomainPtr domain, const struct domain_info *info, struct guest *out,
                          struct error *error)
{
    struct domain_description description;
    int rc = read_xml(connection, domain, info->name, &description, error);

    if (rc < 0)
        return rc;
    rc = open_process(connection, root, info, &out->process, error);
    if (rc < 0) {
        domain_description_free(&description);
        return rc;
    }
    memcpy(out->name, info->name, sizeof(out->name));
    memcpy(out->uuid, info->uuid, sizeof(out->uuid));
    out->from_libvirt = true;
    out->migrating = info->migrating;
    out->agent_port = description.agent_port;
    ram_config_move(&out->ram, &description.ram);
    ram_config_refine(&out->ram, &out->process.config.ram);
    return 0;
}

/* A domain that goes between the steps is -ENODEV: it was there when it was asked for. */
static int gone(int rc)
{
    return rc == -ENOENT ? -ENODEV : rc;
}

int guest_open_domain(struct domain_connection *connection, const struct fsroot *root,
                      const char *name, struct guest *out, struct error *error)
{
    struct error failed = {0};
    struct domain_info info;

    memset(out, 0, sizeof(*out));
    out->process.pidfd = -1;
    cleanup_domain virDomainPtr domain = libvirt_lookup(connection, name, &failed);

    if (!domain)
        return error_set(error, failed.code, "%s", failed.text);
    int rc = libvirt_describe(connection, domain, &info, error);

    if (rc < 0)
        return gone(rc);
    rc = must_run(&info, error);
    if (rc < 0)
        return rc;
    if (!connection->qemu)
        return error_set(error, -ENOEXEC, "domain %s: %s does not run it with QEMU", info.name,
                         connection->uri);
    return gone(open_described(connection, root, domain, &info, out, error));
}
