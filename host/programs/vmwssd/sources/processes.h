// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file processes.h  Follows the QEMU processes of this host that no libvirt connection knows:
 * guests of Proxmox VE, of a libvirt in a container, or started by hand.
 *
 * /proc is read every PROCESSES_EVERY_S. A process is left to libvirt for its first
 * PROCESSES_YOUNG_S, and for as long as libvirt connections have guests to open if its command line
 * has a UUID, as libvirt's have; should libvirt come to know it later, it is libvirt's from then
 * on.
 *
 * A guest is its UUID: that of -uuid, else that of -smbios type=1 (Proxmox VE), else one that is
 * made from its name, so that its history goes on when it is started again; else, and for the
 * second of two guests of one name, from its process.
 */
#pragma once

#include "programs/vmwssd/scan/fleet.h"

#define PROCESSES_EVERY_S 2
#define PROCESSES_YOUNG_S 2

struct processes; /* opaque */

/** Begins to follow; @p number distinguishes its guests. It lives as long as the process. NULL: no
 * thread. */
struct processes *processes_start(unsigned number, const struct fsroot *root, struct fleet *fleet);

/** Lets all its guests go, and follows no longer, until it is wanted again. Returns at once. */
void processes_use(struct processes *processes, bool wanted);

/** A UUID (RFC 9562, version 8) made from @p text: always the same one. @p uuid has room for 37
 * bytes. */
void processes_uuid(const char *text, char *uuid);
