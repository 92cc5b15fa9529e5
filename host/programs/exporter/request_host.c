// SPDX-License-Identifier: LGPL-2.1-or-later
#include "programs/exporter/request_host.h"

#include "base/cleanup.h"
#include "base/fsroot.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define HOSTS_MAX_BYTES ((size_t)1 << 20)

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

static bool is_one_of(const char *name, const struct request_names *names)
{
    for (size_t i = 0; i < names->n_own; i++)
        if (strcasecmp(name, names->own[i]) == 0)
            return true;
    for (size_t i = 0; i < names->n_more; i++)
        if (strcasecmp(name, names->more[i]) == 0)
            return true;
    return strcasecmp(name, "localhost") == 0;
}

bool request_host_is_ours(const char *host, const struct request_names *names)
{
    char name[REQUEST_HOST_MAX];
    size_t n;
    struct in_addr ignored;

    if (strlen(host) >= sizeof(name))
        return false;
    snprintf(name, sizeof(name), "%s", host);
    if (!cut_port(name))
        return false;
    if (name[0] == '[')
        return is_bracketed_address(name);
    n = strlen(name);
    if (n > 1 && name[n - 1] == '.')
        name[n - 1] = '\0';
    return inet_pton(AF_INET, name, &ignored) == 1 || is_one_of(name, names);
}

/* --- our names -------------------------------------------------------------------------------- */

static void add_name(struct request_names *names, const char *name, size_t length)
{
    char copy[REQUEST_HOST_MAX];

    if (length == 0 || length >= sizeof(copy) || names->n_own == REQUEST_HOST_OWN)
        return;
    memcpy(copy, name, length);
    copy[length] = '\0';
    if (!is_one_of(copy, names))
        memcpy(names->own[names->n_own++], copy, sizeof(copy));
}

/* Returns true if @p name is one of the names that follow the address of a line. Adds all of them
 * to
 * @p names, if that is not NULL. */
static bool walk_line(const char *line, size_t length, const char *name,
                      struct request_names *names)
{
    const char *end = line + length;
    bool found = false;
    bool is_address = true;

    while (line < end) {
        const size_t word = strcspn(line, " \t\r\n#");
        const size_t n = word < (size_t)(end - line) ? word : (size_t)(end - line);

        if (n > 0 && !is_address) {
            found |= n == strlen(name) && !strncasecmp(line, name, n);
            if (names)
                add_name(names, line, n);
        }
        is_address &= n == 0;
        line += n;
        if (line < end && *line++ == '#')
            break;
    }
    return found;
}

void request_names_in(struct request_names *names, const char *hosts, const char *name)
{
    while (*hosts) {
        const size_t length = strcspn(hosts, "\n");

        if (walk_line(hosts, length, name, NULL))
            walk_line(hosts, length, name, names);
        hosts += length + (hosts[length] == '\n');
    }
}

void request_names_of_host(struct request_names *names)
{
    const struct fsroot root = {.dirfd = AT_FDCWD};
    cleanup_free char *hosts = NULL;
    char name[REQUEST_HOST_MAX] = "";

    if (gethostname(name, sizeof(name) - 1) < 0)
        return;
    add_name(names, name, strlen(name));
    add_name(names, name, strcspn(name, "."));
    if (fsroot_read_all(&root, &hosts, HOSTS_MAX_BYTES, "/etc/hosts") > 0)
        request_names_in(names, hosts, name);
}
