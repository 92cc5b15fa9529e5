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

/**
 * @param host   the header, "NAME[:PORT]" or "[ADDRESS][:PORT]", any bytes; NULL, which browsers do
 *               not send: true
 * @param names our names, without port; upper and lower case are equal
 */
bool request_host_is_ours(const char *host, const char *const *names, size_t n);
