// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file cmd_bugreport.c  vmwss bugreport: captures a tree of the files of this host about a guest.
 */
#include "base/cleanup.h"
#include "guest/arch/arch.h"
#include "guest/domain/qemu.h"
#include "guest/domain/qemu_config_file.h"
#include "programs/vmwss/capture.h"
#include "programs/vmwss/cli.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

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

    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
        capture_file(capture, "%s", files[i]);
    capture_file(capture, "sys/kernel/tracing/events/%s/format", arch_host()->fault_event);
    capture_file(capture, "sys/kernel/debug/tracing/events/%s/format", arch_host()->fault_event);
    for (size_t i = 0; i < sizeof(directories) / sizeof(directories[0]); i++)
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

    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
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

    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
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
    struct domain_connection *connection;
    struct guest guest;
    int rc;

    *pid = choice->guest.pid;
    if (!choice->guest.domain)
        return 0;
    rc = domain_connect(choice->guest.uri, &connection, error);
    if (rc < 0)
        return rc;
    rc = guest_open_domain(connection, root, choice->guest.domain, &guest, error);
    if (rc == 0) {
        *pid = guest.process.pid;
        guest_close(&guest);
        rc = domain_xml_fetch(connection, choice->guest.domain, xml, error);
    }
    domain_disconnect(connection);
    return rc;
}

static int write_report(const struct choice *choice, struct error *error)
{
    cleanup_free char *xml = NULL;
    struct fsroot root;
    struct capture capture;
    char path[PATH_MAX];
    pid_t pid = 0;
    int rc = fsroot_open(&root, "/");

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
        rc = capture_end(&capture, error);
    }
    if (rc == 0)
        printf("%s: %u files\n", path, capture.n_files);
    fsroot_close(&root);
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
