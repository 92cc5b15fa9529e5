// SPDX-License-Identifier: LGPL-2.1-or-later
#include "decide/plan/curl_load.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#define CURL_FIND(name, function)               \
    functions.name = dlsym(library, #function); \
    loaded &= functions.name != NULL;

const struct curl_functions *curl_load(struct error *error)
{
    static struct curl_functions functions;
    static bool loaded;
    void *library;

    if (loaded)
        return &functions;
    library = dlopen("libcurl.so.4", RTLD_LAZY | RTLD_LOCAL);
    if (!library)
        library = dlopen("libcurl-gnutls.so.4", RTLD_LAZY | RTLD_LOCAL);
    loaded = library != NULL;
    if (library) {
        CURL_FUNCTIONS(CURL_FIND)
    }
    if (loaded)
        return &functions;
    error_set(error, -ENOENT, "libcurl could not be loaded: install it (libcurl4)");
    return NULL;
}
