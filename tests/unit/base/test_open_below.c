// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_open_below.c  No symbolic link and no ".." leads out of another process's tree. */
#include "base/open_below.h"

#include "fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

static char top[] = "/tmp/vmwss-below.XXXXXX";
static int root_fd;

static void put(const char *name, const char *text)
{
    cleanup_close int fd = openat(root_fd, name, O_CREAT | O_WRONLY, 0600);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
}

static void make_tree(void)
{
    ck_assert_ptr_nonnull(mkdtemp(top));
    root_fd = open(top, O_PATH | O_DIRECTORY);
    ck_assert_int_ge(root_fd, 0);
    ck_assert_int_eq(mkdirat(root_fd, "etc", 0700) | mkdirat(root_fd, "etc/deep", 0700), 0);
    put("etc/passwd", "inside");
    ck_assert_zero(symlinkat("/etc/passwd", root_fd, "absolute") |
                   symlinkat("../../../../etc/passwd", root_fd, "etc/deep/upwards") |
                   symlinkat("loop", root_fd, "loop") |
                   symlinkat("../deep", root_fd, "etc/deep/again") |
                   symlinkat("/proc/self/exe", root_fd, "magic") | mkfifoat(root_fd, "fifo", 0600));
}

static void remove_tree(void)
{
    unit_shell("rm -rf -- %s", top);
}

FIXTURE(tree, .setup = make_tree, .teardown = remove_tree);

/* Returns the size of the file that the kernel would open, or a negative errno. */
static long by_kernel(const char *path)
{
    const struct open_how how = {.flags = O_RDONLY | O_NONBLOCK | O_CLOEXEC,
                                 .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
    int fd = (int)syscall(SYS_openat2, root_fd, path, &how, sizeof(how));
    struct stat status;

    if (fd < 0)
        return -errno;
    ck_assert_int_eq(fstat(fd, &status), 0);
    close(fd);
    return S_ISDIR(status.st_mode) ? -EISDIR : status.st_size;
}

static long by_us(const char *path)
{
    int fd = open_below(root_fd, path);
    struct stat status;

    if (fd < 0)
        return fd;
    ck_assert_int_eq(fstat(fd, &status), 0);
    close(fd);
    return status.st_size;
}

static const char *const paths[] = {
    "/etc/passwd",
    "/etc//passwd",
    "/./etc/./passwd",
    "/../../etc/passwd",
    "/etc/deep/../passwd",
    "/absolute",
    "/etc/deep/upwards",
    "/loop",
    "/etc/deep/again/again/upwards",
    "/etc",
    "/",
    "/etc/passwd/x",
    "/none",
    "/none/x",
    "/magic",
    "/fifo",
    "/etc/../absolute/../etc/passwd",
};

TEST_EACH(tree, the_kernel_opens_the_same, 0, COUNT(paths))
{
    ck_assert_int_eq(by_us(paths[_i]), by_kernel(paths[_i]));
}

TEST(tree, no_descriptor_is_left)
{
    const int first = dup(root_fd);

    for (size_t i = 0; i < COUNT(paths); i++)
        by_us(paths[i]);
    close(first);
    ck_assert_int_eq(dup(root_fd), first);
}

/* In another process's tree "self" is that process, and not the one that opens. */
TEST(plain, links_of_proc_are_refused)
{
    cleanup_close int all = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

    ck_assert_int_eq(open_below(all, "/proc/self/status"), -ELOOP);
    ck_assert_int_eq(open_below(all, TEXT_OF(64, "/proc/%d/fd/0", (int)getpid())), -ELOOP);
    ck_assert_int_eq(open_below(all, TEXT_OF(64, "/proc/%d/root/etc", (int)getpid())), -ELOOP);
}

TEST(tree, a_name_or_a_path_may_be_too_long)
{
    static char path[5000];

    memset(path, 'x', sizeof(path) - 1);
    path[0] = '/';
    ck_assert_int_eq(open_below(root_fd, path), -ENAMETOOLONG);
    path[300] = '\0';
    ck_assert_int_eq(open_below(root_fd, path), -ENAMETOOLONG);
}

TEST(tree, a_socket_is_only_named)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    cleanup_close int listening = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    snprintf(address.sun_path, sizeof(address.sun_path), "%s/etc/socket", top);
    ck_assert_int_eq(bind(listening, (struct sockaddr *)&address, sizeof(address)), 0);
    ck_assert_zero(symlinkat("/etc/deep/../socket", root_fd, "link"));

    cleanup_close int fd = open_socket_below(root_fd, "/link");

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(fcntl(fd, F_GETFL) & O_PATH, O_PATH);
    ck_assert_int_eq(open_socket_below(root_fd, "/etc/passwd"), -ENOTSOCK);
    ck_assert_int_eq(open_socket_below(root_fd, "/none"), -ENOENT);
    ck_assert_int_eq(open_below(root_fd, "/link"), -ENXIO);
}
