// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_host_fix.c  Settings that vmwss doctor --fix changes are restored by --undo, also
 * after kill -9, and only if nobody has changed them since. */
#include "measure/kernel/host_fix.h"

#include "fake_kernel.h"
#include "fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#define DAMON_STAT "sys/module/damon_stat/parameters/enabled"
#define MOUNTS "proc/self/mountinfo"
#define STATE "run/vmwss/doctor.fixes"
#define OTHERS "21 1 0:20 / /proc rw - proc proc rw\n22 1 0:21 / /sys rw - sysfs sysfs rw\n"
#define DEBUGFS(source) "30 22 0:7 / /sys/kernel/debug rw - debugfs " source " rw\n"
#define OTHERS_AND_DEBUGFS                                                        \
    "21 1 0:20 / /proc rw - proc proc rw\n22 1 0:21 / /sys rw - sysfs sysfs rw\n" \
    "30 22 0:7 / /sys/kernel/debug rw - debugfs debugfs rw"
#define TRACEFS(source) "31 22 0:8 / /sys/kernel/tracing rw - tracefs " source " rw\n"

static struct fake_kernel fake;
static struct host_fix_line lines[HOST_FIX_MAX];
static size_t n;
static struct error error;

/* --- a kernel that mounts --------------------------------------------------------------------- */

static int dies_at_mount; /* 1: before it, 2: after it */

static void die_if(int when)
{
    if (dies_at_mount == when)
        kill(getpid(), SIGKILL);
}

static int fake_mount(const struct fsroot *root, const char *type, const char *path)
{
    char text[1024];
    ssize_t length = fsroot_read(root, text, sizeof(text), MOUNTS);

    die_if(1);
    snprintf(text + length, sizeof(text) - (size_t)length, "\n40 22 0:9 / /%s rw - %s %s rw\n",
             path, type, HOST_FIX_SOURCE);
    fake_write(&fake, MOUNTS, text);
    die_if(2);
    return 0;
}

static int fake_unmount(const struct fsroot *root, const char *path)
{
    char text[1024], *line;

    ck_assert_int_gt(fsroot_read(root, text, sizeof(text), MOUNTS), 0);
    line = strstr(text, path);
    ck_assert_ptr_nonnull(line);
    while (line > text && line[-1] != '\n')
        line--;
    *line = '\0'; /* no other one was mounted later */
    fake_write(&fake, MOUNTS, text);
    return 0;
}

static const struct host_fix_calls calls = {fake_mount, fake_unmount};

/* --- a host ----------------------------------------------------------------------------------- */

static void setup(void)
{
    fake_kernel_make(&fake, 1);
    fake_write(&fake, "proc/filesystems", "nodev\tproc\nnodev\tdebugfs\n\text4\n");
    fake_write(&fake, MOUNTS, OTHERS);
    fake_write(&fake, "sys/kernel/debug/.empty", "");
    fake_write(&fake, "sys/kernel/tracing/.empty", "");
    fake_write(&fake, DAMON_STAT, "Y\n");
    fake_write(&fake, "proc/sys/kernel/numa_balancing", "1\n");
    fake_write(&fake, "run/vmwss/.empty", "");
}

FIXTURE(all, .setup = setup);

static const char *content(const char *path)
{
    static char text[1024];

    ck_assert_int_ge(fsroot_read(&fake.root, text, sizeof(text), "%s", path), 0);
    return text;
}

/* Returns the state of a line; negative: there is none. */
static int state_of(const char *what)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(lines[i].what, what))
            return (int)lines[i].state;
    return -1;
}

static int list(void)
{
    n = host_fix_list(&fake.root, lines);
    return (int)n;
}

static void apply(void)
{
    ck_assert_msg(host_fix_apply(&fake.root, &calls, lines, &n, &error) == 0, "%s", error.text);
}

static void undo(void)
{
    ck_assert_msg(host_fix_undo(&fake.root, &calls, lines, &n, &error) == 0, "%s", error.text);
}

TEST(all, printing_changes_nothing)
{
    ck_assert_int_eq(list(), 3); /* this kernel has no tracefs */
    ck_assert_int_eq(state_of("debugfs"), HOST_FIX_NEEDED);
    ck_assert_int_eq(state_of("damon_stat"), HOST_FIX_NEEDED);
    ck_assert_int_eq(state_of("numa-balancing"), HOST_FIX_BY_HAND);
    ck_assert_str_eq(content(DAMON_STAT), "Y");
    ck_assert(!fsroot_exists(&fake.root, STATE));
}

TEST(all, what_is_applied_is_undone)
{
    apply();
    ck_assert_int_eq(state_of("debugfs"), HOST_FIX_APPLIED);
    ck_assert_int_eq(state_of("damon_stat"), HOST_FIX_APPLIED);
    ck_assert_str_eq(content(DAMON_STAT), "N");
    ck_assert_ptr_nonnull(strstr(content(MOUNTS), " debugfs " HOST_FIX_SOURCE));
    ck_assert_str_eq(content("proc/sys/kernel/numa_balancing"), "1");
    list();
    ck_assert_int_eq(state_of("debugfs"), HOST_FIX_APPLIED);
    apply(); /* changes nothing more */
    undo();
    ck_assert_int_eq((int)n, 2);
    ck_assert_int_eq(state_of("debugfs"), HOST_FIX_UNDONE);
    ck_assert_int_eq(state_of("damon_stat"), HOST_FIX_UNDONE);
    ck_assert_str_eq(content(DAMON_STAT), "Y");
    ck_assert_ptr_null(strstr(content(MOUNTS), "debugfs"));
    undo();
    ck_assert_int_eq((int)n, 0);
}

TEST(all, what_others_have_changed_since_is_left)
{
    apply();
    fake_write(&fake, MOUNTS, OTHERS DEBUGFS("debugfs")); /* unmounted, and mounted by others */
    fake_write(&fake, DAMON_STAT, "Y\n");
    undo();
    ck_assert_int_eq(state_of("debugfs"), HOST_FIX_LEFT);
    ck_assert_int_eq(state_of("damon_stat"), HOST_FIX_UNDONE);
    ck_assert_str_eq(content(MOUNTS), OTHERS_AND_DEBUGFS);
    undo();
    ck_assert_int_eq((int)n, 0); /* nor later */
}

TEST(all, what_was_so_before_is_not_undone)
{
    fake_write(&fake, DAMON_STAT, "N\n");
    fake_write(&fake, MOUNTS, OTHERS DEBUGFS("none") TRACEFS("none"));
    apply();
    ck_assert_int_eq(state_of("debugfs"), -1);
    undo();
    ck_assert_int_eq((int)n, 0);
    ck_assert_str_eq(content(DAMON_STAT), "N");
}

TEST(all, applied_again_after_others_is_undone_once)
{
    for (int i = 0; i < 3 * HOST_FIX_MAX; i++) {
        apply();
        fake_write(&fake, DAMON_STAT, "Y\n");
    }
    apply();
    ck_assert_str_eq(content(DAMON_STAT), "N");
    undo();
    ck_assert_int_eq((int)n, 2);
    ck_assert_str_eq(content(DAMON_STAT), "Y");
}

/* Killed before the mount, and after it; then another process restores. */
TEST_EACH(all, also_after_kill_9, 1, 3)
{
    pid_t child = fork();
    int status;

    if (child == 0) {
        dies_at_mount = _i;
        apply();
        _exit(0);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFSIGNALED(status));
    undo();
    ck_assert_int_eq(state_of("debugfs"), HOST_FIX_UNDONE);
    ck_assert_ptr_null(strstr(content(MOUNTS), "debugfs"));
    ck_assert_str_eq(content(DAMON_STAT), "Y");
}

static const char *const damaged[] = {"",
                                      "debugfs",
                                      "\n\n",
                                      "damon_stat\n",
                                      "other Y\n",
                                      "debugfs - - -\ndamon",
                                      "damon_stat Y\ndamon_stat Z\n"};

TEST_EACH(all, a_file_that_was_cut_undoes_only_what_it_names, 0, COUNT(damaged))
{
    fake_write(&fake, STATE, damaged[_i]);
    undo();
    ck_assert_str_eq(content(DAMON_STAT), "Y");
    ck_assert_str_eq(content(STATE), "");
}

TEST(all, one_at_a_time)
{
    fake_write(&fake, STATE, "");

    int fd = fsroot_openf(&fake.root, O_RDWR, STATE);

    ck_assert_int_eq(flock(fd, LOCK_EX), 0);
    ck_assert_int_eq(host_fix_apply(&fake.root, &calls, lines, &n, &error), -EBUSY);
    ck_assert_int_eq(host_fix_undo(&fake.root, &calls, lines, &n, &error), -EBUSY);
    close(fd);
    ck_assert_str_eq(content(DAMON_STAT), "Y");
}

TEST(all, what_fails_is_told_and_the_rest_is_done)
{
    ck_assert_int_lt(host_fix_apply(&fake.root, NULL, lines, &n, &error), 0); /* a captured tree */
    ck_assert_int_eq(state_of("debugfs"), HOST_FIX_FAILED);
    ck_assert_int_eq(state_of("damon_stat"), HOST_FIX_APPLIED);
    ck_assert_ptr_nonnull(strstr(error.text, "mount -t debugfs"));
    undo();
    ck_assert_str_eq(content(DAMON_STAT), "Y");
}
