// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file request_host.h  Checks whether the header Host of a request names this host.
 *
 * A foreign web page in the browser of a person who can reach us may change its own name to our
 * address (DNS rebinding); the browser then takes us for the foreign server, and passes our answers
 * to the page. Its requests have the foreign name as Host. An address, or "localhost", is not a
 * name that can be changed, and the foreign name is not one of our names.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define REQUEST_HOST_MAX 256 /* bytes of a name, with the final zero */
#define REQUEST_HOST_OWN 8
#define REQUEST_HOST_MORE 8

/** The names by which clients may call us. */
struct request_names {
    char own[REQUEST_HOST_OWN][REQUEST_HOST_MAX]; /* of this host */
    size_t n_own;
    const char *more[REQUEST_HOST_MORE]; /* configured */
    size_t n_more;
};

/** Adds this host's names: the one of hostname(1), its first label, and those beside it in
 * /etc/hosts. No name server is asked. */
void request_names_of_host(struct request_names *names);

/** Adds the names that lines of @p hosts, in the format of hosts(5), have beside @p name. */
void request_names_in(struct request_names *names, const char *hosts, const char *name);

/**
 * @param host   the header, "NAME[:PORT]" or "[ADDRESS][:PORT]", any bytes
 * @param names our names, without port; upper and lower case are equal, and a final dot is ignored
 */
bool request_host_is_ours(const char *host, const struct request_names *names);
