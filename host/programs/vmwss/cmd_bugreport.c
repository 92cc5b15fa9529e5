// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file cmd_bugreport.c  vmwss bugreport: captures a tree of the files of this host about a guest.
 */
#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fsroot.h"
#include "base/open_dir.h"
#include "guest/arch/arch.h"
#include "guest/domain/qemu.h"
#include "guest/domain/qemu_config_file.h"
#include "programs/vmwss/cli.h"

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
#include <unistd.h>

/* --- copies of files -------------------------------------------------------------------------- */

/* Copies chosen files of /proc and /sys into a directory, in the same layout.
 *
 * The result is a root for fsroot_open(), as test fixtures are. Files with guest data, such as
 * memory and core, are never copied. */

struct capture {
    const struct fsroot *root;
    int dirfd; /* descriptor of the directory that is written */
    unsigned n_files;
    int rc; /* the first error in writing; missing input files are not errors */
    struct error error;
};

#define CAPTURE_WAIT_S 10

#define MAX_FILE_BYTES (16U << 20)

static void capture_fail(struct capture *capture, const char *path)
{
    if (capture->rc == 0)
        capture->rc = error_set(&capture->error, -errno, "%s: %s", path, strerror(errno));
}

/* Makes the directory @p path, which must not exist yet. Returns 0 or a negative errno. */
static int capture_begin(struct capture *capture, const struct fsroot *root, const char *path,
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

/* Writes @p text as file @p name. */
static void capture_text(struct capture *capture, const char *name, const char *text, size_t length)
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

/* Copies one file, up to 16 MiB; a file that cannot be read is left out. */
static void capture_file(struct capture *capture, const char *format, ...)
{
    FORMAT_PATH(path, format);
    cleanup_free char *data = NULL;
    ssize_t n = fsroot_read_all(capture->root, &data, MAX_FILE_BYTES, "%s", path);

    if (n >= 0)
        capture_text(capture, path, data, (size_t)n);
}

/* Copies a symbolic link as such. */
static void capture_link(struct capture *capture, const char *format, ...)
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

/* Calls @p each with the name of every entry of a directory. */
static void capture_each(struct capture *capture, const char *directory,
                         void (*each)(struct capture *capture, const char *directory,
                                      const char *name))
{
    cleanup_dir DIR *dir = NULL;
    struct dirent *entry;

    if (fsroot_opendir(capture->root, &dir, "%s", directory) < 0)
        return;
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
    const uint64_t end_ns = clock_ns() + CAPTURE_WAIT_S * 1000000000ULL;

    while (waitpid(pid, status, WNOHANG) == 0) {
        if (clock_ns() > end_ns) {
            kill(-pid, SIGKILL);
            waitpid(pid, status, 0);
            return false;
        }
        clock_sleep(10000000);
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

/* Runs a program, found as execvp(3) does, and writes its output as file @p name, and its errors
 * as file @p errors; NULL: both into @p name. Limits: CAPTURE_WAIT_S and 16 MiB. A program that is
 * missing, or prints nothing, leaves no file. The file programs/ended lists how each ended. */
static void capture_output(struct capture *capture, const char *name, const char *errors,
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

/* Closes the directory, @p path; returns 0 or the first error. */
static int capture_end(struct capture *capture, const char *path, struct error *error)
{
    cleanup_close_at(&capture->dirfd);
    if (capture->rc < 0 && error)
        error_set(error, capture->rc, "%s is incomplete: %s", path, capture->error.text);
    return capture->rc;
}

static void capture_entry(struct capture *capture, const char *directory, const char *name)
{
    capture_file(capture, "%s/%s", directory, name);
}

static void capture_link_entry(struct capture *capture, const char *directory, const char *name)
{
    capture_link(capture, "%s/%s", directory, name);
}

static void capture_thread(struct capture *capture, const char *directory, const char *name)
{
    capture_file(capture, "%s/%s/comm", directory, name);
    capture_file(capture, "%s/%s/stat", directory, name);
    capture_file(capture, "%s/%s/schedstat", directory, name);
}

static void capture_host(struct capture *capture)
{
    static const char *const files[] = {
        "proc/version",
        "proc/cmdline",
        "proc/meminfo",
        "proc/swaps",
        "proc/sys/kernel/numa_balancing",
        "sys/kernel/mm/ksm/run",
        "sys/kernel/mm/transparent_hugepage/enabled",
        "sys/kernel/mm/transparent_hugepage/hpage_pmd_size",
        "sys/kernel/mm/transparent_hugepage/shmem_enabled",
        "sys/kernel/mm/lru_gen/enabled",
        "sys/kernel/mm/damon/admin/kdamonds/nr_kdamonds",
    };
    static const char *const directories[] = {
        "sys/module/kvm/parameters",
        "sys/module/kvm_intel/parameters",
        "sys/module/kvm_amd/parameters",
    };

    for (size_t i = 0; i < COUNT(files); i++)
        capture_file(capture, "%s", files[i]);
    capture_file(capture, "sys/kernel/tracing/events/%s/format", arch_host()->fault_event);
    capture_file(capture, "sys/kernel/debug/tracing/events/%s/format", arch_host()->fault_event);
    for (size_t i = 0; i < COUNT(directories); i++)
        capture_each(capture, directories[i], capture_entry);
}

/* Captures versions, configuration and logs. */
static void capture_programs(struct capture *capture)
{
    static const char *const files[] = {"etc/os-release", "etc/vmwss/vmwssd.conf",
                                        "etc/vmwss/vmwss-balloond.conf"};
    static const char *const libvirt[] = {"virsh", "--version=long", NULL};
    static const char *const libvirtd[] = {"libvirtd", "--version", NULL};
    static const char *const qemu[] = {"sh", "-c",
                                       "for q in qemu-system-x86_64 qemu-system-aarch64 "
                                       "/usr/libexec/qemu-kvm; do $q --version; done 2>/dev/null",
                                       NULL};
    static const char *const doctor[] = {"/proc/self/exe", "doctor", NULL};
    static const char *const status[] = {"/proc/self/exe", "status", "--json", NULL};
    static const char *const log[] = {"journalctl",     "--no-pager", "--quiet",        "--lines",
                                      "2000",           "--unit",     "vmwssd",         "--unit",
                                      "vmwss-balloond", "--unit",     "vmwss-exporter", NULL};
    static const char version[] = "vmwss " VMWSS_VERSION "\n";

    for (size_t i = 0; i < COUNT(files); i++)
        capture_file(capture, "%s", files[i]);
    capture_text(capture, "programs/vmwss-version", version, strlen(version));
    capture_output(capture, "programs/virsh-version", NULL, libvirt);
    capture_output(capture, "programs/libvirtd-version", NULL, libvirtd);
    capture_output(capture, "programs/qemu-version", NULL, qemu);
    capture_output(capture, "programs/vmwss-doctor", NULL, doctor);
    capture_output(capture, "programs/vmwss-status.json", "programs/vmwss-status.errors", status);
    capture_output(capture, "programs/journal", NULL, log);
}

struct its_files {
    struct capture *capture;
    const struct fsroot *root;
    pid_t pid;
};

/* Where guest/domain/qemu_config_file.c finds it in a captured tree. */
static ssize_t capture_its_file(void *context, const char *path, unsigned moved, char **text,
                                struct error *error)
{
    const struct its_files *its = context;
    char name[PATH_MAX];
    ssize_t n = qemu_config_file_read(its->root, its->pid, path, moved, text, error);

    snprintf(name, sizeof(name), "proc/%d/%s/%s", (int)its->pid, *path == '/' ? "root" : "cwd",
             path + (*path == '/'));
    if (n >= 0 && !strstr(path, ".."))
        capture_text(its->capture, name, *text, (size_t)n);
    return n;
}

/* The files that QEMU's command line names (-readconfig): they may have the guest's RAM. */
static void capture_its_files(struct capture *capture, const struct fsroot *root, pid_t pid)
{
    cleanup_free char *cmdline = NULL;
    struct its_files its = {capture, root, pid};
    const struct qemu_files files = {"", capture_its_file, &its};
    struct qemu_cmdline config;
    ssize_t n = fsroot_read_all(root, &cmdline, QEMU_MAX_CMDLINE_BYTES, "proc/%d/cmdline", pid);

    if (n > 0 && qemu_cmdline_parse(cmdline, (size_t)n, &files, &config, NULL) == 0)
        qemu_cmdline_free(&config);
}

static void capture_guest(struct capture *capture, pid_t pid)
{
    static const char *const files[] = {"cmdline", "comm", "stat", "status", "smaps", "cgroup"};
    char directory[64];

    for (size_t i = 0; i < COUNT(files); i++)
        capture_file(capture, "proc/%d/%s", pid, files[i]);
    capture_link(capture, "proc/%d/exe", pid);
    snprintf(directory, sizeof(directory), "proc/%d/task", pid);
    capture_each(capture, directory, capture_thread);
    snprintf(directory, sizeof(directory), "proc/%d/fd", pid);
    capture_each(capture, directory, capture_link_entry);
}

struct choice {
    struct guest_choice guest;
    const char *output;
};

/* Finds the pid of the requested guest, and its XML if libvirt knows it. A bug report may be about
 * a guest that cannot be opened, so with --pid it need not be possible to open it. */
static int find_guest(const struct choice *choice, const struct fsroot *root, pid_t *pid,
                      char **xml, struct error *error)
{
    struct chosen_domain chosen;
    struct guest guest;
    int rc;

    *pid = choice->guest.pid;
    if (!choice->guest.domain)
        return 0;
    rc = guest_choice_connect(&choice->guest, root, &chosen, error);
    if (rc < 0)
        return rc;
    rc = guest_open_domain(chosen.connection, root, chosen.name, &guest, error);
    if (rc == 0) {
        *pid = guest.process.pid;
        guest_close(&guest);
        rc = domain_xml_fetch(chosen.connection, chosen.name, xml, error);
    }
    domain_disconnect(chosen.connection);
    return rc;
}

static int write_report(const struct choice *choice, struct error *error)
{
    cleanup_free char *xml = NULL;
    cleanup_root struct fsroot root;
    struct capture capture;
    char path[PATH_MAX];
    pid_t pid = 0;
    int rc = fsroot_open_host(&root, error);

    if (rc == 0)
        rc = find_guest(choice, &root, &pid, &xml, error);
    if (choice->output)
        snprintf(path, sizeof(path), "%s", choice->output);
    else if (pid)
        snprintf(path, sizeof(path), "vmwss-bugreport-%d", pid);
    else
        snprintf(path, sizeof(path), "vmwss-bugreport-host");
    if (rc == 0)
        rc = capture_begin(&capture, &root, path, error);
    if (rc == 0) {
        capture_host(&capture);
        capture_programs(&capture);
        if (pid) {
            capture_guest(&capture, pid);
            capture_its_files(&capture, &root, pid);
        }
        if (xml)
            capture_text(&capture, "domain.xml", xml, strlen(xml));
        rc = capture_end(&capture, path, error);
    }
    if (rc == 0)
        printf("%s: %u files\n", path, capture.n_files);
    return rc;
}

static const struct option_line lines[] = {
    OPTION_PID(offsetof(struct choice, guest)),
    OPTION_CONNECT(offsetof(struct choice, guest)),
    {OPTION_TEXT, 'o', "output", "DIR", offsetof(struct choice, output),
     .help = "the directory to make (vmwss-bugreport-PID, or -host)"},
    {.type = OPTION_END},
};

static const struct command_options command_options = {
    .usage =
        "Usage: vmwss bugreport [DOMAIN | --pid PID] [OPTIONS]\n\n"
        "Copies what a bug report or a test fixture needs into a new directory: files of /proc and /sys\n"
        "about the host, and about one guest if it is named, with its libvirt XML; versions,\n"
        "configuration, what doctor and status say, and the log of the daemons. No guest memory, no\n"
        "disk content. Names, paths and the QEMU command line are in it: read it before you send it.\n",
    .lines = lines,
};

int cmd_bugreport(int argc, char **argv)
{
    struct choice choice = {0};
    struct error error = {0};
    int rc = options_read(&command_options, &choice, argc, argv);

    if (rc != 0)
        return options_exit(rc);
    if (guest_choice_take(&choice.guest, argc, argv, "bugreport") < 0)
        return EXIT_USAGE;

    rc = write_report(&choice, &error);
    if (rc < 0)
        command_error("%s", *error.text ? error.text : strerror(-rc));
    return rc < 0 ? EXIT_CANNOT : 0;
}
