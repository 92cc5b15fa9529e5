// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_call_filter.c  The kernel's verdict on every system call, compared with the table;
 * and calls that must be refused whatever the table says. */
#include "base/service/call_filter.h"

#include "base/service/privileges.h"
#include "fixture.h"
#include "refused_calls.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define MANY 1024 /* more than there are calls */

/* --- asking the kernel without making the call ------------------------------------------------ */

#define MARK 0x7e57c0deU /* as the sixth argument */
#define ALLOWED 4000     /* an errno that no call returns */

/* An older filter fails every call that has the mark. Of two filters that fail a call the newer one
 * chooses the errno, so that of the filter under test is returned, if it fails the call, too. */
static bool hold_back_marked_calls(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[5])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, MARK, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ALLOWED),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {COUNT(code), code};

    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0;
}

/* ALLOWED, or the errno of the filter. The register of the sixth argument keeps the mark, and later
 * calls with fewer arguments do not change it: the second call does. */
static int verdict(int call, const uint64_t arguments[6])
{
    const long rc = syscall(call, arguments[0], arguments[1], arguments[2], arguments[3],
                            arguments[4], (unsigned long)MARK);
    const int code = rc == -1 ? errno : 0;

    syscall(SYS_gettid, 0UL, 0UL, 0UL, 0UL, 0UL, 0UL);
    return code;
}

static int exit_status(pid_t child)
{
    int status;

    return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* --- the table -------------------------------------------------------------------------------- */

static bool holds(const struct call_condition *when, const uint64_t arguments[6])
{
    const uint64_t bits = when->bits == CALL_FILTER_OWN_PID ? (uint64_t)getpid() : when->bits;

    return (arguments[when->argument] & when->mask) == (bits & when->mask);
}

/* Whether the table allows the call, without the kernel. */
static bool allows(enum call_filter_role role, int call, const uint64_t arguments[6])
{
    size_t n;
    const struct call_line *table = call_filter_table(&n);

    for (size_t i = 0; i < n; i++)
        if (table[i].call == call && (table[i].roles & role) &&
            holds(&table[i].when[0], arguments) && holds(&table[i].when[1], arguments))
            return true;
    return false;
}

static int compare(enum call_filter_role role, int call, const uint64_t arguments[6])
{
    const uint64_t marked[6] = {arguments[0], arguments[1], arguments[2],
                                arguments[3], arguments[4], MARK};
    const int expected = allows(role, call, marked) ? ALLOWED : call_filter_errno(call);
    const int got = verdict(call, arguments);

    if (got == expected)
        return 0;
    fprintf(stderr, "role %d, call %d(%#lx, %#lx, %#lx, %#lx, %#lx): %d, not %d\n", role, call,
            arguments[0], arguments[1], arguments[2], arguments[3], arguments[4], got, expected);
    return 1;
}

/* uretprobe(2) and uprobe(2), which belong to the kernel's own code in a process: since Linux 6.14
 * it asks no filter about them (seccomp_uprobe_exception()), and ends other callers by SIGILL. */
static bool asks_no_filter(int call)
{
#ifdef __x86_64__
    return call == 335 || call == 336;
#else
    return call < 0;
#endif
}

static int compare_all_calls(enum call_filter_role role)
{
    static const uint64_t fills[] = {0, 1, UINT64_MAX, 1ULL << 32};
    int wrong = 0;

    for (int call = 0; call < MANY; call++)
        for (size_t i = 0; !asks_no_filter(call) && i < COUNT(fills); i++) {
            const uint64_t f = fills[i];
            const uint64_t arguments[6] = {f, f, f, f, f, f};

            wrong += compare(role, call, arguments);
        }
    return wrong;
}

static uint64_t value_for(const struct call_condition *when)
{
    return when->bits == CALL_FILTER_OWN_PID ? (uint64_t)getpid() : when->bits;
}

/* Tries arguments that fit the line, with bits beyond the mask, and with one bit of each condition
 * wrong. */
static int compare_line(enum call_filter_role role, const struct call_line *line)
{
    uint64_t fits[6] = {0};
    int wrong;

    for (int i = 0; i < 2; i++)
        if (line->when[i].mask)
            fits[line->when[i].argument] = value_for(&line->when[i]);
    wrong = compare(role, line->call, fits);
    for (int i = 0; i < 2; i++) {
        const struct call_condition *when = &line->when[i];

        for (int bit = 0; when->mask && bit < 64; bit++) {
            uint64_t other[6];

            memcpy(other, fits, sizeof(other));
            other[when->argument] ^= 1ULL << bit;
            wrong += compare(role, line->call, other);
        }
    }
    return wrong;
}

static int compare_lines(enum call_filter_role role)
{
    size_t n;
    const struct call_line *table = call_filter_table(&n);
    int wrong = 0;

    for (size_t i = 0; i < n; i++)
        if (table[i].call >= 0)
            wrong += compare_line(role, &table[i]);
    return wrong;
}

TEST_EACH(plain, the_kernel_does_what_the_table_says, 0, 6)
{
    const enum call_filter_role role = 1U << _i;
    pid_t child = fork();

    if (child == 0)
        _exit(!hold_back_marked_calls() || call_filter_load(role) < 0 ||
              compare_all_calls(role) + compare_lines(role) > 0);
    ck_assert_int_eq(exit_status(child), 0);
}

/* --- whatever the table says ------------------------------------------------------------------ */

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
        .name = "test", .changes = geteuid() == 0, .uid = 65533, .gid = 65532};

    return privileges_drop_rest(&account, error);
}

static int drop_keeper(struct error *error)
{
    return privileges_drop_keeper(open("/tmp", O_RDONLY | O_DIRECTORY), error);
}

static int drop_clearer(struct error *error)
{
    return privileges_drop_clearer(open("/proc", O_RDONLY | O_DIRECTORY), error);
}

static const struct process {
    unsigned bit;
    int (*drop)(struct error *error);
} processes[] = {
    {SCANNER, drop_scanner}, {SCANNER, drop_scanner_with_agents},
    {REST, drop_rest},       {RECLAIMER, privileges_drop_reclaimer},
    {KEEPER, drop_keeper},   {KEEPER, drop_clearer},
};

static int try_calls(const struct process *process, const struct one_call *calls, int n,
                     bool allowed)
{
    int wrong = 0;

    for (int i = 0; i < n; i++) {
        int got;

        if (calls[i].call < 0 || !(calls[i].processes & process->bit))
            continue;
        got = verdict(calls[i].call, calls[i].arguments);
        if (allowed ? got == ALLOWED : got == EPERM || got == ENOSYS)
            continue;
        fprintf(stderr, "process %d, line %d, call %d: %d\n", process->bit, i, calls[i].call, got);
        wrong++;
    }
    return wrong;
}

static int try_process(const struct process *process)
{
    struct error error = {0};

    if (!hold_back_marked_calls() || process->drop(&error) < 0) {
        fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    return try_calls(process, refused, COUNT(refused), false) +
               try_calls(process, needed, COUNT(needed), true) >
           0;
}

TEST_EACH(plain, what_no_process_may_and_what_the_scanner_needs, 0, COUNT(processes))
{
    pid_t child = fork();

    if (child == 0)
        _exit(try_process(&processes[_i]));
    ck_assert_int_eq(exit_status(child), 0);
}

/* A number that neither this program nor this kernel knows: the C library then does without. */
TEST(plain, a_newer_call_is_missing)
{
    static const uint64_t none[6];
    pid_t child = fork();

    if (child == 0)
        _exit(!hold_back_marked_calls() || call_filter_load(CALLS_SCANNER) < 0 ||
              verdict(480, none) != ENOSYS || verdict(SCMP_SYS(clone3), none) != ENOSYS ||
              verdict(SCMP_SYS(fspick), none) != EPERM);
    ck_assert_int_eq(exit_status(child), 0);
}
