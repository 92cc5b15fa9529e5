// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file methods.c  The table of methods, and the choice among them. */
#include "sample/ageing.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

const struct method *const methods[] = {
    &method_idle,    &method_damon,      &method_zap,  &method_pageout,
    &method_zap_all, &method_referenced, &method_cold, NULL,
};

/* Most exact and least disturbing first; product order is argued in the README. */
static const struct method *const kvm_order[] = {
    &method_idle, &method_damon, &method_zap, &method_pageout, &method_zap_all, NULL,
};
static const struct method *const tcg_order[] = {
    &method_idle, &method_cold, &method_pageout, &method_referenced, NULL,
};
/* Where MGLRU ages the guest's memory, accessed bits are taken by the host: others first, but not zap-all, which disturbs. */
static const struct method *const kvm_order_ageing[] = {
    &method_zap, &method_pageout, &method_idle, &method_damon, &method_zap_all, NULL,
};
static const struct method *const tcg_order_ageing[] = {
    &method_pageout, &method_idle, &method_cold, &method_referenced, NULL,
};

const struct method *method_by_name(const char *name)
{
    for (size_t i = 0; methods[i]; i++)
        if (!strcmp(methods[i]->name, name))
            return methods[i];
    return NULL;
}

int method_try(const struct method *method, const struct target *target,
               const struct method_needs *needs, struct error *why)
{
    if (needs->census && !method->census)
        return error_set(why, -ENOTSUP, "takes no census; use --samples");
    if (needs->panel && !method->panel)
        return error_set(why, -ENOTSUP, "cannot follow chosen pages; use --census");
    if (needs->follow && !method->rearm)
        return error_set(why, -ENOTSUP, "cannot follow pages over time");
    return method == needs->proven ? 0 : method->probe(target, why);
}

static void append_reason(struct error *error, const char *name, const char *why)
{
    size_t used = strlen(error->text);

    snprintf(error->text + used, sizeof(error->text) - used, "%s %s: %s", used ? ";" : "", name,
             why);
}

static const struct method *const *order_for(const struct target *target)
{
    bool ages = ageing_goes_on(target, SIGNAL_IDLE_FLAG);

    if (target->process->accel == ACCEL_TCG)
        return ages ? tcg_order_ageing : tcg_order;
    return ages ? kvm_order_ageing : kvm_order;
}

const struct method *method_auto(const struct target *target, const struct method_needs *needs,
                                 struct error *error)
{
    const struct method *const *order = order_for(target);
    struct error reasons = {0};

    for (size_t i = 0; order[i]; i++) {
        struct error why = {0};

        if (method_try(order[i], target, needs, &why) == 0)
            return order[i];
        append_reason(&reasons, order[i]->name, why.text);
    }
    error_set(error, -ENOTSUP, "no method can see this guest:%s", reasons.text);
    return NULL;
}

const struct method *method_choose(const struct target *target,
                                   const struct method_verdict *verdicts, size_t n)
{
    const struct method *const *order = order_for(target);

    for (size_t i = 0; order[i]; i++)
        for (size_t v = 0; v < n; v++)
            if (verdicts[v].method == order[i] && verdicts[v].rc == 0)
                return order[i];
    return NULL;
}
