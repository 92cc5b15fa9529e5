// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file distribution.h  The distribution of this host, and where it offers a kernel with
 * page_idle, or a kernel that needs none. */
#pragma once

#include "base/fsroot.h"

#define DISTRIBUTION_TEXT 400

/**
 * The distribution's remedy if page_idle is missing: "Debian GNU/Linux 12 (bookworm): no kernel of
 * Debian ...". Source: the configurations of their kernels, of which RHEL's and Ubuntu's have
 * CONFIG_IDLE_PAGE_TRACKING, and Debian's, SUSE's and Fedora's have not. "" if the distribution is
 * not known by os-release(5)'s ID, or by one of its ID_LIKE.
 */
char *distribution_remedy(const struct fsroot *root, char text[DISTRIBUTION_TEXT]);
