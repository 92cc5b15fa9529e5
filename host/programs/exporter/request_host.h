// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file request_host.h  Was this host meant by the header Host of a request?
 *
 * A page of a stranger's, open in the browser of somebody who can reach us, may have its own name
 * changed to our address (DNS rebinding); the browser then takes us for the stranger's server, and
 * gives the page what we answer. Its requests have the stranger's name as Host. An address, or
 * "localhost", is no name that could be changed, and our own names are not the stranger's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/**
 * @param host   the header, "NAME[:PORT]" or "[ADDRESS][:PORT]", any bytes; NULL, which browsers
 *               do not send: true
 * @param names  ours, without port; upper and lower case are the same
 */
bool request_host_is_ours(const char *host, const char *const *names, size_t n);
