// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file processes.h  Follows the QEMU processes of this host that no libvirt connection knows:
 * guests of Proxmox VE, of a libvirt in a container, or started by hand.
 *
 * /proc is read every PROCESSES_EVERY_S, and less often where that takes long. A process is left to
 * libvirt for its first PROCESSES_YOUNG_S; and if its command line has a UUID, as libvirt's guests
 * have, also while libvirt connections have guests to open. If libvirt reports it later, it belongs
 * to libvirt from then on.
 *
 * A guest is identified by its UUID: that of -uuid, else that of -smbios type=1 (Proxmox VE), else
 * one made from its name, so that its history continues when it is started again. Without a name,
 * and for the second of two guests with one name, the UUID is made from its process.
 */
#pragma once

#include "programs/vmwssd/scan/fleet.h"

#define PROCESSES_EVERY_S 2
#define PROCESSES_YOUNG_S 2
#define PROCESSES_SELDOM_S 120

struct processes; /* opaque */

/** Begins to follow; @p number distinguishes its guests. It lives as long as the process. Returns
 * NULL if no thread could be started. */
struct processes *processes_start(unsigned number, const struct fsroot *root, struct fleet *fleet);

/** Removes all its guests, and stops following until it is wanted again. Returns at once. */
void processes_use(struct processes *processes, bool wanted);

/** Returns how long to wait until /proc is read again, which took @p took_s: 50 times as long, from
 * PROCESSES_EVERY_S to PROCESSES_SELDOM_S. 100,000 processes, which any user can start, take 1.8 s
 * of CPU time, as measured with vmwss list in a made /proc. */
double processes_wait_s(double took_s);

/** Makes a UUID (RFC 9562, version 8) from @p text: always the same one. @p uuid has room for 37
 * bytes. */
void processes_uuid(const char *text, char *uuid);
