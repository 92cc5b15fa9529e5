// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file qemu_cmdline.h  Reads name, uuid, accel and RAM from a QEMU command line.
 *
 * Source: QEMU 7.2 qemu-options.hx (-m, -machine memory-backend=, -object memory-backend-*, -numa,
 * -mem-path, -mem-prealloc, -overcommit, -readconfig, -set, -device pc-dimm and virtio-balloon,
 * -name, -uuid, -smbios, -accel, -enable-kvm; for QMP see qemu_monitor.h). Both the option syntax
 * ("memory-backend-ram,id=x,size=1G") and libvirt's JSON syntax for -object are read.
 */
#pragma once

#include "base/error.h"
#include "base/text/names.h"
#include "guest/domain/ram_config.h"

#include <sys/types.h>

enum accel {
    ACCEL_UNKNOWN,
    ACCEL_KVM,
    ACCEL_TCG,
};

/** "kvm", "tcg" or "unknown". */
const char *accel_name(enum accel accel);
extern const struct names accel_names;

struct qemu_cmdline {
    char name[256]; /* -name guest=NAME or -name NAME; empty if absent */
    char uuid[37];  /* -uuid, else -smbios type=1,uuid=; empty if absent */
    enum accel accel;
    char machine[64];                /* -machine type ("pc-q35-7.2"); empty: QEMU's default, pc */
    uint64_t max_ram_below_4g_bytes; /* -machine max-ram-below-4g=; 0 if absent */
    uint64_t max_ram_bytes;          /* -m maxmem=, with slots= for memory devices; 0 if absent */
    uint64_t memory_slots;
    bool firmware;             /* an option names a file of firmware, whose size is not known */
    uint64_t pci_hole64_bytes; /* -global NAME-pcihost.pci-hole64-size=; 0 if absent */
    bool cxl;                  /* -machine cxl=on */
    /* -cpu MODEL,vendor=; empty if absent: under KVM the host's vendor */
    char cpu_vendor[16];
    bool free_page_reporting; /* the balloon immediately returns memory that the guest frees */
    bool incoming;            /* -incoming: its RAM comes from another QEMU, or from a file */
    bool vhost_user;          /* an option has the word: other processes may write into guest RAM */
    /* the UNIX socket of a QMP server, as given to QEMU (perhaps relative); empty: see
     * qmp_unreachable */
    char qmp_path[256];
    const char *qmp_unreachable; /* why no socket can be connected to; NULL: one can */
    struct ram_config ram;
};

/* Since QEMU read its files, its directory (-daemonize) or its root (-chroot) has changed. */
#define QEMU_MOVED_DIRECTORY 1U
#define QEMU_MOVED_ROOT 2U

/** The administrator's file, which QEMU reads unless it has -no-user-config. */
#define QEMU_USER_CONFIG "/etc/qemu/qemu.conf"

/** Access to the files that a command line names. */
struct qemu_files {
    const char *exe; /* QEMU's executable */
    /** Reads the file as QEMU did, into an allocation that the caller frees. @p moved:
     * QEMU_MOVED_... Returns the length, or a negative errno with @p error. NULL: files are not
     * read. */
    ssize_t (*read)(void *context, const char *path, unsigned moved, char **text,
                    struct error *error);
    void *context;
};

/** Frees the members. */
void qemu_cmdline_free(struct qemu_cmdline *cmdline);

/**
 * Parses the NUL-separated bytes of /proc/PID/cmdline, and the files that it names (-readconfig).
 * @param files  NULL: they cannot be read
 * @return 0: free it with qemu_cmdline_free(); -EINVAL when the RAM size cannot be understood (the
 * message names the option).
 */
int qemu_cmdline_parse(const char *cmdline, size_t length, const struct qemu_files *files,
                       struct qemu_cmdline *out, struct error *error);
