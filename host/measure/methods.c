// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file methods.c  The table of methods, and the choice among them. */
#include "base/debug.h"
#include "base/page_sizes.h"
#include "measure/ageing.h"
#include "measure/kernel/damon_sysfs.h"
#include "measure/kernel/ksm.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

const struct method *const methods[] = {
    &method_idle,    &method_damon,      &method_mglru, &method_zap,        &method_pageout,
    &method_zap_all, &method_referenced, &method_cold,  &method_soft_dirty, NULL,
};

const struct method *method_at(enum method_order order, size_t place)
{
    for (size_t i = 0; methods[i]; i++)
        if (methods[i]->rank[order] == place + 1)
            return methods[i];
    return NULL;
}

char *method_names(char *text, size_t size, bool follow)
{
    size_t used = 0;

    *text = '\0';
    for (size_t i = 0; methods[i] && used < size; i++)
        if (!follow || (methods[i]->rearm && !method_sees_writes(methods[i])))
            used += (size_t)snprintf(text + used, size - used, "%s%s", used ? ", " : "",
                                     methods[i]->name);
    return text;
}

const struct method *method_by_name(const char *name)
{
    for (size_t i = 0; methods[i]; i++)
        if (!strcmp(methods[i]->name, name))
            return methods[i];
    return NULL;
}

static int check_base_pages(const struct method *method, struct error *why)
{
    return page_sizes_check(base_page_bytes(), method->verified_page_sizes, method->name, why);
}

int method_host(const struct method *method, const struct fsroot *root, struct error *why)
{
    int rc = check_base_pages(method, why);

    return rc < 0 ? rc : method->host(root, why);
}

/* zap-all clears soft-dirty bits, and pageout unmaps pages of shared memory, which loses them. */
static bool takes_soft_dirty_bits(const struct method *method)
{
    return method == &method_zap_all || method == &method_pageout;
}

static int try_method(const struct method *method, const struct target *target,
                      const struct method_needs *needs, struct error *why)
{
    int rc = target->root->live ? check_base_pages(method, why) : 0;

    if (rc < 0)
        return rc;
    if (method_sees_writes(method) && !needs->writes)
        return error_set(why, -ENOTSUP, "sees writes only; use --writes");
    if (needs->writes && !method_sees_writes(method))
        return error_set(why, -ENOTSUP,
                         "does not tell writes from reads; --writes takes soft-dirty");
    if (needs->beside_writes && takes_soft_dirty_bits(method))
        return error_set(why, -ENOTSUP, "takes the bits that show writes");
    if (needs->census && !method->census)
        return error_set(why, -ENOTSUP, "takes no census; use --samples");
    if (needs->pages && !method->needs_pages)
        return error_set(why, -ENOTSUP, "counts touched pages, but not their addresses");
    if (needs->panel && !method->panel)
        return error_set(why, -ENOTSUP, "cannot follow chosen pages; use --census");
    if (needs->by_vcpus && method->sees_qemu)
        return error_set(why, -ENOTSUP, "counts what others touch, and others do");
    if (needs->follow && !method->rearm)
        return error_set(why, -ENOTSUP, "cannot follow pages over time");
    if (method->max_windows > 0 && needs->windows > method->max_windows)
        return error_set(why, -ENOTSUP,
                         "answers at most %zu windows at once; measure the others by themselves",
                         method->max_windows);
    return method == needs->proven ? 0 : method->probe(target, why);
}

int method_try(const struct method *method, const struct target *target,
               const struct method_needs *needs, struct error *why)
{
    int rc = try_method(method, target, needs, why);

    debug_log("method %s: %s", method->name, rc == 0 ? "can measure this guest" : why->text);
    return rc;
}

static void append_reason(struct error *error, const char *name, const char *why)
{
    size_t used = strlen(error->text);

    snprintf(error->text + used, sizeof(error->text) - used, "%s %s: %s", used ? ";" : "", name,
             why);
}

/* KSM merges private memory only. */
static bool much_is_merged(const struct target *target)
{
    uint64_t mergeable_bytes = 0;

    for (size_t b = 0; b < target->ram->n_blocks; b++)
        if (!target->ram->blocks[b].shared)
            mergeable_bytes += target->ram->blocks[b].bytes;
    return mergeable_bytes > 0 &&
           ksm_merged_pages(target) * base_page_bytes() > mergeable_bytes / MUCH_MERGED;
}

bool method_bits_are_taken(const struct target *target)
{
    return ageing_goes_on(target, SIGNAL_IDLE_FLAG) ||
           (target->process->accel == ACCEL_KVM &&
            (damon_module_on(target->root) || much_is_merged(target)));
}

static enum method_order order_for(const struct target *target)
{
    bool ages = method_bits_are_taken(target);

    if (target->process->accel == ACCEL_TCG)
        return ages ? ORDER_TCG_AGEING : ORDER_TCG;
    return ages ? ORDER_KVM_AGEING : ORDER_KVM;
}

const struct method *method_auto(const struct target *target, const struct method_needs *needs,
                                 struct error *error)
{
    const enum method_order order = needs->writes ? ORDER_WRITES : order_for(target);
    const struct method *method;
    struct error reasons = {0};

    for (size_t i = 0; (method = method_at(order, i)); i++) {
        struct error why = {0};

        if (method_try(method, target, needs, &why) == 0)
            return method;
        append_reason(&reasons, method->name, why.text);
    }
    error_set(error, -ENOTSUP, "no method can see this guest%s:%s",
              needs->writes ? "'s writes" : "", reasons.text);
    return NULL;
}

const struct method *method_choose(const struct target *target,
                                   const struct method_verdict *verdicts, size_t n)
{
    const enum method_order order = order_for(target);
    const struct method *method;

    for (size_t i = 0; (method = method_at(order, i)); i++)
        for (size_t v = 0; v < n; v++)
            if (verdicts[v].method == method && verdicts[v].rc == 0)
                return method;
    return NULL;
}
