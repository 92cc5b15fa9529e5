// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_privileges.c  What the halves of vmwssd give up is given up. Each promise is one that
 * the man page makes. */
#include "base/service/privileges.h"

#include "fixture.h"

#include <cap-ng.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/landlock.h>
#include <linux/openat2.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

/* Any user will do that is not root; with a group of its own that publishing would take. */
#define USER 65533
#define GROUP 65532
#define PUBLISH_GROUP 65531

/* Without root, vmwssd changes neither its user nor its capabilities. */
static bool by_root;

static bool refused(long result)
{
    return result == -1 && errno == EPERM;
}

static bool writes_no_memory(void)
{
    char here = 1;
    char there = 2;
    struct iovec from = {&here, 1};
    struct iovec to = {&there, 1};

    return refused(process_vm_writev(getpid(), &from, 1, &to, 1, 0)) && there == 2;
}

static bool runs_no_program(void)
{
    char *const argv[] = {"true", NULL};

    return refused(execv("/bin/true", argv));
}

static bool makes_no_namespace(void)
{
    long child = syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, NULL, NULL, NULL, NULL);

    if (child == 0)
        _exit(0);
    if (child > 0)
        waitpid((pid_t)child, NULL, 0);
    return refused((int)child) && syscall(SYS_clone3, NULL, 0) < 0 && errno == ENOSYS &&
           refused(unshare(CLONE_NEWUSER));
}

static bool stops_nobody(void)
{
#ifdef __SANITIZE_ADDRESS__ /* which needs it */
    return true;
#else
    return refused(ptrace(PTRACE_SEIZE, getppid(), NULL, NULL));
#endif
}

static bool talks_to_no_network(void)
{
    static const int families[] = {AF_INET, AF_INET6, AF_PACKET, AF_TIPC, AF_ALG, AF_XDP};

    for (size_t i = 0; i < COUNT(families); i++)
        if (!refused(socket(families[i], SOCK_STREAM, 0)))
            return false;
    return true;
}

static bool waits_for_nobody(void)
{
    return refused(listen(0, 1)) && refused(syscall(SYS_io_uring_setup, 1, NULL));
}

/* A process from before, of user 0, which SIGSTOP would stop: see they_were_possible_before. */
static pid_t other;

static void start_other(void)
{
    other = fork();
    if (other == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* which no filter of ours keeps from it */
        pause();
        _exit(0);
    }
}

static bool signals_nobody(void)
{
    int status;

    return other > 0 && refused(kill(other, SIGSTOP)) &&
           refused(syscall(SYS_tkill, other, SIGSTOP)) &&
           refused(syscall(SYS_tgkill, other, other, SIGSTOP)) &&
           refused(syscall(SYS_pidfd_send_signal, 0, SIGSTOP, NULL, 0)) &&
           waitpid(other, &status, WNOHANG | WUNTRACED) == 0;
}

#define UPPER (1UL << 32) /* the kernel takes these arguments for 32 bits wide */

/* The kernel sends what the owner of a file is to get, by what the owner was allowed when it was
 * set (fs/fcntl.c): SIGIO, or another signal by F_SETSIG. How many of the ways were open. */
static int ways_to_own(void)
{
    struct f_owner_ex owner = {.type = F_OWNER_PID, .pid = getppid()};
    pid_t process = getppid();
    int fds[2];

    if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds) < 0)
        return -1;
    return !refused(fcntl(fds[0], F_SETOWN, process)) +
           !refused(fcntl(fds[0], F_SETOWN_EX, &owner)) +
           !refused(fcntl(fds[0], F_SETSIG, SIGCHLD)) +
           !refused(ioctl(fds[0], FIOSETOWN, &process)) +
           !refused(ioctl(fds[0], SIOCSPGRP, &process)) +
           !refused(syscall(SYS_fcntl, fds[0], UPPER | F_SETOWN, process)) +
           !refused(syscall(SYS_ioctl, fds[0], UPPER | FIOSETOWN, &process));
}

static bool has_nobody_signalled(void)
{
    return ways_to_own() == 0;
}

/* The kernel would answer ENOTTY for a file that is not a terminal. */
static bool types_into_no_terminal(void)
{
    int fds[2];
    char key = 'x';

    return pipe(fds) == 0 && refused(ioctl(fds[0], TIOCSTI, &key)) &&
           refused(ioctl(fds[0], TIOCLINUX, &key));
}

static bool limits_nobody(void)
{
    struct rlimit limit;

    return refused(prlimit(getppid(), RLIMIT_NOFILE, NULL, &limit)) &&
           getrlimit(RLIMIT_NOFILE, &limit) == 0 && setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

static bool can_abort(void)
{
    return tgkill(getpid(), gettid(), SIGCHLD) == 0 && kill(getpid(), SIGCHLD) == 0;
}

/* /proc/PID/NAME of the test itself: a process of the same user, but with all of root's
 * capabilities. Of who is not root it has none, and can be opened. */
static bool cannot_open(const char *name, int flags)
{
    const char *path = TEXT_OF(32, "/proc/%d/%s", getppid(), name);

    int fd = open(path, flags);

    return !by_root || (fd < 0 && (errno == EACCES || errno == EPERM));
}

static bool cannot_open_memory(void)
{
    return cannot_open("mem", O_RDWR);
}

static bool sees_no_mappings(void)
{
    return cannot_open("pagemap", O_RDONLY) && cannot_open("smaps", O_RDONLY);
}

static bool reaches_nobody(void)
{
    struct perf_event_attr event = {.size = sizeof(event)};
    struct iovec vector = {0};

    return refused(process_vm_readv(getppid(), &vector, 1, &vector, 1, 0)) &&
           refused(syscall(SYS_process_madvise, 0, &vector, 1, MADV_COLD, 0)) &&
           refused(syscall(SYS_perf_event_open, &event, 0, -1, -1, 0)) &&
           refused(syscall(SYS_pidfd_getfd, 0, 0, 0));
}

static bool has_no_capability(void)
{
    return capng_get_caps_process() == 0 &&
           capng_have_capabilities(CAPNG_SELECT_CAPS) == CAPNG_NONE &&
           prctl(PR_CAPBSET_READ, CAP_SYS_PTRACE, 0, 0, 0) == 0;
}

static bool has_only_the_scanners(void)
{
    static const unsigned never[] = {CAP_KILL,   CAP_SETUID,    CAP_SETGID,     CAP_CHOWN,
                                     CAP_FOWNER, CAP_NET_ADMIN, CAP_SYS_MODULE, CAP_SYS_RAWIO};

    if (capng_get_caps_process() != 0)
        return false;
    for (size_t i = 0; i < COUNT(never); i++)
        if (capng_have_capability(CAPNG_PERMITTED, never[i]))
            return false;
    return !capng_have_capability(CAPNG_EFFECTIVE, CAP_DAC_OVERRIDE);
}

static bool has_no_socket(void)
{
    return refused(socket(AF_UNIX, SOCK_STREAM, 0)) && refused(socket(AF_NETLINK, SOCK_RAW, 0)) &&
           talks_to_no_network();
}

static bool has_sockets_for_agents(void)
{
    return socket(AF_UNIX, SOCK_STREAM, 0) >= 0 && refused(socket(AF_NETLINK, SOCK_RAW, 0)) &&
           !refused(socket(AF_VSOCK, SOCK_STREAM, 0)) && talks_to_no_network();
}

static bool talks_to_this_host(void)
{
    return socket(AF_UNIX, SOCK_STREAM, 0) >= 0 && socket(AF_NETLINK, SOCK_RAW, 0) >= 0;
}

static bool gets_nothing_back(void)
{
    return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 && prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == 2;
}

static bool still_works(void)
{
    void *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pid_t child = fork(); /* as a guardian */

    if (child == 0)
        _exit(7);

    int status = 0;

    return memory != MAP_FAILED && child > 0 && waitpid(child, &status, 0) == child &&
           WIFEXITED(status) && WEXITSTATUS(status) == 7;
}

/* Its child would have its filter, and outlive the number that this allows it to signal. */
static bool makes_no_process(void)
{
#ifdef __SANITIZE_ADDRESS__ /* which needs it */
    return true;
#else
    return refused(syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL)) &&
           refused(syscall(SYS_clone, CLONE_VM | CLONE_VFORK | SIGCHLD, NULL, NULL, NULL, NULL));
#endif
}

/* --- user ------------------------------------------------------------------------------------- */

static bool is_the_user(void)
{
    uid_t uids[3];
    gid_t gids[3];

    if (getresuid(&uids[0], &uids[1], &uids[2]) < 0 || getresgid(&gids[0], &gids[1], &gids[2]) < 0)
        return false;
    return uids[0] == USER && uids[1] == USER && uids[2] == USER && gids[0] == GROUP &&
           gids[1] == GROUP && gids[2] == GROUP;
}

static bool is_in_no_group(void)
{
    return getgroups(0, NULL) == 0;
}

static bool is_in_the_group_that_publishes(void)
{
    gid_t group;

    return getgroups(1, &group) == 1 && group == PUBLISH_GROUP && is_the_user();
}

static bool does_not_become_root_again(void)
{
    return refused(setuid(0)) && refused(setresuid((uid_t)-1, 0, (uid_t)-1)) &&
           refused(setgid(0)) && refused(setgroups(0, NULL));
}

static bool writes_no_file_of_roots(void)
{
    return open("/etc/passwd", O_WRONLY) < 0 && errno == EACCES &&
           open("/etc/vmwss-test", O_WRONLY | O_CREAT | O_EXCL, 0600) < 0 && errno == EACCES;
}

static bool cannot_write(const char *path, int flags)
{
    return open(path, flags, 0600) < 0 && (errno == EACCES || errno == EPERM);
}

/* Root's files are this process's own. */
static bool writes_no_file(void)
{
    return cannot_write("/etc/passwd", O_WRONLY) &&
           cannot_write("/etc/vmwss-test", O_WRONLY | O_CREAT | O_EXCL);
}

/* The files by which user 0 changes the kernel or another process. */
static bool writes_no_file_of_the_kernel(void)
{
    static const char *const paths[] = {"/proc/sys/kernel/core_pattern", "/proc/self/mem",
                                        "/proc/self/oom_score_adj", "/proc/1/oom_score_adj",
                                        "/proc/1/root/etc/passwd"};

    for (size_t i = 0; i < COUNT(paths); i++)
        if (!cannot_write(paths[i], O_WRONLY) || !cannot_write(paths[i], O_RDWR))
            return false;
    return true;
}

/* As libvirt's private ones of its QEMUs are. */
static char private_dir[] = "/tmp/vmwss-privileges.XXXXXX";

static bool sees_no_private_directory(void)
{
    return open(private_dir, O_RDONLY | O_DIRECTORY) < 0 && errno == EACCES;
}

/* The test itself, a process of root's. */
static bool renices_nobody(void)
{
    return setpriority(PRIO_PROCESS, (id_t)getppid(), getpriority(PRIO_PROCESS, 0)) < 0 &&
           errno == EPERM;
}

/* --- what reclaims ---------------------------------------------------------------------------- */

static bool is_root(void)
{
    return geteuid() == 0;
}

/* System calls of newer kernels; an older one would say ENOSYS. */
#define CALL_FCHMODAT2 452
#define CALL_SETXATTRAT 463
#define CALL_REMOVEXATTRAT 466

/* Files of root's, which it is. How many of the ways were open. */
static int ways_to_change(void)
{
    const char *dir = private_dir;
    const char *name = "user.vmwss";
    int fd = open(dir, O_RDONLY | O_DIRECTORY);

    return !refused(chmod(dir, 0700)) + !refused(fchmodat(AT_FDCWD, dir, 0700, 0)) +
           !refused(syscall(CALL_FCHMODAT2, AT_FDCWD, dir, 0700, 0)) +
           !refused(chown(dir, geteuid(), getegid())) +
           !refused(lchown(dir, geteuid(), getegid())) + !refused(setxattr(dir, name, "", 0, 0)) +
           !refused(lsetxattr(dir, name, "", 0, 0)) + !refused(fsetxattr(fd, name, "", 0, 0)) +
           !refused(syscall(CALL_SETXATTRAT, fd, "", 0, name, NULL, 0)) +
           !refused(removexattr(dir, name)) + !refused(lremovexattr(dir, name)) +
           !refused(fremovexattr(fd, name)) +
           !refused(syscall(CALL_REMOVEXATTRAT, fd, "", 0, name)) +
           !refused(utimensat(AT_FDCWD, dir, NULL, 0)) + !refused(futimens(fd, NULL)) +
           !refused(truncate(dir, 0));
}
#define WAYS_TO_CHANGE 16

static bool changes_no_owner(void)
{
    return ways_to_change() == 0;
}

static int landlock_abi(void)
{
    return (int)syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
}

static bool has_landlock(void)
{
    return landlock_abi() > 0;
}

/* A byte, before each promise. Opening a file to read it may empty it (open(2), O_TRUNC). */
static char private_file[] = "/tmp/vmwss-privileges-file.XXXXXX";

static void fill_file(void)
{
    cleanup_close int fd = open(private_file, O_WRONLY | O_TRUNC);

    ck_assert_int_eq(write(fd, "x", 1), 1);
}

static bool is_filled(void)
{
    struct stat status;

    return stat(private_file, &status) == 0 && status.st_size == 1;
}

static bool empties_no_file(void)
{
    const struct open_how how = {.flags = O_RDONLY | O_TRUNC};

#ifdef SYS_open
    if (!refused(syscall(SYS_open, private_file, O_RDONLY | O_TRUNC)))
        return false;
#endif
    if (!refused(syscall(SYS_openat, AT_FDCWD, private_file, O_RDONLY | O_TRUNC)) ||
        !refused(syscall(SYS_openat, AT_FDCWD, private_file, UPPER | O_RDONLY | O_TRUNC)))
        return false;
    if (landlock_abi() >= 3) /* no filter of calls sees these flags */
        syscall(SYS_openat2, AT_FDCWD, private_file, &how, sizeof(how));
    return is_filled();
}

/* In the directory of all. */
static bool makes_no_file(void)
{
    return !has_landlock() || (mkdir("/tmp/vmwss-test", 0700) < 0 && errno == EACCES);
}

/* A file of a control group of this machine, which is opened only. */
static bool opens_control_groups(void)
{
    static const char *const files[] = {"/sys/fs/cgroup/cgroup.procs",
                                        "/sys/fs/cgroup/memory/cgroup.procs"};

    for (size_t i = 0; i < COUNT(files); i++)
        if (open(files[i], O_WRONLY) < 0 && errno != ENOENT && errno != EROFS)
            return false;
    return true;
}

static bool writes_only_control_groups(void)
{
    return (!has_landlock() || (writes_no_file() && mkdir("/tmp/vmwss-test", 0700) < 0 &&
                                errno == EPERM && rmdir(private_dir) < 0 && errno == EPERM)) &&
           open("/etc/passwd", O_RDONLY) >= 0 && opens_control_groups();
}

/* An event of each page fault of the test itself, which would be sent SIGTRAP for it. It is
 * disabled, for a process that may open it. */
static bool has_no_event_that_signals(void)
{
    struct perf_event_attr event = {.type = PERF_TYPE_SOFTWARE,
                                    .config = PERF_COUNT_SW_PAGE_FAULTS,
                                    .size = sizeof(event),
                                    .sample_period = 1,
                                    .remove_on_exec = 1,
                                    .sigtrap = 1,
                                    .disabled = 1};

    return refused(syscall(SYS_perf_event_open, &event, getppid(), -1, -1, PERF_FLAG_FD_CLOEXEC));
}

static bool writes_no_file_of_the_kernel_by_landlock(void)
{
    return !has_landlock() || writes_no_file_of_the_kernel();
}

static bool has_capability_for_events_only(void)
{
    const bool has = capng_get_caps_process() == 0;
    const bool perfmon = capng_have_capability(CAPNG_PERMITTED, CAP_PERFMON);
    const bool admin = capng_have_capability(CAPNG_PERMITTED, CAP_SYS_ADMIN);

    if (!has || (by_root && !perfmon && !admin))
        return false;
    capng_update(CAPNG_DROP, CAPNG_EFFECTIVE | CAPNG_PERMITTED, CAP_PERFMON);
    capng_update(CAPNG_DROP, CAPNG_EFFECTIVE | CAPNG_PERMITTED, CAP_SYS_ADMIN);
    return capng_have_capabilities(CAPNG_SELECT_CAPS) == CAPNG_NONE &&
           prctl(PR_CAPBSET_READ, CAP_SYS_PTRACE, 0, 0, 0) == 0;
}

struct promise {
    const char *what;
    bool (*holds)(void);
};

/* Promises of both halves. */
static const struct promise promises[] = {
    {"writes no other process's memory", writes_no_memory},
    {"runs no program", runs_no_program},
    {"makes no namespace", makes_no_namespace},
    {"types into no terminal", types_into_no_terminal},
    {"stops nobody", stops_nobody},
    {"signals nobody", signals_nobody},
    {"has nobody signalled", has_nobody_signalled},
    {"has no event that signals", has_no_event_that_signals},
    {"limits nobody", limits_nobody},
    {"talks to no network", talks_to_no_network},
    {"waits for nobody", waits_for_nobody},
    {"gets nothing back", gets_nothing_back},
};

static const struct promise promises_of_scanner[] = {
    {"writes no file", writes_no_file},
    {"writes no file of the kernel", writes_no_file_of_the_kernel},
    {"has only its own capabilities", has_only_the_scanners},
    {"still works", still_works},
    {"has no socket", has_no_socket},
};

static const struct promise promises_of_rest[] = {
    {"has no capability", has_no_capability},     {"opens nobody's memory", cannot_open_memory},
    {"sees nobody's mappings", sees_no_mappings}, {"reaches nobody", reaches_nobody},
    {"talks to this host", talks_to_this_host},   {"can abort", can_abort},
    {"makes no process", makes_no_process},
};

/* Promises of the half that runs as a user of its own. */
static const struct promise promises_of_user[] = {
    {"is the user", is_the_user},
    {"is in no group", is_in_no_group},
    {"does not become root again", does_not_become_root_again},
    {"writes no file of root's", writes_no_file_of_roots},
    {"sees no private directory", sees_no_private_directory},
    {"renices nobody", renices_nobody},
};

/* As root, whose files it could write otherwise. */
static const struct promise promises_of_reclaimer[] = {
    {"is root", is_root},
    {"has no capability", has_no_capability},
    {"opens nobody's memory", cannot_open_memory},
    {"reaches nobody", reaches_nobody},
    {"has no socket", has_no_socket},
    {"changes no owner", changes_no_owner},
    {"empties no file", empties_no_file},
    {"writes only control groups", writes_only_control_groups},
    {"can abort", can_abort},
    {"makes no process", makes_no_process},
};

/* As root, for the scanner. */
static const struct promise promises_of_keeper[] = {
    {"has the capability for events only", has_capability_for_events_only},
    {"can abort", can_abort},
    {"makes no process", makes_no_process},
    {"opens nobody's memory", cannot_open_memory},
    {"has no socket", has_no_socket},
    {"signals nobody", signals_nobody},
    {"runs no program", runs_no_program},
    {"writes no file of the kernel", writes_no_file_of_the_kernel_by_landlock},
};

static int drop_scanner(struct error *error)
{
    return privileges_drop_scanner(false, error);
}

static int drop_keeper(struct error *error)
{
    return privileges_drop_keeper(open("/tmp", O_RDONLY | O_DIRECTORY), error);
}

static int drop_scanner_with_agents(struct error *error)
{
    return privileges_drop_scanner(true, error);
}

static int drop_rest_in(size_t n_groups, struct error *error)
{
    const struct account account = {"test", by_root, USER, GROUP, n_groups, {PUBLISH_GROUP}};

    return privileges_drop_rest(&account, error);
}

static int drop_rest(struct error *error)
{
    return drop_rest_in(0, error);
}

static int drop_rest_of_dry_run(struct error *error)
{
    int rc = drop_rest(error);

    return rc < 0 ? rc : privileges_limit_writes(error);
}

static int drop_rest_that_publishes(struct error *error)
{
    return drop_rest_in(1, error);
}

/* As vmwssd --user root. */
static int drop_rest_of_root(struct error *error)
{
    const struct account account = {.name = "root"};

    return privileges_drop_rest(&account, error);
}

/* In a process of its own, which ends before anything of the test's needs what was given up. */
static void expect_after(int (*drop)(struct error *error), const struct promise *promise)
{
    pid_t child;

    fill_file();
    child = fork();
    if (child == 0) {
        struct error error = {0};

        start_other();
        _exit(drop(&error) < 0 ? 2 : !promise->holds());
    }

    int status;

    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%s: %d", promise->what, status);
}

TEST_EACH(plain, what_both_give_up, 0, COUNT(promises))
{
    expect_after(drop_scanner, &promises[_i]);
    expect_after(drop_rest, &promises[_i]);
    expect_after(drop_rest_of_root, &promises[_i]);
    expect_after(privileges_drop_reclaimer, &promises[_i]);
}

TEST_EACH(plain, what_reclaims_gives_up, 0, COUNT(promises_of_reclaimer))
{
    if (by_root)
        expect_after(privileges_drop_reclaimer, &promises_of_reclaimer[_i]);
}

TEST_EACH(plain, what_the_keeper_gives_up, 0, COUNT(promises_of_keeper))
{
    expect_after(drop_keeper, &promises_of_keeper[_i]);
}

TEST(plain, a_dry_run_makes_no_file)
{
    const struct promise none = {"makes no file", makes_no_file};

    expect_after(drop_rest_of_dry_run, &none);
}

static bool fail_call(int call, uint32_t code)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    int rc = seccomp_rule_add(filter, SCMP_ACT_ERRNO(code), call, 0);

    if (rc == 0)
        rc = seccomp_load(filter);
    seccomp_release(filter);
    return rc == 0;
}

/* As a kernel that has none, or does not use it. */
static bool hide_landlock(void)
{
    return fail_call(SCMP_SYS(landlock_create_ruleset), EOPNOTSUPP);
}

/* As Ubuntu's kernel does without CAP_SYS_ADMIN. */
static int drop_keeper_without_events(struct error *error)
{
    return fail_call(SCMP_SYS(perf_event_open), EACCES) ? drop_keeper(error) : -EINVAL;
}

static bool is_admin(void)
{
    return capng_get_caps_process() == 0 &&
           capng_have_capability(CAPNG_EFFECTIVE, CAP_SYS_ADMIN) == 1;
}

TEST(plain, the_keeper_has_what_its_kernel_asks_for)
{
    const struct promise admin = {"has CAP_SYS_ADMIN", is_admin};

    if (by_root)
        expect_after(drop_keeper_without_events, &admin);
}

TEST(plain, that_landlock_is_missing_is_logged)
{
    char text[1024] = "";
    int fds[2];
    int status;
    pid_t child;

    ck_assert_int_eq(pipe(fds), 0);
    child = fork();
    if (child == 0) {
        struct error error = {0};

        dup2(fds[1], 2);
        _exit(!hide_landlock() || privileges_drop_reclaimer(&error) < 0);
    }
    close(fds[1]);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    ck_assert_int_ge(read(fds[0], text, sizeof(text) - 1), 0);
    ck_assert_msg(strstr(text, "Landlock"), "%s", text);
    close(fds[0]);
}

TEST_EACH(plain, what_the_scanner_keeps, 0, COUNT(promises_of_scanner))
{
    expect_after(drop_scanner, &promises_of_scanner[_i]);
}

TEST_EACH(plain, what_the_rest_gives_up, 0, COUNT(promises_of_rest))
{
    expect_after(drop_rest, &promises_of_rest[_i]);
    expect_after(drop_rest_of_root, &promises_of_rest[_i]);
}

TEST_EACH(plain, what_another_user_gives_up, 0, COUNT(promises_of_user))
{
    if (by_root)
        expect_after(drop_rest, &promises_of_user[_i]);
}

TEST(plain, to_publish_there_is_a_group)
{
    const struct promise group = {"has the group that publishes", is_in_the_group_that_publishes};

    if (by_root)
        expect_after(drop_rest_that_publishes, &group);
}

/* The capability to connect opens no file. */
static bool takes_up_the_capability_for_nothing(void)
{
    return (!by_root || privileges_reach(true) == 0) && writes_no_file() &&
           writes_no_file_of_the_kernel();
}

TEST(plain, for_agents_there_are_sockets)
{
    const struct promise files = {"opens no file by it", takes_up_the_capability_for_nothing};
    const struct promise sockets = {"has sockets for agents", has_sockets_for_agents};

    expect_after(drop_scanner_with_agents, &sockets);
    expect_after(drop_scanner_with_agents, &files);
}

static int drop_nothing(struct error *error)
{
    (void)error;
    return 0;
}

/* Without the filter the same calls do something else: the test can fail. */
static bool all_were_possible(void)
{
    return !writes_no_memory() && !talks_to_no_network() && !waits_for_nobody() &&
           !gets_nothing_back() && !signals_nobody() && ways_to_own() == 7 && !limits_nobody() &&
           !reaches_nobody() && !has_no_socket() && !empties_no_file() &&
           (!by_root || (ways_to_change() == WAYS_TO_CHANGE && !has_no_capability() &&
                         !has_only_the_scanners() && !cannot_open_memory() && !sees_no_mappings()));
}

/* Without another user the rest has root's files. Not its processes, which have capabilities. */
static bool root_may(void)
{
    return !is_the_user() && !sees_no_private_directory() && open("/etc/passwd", O_WRONLY) >= 0;
}

TEST(plain, root_may_it)
{
    const struct promise may = {"may what another user may not", root_may};

    if (by_root)
        expect_after(drop_rest_of_root, &may);
}

TEST(plain, they_were_possible_before)
{
    const struct promise before = {"possible before", all_were_possible};

    expect_after(drop_nothing, &before);
}

int unit_begin(void)
{
    by_root = geteuid() == 0;
    if (!mkdtemp(private_dir))
        return 1;

    int file = mkstemp(private_file);

    if (file < 0)
        return 1;
    close(file);
    return 0;
}

void unit_end(void)
{
    unlink(private_file);
    rmdir(private_dir);
}
