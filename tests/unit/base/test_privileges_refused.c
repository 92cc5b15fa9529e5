// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_privileges_refused.c  What cannot be given up is an error: each call by which
 * something is given up fails in turn, as under a stricter filter of the service manager's. */
#include "base/service/privileges.h"
#include "base/service/reader_group.h"

#include "fixture.h"

#include <cap-ng.h>
#include <errno.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* From now on @p call fails in this process; if @p first is not negative, only with that argument.
 * Its own no_new_privs would be what is tested. */
static bool refuse(int call, int first)
{
    const struct scmp_arg_cmp match = {.arg = 0, .op = SCMP_CMP_EQ, .datum_a = (scmp_datum_t)first};
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    int rc = seccomp_attr_set(filter, SCMP_FLTATR_CTL_NNP, 0);

    if (rc == 0)
        rc = seccomp_rule_add_array(filter, SCMP_ACT_ERRNO(EPERM), call, first >= 0, &match);
    if (rc == 0)
        rc = seccomp_load(filter);
    seccomp_release(filter);
    return rc == 0;
}

static int drop_scanner(struct error *error)
{
    return privileges_drop_scanner(false, error);
}

static int drop_scanner_with_agents(struct error *error)
{
    return privileges_drop_scanner(true, error);
}

static int drop_rest(struct error *error)
{
    const struct account account = {
        .name = "test", .changes = true, .uid = 65534, .gid = 65534, .n_groups = 0};

    return privileges_drop_rest(&account, error);
}

static int become_reader(struct error *error)
{
    return reader_become(false, error);
}

enum { SCANNER = 1, REST = 2, RECLAIMER = 4, READER = 8, ALL = 15 };

static const struct program {
    int bit;
    int (*drop)(struct error *error);
} programs[] = {
    {SCANNER, drop_scanner}, {SCANNER, drop_scanner_with_agents},
    {REST, drop_rest},       {RECLAIMER, privileges_drop_reclaimer},
    {READER, become_reader},
};

static const struct step {
    int call;
    int first; /* argument; negative: any */
    int programs;
} steps[] = {
    {SCMP_SYS(capset), -1, ALL},
    {SCMP_SYS(prctl), PR_CAPBSET_DROP, ALL},
    {SCMP_SYS(prctl), PR_SET_NO_NEW_PRIVS, ALL},
    {SCMP_SYS(seccomp), SECCOMP_SET_MODE_FILTER, SCANNER | REST | RECLAIMER},
    {SCMP_SYS(setgroups), -1, REST},
    {SCMP_SYS(setresgid), -1, REST},
    {SCMP_SYS(setresuid), -1, REST},
    {SCMP_SYS(landlock_restrict_self), -1, RECLAIMER},
};

/* The exit status of a process; 0: the program fails with a message where @p step is refused, and
 * with no step it does not fail. */
static int run(const struct program *program, const struct step *step)
{
    struct error error = {0};

    if (step && !refuse(step->call, step->first))
        return 2;

    int rc = program->drop(&error);

    return step ? rc == 0 || !error.text[0] : rc != 0;
}

static int exit_status(pid_t child)
{
    int status;

    return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void expect(const struct program *program, const struct step *step)
{
    pid_t child = fork();

    if (child == 0)
        _exit(run(program, step));
    ck_assert_int_eq(exit_status(child), 0);
}

TEST_EACH(plain, each_step_that_fails_is_told, 0, COUNT(steps))
{
    for (size_t i = 0; i < COUNT(programs); i++) {
        expect(&programs[i], NULL);
        if (steps[_i].programs & programs[i].bit)
            expect(&programs[i], &steps[_i]);
    }
}

/* The thread of the scanner takes up a capability, and lays it down. */
static int reach(bool refuse_first)
{
    struct error error = {0};

    if (privileges_drop_scanner(true, &error) < 0 ||
        (!refuse_first && privileges_reach(true) != 0) || !refuse(SCMP_SYS(capset), -1))
        return 2;
    return privileges_reach(refuse_first) != -EPERM;
}

TEST_EACH(plain, a_capability_that_stays_is_told, 0, 2)
{
    pid_t child = fork();

    if (child == 0)
        _exit(reach(_i));
    ck_assert_int_eq(exit_status(child), 0);
}

/* The unit of a service may have taken CAP_SETPCAP: that is no error. */
static int drop_without_setpcap(const struct program *program)
{
    struct error error = {0};

    if (capng_get_caps_process() != 0 ||
        capng_update(CAPNG_DROP, CAPNG_EFFECTIVE | CAPNG_PERMITTED, CAP_SETPCAP) != 0 ||
        capng_apply(CAPNG_SELECT_CAPS) != 0)
        return 2;
    return program->drop(&error) != 0;
}

TEST_EACH(plain, the_bounding_set_may_be_the_units_choice, 0, COUNT(programs))
{
    pid_t child = fork();

    if (child == 0)
        _exit(drop_without_setpcap(&programs[_i]));
    ck_assert_int_eq(exit_status(child), 0);
}

int unit_begin(void)
{
    return geteuid() == 0 ? 0 : 77;
}
