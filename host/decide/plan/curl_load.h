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

struct curl_functions {
    __typeof__(&curl_easy_init) init;
    __typeof__(&curl_easy_setopt) setopt;
    __typeof__(&curl_easy_perform) perform;
    __typeof__(&curl_easy_getinfo) getinfo;
    __typeof__(&curl_easy_cleanup) cleanup;
    __typeof__(&curl_easy_strerror) strerror;
    __typeof__(&curl_easy_escape) escape;
    __typeof__(&curl_free) free;
    __typeof__(&curl_slist_append) slist_append;
    __typeof__(&curl_slist_free_all) slist_free_all;
};

/** Returns the functions, valid until the process ends; NULL with an error that names the package
 * to install. Not thread-safe. */
const struct curl_functions *curl_load(struct error *error);
