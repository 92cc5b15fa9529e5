// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file page_idle_module.c  The kernel's own mm/page_idle.c as a module of a stock kernel.
 *
 * Debian's kernels are built without CONFIG_IDLE_PAGE_TRACKING, but with the page flags that it
 * needs (CONFIG_PAGE_IDLE_FLAG, for DAMON). What page_idle.c calls and the kernel does not export
 * is found by name. kernels.sh builds this beside page_idle.c of the same version.
 */
#include <linux/kprobes.h>
#include <linux/module.h>

/* This file says itself when it begins. */
#undef subsys_initcall
#define subsys_initcall(init)
#include "page_idle.c"

static unsigned long (*find)(const char *name);

#define FORWARD(type, name, parameters, arguments) \
    static typeof(name) *found_##name;             \
    type name parameters                           \
    {                                              \
        return found_##name arguments;             \
    }
FORWARD(void, rmap_walk, (struct folio * folio, struct rmap_walk_control *control),
        (folio, control))
FORWARD(bool, page_vma_mapped_walk, (struct page_vma_mapped_walk * walk), (walk))
FORWARD(struct anon_vma *, folio_lock_anon_vma_read,
        (struct folio * folio, struct rmap_walk_control *control), (folio, control))
FORWARD(int, ptep_test_and_clear_young,
        (struct vm_area_struct * area, unsigned long address, pte_t *entry), (area, address, entry))
FORWARD(int, pmdp_test_and_clear_young,
        (struct vm_area_struct * area, unsigned long address, pmd_t *entry), (area, address, entry))
FORWARD(int, __mmu_notifier_clear_young,
        (struct mm_struct * mm, unsigned long start, unsigned long end), (mm, start, end))

/* Copies of the kernel's, made when the module is loaded: the lab's memory does not grow. */
unsigned long max_pfn;
struct kobject *mm_kobj;

/** Sets the pointer, of whatever type, to what the kernel has by that name. */
static int __init find_one(const char *name, void *pointer)
{
    unsigned long address = find(name);

    if (!address) {
        pr_err("page_idle: this kernel has no %s\n", name);
        return -ENOENT;
    }
    memcpy(pointer, &address, sizeof(address));
    return 0;
}

static int __init find_all(void)
{
    const unsigned long *frames;
    struct kobject *const *mm;

    if (find_one("rmap_walk", &found_rmap_walk) ||
        find_one("page_vma_mapped_walk", &found_page_vma_mapped_walk) ||
        find_one("folio_lock_anon_vma_read", &found_folio_lock_anon_vma_read) ||
        find_one("ptep_test_and_clear_young", &found_ptep_test_and_clear_young) ||
        find_one("pmdp_test_and_clear_young", &found_pmdp_test_and_clear_young) ||
        find_one("__mmu_notifier_clear_young", &found___mmu_notifier_clear_young) ||
        find_one("max_pfn", &frames) || find_one("mm_kobj", &mm))
        return -ENOENT;
    max_pfn = *frames;
    mm_kobj = *mm;
    return 0;
}

static int __init begin(void)
{
    struct kprobe finder = {.symbol_name = "kallsyms_lookup_name"};
    int status = register_kprobe(&finder);

    if (status)
        return status;
    find = (void *)finder.addr;
    unregister_kprobe(&finder);
    status = find_all();
    return status ? status : page_idle_init();
}
module_init(begin);

MODULE_DESCRIPTION("Idle page tracking");
MODULE_LICENSE("GPL");
