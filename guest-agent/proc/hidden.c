// SPDX-License-Identifier: LGPL-2.1-or-later
#include "proc/hidden.h"

#include "base/cleanup.h"
#include "proc/rights.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define MOUNTS_MAX ((size_t)4 << 20)

/* Returns the options of the last file system mounted on /proc, after " - proc SOURCE ". Blanks in
 * other names are written as \040. */
static const char *proc_options(char *mounts)
{
    const char *options = NULL;
    char *rest = NULL;

    for (char *line = strtok_r(mounts, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        const char *type = strstr(line, " - proc ");
        const char *source = type ? strchr(type + strlen(" - proc "), ' ') : NULL;
        const char *on = strstr(line, " /proc ");

        if (source && on && on < type)
            options = source + 1;
    }
    return options;
}

/* Returns the value of option NAME=VALUE, or NULL. */
static const char *option_value(const char *options, const char *name)
{
    size_t length = strlen(name);

    for (const char *at = options; at; at = strchr(at, ',')) {
        at += *at == ',';
        if (!strncmp(at, name, length) && at[length] == '=')
            return at + length + 1;
    }
    return NULL;
}

static bool is_value(const char *value, const char *word)
{
    size_t length = strlen(word);

    return value && !strncmp(value, word, length) && (!value[length] || value[length] == ',');
}

static bool in_group(gid_t wanted)
{
    int n = getgroups(0, NULL);
    cleanup_free gid_t *group = calloc((size_t)(n > 0 ? n : 0) + 1, sizeof(*group));

    n = group && n > 0 ? getgroups(n, group) : 0;
    for (int i = 0; i < n; i++)
        if (group[i] == wanted)
            return true;
    return getegid() == wanted;
}

pid_t process_self(const struct fsroot *root)
{
    char number[32];

    return root->live && fsroot_readlink(root, number, sizeof(number), "proc/self") > 0
               ? (pid_t)strtol(number, NULL, 10)
               : 0;
}

static const char *read_options(const struct fsroot *root, char **mounts)
{
    return fsroot_read_all(root, mounts, MOUNTS_MAX, "proc/self/mountinfo") > 0
               ? proc_options(*mounts)
               : NULL;
}

const char *proc_file_missing(const struct fsroot *root)
{
    cleanup_free char *mounts = NULL;

    if (option_value(read_options(root, &mounts), "subset"))
        return "/proc is mounted with subset=pid, and shows nothing but processes";
    return root->live && !fsroot_exists(root, "proc/self") ? "/proc is not mounted" : NULL;
}

int proc_error(const struct fsroot *root, struct error *error, int rc, const char *path)
{
    const char *why = rc == -ENOENT ? proc_file_missing(root) : NULL;

    return error_set(error, rc, "/%s: %s", path, why ? why : strerror(-rc));
}

bool processes_hidden(const struct fsroot *root)
{
    cleanup_free char *mounts = NULL;
    const char *options = read_options(root, &mounts);
    const char *hidepid = option_value(options, "hidepid"), *gid = option_value(options, "gid");
    bool invisible = is_value(hidepid, "2") || is_value(hidepid, "invisible");

    if (!invisible && !is_value(hidepid, "4") && !is_value(hidepid, "ptraceable"))
        return false;
    /* A capability in our own user namespace does not suffice: only process 1 shows whether others
     * are visible. */
    return !fsroot_exists(root, "proc/1/stat") ||
           (!rights_have(CAP_SYS_PTRACE) &&
            !(invisible && in_group(gid ? (gid_t)strtoul(gid, NULL, 10) : 0)));
}

int process_absence(const struct fsroot *root, pid_t pid)
{
    return root->live && processes_hidden(root) && (kill(pid, 0) == 0 || errno == EPERM) ? -EACCES
                                                                                         : -ESRCH;
}
