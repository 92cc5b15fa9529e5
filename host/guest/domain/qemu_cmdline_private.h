// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file qemu_cmdline_private.h  The state while QEMU's options are read. qemu_cmdline.c fills it,
 * in any order; qemu_blocks.c then selects the RAM blocks.
 */
#pragma once

#include "guest/domain/qemu_cmdline.h"
#include "guest/domain/qemu_monitor.h"

enum memory_use {
    USE_BOOT,       /* RAM of a node */
    USE_DIMM,       /* RAM of a DIMM */
    USE_VIRTIO_MEM, /* RAM too, as far as it is plugged */
    USE_DEVICE,     /* not RAM: an NVDIMM, virtio-pmem, ivshmem, CXL */
};

/* A "memdev=" reference to a backend. */
struct reference {
    char id[64];
    char device[64]; /* id of the device; empty: none */
    enum memory_use use;
    unsigned node; /* node plus 1; 0: no node */
};

/* Values of ram_backend.order: QEMU first creates objects, then RAM without a backend, then
 * devices; flash memory is the machine's own. */
#define ORDER_DEFAULT 1000
#define ORDER_FLASH 1500
#define ORDER_GRAPHICS 2000

#define MAX_NODES 128 /* QEMU's default */

/* The sizes of -m, or those of -machine memory.size= etc.; 0: not given. */
struct memory_option {
    uint64_t size_bytes, max_bytes, slots;
};

/* Beside QEMU_MOVED_... */
#define MARK_NO_USER_CONFIG 4U
#define MARK_INCOMING 8U
#define MARK_NO_GRAPHICS 16U /* an option names the graphics, or says that there is no default */

struct reading {
    struct qemu_cmdline *out;
    const struct qemu_files *files;
    struct memory_option memory, machine_memory; /* -m takes precedence, whatever the order */
    char machine_backend[64];
    bool mem_path; /* -mem-path was given: */
    char path[256];
    bool accel_option; /* -accel takes precedence over -machine accel= and -enable-kvm */
    bool mte;          /* -machine mte=on: tags for each 16 bytes of RAM */
    bool secure;       /* the machine has memory that only its firmware reaches */
    unsigned marks;    /* QEMU_MOVED_..., MARK_... */
    bool from_file;    /* an option of a file was read */
    size_t n_files;
    size_t n_objects, n_references;
    unsigned n_nodes; /* number of NUMA nodes so far */
    struct ram_backend objects[RAM_CONFIG_MAX_BACKENDS];
    struct reference references[RAM_CONFIG_MAX_BACKENDS];
    struct qemu_monitors monitors;
    char smbios_uuid[37];
    struct error error; /* of an option that cannot be right: the reading ends with it */
};

/** Sets the reason why the RAM is not known, unless there is a reason already. */
void reading_set_unknown(struct reading *r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/** The size under @p key; 0 if it is absent, or if QEMU would refuse it. */
uint64_t reading_size(const struct qemu_option *option, const char *key, uint64_t unit);
/** Sets @p bytes if the option has the size. */
void reading_merge_size(const struct qemu_option *option, const char *key, uint64_t unit,
                        uint64_t *bytes);

/** Notes the memory of graphics that no option names. */
void reading_add_default_graphics(struct reading *r);
/** Notes graphics memory that -global sizes. */
void reading_add_global_graphics(struct reading *r, const struct qemu_option *option);

/* Readers of one option each; errors go into r->error. */
void read_memory(struct reading *r, const struct qemu_option *option);
void read_object(struct reading *r, const struct qemu_option *option);
void read_numa(struct reading *r, const struct qemu_option *option);
void read_device(struct reading *r, const struct qemu_option *option);
void read_vga(struct reading *r, const struct qemu_option *option);
void read_set(struct reading *r, const struct qemu_option *option);

/** Selects the backends that are guest RAM: out->ram. */
int reading_select_blocks(struct reading *r, struct error *error);
