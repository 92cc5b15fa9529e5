// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file guest_domain.c  guest_open_domain(): finds the QEMU process and RAM of a domain by its
 * name. */
#include "guest/domain/libvirt.h"

#include "base/cleanup.h"

#include <errno.h>
#include <string.h>

/* 0 if it runs; else an error with the reason and the remedy. */
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

static int read_xml(const struct domain_connection *connection, virDomainPtr domain,
                    const char *name, struct domain_description *description, struct error *error)
{
    cleanup_free char *xml = virDomainGetXMLDesc(domain, 0);

    if (!xml)
        return libvirt_failed(connection, name, error);
    return domain_xml_parse(xml, strlen(xml), description, error);
}

int domain_describe_running(const struct domain_connection *connection, const char *name,
                            struct domain_info *info, struct domain_description *description,
                            struct error *error)
{
    struct error failed = {0};
    cleanup_domain virDomainPtr domain = libvirt_lookup(connection, name, &failed);

    if (!domain)
        return error_set(error, failed.code, "%s", failed.text);

    int rc = libvirt_describe(connection, domain, info, error);

    if (rc == 0)
        rc = must_run(info, error);
    if (rc == 0 && !connection->qemu)
        return error_set(error, -ENOEXEC, "domain %s: %s does not run it with QEMU", info->name,
                         connection->uri);
    if (rc == 0)
        rc = read_xml(connection, domain, info->name, description, error);
    /* a domain that ends between the steps gives -ENODEV, because it existed at first */
    return rc == -ENOENT ? -ENODEV : rc;
}

static void fill_guest(struct guest *out, const struct domain_info *info,
                       struct domain_description *description)
{
    memcpy(out->name, info->name, sizeof(out->name));
    memcpy(out->uuid, info->uuid, sizeof(out->uuid));
    out->owner = out->process.owner;
    owner_of_domain(&description->owner, info->name, &out->owner);
    out->from_libvirt = true;
    out->migrating = info->migrating;
    out->agent_port = description->agent_port;
    ram_config_move(&out->ram, &description->ram);
    ram_config_refine(&out->ram, &out->process.config.ram);
}

int guest_open_domain(struct domain_connection *connection, const struct fsroot *root,
                      const char *name, struct guest *out, struct error *error)
{
    struct domain_description description;
    struct domain_info info;

    memset(out, 0, sizeof(*out));
    out->process.pidfd = -1;

    int rc = domain_describe_running(connection, name, &info, &description, error);

    if (rc < 0)
        return rc;

    const struct domain_name called = {.pid_dir = connection->pid_dir,
                                       .name = info.name,
                                       .uuid = info.uuid,
                                       .pid = connection->pid};

    rc = domain_process_open(root, &called, &out->process, error);
    if (rc == 0)
        fill_guest(out, &info, &description);
    else
        domain_description_free(&description);
    return rc == -ENOENT ? -ENODEV : rc;
}
