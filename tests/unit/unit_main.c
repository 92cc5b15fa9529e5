// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file unit_main.c  main() of the tests that have none: makes a suite of those that registered
 * themselves (unit.h). */
#include "unit.h"

#include <errno.h>
#include <stddef.h>

#define GROUPS_MAX 32

static struct unit_test *first;
static struct unit_test **end = &first;

void unit_add(struct unit_test *test)
{
    *end = test;
    end = &test->next;
}

static TCase *make_case(const struct unit_group *group)
{
    TCase *tcase = tcase_create("tests");

    tcase_add_checked_fixture(tcase, group->setup, group->teardown);
    if (group->timeout_s > 0)
        tcase_set_timeout(tcase, group->timeout_s);
    return tcase;
}

int main(void)
{
    const struct unit_group *groups[GROUPS_MAX];
    TCase *cases[GROUPS_MAX];
    Suite *suite = suite_create(program_invocation_short_name);
    size_t n = 0;
    int status = unit_begin ? unit_begin() : 0;

    if (status != 0)
        return status;

    for (const struct unit_test *test = first; test; test = test->next) {
        size_t i = 0;

        while (i < n && groups[i] != test->group)
            i++;
        if (i == GROUPS_MAX)
            return 1;
        if (i == n) {
            groups[n] = test->group;
            cases[n] = make_case(test->group);
            suite_add_tcase(suite, cases[n++]);
        }
        tcase_add_loop_test(cases[i], test->test, test->from, test->to);
    }
    status = first ? run_suite(suite) : 1;
    if (unit_end)
        unit_end();
    return status;
}
