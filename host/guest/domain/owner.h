// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file owner.h  The program that manages a guest, and the name by which the guest's owner knows
 * it: KubeVirt's namespace and name, Proxmox's VM number, Incus's project and instance.
 *
 * Theory of operation. A table has a line for each way in which a manager can be recognised: a text
 * that only this manager writes (the proof), and the text around the name. Both are searched for in
 * the process's control group and command line. The first line that fits decides. Each search goes
 * once through the text, which the guest's owner may have chosen: a name that is too long, not
 * printable or not of the manager's form fits no line. So a wrong name is possible only for a
 * guest whose owner writes another manager's texts into its command line, and that name labels
 * his own guest.
 */
#pragma once

#include "base/fsroot.h"

#include <sys/types.h>

#define OWNER_NAME_BYTES 256

struct guest_owner {
    char manager[16]; /* "kubevirt", "proxmox"...; empty: not known, and so is name */
    char name[OWNER_NAME_BYTES];
};

/** Facts about a process. Borrowed. */
struct owner_facts {
    const char *cgroup;   /* /proc/PID/cgroup; "" if it is not known */
    const char *cmdline;  /* /proc/PID/cmdline: each argument ends with a NUL byte */
    size_t cmdline_bytes; /* its NUL at the end may be missing */
};

/** Fills @p out from the facts. A pure function. */
void owner_find(const struct owner_facts *facts, struct guest_owner *out);

/** Calls owner_find() with the facts about process @p pid. */
void owner_read(const struct fsroot *root, pid_t pid, struct guest_owner *out);

/** Converts KubeVirt's name of a domain, "namespace_name", to "namespace/name". Returns false if
 * the text is not such a name. */
bool owner_namespaced(char text[OWNER_NAME_BYTES]);

/** Sets the owner of a domain of libvirt: by its metadata if that has one, else by its process,
 * else libvirt itself and the domain's name. */
void owner_of_domain(const struct guest_owner *metadata, const char *name,
                     struct guest_owner *of_process);

/** Sets both, unless a text is empty, too long or not printable. Returns true if it has. */
bool owner_set(struct guest_owner *out, const char *manager, const char *name);
