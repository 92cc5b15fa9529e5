// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file ram_config.h  The guest's RAM as configured.
 *
 * Two sources fill it: the live domain XML (domain_xml.h) and the QEMU process's own command line
 * (qemu_cmdline.h). guest/ram compares it with the real mappings of the process.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RAM_CONFIG_MAX_BACKENDS 320       /* 64 NUMA cells + 256 DIMM slots, QEMU's own limit */
#define RAM_CONFIG_MAX_BYTES (1ULL << 50) /* far beyond any guest: a larger number is wrong */

enum ram_source {
    RAM_SOURCE_UNKNOWN, /* not in the configuration */
    RAM_SOURCE_ANON,    /* memory-backend-ram, private */
    RAM_SOURCE_MEMFD,   /* memory-backend-memfd */
    RAM_SOURCE_FILE,    /* memory-backend-file: a path, often on hugetlbfs or tmpfs */
    RAM_SOURCE_SHARED,  /* memory-backend-ram,share=on: /dev/zero, since QEMU 10 a memfd */
};

/** One memory backend; QEMU maps each as one RAM block. */
struct ram_backend {
    char id[64];         /* QEMU's object id ("pc.ram", "ram-node0", "memdimm0"); may be empty */
    uint64_t size_bytes; /* never 0 */
    enum ram_source source;
    bool hugetlb;
    bool dimm;       /* a DIMM (may be plugged and unplugged while the guest runs) */
    bool virtio_mem; /* the guest has only the part of it that is plugged, which is not known */
    bool spare;      /* no option uses it: it may be plugged, or deleted, while the guest runs */
    unsigned node;   /* the guest's NUMA node to which it belongs, plus 1; 0: not known */
    /* QEMU maps backends in ascending order of this number, mostly at descending addresses; 0: not
     * known */
    unsigned order;
    char path[256];       /* mem-path, as given to QEMU; empty: none, or too long */
    uint64_t file_offset; /* in that file (QEMU 8.1) */
};

/** A zeroed struct is empty. It owns its backends, so an assignment does not copy it: use
 * ram_config_move(). */
struct ram_config {
    uint64_t total_bytes; /* the sum over the backends */
    bool locked;          /* <locked/>, -overcommit mem-lock=on */
    /* The technology that has the guest's RAM in guest_memfd, which QEMU does not map: "SEV-SNP",
     * "TDX", "guest_memfd" itself; NULL: none does. A constant, not owned. */
    const char *in_guest_memfd;
    /* Why the RAM is not known, in which case there are no backends; empty: it is known. */
    char unknown[320];
    /* The sizes come from a file, or are QEMU's defaults: they are proved only when each block is
     * located. See ram_config_bytes(). */
    bool assumed;
    size_t n_backends;
    struct ram_backend *backends; /* allocated for exactly this number: most guests have one */
    /* Memory that is mapped like RAM, but is not RAM: that of devices (NVDIMM, virtio-pmem,
     * ivshmem, CXL), graphics and flash memory, spare backends. Allocated as backends is. */
    size_t n_devices;
    struct ram_backend *devices;
};

/** Appends a backend. 0; -E2BIG: more backends or bytes than is possible; -ENOMEM. */
int ram_config_add(struct ram_config *config, const struct ram_backend *backend);

/** Appends memory of a device. Errors likewise. */
int ram_config_add_device(struct ram_config *config, const struct ram_backend *device);

/** The guest's RAM according to the configuration alone; 0: not known, as with virtio-mem. */
uint64_t ram_config_bytes(const struct ram_config *config);

/** Moves the content of @p from, which is empty then; frees the old content of @p to. */
void ram_config_move(struct ram_config *to, struct ram_config *from);

/** Frees its backends, and empties it. */
void ram_config_free(struct ram_config *config);

/** Returns true if both have the same backends, in the same order. ram_config_refine() must have
 * been applied to both, or to neither. */
bool ram_config_equal(const struct ram_config *a, const struct ram_config *b);

/** Completes the configuration of the live XML by that of the command line. Only the XML has DIMMs
 * plugged later. Only the command line has the kind of each original backend, the devices'
 * memory, and memory modules of <qemu:commandline>. A single backend has the machine's own id,
 * which is not in the XML. */
void ram_config_refine(struct ram_config *xml, const struct ram_config *cmdline);
