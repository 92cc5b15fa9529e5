// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file curl_load.c  See curl_load.h. */
#include "decide/plan/curl_load.h"

#include "base/array.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

static void *open_library(void)
{
    static const char *const names[] = {"libcurl.so.4", "libcurl-gnutls.so.4"};
    void *library = NULL;

    for (size_t i = 0; !library && i < COUNT(names); i++)
        library = dlopen(names[i], RTLD_LAZY | RTLD_LOCAL);
    return library;
}

static bool find_all(void *library, struct curl_functions *functions)
{
    functions->init = dlsym(library, "curl_easy_init");
    functions->setopt = dlsym(library, "curl_easy_setopt");
    functions->perform = dlsym(library, "curl_easy_perform");
    functions->getinfo = dlsym(library, "curl_easy_getinfo");
    functions->cleanup = dlsym(library, "curl_easy_cleanup");
    functions->strerror = dlsym(library, "curl_easy_strerror");
    functions->escape = dlsym(library, "curl_easy_escape");
    functions->free = dlsym(library, "curl_free");
    functions->slist_append = dlsym(library, "curl_slist_append");
    functions->slist_free_all = dlsym(library, "curl_slist_free_all");
    return functions->init && functions->setopt && functions->perform && functions->getinfo &&
           functions->cleanup && functions->strerror && functions->escape && functions->free &&
           functions->slist_append && functions->slist_free_all;
}

const struct curl_functions *curl_load(struct error *error)
{
    static struct curl_functions functions;
    static bool loaded;
    void *library;

    if (loaded)
        return &functions;
    library = open_library();
    loaded = library && find_all(library, &functions);
    if (loaded)
        return &functions;
    error_set(error, -ENOENT, "libcurl could not be loaded: install it (libcurl4)");
    return NULL;
}
