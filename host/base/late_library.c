// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file late_library.c  See late_library.h. */
#include "base/late_library.h"

#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

/* The status of the dynamic linker, and of a shell whose command is missing. */
#define STATUS_NOT_FOUND 127

static void library_missing(void)
{
    fprintf(stderr, "vmwss: %s\n", dlerror());
    fflush(stderr);
    _exit(STATUS_NOT_FOUND);
}

/* Two threads may both load it: the loader treats both as the same library. */
static void *handle_of(struct late_library *library)
{
    void *handle = atomic_load(&library->handle);

    if (handle)
        return handle;
    handle = dlopen(library->soname, RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        library_missing();
    atomic_store(&library->handle, handle);
    return handle;
}

void *late_library_find(struct late_library *library, const char *name, _Atomic(void *) *at)
{
    void *found = dlsym(handle_of(library), name);

    if (!found)
        library_missing();
    atomic_store(at, found);
    return found;
}
