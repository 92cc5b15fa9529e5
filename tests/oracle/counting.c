// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file counting.c  A plugin of QEMU's TCG that counts the guest's instructions: how much work a
 * guest has done, in a figure that does not depend on what else the machine does.
 *
 *   -plugin count-plugin.so,map=/ABSOLUTE/PATH
 *
 * The file has one 64-bit number, which is added to in place at the begin of each block: so a block
 * that an interrupt or a fault ends counts whole. One virtual CPU: additions are not atomic. A
 * halted CPU executes nothing, so waiting is not in it.
 */
#include "qemu_plugin_api.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

__attribute__((visibility("default"))) int qemu_plugin_version = 1;

static uint64_t *count;

static void on_execution(unsigned vcpu, void *context)
{
    (void)vcpu;
    *count += (uintptr_t)context;
}

static void on_translation(uint64_t id, struct qemu_plugin_tb *tb)
{
    const size_t n = qemu_plugin_tb_n_insns(tb);

    (void)id;
    if (qemu_plugin_register_vcpu_tb_exec_inline)
        qemu_plugin_register_vcpu_tb_exec_inline(tb, QEMU_PLUGIN_INLINE_ADD_U64, count, n);
    else
        qemu_plugin_register_vcpu_tb_exec_cb(tb, on_execution, QEMU_PLUGIN_NO_REGISTERS,
                                             (void *)(uintptr_t)n);
}

/* A file of our own: a guest started before may still count in the one that has this name. */
static int map_count(const char *path)
{
    int fd;

    unlink(path);
    fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, sizeof(*count)) < 0)
        return -1;
    count = mmap(NULL, sizeof(*count), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    return count == MAP_FAILED ? -1 : 0;
}

__attribute__((visibility("default"))) int
qemu_plugin_install(uint64_t id, const struct qemu_plugin_info *info, int argc, char **argv)
{
    if (!info->system_emulation || info->max_vcpus > 1) {
        fprintf(stderr, "count-plugin: a whole machine with one CPU is needed\n");
        return -1;
    }
    if (argc != 1 || strncmp(argv[0], "map=/", 5) != 0) {
        fprintf(stderr, "count-plugin: needs map=/ABSOLUTE/PATH\n");
        return -1;
    }
    if (map_count(argv[0] + 4) < 0) {
        perror("count-plugin: map");
        return -1;
    }
    qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
    return 0;
}
