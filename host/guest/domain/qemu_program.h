// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file qemu_program.h  Recognises a QEMU system emulator by the content of its executable.
 *
 * Distributions wrap and rename QEMU (".qemu-system-x86_64-wrapped"). A system emulator has the
 * text of its -version and the names of its QMP commands in it, unlike qemu-img, qemu-x86_64, or
 * libvirt.
 */
#pragma once

#include "base/fsroot.h"

/** @param exe  the target of /proc/PID/exe. In a captured tree its name alone decides. */
bool qemu_program_is(const struct fsroot *root, pid_t pid, const char *exe);
