// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file carried_bits.h  The fate of a page's accessed bit when its mapping is removed for a while:
 * because its frame is migrated, its huge page is split, or NUMA balancing waits for a touch.
 *
 * The idle flag goes with the page (mm/migrate.c, folio_migrate_flags(); mm/huge_memory.c). The bit
 * of the process's own mapping is kept in the migration entry since Linux 6.1
 * (make_migration_entry_young()); KVM's bit is not kept. When KVM drops a mapping, it reports the
 * page as accessed (kvm_set_pfn_accessed()). That clears the idle flag only under the classic LRU,
 * because with MGLRU folio_mark_accessed() returns before that. Since Linux 6.13 KVM reports
 * nothing (66bc627e7fee, "KVM: x86/mmu: Don't mark "struct page" accessed when zapping SPTEs"), and
 * on arm64 it never did (arch/arm64/kvm/hyp/pgtable.c). A touched page then reads idle. Red Hat's
 * kernels take KVM from later versions than their own, so their version number says nothing.
 */
#pragma once

#include "guest/ram/target.h"

/** Returns true if a touched page still reads as touched after its mapping was removed. False if
 * that is not known. */
bool accessed_bits_are_carried(const struct target *target);
