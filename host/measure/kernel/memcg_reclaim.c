// SPDX-License-Identifier: LGPL-2.1-or-later
#include "measure/kernel/memcg_reclaim.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/kernel_number.h"
#include "base/page_sizes.h"
#include "measure/kernel/memcg.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>

#define MAX_TEXT (1UL << 20)
#define MAX_OTHERS 64   /* of other processes; libvirt starts a few */
#define MAX_GROUPS 4096 /* libvirt makes one for each vCPU, below the emulator's group */
#define MAX_DEPTH 8

/* --- files of the group ----------------------------------------------------------------------- */

/* An fsroot of the group's directory. */
static struct fsroot below(int fd)
{
    return (struct fsroot){.dirfd = fd};
}

static int open_below(int fd, const char *path, uint64_t flags)
{
    const struct open_how how = {
        .flags = flags | O_CLOEXEC,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV,
    };
    long opened = syscall(SYS_openat2, fd, path, &how, sizeof(how));

    return opened < 0 ? -errno : (int)opened;
}

static bool has_file(int fd, const char *name)
{
    const struct fsroot group = below(fd);

    return fsroot_exists(&group, "%s", name);
}

/* --- finding the group ------------------------------------------------------------------------ */

static int no_process(pid_t pid, struct error *error)
{
    return error_set(error, -ESRCH, "process %d has ended", (int)pid);
}

/* If a line of version 1 has the memory controller, version 2 does not. */
int memcg_reclaim_parse(const char *text, pid_t pid, char path[MEMCG_PATH_MAX], struct error *error)
{
    const char *at;

    if (strstr(text, ":memory:") || strstr(text, ",memory:") || strstr(text, ":memory,"))
        return error_set(error, -EOPNOTSUPP,
                         "the memory controller is of cgroup v1, which has no memory.reclaim");
    at = !strncmp(text, "0::", 3) ? text : strstr(text, "\n0::");
    if (!at)
        return error_set(error, -EOPNOTSUPP, "process %d is in no control group", (int)pid);
    at = strchr(at, ':') + 2;
    if (*at != '/' || strcspn(at, "\n") >= MEMCG_PATH_MAX)
        return error_set(error, -EXDEV,
                         "the path of the control group of process %d is invalid or too long",
                         (int)pid);
    snprintf(path, MEMCG_PATH_MAX, "%.*s", (int)strcspn(at, "\n"), at);
    return 0;
}

/* Reads the line of version 2. */
static int read_path(const struct fsroot *root, pid_t pid, char path[MEMCG_PATH_MAX],
                     struct error *error)
{
    cleanup_free char *text = NULL;

    if (fsroot_read_all(root, &text, MAX_TEXT, "proc/%d/cgroup", (int)pid) < 0)
        return no_process(pid, error);
    return memcg_reclaim_parse(text, pid, path, error);
}

/* Returns true if a component of the path names a machine. Paths of login sessions, services and
 * containers have none, or their groups contain other processes. */
static bool is_machine(const char *path)
{
    for (const char *at = strstr(path, ".scope"); at; at = strstr(at + 1, ".scope"))
        if (at[6] == '\0' || at[6] == '/')
            return true;
    return strstr(path, ".libvirt-") != NULL;
}

static int open_mount(const struct fsroot *root, struct error *error)
{
    int fd = fsroot_openf(root, O_PATH | O_DIRECTORY, "sys/fs/cgroup");
    struct statfs info;

    if (fd < 0)
        return error_set(error, -EOPNOTSUPP, "/sys/fs/cgroup: %s", strerror(-fd));
    if (!root->live || (fstatfs(fd, &info) == 0 && info.f_type == CGROUP2_SUPER_MAGIC))
        return fd;
    close(fd);
    return error_set(error, -EOPNOTSUPP, "/sys/fs/cgroup is not of cgroup v2 alone");
}

/* Opens the nearest ancestor that has the memory controller; the root has no memory.current. */
static int open_nearest(int mount, struct memcg_reclaim *out, struct error *error)
{
    char wanted[sizeof(out->path)];

    memcpy(wanted, out->path, sizeof(wanted));
    while (out->path[1]) {
        out->fd = open_below(mount, out->path + 1, O_RDONLY | O_DIRECTORY);
        if (out->fd < 0)
            return error_set(error, out->fd == -ENOENT ? -ESRCH : -EXDEV, "control group %s: %s",
                             out->path, strerror(-out->fd));
        if (has_file(out->fd, "memory.current"))
            return 0;
        close(out->fd);
        out->fd = -1;
        char *slash = strrchr(out->path, '/');

        slash[slash == out->path] = '\0';
    }
    return error_set(error, -EOPNOTSUPP, "no group of %s has the memory controller", wanted);
}

/* --- its processes ---------------------------------------------------------------------------- */

struct occupants {
    const struct fsroot *root;
    pid_t pid;
    bool found; /* the guest's QEMU was found in the group */
    unsigned n_others, n_groups;
    struct error *error;
};

/* Helpers that libvirt starts beside a QEMU (src/qemu/qemu_extdevice.c); the kernel truncates names
 * of processes. */
static bool is_helper(const char *name)
{
    static const char *const names[] = {
        "virtiofsd", "swtpm",  "slirp-helper",   "passt",          "passt.avx2", "dbus-daemon",
        "qemu-nbd",  "nbdkit", "qemu-pr-helper", "vhost-user-gpu", "qemu-rdp"};

    for (size_t i = 0; i < COUNT(names); i++)
        if (!strncmp(name, names[i], 15))
            return true;
    return false;
}

static int check_process(struct occupants *all, pid_t pid)
{
    cleanup_free char *text = NULL;
    char name[16] = "";
    ssize_t n;

    if (pid == all->pid) {
        all->found = true;
        return 0;
    }
    if (pid <= 0)
        return error_set(all->error, -EBUSY, "a process of another namespace is in the group");
    n = fsroot_read_all(all->root, &text, MAX_TEXT, "proc/%d/status", (int)pid);
    if (n == -ENOENT || n == -ESRCH || (n > 0 && !strstr(text, "\nVmRSS:")))
        return 0; /* the process has ended, or is a kernel thread */
    if (++all->n_others > MAX_OTHERS)
        return error_set(all->error, -EBUSY, "more than %d other processes are in the group",
                         MAX_OTHERS);
    if (n < 0)
        return error_set(all->error, (int)n, "process %d: %s", (int)pid, strerror((int)-n));
    sscanf(text, "Name: %15[^\n]", name); /* NOLINT(cert-err34-c): a text */
    return is_helper(name) ? 0
                           : error_set(all->error, -EBUSY,
                                       "process %d (%s) is in the group, too: it is not this "
                                       "guest's alone",
                                       (int)pid, name);
}

/* The processes of a threaded group are listed in the file of its parent. */
static int check_processes(struct occupants *all, int fd)
{
    const struct fsroot group = below(fd);
    cleanup_free char *text = NULL;
    ssize_t n = fsroot_read_all(&group, &text, MAX_TEXT, "cgroup.procs");
    int rc = 0;

    if (n == -EOPNOTSUPP)
        return 0;
    if (n < 0)
        return error_set(all->error, (int)n, "cgroup.procs: %s", strerror((int)-n));
    for (char *line = text, *end; rc == 0 && *line; line = end + (*end == '\n')) {
        long pid = strtol(line, &end, 10);

        if (end == line || (*end && *end != '\n'))
            return error_set(all->error, -EUCLEAN, "cgroup.procs: not a list of processes");
        rc = check_process(all, (pid_t)pid);
    }
    return rc;
}

/* Closes @p fd. */
static int check_group(struct occupants *all, int fd, unsigned depth)
{
    cleanup_dir DIR *directory = fdopendir(fd);
    const struct dirent *entry;
    int rc;

    if (!directory) {
        close(fd);
        return error_set(all->error, -ENOMEM, "out of memory");
    }
    if (depth > MAX_DEPTH || ++all->n_groups > MAX_GROUPS)
        return error_set(all->error, -EBUSY, "too many groups are below it");
    rc = check_processes(all, dirfd(directory));
    while (rc == 0 && (entry = readdir(directory))) {
        int child = entry->d_name[0] == '.' ? -ENOTDIR
                                            : open_below(dirfd(directory), entry->d_name,
                                                         O_RDONLY | O_DIRECTORY | O_NOFOLLOW);

        if (child >= 0)
            rc = check_group(all, child, depth + 1);
        else if (child != -ENOTDIR && child != -ENOENT && child != -ELOOP)
            rc = error_set(all->error, child, "group %s: %s", entry->d_name, strerror(-child));
    }
    return rc;
}

static int check_occupants(const struct fsroot *root, const struct memcg_reclaim *group, pid_t pid,
                           struct error *error)
{
    struct occupants all = {.root = root, .pid = pid, .error = error};
    /* open it anew, because readdir() moves the descriptor's offset */
    int fd = open_below(group->fd, ".", O_RDONLY | O_DIRECTORY);
    int rc = fd < 0 ? error_set(error, fd, "control group %s: %s", group->path, strerror(-fd))
                    : check_group(&all, fd, 0);

    if (rc == 0 && !all.found)
        rc = error_set(error, -ESRCH, "process %d is not in control group %s", (int)pid,
                       group->path);
    return rc;
}

/* The owner of the hierarchy is root, who alone moves processes between its groups. A group of
 * another owner was delegated (Documentation/admin-guide/cgroup-v2.rst, Delegation). */
static bool is_owners(const struct fsroot *root, const char *path)
{
    char directory[MEMCG_PATH_MAX + 16];
    struct stat all;
    struct stat group;

    snprintf(directory, sizeof(directory), "sys/fs/cgroup%s", path);
    return fstatat(root->dirfd, "sys/fs/cgroup", &all, 0) < 0 ||
           fstatat(root->dirfd, directory, &group, 0) < 0 || group.st_uid == all.st_uid;
}

static bool ends_with(const char *text, size_t n, const char *end)
{
    return n > strlen(end) && !strncmp(text + n - strlen(end), end, strlen(end));
}

/* Slices and partitions are root's (libvirt's documentation, "Control Groups Resource Management").
 * The first other group of the path decides. */
static bool is_qemus(const char *path)
{
    static const char proxmox[] = "/qemu.slice/";

    if (!strncmp(path, proxmox, strlen(proxmox)))
        return true;
    while (*path == '/') {
        const char *name = path + 1;
        const size_t n = strcspn(name, "/");

        path = name + n;
        if (!ends_with(name, n, ".slice") && !ends_with(name, n, ".partition") &&
            (n != 7 || strncmp(name, "machine", n) != 0))
            return !strncmp(name, "machine-qemu", 12) || ends_with(name, n, ".libvirt-qemu");
    }
    return false;
}

/* systemd puts all that users start below user.slice, and sessions into scopes that are root's. */
enum memcg_standing memcg_reclaim_standing(const struct fsroot *root, pid_t pid)
{
    static const char users[] = "/user.slice/";
    char path[MEMCG_PATH_MAX];

    if (read_path(root, pid, path, NULL) < 0)
        return MEMCG_SYSTEMS;
    if (!strncmp(path, users, strlen(users)) || !is_owners(root, path))
        return MEMCG_USERS;
    return is_qemus(path) ? MEMCG_QEMUS : MEMCG_SYSTEMS;
}

int memcg_reclaim_open(const struct fsroot *root, pid_t pid, struct memcg_reclaim *out,
                       struct error *error)
{
    int rc = read_path(root, pid, out->path, error);

    out->fd = -1;
    if (rc == 0 && !is_machine(out->path))
        rc = error_set(error, -EXDEV, "control group %s is no virtual machine's", out->path);
    if (rc < 0)
        return rc;

    cleanup_close int mount = open_mount(root, error);

    rc = mount < 0 ? mount : open_nearest(mount, out, error);
    if (rc == 0 && !is_machine(out->path))
        rc = error_set(error, -EXDEV,
                       "control group %s, which has the memory controller, is no "
                       "virtual machine's",
                       out->path);
    if (rc == 0 && !has_file(out->fd, "memory.reclaim"))
        rc = error_set(error, -EOPNOTSUPP,
                       "the kernel has no memory.reclaim: Linux 5.19 or newer is needed");
    if (rc == 0)
        rc = check_occupants(root, out, pid, error);
    if (rc < 0)
        memcg_reclaim_close(out);
    return rc;
}

void memcg_reclaim_close(struct memcg_reclaim *group)
{
    if (group->fd >= 0)
        close(group->fd);
    group->fd = -1;
}

/* --- its counters ----------------------------------------------------------------------------- */

static double read_pressure(const struct fsroot *group)
{
    char text[512];
    const char *total;
    uint64_t stalled_us;

    if (fsroot_read(group, text, sizeof(text), "memory.pressure") < 0 ||
        strncmp(text, "some ", 5) != 0)
        return NAN;
    total = strstr(text, "total=");
    return total && kernel_u64(total + 6, &stalled_us) ? (double)stalled_us / 1e6 : (double)NAN;
}

/* An ancestor's limit is not considered; the kernel then reclaims less than requested. */
static uint64_t read_swap_left(const struct fsroot *group)
{
    uint64_t most, now;

    if (fsroot_read_u64(group, &most, "memory.swap.max") < 0 || /* "max" */
        fsroot_read_u64(group, &now, "memory.swap.current") < 0)
        return UINT64_MAX;
    return most > now ? most - now : 0;
}

int memcg_reclaim_read(const struct memcg_reclaim *group, struct memcg_counters *out,
                       struct error *error)
{
    const struct fsroot files = below(group->fd);
    cleanup_free char *text = NULL;
    int rc = fsroot_read_u64(&files, &out->current_bytes, "memory.current");

    if (rc >= 0)
        rc = (int)fsroot_read_all(&files, &text, MAX_TEXT, "memory.stat");
    if (rc < 0)
        return error_set(error, rc, "control group %s: %s", group->path, strerror(-rc));
    out->refault_bytes = kernel_line_u64(text, "workingset_refault_anon") * base_page_bytes();
    out->pressure_s = read_pressure(&files);
    out->swap_left_bytes = read_swap_left(&files);
    return 0;
}

int memcg_reclaim_write(const struct memcg_reclaim *group, uint64_t bytes, struct error *error)
{
    cleanup_close int fd = open_below(group->fd, "memory.reclaim", O_WRONLY);
    char text[32];
    int length = snprintf(text, sizeof(text), "%" PRIu64, bytes);

    if (fd < 0)
        return error_set(error, fd, "%s/memory.reclaim: %s%s", group->path, strerror(-fd),
                         fd == -EROFS ? " (the unit needs ProtectControlGroups=no)" : "");
    if (write(fd, text, (size_t)length) >= 0 || errno == EAGAIN)
        return 0;
    return errno == EINTR
               ? 1
               : error_set(error, -errno, "%s/memory.reclaim: %s", group->path, strerror(errno));
}
