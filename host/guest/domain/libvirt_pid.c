// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file libvirt_pid.c  Finds the pid of a domain's QEMU process; see libvirt.h. */
#include "guest/domain/libvirt.h"

#include "base/cleanup.h"

#include <errno.h>
#include <libxml/uri.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

static void cleanup_uri_at(xmlURIPtr *uri)
{
    xmlFreeURI(*uri);
}

#define cleanup_uri __attribute__((cleanup(cleanup_uri_at)))

/* Formats an absolute path without its leading slash. */
static bool put_path(char *dir, size_t size, const char *first, const char *rest)
{
    int length = snprintf(dir, size, "%s%s", first + strspn(first, "/"), rest);

    return length > 0 && (size_t)length < size;
}

/* GLib's rule for a user without a session (g_get_user_runtime_dir()): ~/.cache. */
static bool session_dir(char *dir, size_t size)
{
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    const char *home = getenv("HOME");

    if (runtime && runtime[0])
        return put_path(dir, size, runtime, "/libvirt/qemu/run");
    return home && put_path(dir, size, home, "/.cache/libvirt/qemu/run");
}

/* Finds "root=DIR" of an embedded driver. */
static bool embed_dir(const char *query, char *dir, size_t size)
{
    if (!query || strncmp(query, "root=", 5) != 0)
        return false;

    char *path = xmlURIUnescapeString(query + 5, 0, NULL);
    bool ok = path && put_path(dir, size, path, "/run/qemu");

    xmlFree(path);
    return ok;
}

/* A libvirtd whose socket is elsewhere (virt-uri(7): "socket=PATH") also has its directories
 * elsewhere, for example in a container. */
static bool names_socket(const char *query)
{
    return query && (strncmp(query, "socket=", 7) == 0 || strstr(query, "&socket="));
}

bool libvirt_pid_dir(const char *uri, char *dir, size_t size)
{
    cleanup_uri xmlURIPtr u = xmlParseURI(uri);

    if (!u || !u->path || !u->scheme || strncmp(u->scheme, "qemu", 4) != 0 ||
        names_socket(u->query_raw))
        return false;
    if (strcmp(u->path, "/system") == 0)
        return put_path(dir, size, "/run/libvirt/qemu", "");
    if (strcmp(u->path, "/session") == 0)
        return session_dir(dir, size);
    return strcmp(u->path, "/embed") == 0 && embed_dir(u->query_raw, dir, size);
}

/* 0: there is no such file, or its process is not a QEMU. */
static pid_t pid_from_file(const struct fsroot *root, const struct domain_name *domain)
{
    uint64_t pid;

    if (!domain->pid_dir[0] ||
        fsroot_read_u64(root, &pid, "%s/%s.pid", domain->pid_dir, domain->name) < 0 ||
        pid > INT_MAX)
        return 0;
    return qemu_process_is_qemu(root, (pid_t)pid) ? (pid_t)pid : 0;
}

/* Compares -uuid and -name guest=: libvirt gives both to every QEMU. */
static bool is_process_of(const struct qemu_process *process, const struct domain_name *domain)
{
    return strcasecmp(process->config.uuid, domain->uuid) == 0 &&
           strcmp(process->config.name, domain->name) == 0;
}

static bool pid_is_of(const struct fsroot *root, pid_t pid, const struct domain_name *domain)
{
    struct qemu_process process;

    if (qemu_process_open(root, pid, &process, NULL) < 0)
        return false;

    bool ours = is_process_of(&process, domain);

    qemu_process_close(&process);
    return ours;
}

static pid_t search(const struct fsroot *root, const struct domain_name *domain)
{
    cleanup_free pid_t *pids = NULL;
    ssize_t n = qemu_process_find_all(root, false, &pids);
    pid_t found = 0;

    for (ssize_t i = 0; i < n; i++) {
        if (!pid_is_of(root, pids[i], domain))
            continue;
        if (found)
            return DOMAIN_TWO_PIDS;
        found = pids[i];
    }
    return found;
}

pid_t domain_process_find(const struct fsroot *root, const struct domain_name *domain)
{
    if (domain->pid)
        return pid_is_of(root, domain->pid, domain) ? domain->pid : 0;

    pid_t pid = pid_from_file(root, domain);

    return pid ? pid : search(root, domain);
}

/* Opens @p pid if it is this domain's process. */
static int open_if_ours(const struct fsroot *root, pid_t pid, const struct domain_name *domain,
                        struct qemu_process *process, struct error *error)
{
    int rc = qemu_process_open(root, pid, process, error);

    if (rc < 0 || is_process_of(process, domain))
        return rc;
    qemu_process_close(process);
    return error_set(error, -ESRCH, "process %d is another guest's", (int)pid);
}

int domain_process_open(const struct fsroot *root, const struct domain_name *domain,
                        struct qemu_process *process, struct error *error)
{
    pid_t pid = domain->pid ? domain->pid : pid_from_file(root, domain);
    int rc = pid ? open_if_ours(root, pid, domain, process, error) : -ESRCH;

    if (rc == -ESRCH && !domain->pid) { /* no pid file, or an outdated one */
        pid = search(root, domain);
        if (pid == DOMAIN_TWO_PIDS)
            rc = error_set(error, -EAGAIN,
                           "two QEMU processes are this domain: it is being migrated within this "
                           "machine; try again when it is done");
        else
            rc = pid ? open_if_ours(root, pid, domain, process, error)
                     : error_set(error, rc, "its QEMU process was not found; %s",
                                 geteuid() == 0 ? "has it just ended?"
                                                : "only root sees those of other users");
    }
    if (rc < 0)
        error_prefix(error, "domain %s", domain->name);
    return rc;
}
