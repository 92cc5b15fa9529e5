// SPDX-License-Identifier: LGPL-2.1-or-later
#include "base/service/call_filter.h"

#include <errno.h>
#include <seccomp.h>
#include <unistd.h>

/* The calls since Linux 5.1 have the same number on every architecture (scripts/syscall.tbl). */
#define FIRST_NEW 467 /* open_tree_attr(2), Linux 6.15: unknown to the table */
#define LAST_NEW 600

static bool is_new(int call)
{
    return call == SCMP_SYS(clone3) || (call >= FIRST_NEW && call <= LAST_NEW);
}

int call_filter_errno(int call)
{
    return is_new(call) ? ENOSYS : EPERM;
}

static int allow(scmp_filter_ctx filter, const struct call_line *line)
{
    struct scmp_arg_cmp compare[2];
    unsigned n = 0;

    for (int i = 0; i < 2; i++) {
        const struct call_condition *when = &line->when[i];

        if (when->mask)
            compare[n++] = (struct scmp_arg_cmp){
                .arg = when->argument,
                .op = SCMP_CMP_MASKED_EQ,
                .datum_a = when->mask,
                .datum_b = when->bits == CALL_FILTER_OWN_PID ? (scmp_datum_t)getpid() : when->bits};
    }
    return seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, line->call, n, compare);
}

static int add_rules(scmp_filter_ctx filter, enum call_filter_role role)
{
    size_t n;
    const struct call_line *table = call_filter_table(&n);
    int rc = seccomp_rule_add_array(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0, NULL);

    for (int call = FIRST_NEW; rc == 0 && call <= LAST_NEW; call++)
        rc = seccomp_rule_add_array(filter, SCMP_ACT_ERRNO(ENOSYS), call, 0, NULL);
    for (size_t i = 0; rc == 0 && i < n; i++)
        if (table[i].roles & role)
            rc = allow(filter, &table[i]);
    return rc;
}

int call_filter_load(enum call_filter_role role)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
    int rc = filter ? 0 : -ENOMEM;

    /* A binary tree: the kernel makes up to nine comparisons for a call instead of 300. */
    if (rc == 0)
        rc = seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2);
    if (rc == 0)
        rc = add_rules(filter, role);
    if (rc == 0)
        rc = seccomp_load(filter);
    seccomp_release(filter);
    return rc;
}
