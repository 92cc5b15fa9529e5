// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file qemu_program.c  See qemu_program.h.
 *
 * Each executable is searched once: some 15 ms for a QEMU of 16 MiB. What was found is kept by the
 * file's identity, because vmwssd looks for guests among all processes every few seconds.
 */
#include "guest/domain/qemu_program.h"

#include "base/cleanup.h"
#include "base/open_dir.h"

#include <dirent.h>
#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#define MAX_FILE_BYTES (512L << 20)
#define PIECE_BYTES (1L << 20)
#define OVERLAP_BYTES 64 /* longer than any text that is searched for */
#define KEPT 2048        /* executables; the oldest is forgotten first */

/* Identity and findings of an executable. */
struct content {
    dev_t device;
    ino_t inode;
    struct statx_timestamp changed;
    bool is_qemu;
    bool is_loader; /* it runs without another program's help, and may be loading one itself */
};

static struct {
    pthread_mutex_t mutex;
    size_t n; /* added so far */
    struct content at[KEPT];
} kept = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static const char *name_of(const char *exe)
{
    const char *slash = strrchr(exe, '/');

    return slash ? slash + 1 : exe;
}

static bool has_name_of_qemu(const char *exe)
{
    const char *name = name_of(exe);

    return strncmp(name, "qemu-system-", 12) == 0 || strcmp(name, "qemu-kvm") == 0 ||
           strcmp(name, "kvm") == 0;
}

/* The text is made of two, so that this program does not have it. */
static bool has_text(const char *content, size_t size, const char *begin, const char *end)
{
    char text[64];
    int length = snprintf(text, sizeof(text), "%s%s", begin, end);

    return memmem(content, size, text, (size_t)length);
}

/* The dynamic loader, whatever its name, names no interpreter; nor does a static program that can
 * be loaded anywhere, of which there are few. */
static bool is_loader(const char *text, size_t size)
{
    Elf64_Ehdr file;
    Elf64_Phdr part;
    bool interpreted = false;

    if (size < sizeof(file))
        return false;
    memcpy(&file, text, sizeof(file));
    if (memcmp(file.e_ident, ELFMAG, SELFMAG) != 0 || file.e_ident[EI_CLASS] != ELFCLASS64 ||
        file.e_type != ET_DYN || file.e_phoff > size ||
        file.e_phnum > (size - file.e_phoff) / sizeof(part))
        return false;
    for (size_t i = 0; i < file.e_phnum; i++) {
        memcpy(&part, text + file.e_phoff + i * sizeof(part), sizeof(part));
        interpreted |= part.p_type == PT_INTERP;
    }
    return !interpreted;
}

/* Not mapped: a file that is cut meanwhile would end this program. */
static void search(int fd, struct content *content)
{
    cleanup_free char *text = malloc(PIECE_BYTES);
    bool is_version = false;
    bool is_qmp = false;
    ssize_t n = text ? 1 : 0;

    for (off_t at = 0; n > 0 && at < MAX_FILE_BYTES; at += PIECE_BYTES - OVERLAP_BYTES) {
        n = pread(fd, text, PIECE_BYTES, at);
        if (n <= 0)
            break;
        content->is_loader |= at == 0 && is_loader(text, (size_t)n);
        is_version |= has_text(text, (size_t)n, "QEMU emulator", " version ");
        is_qmp |= has_text(text, (size_t)n, "query-memory-", "size-summary");
    }
    content->is_qemu = is_version && is_qmp;
}

static bool find_kept(struct content *content)
{
    bool found = false;

    pthread_mutex_lock(&kept.mutex);
    for (size_t i = 0; !found && i < KEPT && i < kept.n; i++) {
        const struct content *known = &kept.at[i];

        found = known->device == content->device && known->inode == content->inode &&
                known->changed.tv_sec == content->changed.tv_sec &&
                known->changed.tv_nsec == content->changed.tv_nsec;
        if (found)
            *content = *known;
    }
    pthread_mutex_unlock(&kept.mutex);
    return found;
}

static void keep(const struct content *content)
{
    pthread_mutex_lock(&kept.mutex);
    kept.at[kept.n++ % KEPT] = *content;
    pthread_mutex_unlock(&kept.mutex);
}

/* Any user can run a program from a file system of his own that never answers. So nothing is asked
 * of the file system before its type is known, and FUSE is left out. */
static void look_into(const struct fsroot *root, const char *link, struct content *content)
{
    cleanup_close int path = fsroot_openf(root, O_PATH, "%s", link);
    struct statx file;
    struct statfs system;

    if (path < 0 ||
        statx(path, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_BASIC_STATS, &file) < 0)
        return;
    content->device = makedev(file.stx_dev_major, file.stx_dev_minor);
    content->inode = file.stx_ino;
    content->changed = file.stx_ctime;
    if (find_kept(content))
        return;
    if (fstatfs(path, &system) == 0 && system.f_type != FUSE_SUPER_MAGIC) {
        cleanup_close int fd = fsroot_openf(root, O_RDONLY, "%s", link);

        if (fd < 0)
            return;
        search(fd, content);
    }
    keep(content);
}

/* A program that was started by the dynamic loader ("ld-linux-x86-64.so.2 PROGRAM") is one of the
 * files that the process maps. */
static void look_into_mapped(const struct fsroot *root, pid_t pid, struct content *content)
{
    char link[PATH_MAX];
    cleanup_dir DIR *dir = NULL;
    const struct dirent *entry;

    if (fsroot_opendir(root, &dir, "proc/%d/map_files", (int)pid) < 0)
        return;
    while (!content->is_qemu && (entry = readdir(dir))) {
        struct content file = {0};

        snprintf(link, sizeof(link), "proc/%d/map_files/%s", (int)pid, entry->d_name);
        if (*entry->d_name != '.')
            look_into(root, link, &file);
        content->is_qemu = file.is_qemu;
    }
}

static void look(const struct fsroot *root, pid_t pid, struct content *content)
{
    char link[32];

    snprintf(link, sizeof(link), "proc/%d/exe", (int)pid);
    look_into(root, link, content);
    if (content->is_loader)
        look_into_mapped(root, pid, content);
}

bool qemu_program_is(const struct fsroot *root, pid_t pid, const char *exe)
{
    struct content content = {0};

    if (has_name_of_qemu(exe))
        return true;
    if (!root->live)
        return strstr(name_of(exe), "qemu-system-");
    look(root, pid, &content);
    return content.is_qemu;
}
