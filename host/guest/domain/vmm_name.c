// SPDX-License-Identifier: LGPL-2.1-or-later
#include "guest/domain/vmm_name.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "guest/domain/qemu.h"

#include <stdio.h>
#include <string.h>

#define NAME_BYTES 256

/* The option's value, as "--id NAME" or "--id=NAME". */
static const char *value_of(const char *cmdline, size_t length, const char *option)
{
    const size_t n = strlen(option);

    for (const char *at = cmdline; at < cmdline + length; at += strlen(at) + 1) {
        if (strncmp(at, option, n) != 0)
            continue;
        if (at[n] == '=')
            return at + n + 1;
        if (at[n] == '\0' && at + n + 1 < cmdline + length)
            return at + n + 1;
    }
    return NULL;
}

/* "path=/run/vm1/api.sock,fd=3" gives "vm1", "/run/web.sock" gives "web". */
static void name_of_socket(const char *value, char *name)
{
    static const char *const common[] = {"api",    "cloud-hypervisor", "ch",         "clh-api",
                                         "crosvm", "control",          "firecracker"};
    char path[NAME_BYTES];

    if (strncmp(value, "path=", 5) == 0)
        value += 5;
    snprintf(path, sizeof(path), "%.*s", (int)strcspn(value, ","), value);
    for (char *slash; (slash = strrchr(path, '/')); *slash = '\0') {
        bool is_common = false;

        snprintf(name, NAME_BYTES, "%.*s", (int)strcspn(slash + 1, "."), slash + 1);
        for (size_t i = 0; i < COUNT(common); i++)
            is_common |= strcmp(name, common[i]) == 0;
        if (*name && !is_common)
            return;
    }
    snprintf(name, NAME_BYTES, "%.*s", (int)strcspn(path, "."), path);
}

void vmm_name_find(const struct fsroot *root, pid_t pid, const char *exe, char *name)
{
    static const struct {
        const char *option;
        bool socket;
    } options[] = {{"--id", false},
                   {"--name", false},
                   {"--api-socket", true},
                   {"--api-sock", true},
                   {"--socket", true}};
    cleanup_free char *cmdline = NULL;
    ssize_t n = fsroot_read_all(root, &cmdline, QEMU_MAX_CMDLINE_BYTES, "proc/%d/cmdline",
                                (int)pid);
    const char *slash = strrchr(exe, '/');

    *name = '\0';
    for (size_t i = 0; n > 0 && !*name && i < COUNT(options); i++) {
        const char *value = value_of(cmdline, (size_t)n, options[i].option);

        if (value && options[i].socket)
            name_of_socket(value, name);
        else if (value)
            snprintf(name, NAME_BYTES, "%s", value);
    }
    if (!*name)
        snprintf(name, NAME_BYTES, "%.200s-%d", slash ? slash + 1 : exe, (int)pid);
}
