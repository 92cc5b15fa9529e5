// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file libvirt_pid.c  From a domain to the pid of its QEMU process; see libvirt.h. */
#include "domain/libvirt.h"

#include "base/cleanup.h"

#include <libxml/uri.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

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

/* "root=DIR" of an embedded driver. */
static bool embed_dir(const char *query, char *dir, size_t size)
{
    if (!query || strncmp(query, "root=", 5) != 0)
        return false;

    char *path = xmlURIUnescapeString(query + 5, 0, NULL);
    bool ok = path && put_path(dir, size, path, "/run/qemu");

    xmlFree(path);
    return ok;
}

/* A libvirtd whose socket is elsewhere (virt-uri(7): "socket=PATH") has its directories elsewhere
 * too, as in a container. */
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

pid_t libvirt_pid_from_file(const struct domain_connection *connection, const struct fsroot *root,
                            const char *name)
{
    uint64_t pid;

    if (!connection->pid_dir[0] ||
        fsroot_read_u64(root, &pid, "%s/%s.pid", connection->pid_dir, name) < 0 || pid > INT_MAX)
        return 0;
    return qemu_process_is_qemu(root, (pid_t)pid) ? (pid_t)pid : 0;
}

bool libvirt_is_process_of(const struct qemu_process *process, const struct domain_info *info)
{
    return strcasecmp(process->config.uuid, info->uuid) == 0 &&
           strcmp(process->config.name, info->name) == 0;
}

static bool pid_is_of(const struct fsroot *root, pid_t pid, const struct domain_info *info)
{
    struct qemu_process process;

    if (qemu_process_open(root, pid, &process, NULL) < 0)
        return false;

    bool ours = libvirt_is_process_of(&process, info);

    qemu_process_close(&process);
    return ours;
}

pid_t libvirt_pid_by_search(const struct fsroot *root, const struct domain_info *info)
{
    cleanup_free pid_t *pids = NULL;
    ssize_t n = qemu_process_find_all(root, &pids);
    pid_t found = 0;

    for (ssize_t i = 0; i < n; i++) {
        if (!pid_is_of(root, pids[i], info))
            continue;
        if (found)
            return LIBVIRT_TWO_PIDS;
        found = pids[i];
    }
    return found;
}
