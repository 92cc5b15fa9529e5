// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file request_host.c  See request_host.h. */
#include "programs/exporter/request_host.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define NAME_MAX_BYTES 256

static bool is_port(const char *text)
{
    size_t n = strspn(text, "0123456789");

    return n > 0 && n <= 5 && text[n] == '\0';
}

/* Removes the port. */
static bool cut_port(char *name)
{
    char *colon = strrchr(name, ':');

    if (!colon || (name[0] == '[' && strchr(colon, ']')))
        return true;
    *colon = '\0';
    return is_port(colon + 1);
}

static bool is_bracketed_address(char *name)
{
    const size_t n = strlen(name);
    struct in6_addr ignored;

    if (n < 3 || name[n - 1] != ']')
        return false;
    name[n - 1] = '\0';
    return inet_pton(AF_INET6, name + 1, &ignored) == 1;
}

static bool is_one_of(const char *name, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcasecmp(name, names[i]) == 0)
            return true;
    return strcasecmp(name, "localhost") == 0;
}

bool request_host_is_ours(const char *host, const char *const *names, size_t n)
{
    char name[NAME_MAX_BYTES];
    struct in_addr ignored;

    if (!host)
        return true;
    if (strlen(host) >= sizeof(name))
        return false;
    snprintf(name, sizeof(name), "%s", host);
    if (!cut_port(name))
        return false;
    if (name[0] == '[')
        return is_bracketed_address(name);
    return inet_pton(AF_INET, name, &ignored) == 1 || is_one_of(name, names, n);
}
