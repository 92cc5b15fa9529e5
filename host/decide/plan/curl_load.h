// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file curl_load.h  The libcurl functions that we call, loaded when a URL is to be read: libcurl
 * brings some thirty libraries with it that no other command needs. Works as
 * guest/domain/libvirt_load.c does.
 */
#pragma once

#include "base/error.h"

/* Its macros would check the arguments of functions that we call by another name. */
#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>

/* Otherwise setopt and getinfo are macros, which have no address. */
#undef curl_easy_setopt
#undef curl_easy_getinfo

/* A new function needs an entry here. */
#define CURL_FUNCTIONS(ENTRY)           \
    ENTRY(init, curl_easy_init)         \
    ENTRY(setopt, curl_easy_setopt)     \
    ENTRY(perform, curl_easy_perform)   \
    ENTRY(getinfo, curl_easy_getinfo)   \
    ENTRY(header, curl_easy_header)     \
    ENTRY(cleanup, curl_easy_cleanup)   \
    ENTRY(strerror, curl_easy_strerror) \
    ENTRY(escape, curl_easy_escape)     \
    ENTRY(free, curl_free)

#define CURL_MEMBER(name, function) __typeof__ (&(function))(name);

struct curl_functions {
    CURL_FUNCTIONS(CURL_MEMBER)
};

/** Returns the functions, valid until the process ends; NULL with an error that names the package
 * to install. Not thread-safe. */
const struct curl_functions *curl_load(struct error *error);
