// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file denial.h  Finds what AppArmor or SELinux has denied to our programs, or to guests because
 * of them.
 *
 * The kernel writes each denial to auditd, or to its own log if auditd does not run
 * (security/apparmor/audit.c, audit_pre(): apparmor="DENIED", operation, profile, peer, name and
 * requested_mask; security/selinux/avc.c, avc_audit_pre_callback()). Of many alike it may leave out
 * some, so their number is a lower bound.
 */
#pragma once

#include "base/fsroot.h"

#define DENIAL_TEXT 512

/** Reads the kernel's log and the end of auditd's. Returns the number of denials; @p text names the
 * last one, of a guest's profile if there is one, and the remedy. 0 also if neither log can be
 * read, which needs root. */
unsigned denial_find(const struct fsroot *root, char text[DENIAL_TEXT]);
