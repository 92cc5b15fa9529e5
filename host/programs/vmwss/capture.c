// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file capture.c  See capture.h. */
#include "programs/vmwss/capture.h"

#include "base/cleanup.h"
#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX_FILE_BYTES (16U << 20)

static void capture_fail(struct capture *capture, const char *path)
{
    if (capture->rc == 0)
        capture->rc = error_set(&capture->error, -errno, "%s: %s", path, strerror(errno));
}

int capture_begin(struct capture *capture, const struct fsroot *root, const char *path,
                  struct error *error)
{
    *capture = (struct capture){.root = root, .dirfd = -1};
    if (mkdir(path, 0700) < 0)
        return error_set(error, -errno, "%s: %s", path, strerror(errno));
    capture->dirfd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return capture->dirfd < 0 ? error_set(error, -errno, "%s: %s", path, strerror(errno)) : 0;
}

static void make_parents(struct capture *capture, const char *path)
{
    char parent[PATH_MAX];

    snprintf(parent, sizeof(parent), "%s", path);
    for (char *slash = strchr(parent, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdirat(capture->dirfd, parent, 0700) < 0 && errno != EEXIST)
            capture_fail(capture, parent);
        *slash = '/';
    }
}

void capture_text(struct capture *capture, const char *name, const char *text, size_t length)
{
    make_parents(capture, name);

    cleanup_close int fd = openat(capture->dirfd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                                  0600);
    size_t done = 0;

    while (fd >= 0 && done < length) {
        ssize_t n = write(fd, text + done, length - done);

        if (n < 0)
            break;
        done += (size_t)n;
    }
    if (fd < 0 || done < length)
        capture_fail(capture, name);
    else
        capture->n_files++;
}

#define FORMAT_PATH(path, format)                     \
    char path[PATH_MAX];                              \
    do {                                              \
        va_list args_;                                \
        va_start(args_, format);                      \
        vsnprintf(path, sizeof(path), format, args_); \
        va_end(args_);                                \
    } while (0)

void capture_file(struct capture *capture, const char *format, ...)
{
    FORMAT_PATH(path, format);
    cleanup_free char *data = NULL;
    ssize_t n = fsroot_read_all(capture->root, &data, MAX_FILE_BYTES, "%s", path);

    if (n >= 0)
        capture_text(capture, path, data, (size_t)n);
}

void capture_link(struct capture *capture, const char *format, ...)
{
    FORMAT_PATH(path, format);
    char target[PATH_MAX];

    if (fsroot_readlink(capture->root, target, sizeof(target), "%s", path) < 0)
        return;
    make_parents(capture, path);
    if (symlinkat(target, capture->dirfd, path) < 0)
        capture_fail(capture, path);
    else
        capture->n_files++;
}

void capture_each(struct capture *capture, const char *directory,
                  void (*each)(struct capture *capture, const char *directory, const char *name))
{
    int fd = fsroot_openf(capture->root, O_RDONLY | O_DIRECTORY, "%s", directory);

    if (fd < 0)
        return;

    cleanup_dir DIR *dir = fdopendir(fd);
    struct dirent *entry;

    if (!dir) {
        close(fd);
        return;
    }
    while ((entry = readdir(dir)))
        if (entry->d_name[0] != '.')
            each(capture, directory, entry->d_name);
}

/* Runs in the child; returns only if there is no such program. */
static void run(const char *const *argv, int out, int errors)
{
    const struct rlimit limit = {MAX_FILE_BYTES, MAX_FILE_BYTES};
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

    /* A separate process group, so that processes started by the program can be ended with it. */
    if (null < 0 || setpgid(0, 0) < 0 || setrlimit(RLIMIT_FSIZE, &limit) < 0 ||
        dup2(null, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0 ||
        dup2(errors, STDERR_FILENO) < 0)
        return;
    execvp(argv[0], (char *const *)argv);
}

/* Sets its status as waitpid(2) does; returns false if it had to be ended. */
static bool wait_or_kill(pid_t pid, int *status)
{
    const struct timespec pause = {.tv_nsec = 10000000};
    const uint64_t end_ns = clock_ns() + CAPTURE_WAIT_S * 1000000000ULL;

    while (waitpid(pid, status, WNOHANG) == 0) {
        if (clock_ns() > end_ns) {
            kill(-pid, SIGKILL);
            waitpid(pid, status, 0);
            return false;
        }
        nanosleep(&pause, NULL);
    }
    return true;
}

static int make_file(struct capture *capture, const char *name)
{
    make_parents(capture, name);
    return openat(capture->dirfd, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
}

/* Returns the file's size; removes an empty file. */
static off_t keep_or_unlink(struct capture *capture, int fd, const char *name)
{
    struct stat status;
    const off_t size = fstat(fd, &status) == 0 ? status.st_size : 0;

    if (size == 0)
        unlinkat(capture->dirfd, name, 0);
    else
        capture->n_files++;
    return size;
}

#define ENDED "programs/ended"

/* A truncated file must not be taken for the program's complete output. */
static void note_end(struct capture *capture, const char *name, bool in_time, int status, bool cut)
{
    char line[256];
    bool first = faccessat(capture->dirfd, ENDED, F_OK, 0) < 0;
    cleanup_close int fd = openat(capture->dirfd, ENDED, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC,
                                  0600);
    int n = snprintf(line, sizeof(line), "%s: ", name);

    if (!in_time)
        n += snprintf(line + n, sizeof(line) - (size_t)n, "ended after %d s", CAPTURE_WAIT_S);
    else if (WIFEXITED(status))
        n += snprintf(line + n, sizeof(line) - (size_t)n, "status %d", WEXITSTATUS(status));
    else
        n += snprintf(line + n, sizeof(line) - (size_t)n, "signal %d", WTERMSIG(status));
    n += snprintf(line + n, sizeof(line) - (size_t)n, "%s\n", cut ? ", cut at 16 MiB" : "");
    if (fd < 0 || write(fd, line, (size_t)n) != n)
        capture_fail(capture, ENDED);
    else
        capture->n_files += first;
}

void capture_output(struct capture *capture, const char *name, const char *errors,
                    const char *const *argv)
{
    cleanup_close int fd = make_file(capture, name);
    cleanup_close int errors_fd = errors ? make_file(capture, errors) : -1;
    const bool made = fd >= 0 && (!errors || errors_fd >= 0);
    const pid_t pid = made ? fork() : -1;
    int status = 0;

    if (pid == 0) {
        run(argv, fd, errors ? errors_fd : fd);
        _exit(127);
    }
    if (pid < 0) {
        capture_fail(capture, name);
        return;
    }

    const bool in_time = wait_or_kill(pid, &status);
    bool cut = keep_or_unlink(capture, fd, name) >= MAX_FILE_BYTES;

    if (errors)
        cut |= keep_or_unlink(capture, errors_fd, errors) >= MAX_FILE_BYTES;
    note_end(capture, name, in_time, status, cut);
}

int capture_end(struct capture *capture, struct error *error)
{
    cleanup_close_at(&capture->dirfd);
    if (capture->rc < 0 && error)
        *error = capture->error;
    return capture->rc;
}
