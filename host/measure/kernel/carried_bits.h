// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file carried_bits.h  What becomes of a page's accessed bit when its mapping is taken away for a
 * while: as its frame is migrated, its huge page split, or NUMA balancing waits for a touch.
 *
 * The idle flag goes with the page (mm/migrate.c, folio_migrate_flags(); mm/huge_memory.c). The bit
 * of the process's own mapping is kept in the migration entry since Linux 6.1
 * (make_migration_entry_young()), KVM's is not: dropping a mapping KVM reports the page as accessed
 * (kvm_set_pfn_accessed()), which clears the idle flag only under the classic LRU, for with MGLRU
 * folio_mark_accessed() returns before that; and since Linux 6.13 KVM reports nothing
 * (66bc627e7fee, "KVM: x86/mmu: Don't mark "struct page" accessed when zapping SPTEs"), nor has it
 * ever on arm64 (arch/arm64/kvm/hyp/pgtable.c). Then a page that was touched reads idle. Kernels of
 * Red Hat take KVM from later versions than they are named after, so their number says nothing.
 */
#pragma once

#include "guest/ram/target.h"

/** Does a page that was touched read so after that, too? False where it is not known. */
bool accessed_bits_are_carried(const struct target *target);
