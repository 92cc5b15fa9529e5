// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file distribution.h  The distribution of this host, and which of its kernels has page_idle, or
 * does not need it. */
#pragma once

#include "base/fsroot.h"

#define DISTRIBUTION_TEXT 400

/**
 * The distribution's remedy if page_idle is missing: "Debian GNU/Linux 12 (bookworm): no kernel of
 * Debian ...". Source: the configurations of the distributions' kernels. RHEL's and Ubuntu's have
 * CONFIG_IDLE_PAGE_TRACKING; Debian's, SUSE's and Fedora's have not. "" if neither ID nor any
 * ID_LIKE of os-release(5) names a known distribution.
 */
char *distribution_remedy(const struct fsroot *root, char text[DISTRIBUTION_TEXT]);
