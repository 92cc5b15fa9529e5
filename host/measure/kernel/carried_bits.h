// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file carried_bits.h  Whether a page's accessed bit survives when its mapping is temporarily
 * removed, because the page is migrated, its huge page is split, or NUMA balancing waits for a
 * touch.
 *
 * The idle flag goes with the page (mm/migrate.c, folio_migrate_flags(); mm/huge_memory.c). The bit
 * of the process's own mapping is kept in the migration entry since Linux 6.1
 * (make_migration_entry_young()); KVM's bit is not kept. When KVM drops a mapping, it reports the
 * page as accessed (kvm_set_pfn_accessed()). That clears the idle flag only under the classic LRU,
 * because with MGLRU folio_mark_accessed() returns before that. Since Linux 6.13 KVM reports
 * nothing (66bc627e7fee, "KVM: x86/mmu: Don't mark "struct page" accessed when zapping SPTEs"), and
 * on arm64 it never did (arch/arm64/kvm/hyp/pgtable.c). A touched page then reads idle. Red Hat
 * backports KVM from later kernels, so the version number of its kernels proves nothing.
 */
#pragma once

#include "guest/ram/target.h"

/** Returns true if a touched page is known to read as touched after its mapping was removed. */
bool accessed_bits_are_carried(const struct target *target);
