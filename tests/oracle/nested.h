// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file nested.h  Which virtual CPUs of the lab run a nested guest now.
 *
 * The plugin API does not show the CPU's guest mode, but VMRUN begins it, and #VMEXIT always ends it at the instruction
 * behind that VMRUN (AMD64 Architecture Programmer's Manual, volume 2, 15.5 and 15.6: the host's saved rIP is that of the
 * next instruction; QEMU 7.2 target/i386/tcg/sysemu/svm_helper.c). Interrupts are held back there until STGI.
 */
#pragma once

#include "qemu_plugin_api.h"

#include <stdbool.h>

/** For each instruction while its block is translated: calls nested_is_guest()'s bookkeeping when it is executed. */
void nested_watch(struct qemu_plugin_insn *insn);

/** Whether this virtual CPU is in guest mode. For the CPU's own callbacks. */
bool nested_is_guest(unsigned vcpu);
