// SPDX-License-Identifier: LGPL-2.1-or-later
#include "base/service/privileges.h"

#include "base/cleanup.h"
#include "base/service/call_filter.h"
#include "base/service/capabilities.h"
#include "base/service/log.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/prctl.h>
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

/* If the process is not root, it has no use for the capability. */
static int keep_override(void)
{
    const capng_select_t what = capabilities_may_change();

    if (geteuid() != 0)
        return 0;
    capng_clear(CAPNG_SELECT_BOTH);
    if (capng_update(CAPNG_ADD, CAPNG_EFFECTIVE | CAPNG_PERMITTED | CAPNG_BOUNDING_SET,
                     CAP_DAC_OVERRIDE) != 0)
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

/* Some distributions' kernels ask for CAP_SYS_ADMIN: kernel.perf_event_paranoid above 2 of
 * Ubuntu's, and of older ones of Debian's. */
static bool may_open_events(void)
{
    const struct perf_event_attr none = {.type = PERF_TYPE_SOFTWARE,
                                         .config = PERF_COUNT_SW_DUMMY,
                                         .size = sizeof(none),
                                         .exclude_kernel = 1};
    cleanup_close int fd = (int)syscall(SYS_perf_event_open, &none, 0, -1, -1,
                                        PERF_FLAG_FD_CLOEXEC);

    return fd >= 0;
}

/* Keeps CAP_PERFMON, or where that does not suffice CAP_SYS_ADMIN; both only if it has them. */
static int keep_keepers(void)
{
    if (capng_get_caps_process() != 0)
        return -EPERM;

    const capng_select_t what = capabilities_may_change();
    const capng_type_t all = CAPNG_EFFECTIVE | CAPNG_PERMITTED;
    const bool perfmon = capng_have_capability(CAPNG_PERMITTED, CAP_PERFMON);
    const bool admin = capng_have_capability(CAPNG_PERMITTED, CAP_SYS_ADMIN);

    capng_clear(CAPNG_SELECT_BOTH);
    if ((perfmon && capng_update(CAPNG_ADD, all, CAP_PERFMON)) ||
        (admin && capng_update(CAPNG_ADD, CAPNG_PERMITTED, CAP_SYS_ADMIN)))
        return -EPERM;

    int rc = capabilities_apply(what);

    if (rc < 0 || !admin)
        return rc;
    if (capng_get_caps_process() != 0 ||
        capng_update(perfmon && may_open_events() ? CAPNG_DROP : CAPNG_ADD, all, CAP_SYS_ADMIN))
        return -EPERM;
    return capabilities_apply(CAPNG_SELECT_CAPS);
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

/* --- system calls and files ------------------------------------------------------------------- */

/* @p rc: the result of dropping capabilities, negative if it failed. */
static int filter_calls(int rc, enum call_filter_role role, struct error *error)
{
    if (rc < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return error_set(error, -EPERM, "capabilities could not be dropped");
    rc = call_filter_load(role);
    return rc < 0 ? error_set(error, rc, "the seccomp filter: %s", strerror(-rc)) : 0;
}

#define TRUNCATE (1ULL << 14) /* LANDLOCK_ACCESS_FS_TRUNCATE: Linux 6.2 */
#define ABI_TRUNCATE 3

static long landlock_abi(void)
{
    return syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
}

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

    if (landlock_abi() >= ABI_TRUNCATE)
        rules.handled_access_fs |= TRUNCATE;
    return (int)syscall(SYS_landlock_create_ruleset, &rules, sizeof(rules), 0);
}

/* Allows the accesses to files below this directory only. landlock(7); if the kernel lacks it, or
 * the filter of calls of the process blocks it, that is reported and nothing changes. */
static int limit_writes(const char *who, int dir_fd, uint64_t accesses)
{
    struct landlock_path_beneath_attr allowed = {.allowed_access = accesses, .parent_fd = dir_fd};
    int set = make_ruleset();
    long rc;

    if (accesses & LANDLOCK_ACCESS_FS_MAKE_REG && landlock_abi() >= ABI_TRUNCATE)
        allowed.allowed_access |= TRUNCATE;
    if (set < 0) {
        log_line(LOG_CLASS_DAEMON, LOG_WARNING, "%s is not limited to its files: Landlock: %s", who,
                 strerror(errno));
        return 0;
    }
    rc = syscall(SYS_landlock_add_rule, set, LANDLOCK_RULE_PATH_BENEATH, &allowed, 0);
    if (rc == 0)
        rc = syscall(SYS_landlock_restrict_self, set, 0);
    close(set);
    return rc == 0 ? 0 : -EPERM;
}

/* If the process is not root, its service manager has chosen the capabilities. */
int privileges_drop_scanner(bool agents, struct error *error)
{
    return filter_calls(geteuid() == 0 ? keep_scanners(agents) : 0,
                        agents ? CALLS_AGENTS : CALLS_SCANNER, error);
}

int privileges_drop_rest(const struct account *account, struct error *error)
{
    int rc = drop_bounding_set();

    if (rc < 0)
        return error_set(error, rc, "the bounding set of capabilities could not be dropped");
    rc = account_become(account, error);
    return rc < 0 ? rc : filter_calls(keep_none(), CALLS_REST, error);
}

int privileges_limit_writes(struct error *error)
{
    cleanup_close int dir_fd = open("/sys/fs/cgroup", O_PATH | O_DIRECTORY | O_CLOEXEC);

    return limit_writes("the reclaimer", dir_fd, LANDLOCK_ACCESS_FS_WRITE_FILE) < 0
               ? error_set(error, -EPERM, "what files may be written could not be limited")
               : 0;
}

int privileges_drop_keeper(int dir_fd, struct error *error)
{
    const uint64_t accesses = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_MAKE_REG |
                              LANDLOCK_ACCESS_FS_REMOVE_FILE;
    int rc = drop_bounding_set();

    rc = rc < 0 ? rc : keep_keepers();
    rc = filter_calls(rc, CALLS_KEEPER, error);
    if (rc == 0 && limit_writes("the keeper of locks", dir_fd, accesses) < 0)
        rc = error_set(error, -EPERM, "what files may be written could not be limited");
    return rc;
}

int privileges_drop_clearer(int dir_fd, struct error *error)
{
    int rc = filter_calls(keep_override(), CALLS_KEEPER, error);

    if (rc == 0 &&
        limit_writes("the keeper of clear_refs", dir_fd, LANDLOCK_ACCESS_FS_WRITE_FILE) < 0)
        rc = error_set(error, -EPERM, "what files may be written could not be limited");
    return rc;
}

int privileges_drop_reclaimer(struct error *error)
{
    int rc = drop_bounding_set();

    rc = rc < 0 ? rc : keep_none();
    rc = filter_calls(rc, CALLS_RECLAIMER, error);
    return rc < 0 ? rc : privileges_limit_writes(error);
}
