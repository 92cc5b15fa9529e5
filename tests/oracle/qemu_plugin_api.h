// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file qemu_plugin_api.h  What the oracle uses of QEMU: its plugin API, version 1, and functions
 * about RAM and registers.
 *
 * Debian packages no header for plugins; the declarations state the binary interface of QEMU 5.0 ..
 * 8.2 (there include/qemu/qemu-plugin.h). The functions about RAM blocks
 * (include/exec/cpu-common.h) are no part of the plugin API; Debian's QEMU exports them because it
 * is built with modules.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct qemu_plugin_tb;
struct qemu_plugin_insn;
struct qemu_plugin_hwaddr;

struct qemu_plugin_info {
    const char *target_name;
    struct {
        int min, cur;
    } version;
    bool system_emulation;
    int smp_vcpus, max_vcpus;
};

enum { QEMU_PLUGIN_NO_REGISTERS = 0 };
enum { QEMU_PLUGIN_READ_AND_WRITE = 3 };

/* A plugin exports this; it returns 0, or the guest is not started. */
int qemu_plugin_install(uint64_t id, const struct qemu_plugin_info *info, int argc, char **argv);

/* Called while a block is translated: the only time at which its instructions can be looked at. */
void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t id,
                                           void (*cb)(uint64_t id, struct qemu_plugin_tb *tb));
/* Called after all translations were thrown away, while no virtual CPU executes anything. */
void qemu_plugin_register_flush_cb(uint64_t id, void (*cb)(uint64_t id));
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t i);
/* Host address of the instruction's first byte; NULL when it is not in RAM or ROM. */
void *qemu_plugin_insn_haddr(const struct qemu_plugin_insn *insn);
/* Its bytes, valid within the callback of the translation. */
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *insn);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);

void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *tb,
                                          void (*cb)(unsigned vcpu, void *context), int registers,
                                          void *context);
enum { QEMU_PLUGIN_INLINE_ADD_U64 = 0 };
/* Adds to the number at @p count before each execution of the block, without a call. QEMU 9.1 and
 * newer have it no more. */
__attribute__((weak)) void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb *tb,
                                                                    int operation, void *count,
                                                                    uint64_t add);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn,
                                            void (*cb)(unsigned vcpu, void *context), int registers,
                                            void *context);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *insn,
                                      void (*cb)(unsigned vcpu, uint32_t info, uint64_t vaddr,
                                                 void *context),
                                      int registers, int direction, void *context);

unsigned qemu_plugin_mem_size_shift(uint32_t info);
bool qemu_plugin_mem_is_store(uint32_t info);
/* Valid within the callback of the access only. */
struct qemu_plugin_hwaddr *qemu_plugin_get_hwaddr(uint32_t info, uint64_t vaddr);
bool qemu_plugin_hwaddr_is_io(const struct qemu_plugin_hwaddr *address);
/* Not guest-physical, whatever its name: the offset in QEMU's space of RAM blocks, plus the address
 * of the memory region in its container (of a machine's single RAM 0 where it is mapped through
 * aliases, as by pc; its GPA where it is mapped itself, as by virt). QEMU 7.2 plugins/api.c. */
uint64_t qemu_plugin_hwaddr_phys_addr(const struct qemu_plugin_hwaddr *address);

struct RAMBlock;
int qemu_ram_foreach_block(int (*each)(struct RAMBlock *block, void *context), void *context);
const char *qemu_ram_get_idstr(struct RAMBlock *block);
void *qemu_ram_get_host_addr(struct RAMBlock *block);
uint64_t qemu_ram_get_offset(struct RAMBlock *block);
uint64_t qemu_ram_get_used_length(struct RAMBlock *block);

/* The registers of the virtual CPU whose thread this is, numbered as gdb has them (QEMU 7.2
 * target/i386/gdbstub.c). Appends to the array as many bytes as it returns; 64-bit registers have 8
 * of them in long mode only. Up to date at the begin of a block, control registers always. */
enum { QEMU_GDB_RAX = 0, QEMU_GDB_RIP = 16, QEMU_GDB_CR3 = 29, QEMU_GDB_EFER = 32 };
struct CPUState;
extern __thread struct CPUState *current_cpu;
/* Throws all translations away, soon, in the thread of this virtual CPU; from any thread (QEMU 7.2
 * accel/tcg/translate-all.c). qemu_plugin_reset() flushes from a virtual CPU's thread only. */
void tb_flush(struct CPUState *cpu);
/* GLib's, which QEMU has loaded. */
struct _GByteArray {
    uint8_t *data;
    unsigned len;
};
struct _GByteArray *g_byte_array_new(void);
struct _GByteArray *g_byte_array_set_size(struct _GByteArray *array, unsigned length);
/* NULL in other emulators than those of x86. */
__attribute__((weak)) int x86_cpu_gdb_read_register(struct CPUState *cpu, struct _GByteArray *array,
                                                    int number);
