// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file ram_config.h  What the configuration says the guest's RAM is made of.
 *
 * Two sources fill it: the live domain XML (domain_xml.h) and the QEMU process's own command line
 * (qemu_cmdline.h). The guest_ram room holds it against what the process has really mapped.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RAM_CONFIG_MAX_BACKENDS 320       /* 64 NUMA cells + 256 DIMM slots, QEMU's own limit */
#define RAM_CONFIG_MAX_BYTES (1ULL << 50) /* far beyond any guest: what is larger was misread */

enum ram_source {
    RAM_SOURCE_UNKNOWN, /* the configuration does not say */
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
    bool dimm;     /* a DIMM (may be plugged and unplugged while the guest runs) */
    unsigned node; /* the number of the guest's NUMA node that it is of, plus 1; 0: not known */
};

/** Zeroed it is empty. It owns its backends, so an assignment does not copy it:
 * ram_config_move(). */
struct ram_config {
    uint64_t total_bytes; /* the sum over the backends */
    bool locked;          /* <locked/>, -overcommit mem-lock=on */
    /* What has its RAM in guest_memfd, which QEMU does not map: "SEV-SNP", "TDX", "guest_memfd"
     * itself; NULL: nothing. A constant, not owned. */
    const char *in_guest_memfd;
    size_t n_backends;
    struct ram_backend *backends; /* of just their number: most guests have one */
};

/** Appends a backend. 0; -E2BIG: more backends or bytes than is possible; -ENOMEM. */
int ram_config_add(struct ram_config *config, const struct ram_backend *backend);

/** Hands over what @p from has, which is empty then; what @p to had is freed. */
void ram_config_move(struct ram_config *to, struct ram_config *from);

/** Frees its backends: it is empty then. */
void ram_config_free(struct ram_config *config);

/** Are both made of the same backends, in the same order? Both as ram_config_refine() leaves them,
 * or neither. */
bool ram_config_equal(const struct ram_config *a, const struct ram_config *b);

/** Completes what the live XML says by what QEMU was started with. The XML knows DIMMs plugged
 * since the start; the command line knows the kind of each backend that was there at the start. The
 * only backend has the machine's own id, which the XML does not tell. */
void ram_config_refine(struct ram_config *xml, const struct ram_config *cmdline);
