// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file privileges.c  See privileges.h. */
#include "base/service/privileges.h"

#include "base/service/capabilities.h"
#include "base/service/log.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <linux/sockios.h>
#include <sched.h>
#include <seccomp.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/* --- capabilities ----------------------------------------------------------------------------- */

static int keep_scanners(bool agents)
{
    const capng_select_t what = capabilities_may_change();

    capng_clear(CAPNG_SELECT_BOTH);
    if (capng_updatev(CAPNG_ADD, CAPNG_EFFECTIVE | CAPNG_PERMITTED | CAPNG_BOUNDING_SET,
                      CAP_SYS_ADMIN, CAP_SYS_PTRACE, CAP_SYS_NICE, CAP_DAC_READ_SEARCH,
                      CAP_IPC_LOCK, -1) != 0)
        return -EPERM;
    if (agents && capng_update(CAPNG_ADD, CAPNG_PERMITTED | CAPNG_BOUNDING_SET, CAP_DAC_OVERRIDE))
        return -EPERM;
    return capabilities_apply(what);
}

static int keep_none(void)
{
    /* another user's capabilities differ from those that were read */
    if (capng_get_caps_process() != 0)
        return -EPERM;

    const capng_select_t what = capabilities_may_change();

    capng_clear(CAPNG_SELECT_BOTH);
    return capabilities_apply(what);
}

/* Call it before the process leaves user 0, which drops CAP_SETPCAP. */
static int drop_bounding_set(void)
{
    if (capabilities_may_change() != CAPNG_SELECT_BOTH)
        return 0;
    capng_clear(CAPNG_SELECT_BOUNDS);
    return capabilities_apply(CAPNG_SELECT_BOUNDS);
}

/* libcap-ng's state and capset(2) both apply to one thread. */
int privileges_reach(bool reach)
{
    if (capng_get_caps_process() != 0)
        return -EPERM;
    if (!capng_have_capability(CAPNG_PERMITTED, CAP_DAC_OVERRIDE) ||
        /* the process did not give up capabilities */
        capng_have_capability(CAPNG_EFFECTIVE, CAP_SYS_RAWIO))
        return 0;
    if (capng_update(reach ? CAPNG_ADD : CAPNG_DROP, CAPNG_EFFECTIVE, CAP_DAC_OVERRIDE) != 0)
        return -EPERM;
    return capabilities_apply(CAPNG_SELECT_CAPS);
}

/* --- system calls ----------------------------------------------------------------------------- */

/* Calls that CAP_SYS_ADMIN, CAP_SYS_PTRACE or root's user id would allow, and that vmwssd never
 * makes. */
static const int never[] = {
    /* to run other programs */
    SCMP_SYS(execve),
    SCMP_SYS(execveat),
    /* to act on other processes: vmwssd never writes their memory, and never stops them */
    SCMP_SYS(process_vm_writev),
#ifndef __SANITIZE_ADDRESS__ /* AddressSanitizer stops the process's threads by it */
    SCMP_SYS(ptrace),
#endif
    SCMP_SYS(kcmp),
    SCMP_SYS(pidfd_getfd),
    SCMP_SYS(userfaultfd),
    /* sockets that accept connections, and calls that make sockets past this filter
     * (IORING_OP_SOCKET) */
    SCMP_SYS(listen),
    SCMP_SYS(io_uring_setup),
    SCMP_SYS(io_uring_enter),
    SCMP_SYS(io_uring_register),
    /* to change the kernel itself */
    SCMP_SYS(bpf),
    SCMP_SYS(init_module),
    SCMP_SYS(finit_module),
    SCMP_SYS(delete_module),
    SCMP_SYS(kexec_load),
    SCMP_SYS(kexec_file_load),
    SCMP_SYS(iopl),
    SCMP_SYS(ioperm),
    SCMP_SYS(syslog),
    /* to control the machine */
    SCMP_SYS(reboot),
    SCMP_SYS(swapon),
    SCMP_SYS(swapoff),
    SCMP_SYS(settimeofday),
    SCMP_SYS(clock_settime),
    SCMP_SYS(clock_adjtime),
    SCMP_SYS(adjtimex),
    SCMP_SYS(sethostname),
    SCMP_SYS(setdomainname),
    SCMP_SYS(quotactl),
    SCMP_SYS(acct),
    /* to change mounts and namespaces */
    SCMP_SYS(mount),
    SCMP_SYS(umount2),
    SCMP_SYS(move_mount),
    SCMP_SYS(open_tree),
    SCMP_SYS(fsopen),
    SCMP_SYS(fsmount),
    SCMP_SYS(mount_setattr),
    SCMP_SYS(pivot_root),
    SCMP_SYS(chroot),
    SCMP_SYS(setns),
    SCMP_SYS(unshare),
    /* keys */
    SCMP_SYS(add_key),
    SCMP_SYS(request_key),
    SCMP_SYS(keyctl),
};

/* Calls that reach into another process, for the half that does not need them. */
static const int never_of_the_rest[] = {
    SCMP_SYS(process_vm_readv),  SCMP_SYS(process_madvise),   SCMP_SYS(process_mrelease),
    SCMP_SYS(perf_event_open),   SCMP_SYS(move_pages),        SCMP_SYS(migrate_pages),
    SCMP_SYS(name_to_handle_at), SCMP_SYS(open_by_handle_at),
};

static int refuse_calls(scmp_filter_ctx filter, const int *calls, size_t n)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < n; i++)
        rc = seccomp_rule_add_array(filter, SCMP_ACT_ERRNO(EPERM), calls[i], 0, NULL);
    return rc;
}

/* Signals may go only to this process, so that the C library can abort(); signal 0 is not a
 * signal. */
static int refuse_signals(scmp_filter_ctx filter)
{
    static const int calls[] = {SCMP_SYS(tkill), SCMP_SYS(rt_sigqueueinfo),
                                SCMP_SYS(rt_tgsigqueueinfo), SCMP_SYS(pidfd_send_signal)};
    const scmp_datum_t own = (scmp_datum_t)getpid();
    const struct scmp_arg_cmp kills[] = {{.arg = 0, .op = SCMP_CMP_NE, .datum_a = own},
                                         {.arg = 1, .op = SCMP_CMP_NE, .datum_a = 0}};
    int rc = refuse_calls(filter, calls, sizeof(calls) / sizeof(calls[0]));

    if (rc == 0)
        rc = seccomp_rule_add_array(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(kill), 2, kills);
    if (rc == 0)
        rc = seccomp_rule_add_array(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(tgkill), 1, kills);
    return rc;
}

/* The kernel treats the argument as 32 bits wide; a plain comparison would compare all 64. */
static int refuse_command(scmp_filter_ctx filter, int call, unsigned command)
{
    const struct scmp_arg_cmp commands = {
        .arg = 1, .op = SCMP_CMP_MASKED_EQ, .datum_a = 0xffffffff, .datum_b = command};

    return seccomp_rule_add_array(filter, SCMP_ACT_ERRNO(EPERM), call, 1, &commands);
}

/* The owner of a file (fcntl(2), O_ASYNC) gets a signal, with F_SETSIG any signal, checked by the
 * user ids of the process that set the owner: no capability is needed, and no system call of the
 * list above is made. Also, text that is pushed into the terminal from which it was started
 * (ioctl_tty(2), TIOCSTI) is typed into the shell there, which is root's. */
static int refuse_owners(scmp_filter_ctx filter)
{
    static const unsigned fcntls[] = {F_SETOWN, F_SETOWN_EX, F_SETSIG};
    static const unsigned ioctls[] = {FIOSETOWN, SIOCSPGRP, TIOCSTI, TIOCLINUX};
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < sizeof(fcntls) / sizeof(fcntls[0]); i++)
        rc = refuse_command(filter, SCMP_SYS(fcntl), fcntls[i]);
    for (size_t i = 0; rc == 0 && i < sizeof(ioctls) / sizeof(ioctls[0]); i++)
        rc = refuse_command(filter, SCMP_SYS(ioctl), ioctls[i]);
    return rc;
}

/* A new user namespace has every capability inside, and with them access to rarely used paths in
 * the kernel. clone3(2) has its flags in memory, where no filter sees them; if it is refused, the C
 * library uses clone(2). */
static int refuse_namespaces(scmp_filter_ctx filter)
{
    static const scmp_datum_t flags[] = {CLONE_NEWNS,   CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC,
                                         CLONE_NEWUSER, CLONE_NEWPID,    CLONE_NEWNET};
    int rc = seccomp_rule_add_array(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0, NULL);

    for (size_t i = 0; rc == 0 && i < sizeof(flags) / sizeof(flags[0]); i++) {
        const struct scmp_arg_cmp has = {
            .arg = 0, .op = SCMP_CMP_MASKED_EQ, .datum_a = flags[i], .datum_b = flags[i]};

        rc = seccomp_rule_add_array(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone), 1, &has);
    }
    return rc;
}

/* Refuses setting the limits of any process but the caller; the C library passes 0 for that. A
 * limit on CPU time would end another process. */
static int refuse_limits(scmp_filter_ctx filter)
{
    const struct scmp_arg_cmp others = {.arg = 0, .op = SCMP_CMP_NE, .datum_a = 0};

    return seccomp_rule_add_array(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(prlimit64), 1, &others);
}

static int refuse_socket(scmp_filter_ctx filter, enum scmp_compare compare, unsigned family)
{
    const struct scmp_arg_cmp families = {.arg = 0, .op = compare, .datum_a = family};

    return seccomp_rule_add_array(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(socket), 1, &families);
}

/* Refuses all families except @p one and @p other. */
static int refuse_sockets_but(scmp_filter_ctx filter, unsigned one, unsigned other)
{
    int rc = refuse_socket(filter, SCMP_CMP_GT, other);

    for (unsigned family = 0; rc == 0 && family < other; family++)
        if (family != one)
            rc = refuse_socket(filter, SCMP_CMP_EQ, family);
    return rc;
}

/* Allows sockets only to agents; the pair to the other half needs no socket(2). */
static int limit_scanner(scmp_filter_ctx filter, bool agents)
{
    static const int calls[] = {SCMP_SYS(socket), SCMP_SYS(connect)};

    return agents ? refuse_sockets_but(filter, AF_UNIX, AF_VSOCK)
                  : refuse_calls(filter, calls, sizeof(calls) / sizeof(calls[0]));
}

/* Allows local sockets, and netlink's, by which libraries query the machine's interfaces. */
static int limit_rest(scmp_filter_ctx filter, bool agents)
{
    int rc = refuse_calls(filter, never_of_the_rest,
                          sizeof(never_of_the_rest) / sizeof(never_of_the_rest[0]));

    (void)agents;
    return rc < 0 ? rc : refuse_sockets_but(filter, AF_UNIX, AF_NETLINK);
}

/* Some libseccomp versions are older than this call; its number is the same on every architecture
 * (scripts/syscall.tbl). */
#define CALL_FCHMODAT2 452
#define CALL_SETXATTRAT 463
#define CALL_REMOVEXATTRAT 466

/* A user that owns root's files could also change their owner or mode. */
static const int never_of_the_reclaimer[] = {
    SCMP_SYS(socket),    SCMP_SYS(connect),      SCMP_SYS(chmod),       SCMP_SYS(fchmod),
    SCMP_SYS(fchmodat),  CALL_FCHMODAT2,         SCMP_SYS(chown),       SCMP_SYS(fchown),
    SCMP_SYS(lchown),    SCMP_SYS(fchownat),     SCMP_SYS(setxattr),    SCMP_SYS(lsetxattr),
    SCMP_SYS(fsetxattr), CALL_SETXATTRAT,        SCMP_SYS(removexattr), SCMP_SYS(lremovexattr),
    SCMP_SYS(utimensat), SCMP_SYS(fremovexattr), CALL_REMOVEXATTRAT,    SCMP_SYS(utime),
    SCMP_SYS(utimes),    SCMP_SYS(futimesat),    SCMP_SYS(truncate),    SCMP_SYS(creat),
};

static int refuse_flag(scmp_filter_ctx filter, int call, unsigned arg, scmp_datum_t flag)
{
    const struct scmp_arg_cmp has = {
        .arg = arg, .op = SCMP_CMP_MASKED_EQ, .datum_a = flag, .datum_b = flag};

    return seccomp_rule_add_array(filter, SCMP_ACT_ERRNO(EPERM), call, 1, &has);
}

/* A call that opens a file for reading can also truncate it. openat2(2) has its flags in memory,
 * where only Landlock can refuse O_TRUNC, since its version 3. */
static int limit_reclaimer(scmp_filter_ctx filter, bool agents)
{
    int rc = refuse_calls(filter, never_of_the_rest,
                          sizeof(never_of_the_rest) / sizeof(never_of_the_rest[0]));

    (void)agents;
    if (rc == 0)
        rc = refuse_calls(filter, never_of_the_reclaimer,
                          sizeof(never_of_the_reclaimer) / sizeof(never_of_the_reclaimer[0]));
    if (rc == 0)
        rc = refuse_flag(filter, SCMP_SYS(open), 1, O_TRUNC);
    return rc < 0 ? rc : refuse_flag(filter, SCMP_SYS(openat), 2, O_TRUNC);
}

/* This list names the refused calls, not the allowed ones: the calls that libvirt, SQLite and the C
 * library need differ from one release to the next, and systemd applies such an allow list
 * (@system-service) from the unit file. */
static int refuse_system_calls(int (*limit)(scmp_filter_ctx filter, bool agents), bool agents)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    int rc = filter ? refuse_calls(filter, never, sizeof(never) / sizeof(never[0])) : -ENOMEM;

    if (rc == 0)
        rc = refuse_signals(filter);
    if (rc == 0)
        rc = refuse_owners(filter);
    if (rc == 0)
        rc = refuse_namespaces(filter);
    if (rc == 0)
        rc = refuse_limits(filter);
    if (rc == 0)
        rc = limit(filter, agents);
    if (rc == 0)
        rc = seccomp_load(filter);
    seccomp_release(filter);
    return rc;
}

/* --- both halves ------------------------------------------------------------------------------ */

static int drop_and_limit(int rc, int (*limit)(scmp_filter_ctx filter, bool agents), bool agents,
                          struct error *error)
{
    if (rc < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return error_set(error, -EPERM, "capabilities could not be dropped");
    rc = refuse_system_calls(limit, agents);
    return rc < 0 ? error_set(error, rc, "the seccomp filter: %s", strerror(-rc)) : 0;
}

#define TRUNCATE (1ULL << 14) /* LANDLOCK_ACCESS_FS_TRUNCATE: Linux 6.2, ABI 3 */

/* Makes a ruleset that handles these accesses, so that they are refused for every file; negative:
 * there is no Landlock. */
static int make_ruleset(void)
{
    struct landlock_ruleset_attr rules = {
        .handled_access_fs = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |
                             LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_CHAR |
                             LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |
                             LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO |
                             LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM};
    long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);

    if (abi >= 3)
        rules.handled_access_fs |= TRUNCATE;
    return (int)syscall(SYS_landlock_create_ruleset, &rules, sizeof(rules), 0);
}

/* Allows writing only files below this directory: landlock(7). If the kernel lacks Landlock, or a
 * seccomp filter blocks it, that is reported and nothing changes. */
static int limit_writes(const char *path)
{
    struct landlock_path_beneath_attr allowed = {.allowed_access = LANDLOCK_ACCESS_FS_WRITE_FILE};
    int set = make_ruleset();
    long rc;

    if (set < 0) {
        log_line(LOG_CLASS_DAEMON, LOG_WARNING,
                 "the reclaimer is not limited to the files of control groups: Landlock: %s",
                 strerror(errno));
        return 0;
    }
    allowed.parent_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    rc = syscall(SYS_landlock_add_rule, set, LANDLOCK_RULE_PATH_BENEATH, &allowed, 0);
    if (rc == 0)
        rc = syscall(SYS_landlock_restrict_self, set, 0);
    if (allowed.parent_fd >= 0)
        close(allowed.parent_fd);
    close(set);
    return rc == 0 ? 0 : -EPERM;
}

/* If the process is not root, its service manager has chosen the capabilities. */
int privileges_drop_scanner(bool agents, struct error *error)
{
    return drop_and_limit(geteuid() == 0 ? keep_scanners(agents) : 0, limit_scanner, agents, error);
}

int privileges_drop_rest(const struct account *account, struct error *error)
{
    int rc = drop_bounding_set();

    if (rc < 0)
        return error_set(error, rc, "the bounding set of capabilities could not be dropped");
    rc = account_become(account, error);
    return rc < 0 ? rc : drop_and_limit(keep_none(), limit_rest, false, error);
}

int privileges_limit_writes(struct error *error)
{
    return limit_writes("/sys/fs/cgroup") < 0
               ? error_set(error, -EPERM, "what files may be written could not be limited")
               : 0;
}

int privileges_drop_reclaimer(struct error *error)
{
    int rc = drop_bounding_set();

    rc = rc < 0 ? rc : keep_none();
    rc = drop_and_limit(rc, limit_reclaimer, false, error);
    return rc < 0 ? rc : privileges_limit_writes(error);
}
