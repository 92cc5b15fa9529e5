// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file nested.h  Nested guests of the lab: which virtual CPUs run one now, and the page tables
 * that it is translated by.
 *
 * The plugin API does not show the CPU's guest mode, but VMRUN begins it, and #VMEXIT always ends
 * it at the instruction behind that VMRUN (AMD64 Architecture Programmer's Manual, volume 2, 15.5
 * and 15.6: the host's saved rIP is that of the next instruction; QEMU 7.2
 * target/i386/tcg/sysemu/svm_helper.c). Interrupts are held back there until STGI.
 *
 * QEMU's TLB is empty after VMRUN, and after a change of CR3: from then on the first use of each
 * page walks the guest's tables, which sets accessed bits of the pages that they lie in.
 *
 * Each function but nested_begin() is for callbacks of the virtual CPU itself.
 */
#pragma once

#include "qemu_plugin_api.h"
#include "tables.h"

#include <stdbool.h>

/** Before anything else. @p touch is called with the frame of each table that is walked; @p
 * unwalked counts tables that were not found. */
void nested_begin(const struct tables_ram *ram, void (*touch)(uint64_t frame), uint64_t *unwalked);

/** For each block while it is translated, before any other callback is registered for it: guest
 * mode ends before a block. */
void nested_watch_block(struct qemu_plugin_tb *tb);

/** For each of its instructions. False: it is VMRUN, whose accesses are to the lab's VMCB, although
 * guest mode has begun. */
bool nested_watch(struct qemu_plugin_insn *insn);

bool nested_is_guest(unsigned vcpu);

/** In guest mode: an instruction has used this address. */
void nested_data(unsigned vcpu, uint64_t vaddr);

/** In guest mode: instructions of this frame are executed, from the begin of a block (where QEMU's
 * rIP is up to date), or because the block goes on in another page. */
void nested_fetch(unsigned vcpu, uint64_t frame, bool begins);
