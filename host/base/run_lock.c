// SPDX-License-Identifier: LGPL-2.1-or-later
#include "base/run_lock.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/run_dir.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#define LOCK_DIR RUN_DIR
#define TRY_AGAIN_MS 20

/* Returns true if the locked file still has that name: its previous holder may have removed it. */
static bool still_there(int dir_fd, const char *file, int file_fd)
{
    struct stat locked;
    struct stat named;

    return fstat(file_fd, &locked) == 0 &&
           fstatat(dir_fd, file, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
           locked.st_ino == named.st_ino && locked.st_dev == named.st_dev;
}

static int write_pid(int fd, pid_t holder)
{
    char pid[16];
    int length = snprintf(pid, sizeof(pid), "%d\n", (int)holder);

    return ftruncate(fd, 0) < 0 || pwrite(fd, pid, (size_t)length, 0) != length ? -errno : 0;
}

/* 0: no pid. */
static pid_t read_pid(int fd)
{
    char text[16] = "";
    long pid = pread(fd, text, sizeof(text) - 1, 0) > 0 ? strtol(text, NULL, 10) : 0;

    return pid > 0 && pid <= INT_MAX ? (pid_t)pid : 0;
}

/* 0, -EWOULDBLOCK, or another error. */
static int try_lock(struct run_lock *lock)
{
    cleanup_close int fd = -1;

    do {
        cleanup_close_at(&fd);
        fd = run_dir_create(lock->dir_fd, lock->file);
        if (fd < 0)
            return fd;
        if (flock(fd, LOCK_EX | LOCK_NB) < 0)
            return -errno;
    } while (!still_there(lock->dir_fd, lock->file, fd));

    lock->before = read_pid(fd);

    int rc = write_pid(fd, getpid());

    if (rc < 0)
        return rc;
    lock->file_fd = fd;
    fd = -1;
    return 0;
}

/* Writes a process's command line as it would be typed, truncated to @p size. */
static void read_command(const struct fsroot *root, pid_t pid, char *text, size_t size)
{
    cleanup_close int fd = fsroot_openf(root, O_RDONLY, "proc/%d/cmdline", (int)pid);
    ssize_t n = fd < 0 ? 0 : read(fd, text, size - 1);

    while (n > 0 && text[n - 1] == '\0')
        n--;
    text[n > 0 ? n : 0] = '\0';
    for (ssize_t i = 0; i < n; i++)
        if (!isprint((unsigned char)text[i]))
            text[i] = text[i] ? '?' : ' ';
}

/* "process 42 (vmwss measure web1)" */
static void describe_holder(const struct fsroot *root, const char *file, char *text, size_t size)
{
    char command[120];
    uint64_t pid = 0;

    if (fsroot_read_u64(root, &pid, LOCK_DIR "/%s", file) < 0 || pid == 0 || pid > INT_MAX) {
        snprintf(text, size, "another process");
        return;
    }
    read_command(root, (pid_t)pid, command, sizeof(command));
    if (*command)
        snprintf(text, size, "process %d (%s)", (int)pid, command);
    else
        snprintf(text, size, "process %d, which has ended, or what it left to restore things,",
                 (int)pid);
}

static int busy(const struct fsroot *root, const struct run_lock *lock, const char *what,
                const struct lock_wait *wait, struct error *error)
{
    char holder[256];

    describe_holder(root, lock->file, holder, sizeof(holder));
    if (wait->seconds > 0)
        return error_set(error, -EBUSY,
                         "%s: %s has been measuring for the last %g s, and two would "
                         "spoil each other's numbers; wait longer with --wait, or end that one",
                         what, holder, wait->seconds);
    return error_set(error, -EBUSY,
                     "%s: %s is measuring, and two would spoil each other's numbers; "
                     "wait for it with --wait SECONDS, or end that one",
                     what, holder);
}

/* Also returns true for a file without a pid, or a removed one. The pid is written right after
 * locking, and the file is removed last, so in both cases the lock is about to change hands. */
static bool holder_ended(const struct run_lock *lock)
{
    cleanup_close int fd = openat(lock->dir_fd, lock->file, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    pid_t holder = fd < 0 ? 0 : read_pid(fd);

    return holder == 0 || (kill(holder, 0) < 0 && errno == ESRCH);
}

/* --- processes with another /run -------------------------------------------------------------- */

#define PIDFS_MAGIC 0x50494446

/* Returns false if another descriptor locks one of these bytes. */
static bool is_free(int fd, off_t first, off_t n)
{
    struct flock there = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = first, .l_len = n};

    return fcntl(fd, F_OFD_GETLK, &there) < 0 || there.l_type == F_UNLCK;
}

static void unlock_apart(struct run_lock *lock)
{
    struct flock all = {.l_type = F_UNLCK, .l_whence = SEEK_SET};

    if (lock->apart_fd >= 0)
        fcntl(lock->apart_fd, F_OFD_SETLK, &all);
    lock->apart_fd = -1;
}

/* Since Linux 6.9 all pidfds of a process are one inode (fs/pidfs.c), before that of all processes.
 * Each process that measures a guest locks a byte of it, and its /run decides which. If two come at
 * once, both may be refused. */
static int lock_apart(struct run_lock *lock, int pidfd)
{
    struct statfs fs;
    struct stat run;

    if (pidfd < 0 || fstatfs(pidfd, &fs) < 0 || fs.f_type != PIDFS_MAGIC ||
        fstat(lock->dir_fd, &run) < 0)
        return 0;

    const off_t byte = 1 + (off_t)((run.st_dev * 0x9e3779b97f4a7c15ULL + run.st_ino) &
                                   (INT64_MAX >> 1));
    struct flock own = {.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1};

    if (fcntl(pidfd, F_OFD_SETLK, &own) < 0)
        return 0;
    lock->apart_fd = pidfd;
    if (is_free(pidfd, 0, byte) && is_free(pidfd, byte + 1, 0))
        return 0;
    unlock_apart(lock);
    return -EWOULDBLOCK;
}

static int try_both(struct run_lock *lock, int pidfd)
{
    int rc = try_lock(lock);

    if (rc == 0)
        rc = lock_apart(lock, pidfd);
    if (rc == -EWOULDBLOCK && lock->file_fd >= 0) {
        run_dir_remove(lock->dir_fd, lock->file);
        cleanup_close_at(&lock->file_fd);
    }
    return rc;
}

static int try_until(struct run_lock *lock, const struct lock_wait *wait)
{
    uint64_t began_ns = clock_ns();
    int rc;

    while ((rc = try_both(lock, wait->pidfd)) == -EWOULDBLOCK) {
        struct pollfd end = {.fd = wait->pidfd, .events = POLLIN};

        if (wait->interrupted && *wait->interrupted)
            return -EINTR;

        uint64_t waited_ns = clock_ns() - began_ns;

        if (waited_ns >= (uint64_t)(wait->seconds * 1e9) &&
            (waited_ns >= (uint64_t)(wait->ended_seconds * 1e9) || !holder_ended(lock)))
            break;
        if (poll(&end, 1, TRY_AGAIN_MS) > 0)
            return -ESRCH;
    }
    return rc;
}

static int run_lock_take(struct run_lock *lock, const struct fsroot *root, const char *what,
                         const struct lock_wait *wait, struct error *error)
{
    lock->dir_fd = run_dir_open(root);

    int rc = lock->dir_fd < 0 ? lock->dir_fd : try_until(lock, wait);

    if (rc == 0)
        return 0;
    cleanup_close_at(&lock->dir_fd);
    switch (rc) {
    case -EWOULDBLOCK:
        return busy(root, lock, what, wait, error);
    case -EINTR:
        return error_set(error, rc, "interrupted");
    case -ESRCH:
        return error_set(error, rc, "%s: it ended while another process was measuring it", what);
    default:
        return error_set(
            error, rc, "%s: cannot be locked against a second vmwss: /" LOCK_DIR "/%s: %s%s", what,
            lock->file, strerror(-rc), rc == -EACCES || rc == -EPERM ? "; run as root" : "");
    }
}

int run_lock_guest(struct run_lock *lock, const struct fsroot *root, pid_t pid,
                   const struct lock_wait *wait, struct error *error)
{
    char what[32];

    if (lock->file_fd >= 0)
        return 0;
    run_dir_guest_file(root, pid, RUN_DIR_LOCK, lock->file);
    snprintf(what, sizeof(what), "guest of process %d", (int)pid);
    return run_lock_take(lock, root, what, wait, error);
}

int run_lock_host(struct run_lock *lock, const struct fsroot *root, const char *name,
                  const struct lock_wait *wait, struct error *error)
{
    char holder[256];

    if (lock->file_fd >= 0)
        return 0;
    snprintf(lock->file, sizeof(lock->file), "%s.lock", name);

    int rc = run_lock_take(lock, root, name, wait, error);

    if (rc != -EBUSY)
        return rc;
    describe_holder(root, lock->file, holder, sizeof(holder));
    return error_set(error, rc,
                     "there is one %s per host, and %s uses it; wait until it has finished", name,
                     holder);
}

void run_lock_lend(struct run_lock *lock)
{
    if (lock->file_fd >= 0 && flock(lock->file_fd, LOCK_UN) == 0)
        lock->lent = true;
}

/* Locks the new file of that name, because the locked one has been removed. */
static int lock_anew(struct run_lock *lock)
{
    struct run_lock anew = *lock;
    int rc = try_lock(&anew);

    if (rc < 0) {
        flock(lock->file_fd, LOCK_UN);
        return rc == -EWOULDBLOCK ? -EBUSY : rc;
    }
    cleanup_close_at(&lock->file_fd);
    lock->file_fd = anew.file_fd;
    return 0;
}

int run_lock_retake(struct run_lock *lock, bool *others)
{
    int rc = 0;

    if (!lock->lent)
        return 0;
    if (flock(lock->file_fd, LOCK_EX | LOCK_NB) < 0)
        return errno == EWOULDBLOCK ? -EBUSY : -errno;
    if (!still_there(lock->dir_fd, lock->file, lock->file_fd)) {
        *others = true;
        rc = lock_anew(lock);
    } else if (read_pid(lock->file_fd) != getpid()) { /* the pid of a process that was killed */
        *others = true;
        rc = write_pid(lock->file_fd, getpid());
    }
    if (rc == 0)
        lock->lent = false;
    return rc;
}

/* Removes the file while it is locked, so that no file of an ended guest stays. */
void run_lock_release(struct run_lock *lock)
{
    bool others;

    if (lock->file_fd < 0)
        return;
    if (run_lock_retake(lock, &others) == 0)
        run_dir_remove(lock->dir_fd, lock->file);
    unlock_apart(lock);
    cleanup_close_at(&lock->file_fd);
    cleanup_close_at(&lock->dir_fd);
    *lock = RUN_LOCK_NONE;
}

/* If the previous holder was killed, its marks are unknown. Then the file is removed, so that the
 * process that had lent the lock notices. */
void run_lock_give_back(struct run_lock *lock)
{
    const pid_t owner = lock->before;

    if (lock->file_fd < 0)
        return;
    if (lock->lent || owner == 0 || (owner == getpid() && !lock->beside) || kill(owner, 0) < 0 ||
        write_pid(lock->file_fd, owner) < 0) {
        run_lock_release(lock);
        return;
    }
    unlock_apart(lock);
    cleanup_close_at(&lock->file_fd);
    cleanup_close_at(&lock->dir_fd);
    *lock = RUN_LOCK_NONE;
}

void run_lock_leave(struct run_lock *lock)
{
    cleanup_close_at(&lock->file_fd);
    cleanup_close_at(&lock->dir_fd);
    *lock = RUN_LOCK_NONE;
}

/* --- leftovers -------------------------------------------------------------------------------- */

static bool is_dead(pid_t pid)
{
    return pid > 0 && kill(pid, 0) < 0 && errno == ESRCH;
}

/* Removes the file while it is locked, as its last holder does. It never locks the file of a living
 * process: otherwise vmwssd might fail to retake a lent lock at that moment. */
static void sweep_lock(int dir_fd, const char *file)
{
    cleanup_close int fd = openat(dir_fd, file, O_RDWR | O_NOFOLLOW | O_CLOEXEC);

    if (fd >= 0 && is_dead(read_pid(fd)) && flock(fd, LOCK_EX | LOCK_NB) == 0 &&
        is_dead(read_pid(fd)) && still_there(dir_fd, file, fd))
        unlinkat(dir_fd, file, 0);
}

/* "guest-42.panel" belongs to process 42, "guest-42-4026532500.panel" to one of another PID
 * namespace, and is removed together with it or with the lock of the process that published it. */
static void sweep_panel(int dir_fd, const char *file)
{
    char lock[RUN_DIR_NAME_MAX];
    char after = '\0';
    int pid = 0;
    const int stem = (int)(strrchr(file, '.') - file);

    if (sscanf(file, "guest-%d%c", &pid, &after) != 2 || pid <= 0)
        return;
    snprintf(lock, sizeof(lock), "%.*s" RUN_DIR_LOCK, stem, file);
    if ((after == '.' && is_dead(pid)) || faccessat(dir_fd, lock, F_OK, 0) < 0)
        unlinkat(dir_fd, file, 0);
}

static void sweep(int dir_fd, const char *suffix, void (*sweep_file)(int dir_fd, const char *file))
{
    int copy = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = copy < 0 ? NULL : fdopendir(copy);
    const struct dirent *entry;

    if (!dir) {
        cleanup_close_at(&copy);
        return;
    }
    while ((entry = readdir(dir))) {
        const char *dot = strrchr(entry->d_name, '.');

        if (dot && !strcmp(dot, suffix))
            sweep_file(dir_fd, entry->d_name);
    }
    closedir(dir);
}

void run_lock_sweep(const struct fsroot *root)
{
    cleanup_close int dir_fd = fsroot_openf(root, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, LOCK_DIR);

    if (dir_fd < 0)
        return;
    sweep(dir_fd, RUN_DIR_LOCK, sweep_lock);
    sweep(dir_fd, RUN_DIR_PANEL, sweep_panel);
}
