// SPDX-License-Identifier: LGPL-2.1-or-later
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

bool children_outlive;

static pid_t forking; /* the process that forks, as the child sees it */

static void note_forking(void)
{
    forking = getpid();
}

static void end_with_parent(void)
{
    if (children_outlive)
        return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != forking) /* it has ended already */
        _exit(1);
}

const char *unit_text(char *text, size_t size, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(text, size, format, args);
    va_end(args);
    return text;
}

static char top[32]; /* of all directories of this process */
static pid_t owner;

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

static void remove_top(void)
{
    if (getpid() == owner)
        nftw(top, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

const char *unit_dir(void)
{
    static char dirs[64][48];
    static size_t n;
    char *dir = dirs[n++];

    ck_assert_uint_le(n, 64);
    if (!*top) {
        strcpy(top, "/dev/shm/vmwss-unit.XXXXXX");
        ck_assert_ptr_nonnull(mkdtemp(top));
        ck_assert_int_eq(chmod(top, 0711), 0); /* for tests that become another user */
        owner = getpid();
        ck_assert_int_eq(atexit(remove_top), 0);
    }
    snprintf(dir, sizeof(dirs[0]), "%s/XXXXXX", top);
    ck_assert_ptr_nonnull(mkdtemp(dir));
    return dir;
}

void unit_write_bytes(const char *dir, const char *path, const void *data, size_t size)
{
    char full[512];

    unit_text(full, sizeof(full), "%s/%s", dir, path);

    for (char *slash = strchr(full + strlen(dir) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        ck_assert(mkdir(full, 0755) == 0 || errno == EEXIST);
        *slash = '/';
    }

    cleanup_close int fd = open(full, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

    ck_assert_msg(fd >= 0, "%s: %s", full, strerror(errno));
    ck_assert_int_eq(write(fd, data, size), (ssize_t)size);
}

void unit_write(const char *dir, const char *path, const char *text)
{
    unit_write_bytes(dir, path, text, strlen(text));
}

pid_t unit_kill(pid_t pid)
{
    kill(pid, SIGKILL);
    return waitpid(pid, NULL, 0);
}

void unit_shell(const char *format, ...)
{
    char command[4400];
    va_list args;

    va_start(args, format);
    ck_assert_int_lt(vsnprintf(command, sizeof(command), format, args), (int)sizeof(command));
    va_end(args);
    ck_assert_int_eq(system(command), 0); /* NOLINT(cert-env33-c): names of our own making */
}

int run_suite(Suite *suite)
{
    SRunner *runner = srunner_create(suite);

    pthread_atfork(note_forking, NULL, end_with_parent);
    srunner_run_all(runner, CK_ENV);

    int failed = srunner_ntests_failed(runner);

    srunner_free(runner);
    return failed ? 1 : 0;
}
