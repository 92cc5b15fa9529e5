// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file curl_load.h  The functions of libcurl that we call, loaded when a URL is to be read: it
 * brings some thirty libraries with it, which no other command needs; as
 * guest/domain/libvirt_load.c.
 */
#pragma once

#include "base/error.h"

/* Its macros would check the arguments of functions that are called by another name. */
#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>

/* Or setopt and getinfo are macros, which have no address. */
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
};

/** The functions, until the process ends; NULL with an error that names the package to install. Not
 * for several threads. */
const struct curl_functions *curl_load(struct error *error);
