// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file pods.h  Guests of libvirts in other process namespaces of this host, as KubeVirt runs one
 * for each guest (virt-launcher): --connect pods.
 *
 * Theory of operation. The search begins at the QEMU processes, not at the libvirts: a QEMU of
 * another process namespace sees the socket of the libvirt that started it below its own root. The
 * socket is opened as that process would open it, and kept, so no symbolic link of the pod leads to
 * a libvirt of the host, and a restarted pod is not mistaken for this one. Such a libvirt belongs
 * to the pod and is not trusted: it describes only the one process at which the search began, and
 * name and UUID must be those on that command line.
 *
 * Sources: kubevirt pkg/virt-handler/migration-target.go (/proc/PID/root/var/run), virtqemud(8)
 * and libvirtd(8) for the sockets.
 */
#pragma once

#include "guest/domain/domain.h"

struct pod_guest {
    pid_t pid;
    char name[256]; /* on its command line, as is the UUID */
    char uuid[37];
    struct guest_owner owner;
    int socket;    /* names the socket of its libvirt (O_PATH); -1: error says why there is none */
    char path[64]; /* of the socket, as the process sees it */
    struct error error;
    struct pod_inquiry *asked; /* by pods_ask_all(), not answered yet; NULL: nothing */
};

struct pods {
    struct pod_guest *guests; /* by pid */
    size_t n;
};

/**
 * Finds the running guests. A QEMU in another process namespace without libvirt is not one of them.
 * @return 0: call pods_free(); -EACCES: not permitted to look into other processes; or the error of
 * reading /proc
 */
int pods_find(const struct fsroot *root, struct pods *pods, struct error *error);
void pods_free(struct pods *pods);

/** Finds a guest by UUID, name, or namespace/name. Returns NULL with the reason: -ENOENT there is
 * none, -ENOTUNIQ there are several. */
const struct pod_guest *pods_choose(const struct pods *pods, const char *domain,
                                    struct error *error);

/* A pod's libvirt is asked in a thread of its own (inquiry.h). One that has not answered after 20 s
 * fails with -ETIMEDOUT. */

/** Begins to ask all of them at the same time: pods_ask() of each then waits for the answer. So
 * however many do not answer, 20 s are lost once. @p open: as with a guest in pods_ask(). Each must
 * be passed to pods_ask(). */
void pods_ask_all(struct pods *pods, bool open);

/** Asks the libvirt of @p pod to describe its guest, and opens the guest, unless @p guest is NULL.
 * If libvirt does not describe it, @p info is empty. -ENODEV: not running; -ETIMEDOUT; pod->error;
 * else as domain_connect() and guest_open_domain(). */
int pods_ask(struct pod_guest *pod, struct domain_info *info, struct guest *guest,
             struct error *error);

/** All running guests; one whose libvirt does not tell its state counts as running. Allocated, the
 * caller frees; returns the count. */
ssize_t pods_list(const struct fsroot *root, struct domain_info **out, struct error *error);

/** Connects, read-only, to the libvirt of the guest with this UUID, name, or namespace/name; its
 * domain has the UUID @p uuid, and every domain of the connection must be that guest's process.
 * Errors as pods_find(), pods_choose() and pods_ask(). */
int pods_connect_to(const struct fsroot *root, const char *domain, char uuid[37],
                    struct domain_connection **out, struct error *error);

/** Opens the guest with this UUID, name, or namespace/name. Errors as pods_find(), pods_choose()
 * and pods_ask(). */
int pods_open(const struct fsroot *root, const char *domain, struct guest *guest,
              struct error *error);
