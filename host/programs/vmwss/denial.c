// SPDX-License-Identifier: LGPL-2.1-or-later
#include "programs/vmwss/denial.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The kernel's log has one record a read, of at most 2 KiB with its header. */
#define RECORD_MAX (8 << 10)
#define AUDIT_TAIL (1 << 20)
#define FIELD 96

struct search {
    unsigned found;
    bool guest; /* the text is about a guest's profile, which says more than any other */
    char *text;
};

/* Copies the value of name="value". */
static bool get_field(const char *line, const char *name, char out[FIELD])
{
    char key[32];
    int length = snprintf(key, sizeof(key), " %s=\"", name);
    const char *at = strstr(line, key);
    const char *end = at ? strchr(at + length, '"') : NULL;

    out[0] = '\0';
    if (!end)
        return false;
    snprintf(out, FIELD, "%.*s", (int)(end - at - length), at + length);
    return true;
}

static bool is_ours(const char *name)
{
    return strncmp(name, "vmwss", 5) == 0;
}

/* AppArmor asks both profiles, the reader's and that of the process that is read. */
static bool read_apparmor(const char *line, char text[DENIAL_TEXT], bool *guest)
{
    char profile[FIELD];
    char peer[FIELD];
    char operation[FIELD];
    char name[FIELD];

    if (!strstr(line, "apparmor=\"DENIED\"") || !get_field(line, "profile", profile))
        return false;
    get_field(line, "peer", peer);
    get_field(line, "operation", operation);
    get_field(line, "name", name);
    *guest = !is_ours(profile) && is_ours(peer) && strcmp(operation, "ptrace") == 0;
    if (*guest)
        snprintf(text, DENIAL_TEXT,
                 "AppArmor's profile %s denies that %s reads the guest: append "
                 "/usr/share/vmwss/apparmor/libvirt-qemu to "
                 "/etc/apparmor.d/local/abstractions/libvirt-qemu, and start the guest again",
                 profile, peer);
    else if (is_ours(profile))
        snprintf(text, DENIAL_TEXT,
                 "AppArmor's profile %s denies %s%s%s: allow it in /etc/apparmor.d/local/%s, then "
                 "apparmor_parser -r /etc/apparmor.d/%s",
                 profile, operation, *name || *peer ? " of " : "", *name ? name : peer, profile,
                 profile);
    else
        return false;
    return true;
}

static bool read_selinux(const char *line, char text[DENIAL_TEXT])
{
    char comm[FIELD];

    if (!strstr(line, "avc:") || !strstr(line, " denied ") || strstr(line, " permissive=1") ||
        !get_field(line, "comm", comm) || !is_ours(comm))
        return false;
    snprintf(text, DENIAL_TEXT,
             "SELinux denies %s an access (ausearch -m AVC -c %s): load the module of "
             "/usr/share/vmwss/selinux, and give the domain of %s the attribute vmwss_reader",
             comm, comm, comm);
    return true;
}

static void read_line(struct search *search, const char *line)
{
    char text[DENIAL_TEXT];
    bool guest = false;

    if (!read_apparmor(line, text, &guest) && !read_selinux(line, text))
        return;
    search->found++;
    if (guest || !search->guest)
        snprintf(search->text, DENIAL_TEXT, "%s", text);
    search->guest |= guest;
}

/* One record each; the records of a file, as in auditd's, are its lines. */
static void read_lines(struct search *search, char *lines)
{
    char *rest = NULL;

    for (char *line = strtok_r(lines, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        read_line(search, line);
}

/* EPIPE: the record was overwritten before it was read, and the next read gets a later one. */
static void read_log(struct search *search, int fd)
{
    char record[RECORD_MAX];
    ssize_t n;

    while ((n = read(fd, record, sizeof(record) - 1)) > 0 || (n < 0 && errno == EPIPE)) {
        if (n < 0)
            continue;
        record[n] = '\0';
        read_lines(search, record);
    }
}

static void read_tail(struct search *search, int fd)
{
    cleanup_free char *tail = malloc(AUDIT_TAIL + 1);
    const off_t end = lseek(fd, 0, SEEK_END);
    ssize_t n = tail && end >= 0
                    ? pread(fd, tail, AUDIT_TAIL, end > AUDIT_TAIL ? end - AUDIT_TAIL : 0)
                    : 0;

    if (n <= 0)
        return;
    tail[n] = '\0';
    read_lines(search, tail);
}

unsigned denial_find(const struct fsroot *root, char text[DENIAL_TEXT])
{
    struct search search = {.text = text};
    cleanup_close int log = fsroot_openf(root, O_RDONLY | O_NONBLOCK, "dev/kmsg");
    cleanup_close int audit = fsroot_openf(root, O_RDONLY | O_NONBLOCK, "var/log/audit/audit.log");

    text[0] = '\0';
    if (log >= 0)
        read_log(&search, log);
    if (audit >= 0)
        read_tail(&search, audit);
    return search.found;
}
