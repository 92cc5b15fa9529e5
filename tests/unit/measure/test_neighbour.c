// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_neighbour.c  What vmwssd publishes of its panel, and what goes together with it. */
#include "measure/neighbour.h"

#include "fixture.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define REACH 65536ULL

static const char *dir;
static struct fsroot root;
static struct taken_span spans[] = {{0x100000, REACH}, {0x140000, REACH}};
static struct neighbour panel;

static void setup(void)
{
    dir = unit_dir();
    ck_assert_int_eq(fsroot_open(&root, dir), 0);
    mkdirat(root.dirfd, "run", 0755);
    mkdirat(root.dirfd, "run/vmwss", 0755);
    panel = (struct neighbour){.method = &method_pageout, .taken = {.n = 2, .spans = spans}};
}

static void teardown(void)
{
    fsroot_close(&root);
}

/* By another process, which seems alive while it has a directory below proc. */
static pid_t publish(bool alive)
{
    char file[RUN_DIR_NAME_MAX];
    pid_t pid = fork();
    char path[48];

    if (pid == 0)
        _exit(neighbour_publish(&root, 7, &panel, file) < 0);

    int status;

    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(status, 0);
    mkdirat(root.dirfd, "proc", 0755);
    snprintf(path, sizeof(path), "proc/%d", (int)pid);
    if (alive)
        mkdirat(root.dirfd, path, 0755);
    snprintf(path, sizeof(path), "proc/%d/stat", (int)pid);
    if (alive)
        close(openat(root.dirfd, path, O_CREAT | O_WRONLY, 0600));
    return pid;
}

FIXTURE(cases, .setup = setup, .teardown = teardown);

TEST(cases, published_and_read)
{
    struct neighbour read;
    pid_t owner = publish(true);

    neighbour_read(&root, 7, &read);
    ck_assert_int_eq(read.owner, owner);
    ck_assert_ptr_eq(read.method, &method_pageout);
    ck_assert_uint_eq(read.taken.n, 2);
    ck_assert(read.taken.unmaps);
    ck_assert_mem_eq(read.taken.spans, spans, sizeof(spans));
    neighbour_free(&read);
    neighbour_read(&root, 8, &read);
    ck_assert_int_eq(read.owner, 0);
    neighbour_withdraw(&root, "guest-7.panel");
    neighbour_read(&root, 7, &read);
    ck_assert_int_eq(read.owner, 0);
}

TEST(cases, none_of_the_dead_and_of_oneself)
{
    char file[RUN_DIR_NAME_MAX];
    struct neighbour read;

    publish(false);
    neighbour_read(&root, 7, &read);
    ck_assert_int_eq(read.owner, 0);
    ck_assert_int_eq(neighbour_publish(&root, 7, &panel, file), 0);
    neighbour_read(&root, 7, &read);
    ck_assert_int_eq(read.owner, 0);
}

/* Cut off at every length, and each of its bytes changed: none, or one that can be searched. */
TEST(cases, spoilt_files)
{
    char whole[512];
    struct neighbour read;

    publish(true);

    cleanup_close int fd = fsroot_openf(&root, O_RDWR, "run/vmwss/guest-7.panel");
    ssize_t n = pread(fd, whole, sizeof(whole), 0);

    ck_assert_int_gt(n, 0);
    for (ssize_t length = 0; length < n; length++) {
        ck_assert_int_eq(ftruncate(fd, 0), 0);
        ck_assert_int_eq(pwrite(fd, whole, (size_t)length, 0), length);
        neighbour_read(&root, 7, &read);
        ck_assert_int_eq(read.owner, 0);
    }
    for (ssize_t at = 0; at < n; at++) {
        char changed = (char)(whole[at] ^ 0x80);

        ck_assert_int_eq(pwrite(fd, whole, (size_t)n, 0), n);
        ck_assert_int_eq(pwrite(fd, &changed, 1, at), 1);
        neighbour_read(&root, 7, &read);
        if (read.owner)
            ck_assert_uint_le(read.taken.spans[0].hva + read.taken.spans[0].bytes,
                              read.taken.spans[1].hva);
        neighbour_free(&read);
    }
}

TEST(cases, what_goes_together)
{
    ck_assert(neighbour_allows(&panel, &method_pageout, ACCEL_KVM, false));
    ck_assert(neighbour_allows(&panel, &method_cold, ACCEL_KVM, true));
    panel.method = &method_zap;
    panel.huge = true;
    ck_assert(neighbour_allows(&panel, &method_zap, ACCEL_KVM, false));
    ck_assert(!neighbour_allows(&panel, &method_zap, ACCEL_KVM, true));
    ck_assert(!neighbour_allows(&panel, &method_zap_all, ACCEL_KVM, true));
    ck_assert(neighbour_allows(&panel, &method_damon, ACCEL_KVM, false));
    panel.method = &method_idle;
    ck_assert(
        !neighbour_allows(&panel, &method_idle, ACCEL_KVM, false)); /* one mark for 512 pages */
    panel.huge = false;
    ck_assert(neighbour_allows(&panel, &method_idle, ACCEL_KVM, false));
    ck_assert(!neighbour_allows(&panel, &method_idle, ACCEL_TCG, false)); /* its flush */
    ck_assert(!neighbour_allows(&panel, &method_cold, ACCEL_KVM, true));
}

static bool bears_flush(enum accel accel, const char *release)
{
    const struct qemu_process process = {.pid = 7, .accel = accel};
    const struct target target = {.root = &root, .process = &process};

    mkdirat(root.dirfd, "proc", 0755);
    mkdirat(root.dirfd, "proc/sys", 0755);
    mkdirat(root.dirfd, "proc/sys/kernel", 0755);

    int fd = openat(root.dirfd, "proc/sys/kernel/osrelease", O_CREAT | O_TRUNC | O_WRONLY, 0600);

    ck_assert_int_eq(write(fd, release, strlen(release)), (ssize_t)strlen(release));
    close(fd);
    return neighbour_bears_flush(&panel, &target);
}

/* Since Linux 6.13 a mapping that is dropped takes the bit of its huge page with it. */
TEST(cases, what_bears_a_flush)
{
    panel.huge = true;
    ck_assert(bears_flush(ACCEL_TCG, "6.13.0\n")); /* by pageout */
    panel.method = &method_zap;
    ck_assert(bears_flush(ACCEL_KVM, "6.13.0\n"));
    panel.method = &method_idle;
    ck_assert(!bears_flush(ACCEL_KVM, "6.13.0\n"));
    ck_assert(bears_flush(ACCEL_KVM, "6.12.0\n"));
    panel.huge = false;
    ck_assert(bears_flush(ACCEL_KVM, "6.13.0\n"));
    ck_assert(!bears_flush(ACCEL_TCG, "6.12.0\n"));
}
