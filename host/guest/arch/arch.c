// SPDX-License-Identifier: LGPL-2.1-or-later
#include "guest/arch/arch.h"

#include "base/array.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

static const struct arch *const table[] = {&arch_x86_64, &arch_arm64};

/* This build's architecture may be missing from the table. Then every method that relies on the
 * first entry's tracepoint or counters is refused, because such a kernel has neither. */
const struct arch *arch_host(void)
{
    for (size_t i = 0; i < COUNT(table); i++)
        if (table[i]->host)
            return table[i];
    return table[0];
}

/* Accepts "qemu-system-x86_64", "qemu-system-x86_64-microvm", the ".real" of a wrapper and the
 * "_v8" of a private build; "qemu-system-armeb" does not match "qemu-system-arm". */
static bool emulates(const struct arch *arch, const char *name)
{
    for (const char *const *emulator = arch->emulators; *emulator; emulator++) {
        size_t length = strlen(*emulator);

        if (!strncmp(name, *emulator, length) && !isalnum((unsigned char)name[length]))
            return true;
    }
    return false;
}

const struct arch *arch_of_emulator(const char *exe)
{
    static const char any[] = "qemu-system-";
    const char *slash = strrchr(exe, '/');
    const char *name = slash ? slash + 1 : exe;

    name = strstr(name, any); /* it may be wrapped: ".qemu-system-x86_64-wrapped" */
    if (!name)
        return arch_host();
    for (size_t i = 0; i < COUNT(table); i++)
        if (emulates(table[i], name))
            return table[i];
    return NULL;
}

bool arch_is_machine(const char *machine, const char *family)
{
    return !strncmp(machine, family, strlen(family));
}

int arch_refuse_machine(const char *machine, struct error *error)
{
    return error_set(error, -ENOTSUP,
                     "machine type %s: where its RAM lies in guest-physical memory is not known",
                     *machine ? machine : "(QEMU's default)");
}
